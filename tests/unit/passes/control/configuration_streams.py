"""A configuration as the TXN stream that makes it, read back register by register."""

from __future__ import annotations

import struct

from tilewright import txn
from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device import TileId, model
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pipeline, run_pipeline
from tilewright.passes.control.convert_aie_to_transaction import ConvertAieToTransactionPass

NPU2 = model("npu2")
CORE, MEM, EAST, SHIM = TileId(1, 2), TileId(1, 1), TileId(2, 1), TileId(1, 0)


def device_in(text: str) -> DeviceOp:
    module = parse_source(make_context(allow_unregistered=False), text, "design.mlir")
    return next(op for op in module.body.block.ops if isinstance(op, DeviceOp))


def stream_of(text: str, options: ConvertAieToTransactionPass | None = None) -> txn.Stream:
    """The stream that configures a device, by way of the words it is written as."""
    ctx = make_context(allow_unregistered=False)
    module = parse_source(ctx, text, "design.mlir")
    pipeline = Pipeline()
    pipeline.add(options or ConvertAieToTransactionPass())
    run_pipeline(ctx, module, pipeline)
    device = next(op for op in module.body.block.ops if isinstance(op, DeviceOp))
    sequence = next(op for op in device.body.ops if isinstance(op, RuntimeSequenceOp))
    words = static_words(sequence, TxnEmitter(device)).words
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
