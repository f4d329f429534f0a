"""Instructions of a controller as a design: what a TXN binary does, operation by operation."""

from __future__ import annotations

from typing import Any

from tilewright.iron.builders.location import user_location
from tilewright.iron.builders.module import Module, mlir_mod_ctx
from tilewright.txn.codec import as_words, decode


def transaction_binary_to_mlir(context: Any, binary: bytes) -> Module:
    """The design whose sequence does what a TXN binary does; translated again, it gives that binary.

    Names are mlir-aie's, and so is the level: register writes as they are. What no instruction of mlir-aie says, such
    as a timer or bits that nothing reads, is kept field by field.
    """
    from tilewright.lift.sequence import SequenceStyle, stream_device  # it brings the compiler with it

    style = SequenceStyle("sequence", "config_blockwrite_data_", shares_data=False, has_transfers=False)
    words = as_words(binary)
    with mlir_mod_ctx() as built:
        built.module.body.add_op(stream_device(decode(words), words, style, user_location()))
    return built.module
