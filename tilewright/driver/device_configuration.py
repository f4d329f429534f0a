"""The configuration of a compiled device as TXN words: what brings an array from reset to where sequences can run.

The programs of cores are referred to by name, in the manifest; loading them is left to the loader of the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import LocationAttr

from tilewright.dialects.aie.tiles import DeviceOp

if TYPE_CHECKING:
    from tilewright.txn.stream import Words


@dataclass(frozen=True)
class ConfigurationStream:
    """Words, header included, and for each operation in them the place in the source that asked for it."""

    words: Words
    locations: Sequence[LocationAttr]


def configuration_stream(device: DeviceOp) -> ConfigurationStream:
    """The configuration of a device that is placed, addressed and routed; located errors where it is not."""
    from tilewright import txn
    from tilewright.codegen.txn_words import TxnEmitter
    from tilewright.passes.control.configuration import configuration_of
    from tilewright.passes.control.configuration.instructions import as_transaction

    # the configuration that CDO files have, too
    writes = list(as_transaction(configuration_of(device).writes))
    stream = txn.Stream.of(TxnEmitter(device).header, [write.operation for write in writes])
    return ConfigurationStream(txn.encode(stream), [write.location for write in writes])
