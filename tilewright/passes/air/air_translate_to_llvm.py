"""Computes the addresses of buffers on other ranks: where a buffer is in its own heap, in the heap of the other."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i64
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects import arith, llvm, memref
from tilewright.dialects._strides import Strided, strided_form
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.runtime_calls import POINTER, wrap_pointer
from tilewright.rewrite.emitter import Emitter


class AirTranslateToLlvmPass(Pass):
    name = "air-translate-to-llvm"

    def apply(self, ctx: Context, op: Operation) -> None:
        for translation in [found for found in op.walk() if isinstance(found, TranslateOp)]:
            _lower(translation)


def _lower(op: TranslateOp) -> None:
    type = cast(MemRefType, op.source.type)
    form = _known_form(op, type)
    emitter = Emitter.before(op)
    address = emitter.value(memref.ExtractAlignedPointerAsIndexOp.create(operands=(op.source,), result_types=[INDEX]))
    own = emitter.load(op.heap_bases, [op.from_rank])
    other = emitter.load(op.heap_bases, [op.to_rank])
    distance = emitter.value(arith.SubiOp(other, own))
    # a buffer is at the same place in every heap: all ranks allocate alike
    number = emitter.value(arith.IndexCastOp(emitter.add(address, distance), i64))
    pointer = emitter.value(llvm.IntToPtrOp.create(operands=(number,), result_types=[POINTER]))
    Rewriter.replace_op(op, (), [wrap_pointer(emitter, pointer, type, form)])


def _known_form(op: TranslateOp, type: MemRefType) -> Strided:
    """Strides and offset, which go into the new descriptor."""
    if DYNAMIC_INDEX in type.get_shape():
        fail_op(op, "air.translate requires a static-shape source memref")
    form = strided_form(type)
    if form is None or form.offset is None or None in form.strides:
        fail_op(
            op,
            "air.translate requires a source memref whose strides and offset are known",
            (op, "translate the buffer first, then take the view of it"),
        )
    return form
