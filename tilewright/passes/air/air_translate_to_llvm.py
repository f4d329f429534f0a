"""Computes the addresses of buffers on other ranks: where a buffer is in its own heap, in the heap of the other."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import arith, llvm, memref
from tilewright.dialects._strides import Strided, strided_form
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.runtime_calls import POINTER, wrap_pointer
from tilewright.rewrite.emitter import Emitter


class AirTranslateToLlvmPass(Pass):
    name = "air-translate-to-llvm"

    def apply(self, ctx: Context, op: Operation) -> None:
        for translation in ops_of(all_operations(op), TranslateOp):
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
    sizes = [_size(emitter, op, number) for number, size in enumerate(type.get_shape()) if size == DYNAMIC_INDEX]
    Rewriter.replace_op(op, (), [wrap_pointer(emitter, pointer, type, form, sizes)])


def _size(emitter: Emitter, op: TranslateOp, dimension: int) -> SSAValue:
    """A size of the buffer here, which is that of the other one: all ranks ask for the same."""
    size = emitter.value(memref.DimOp.create(operands=(op.source, emitter.index(dimension)), result_types=[INDEX]))
    return emitter.value(arith.IndexCastOp(size, i64))


def _known_form(op: TranslateOp, type: MemRefType) -> Strided:
    """Strides and offset, which go into the new descriptor."""
    form = strided_form(type)
    # rows without gaps have strides that follow from the sizes
    in_rows = isinstance(type.layout, NoneAttr)
    if form is None or form.offset is None or (None in form.strides and not in_rows):
        fail_op(
            op,
            "air.translate requires a source memref whose strides and offset are known",
            (op, "translate the buffer first, then take the view of it"),
        )
    return form
