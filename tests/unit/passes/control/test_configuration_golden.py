"""A configuration is, write for write, what AMD's own driver makes of the same design."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from configuration_streams import stream_of
from helpers import TESTS

from tilewright import txn
from tilewright.device import model
from tilewright.device.register_names import name_address

GOLDEN = TESTS / "golden" / "configuration"


def shown(stream: txn.Stream) -> Iterator[str]:
    """Operations by what they do; the driver leaves other things in unused bytes than the compiler."""
    for op in stream.operations:
        words = op.payload.tolist() if op.opcode == txn.Opcode.BLOCKWRITE else [op.value]
        mask = f" mask {op.mask:08x}" if op.opcode == txn.Opcode.MASKWRITE else ""
        yield f"{op.name} {name_address(model('npu2'), op.address)} = {[f'{word:08x}' for word in words]}{mask}"


def test_the_same_as_the_driver():
    words = [int(word, 16) for word in (GOLDEN / "everything.words").read_text().split()]
    theirs = txn.decode(struct.pack(f"<{len(words)}I", *words))
    ours = stream_of((GOLDEN / "everything.mlir").read_text())
    assert list(shown(ours)) == list(shown(theirs))
