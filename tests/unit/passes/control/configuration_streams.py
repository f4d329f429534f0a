"""A configuration as the TXN stream that makes it, read back register by register."""

from __future__ import annotations

import struct

from helpers import first, lowered, parsed

from tilewright import txn
from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device import TileId, model
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.control.convert_aie_to_transaction import ConvertAieToTransactionPass

NPU2 = model("npu2")
CORE, MEM, EAST, SHIM = TileId(1, 2), TileId(1, 1), TileId(2, 1), TileId(1, 0)


def device_in(text: str) -> DeviceOp:
    return first(DeviceOp, parsed(text, "design.mlir"))


def stream_of(text: str, options: ConvertAieToTransactionPass | None = None) -> txn.Stream:
    """The stream that configures a device, by way of the words it is written as."""
    device = first(DeviceOp, lowered(text, options or ConvertAieToTransactionPass(), name="design.mlir"))
    words = static_words(first(RuntimeSequenceOp, device), TxnEmitter(device)).words
    return txn.decode(struct.pack(f"<{len(words)}I", *words))


def registers_after(stream: txn.Stream) -> dict[int, int]:
    """What is in registers and memories, as far as the stream sets it."""
    contents = dict[int, int]()
    for op in stream.operations:
        match op.opcode:
            case txn.Opcode.WRITE:
                contents[op.address] = op.value
            case txn.Opcode.MASKWRITE:
                contents[op.address] = contents.get(op.address, 0) & ~op.mask | op.value & op.mask
            case txn.Opcode.BLOCKWRITE:
                contents |= {op.address + 4 * index: word for index, word in enumerate(op.payload.tolist())}
            case _:
                raise AssertionError(f"{op.name} configures nothing")
    return contents
