"""`memref`: the same memory under another type, or a part of it. A system of numbers for `dialects.memref.meaning`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from llvmlite import ir
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.memref.meaning import VIEWS, Viewed, ViewNumbers
from tilewright.native.access import ExactNumbers, plus, position, times
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.traps import BEGINS_OUTSIDE, Untranslatable
from tilewright.native.values import I8, MemRef, index, number_of


class LlvmViews(ViewNumbers[ir.Value]):
    """Computes where a lowering stands; `op` is what a trap there is about."""

    def __init__(self, lowering: Lowering, op: Operation):
        self.lowering, self.op = lowering, op

    def constant(self, number: int) -> ir.Value:
        return index(number)

    def value(self, value: SSAValue) -> ir.Value:
        return self.lowering[value]

    def known(self, number: ir.Value) -> int | None:
        return number_of(number)

    def times(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return times(self.lowering.builder, a, b)

    def scaled(self, steps: Sequence[ir.Value], strides: Sequence[ir.Value]) -> list[ir.Value]:
        exact = ExactNumbers(self.lowering)
        products = list(map(exact.times, steps, strides))
        # One check for all of them.
        exact.check(self.op)
        return products

    def position(self, source: Viewed[ir.Value], indices: Sequence[ir.Value]) -> ir.Value:
        return position(self.lowering, self.op, source, indices)

    def refuse(self, text: str) -> NoReturn:
        raise Untranslatable(text)


def mixed(lowering: Lowering, op: Operation, values: Sequence[SSAValue], static: Sequence[int]) -> list[ir.Value]:
    """Numbers of which some are written and the others values."""
    return LlvmViews(lowering, op).mixed(values, static)


def _view(lowering: Lowering, op: Operation) -> None:
    source = lowering.memref(op.operands[0])
    # Some of these operations have no result in older programs.
    for result in op.results:
        view = VIEWS[op.name](LlvmViews(lowering, op), op, source)
        lowering[result] = replace(source, **view._asdict())


def _shifted_view(lowering: Lowering, op: memref.ViewOp) -> None:
    """Other elements in the same bytes: a buffer of their own, which ends where the other does."""
    builder, source = lowering.builder, lowering.memref(op.source)
    shift = plus(builder, source.offset, lowering[op.byte_shift])
    fits = builder.icmp_unsigned("<=", shift, source.limit)
    lowering.trap_unless(op, fits, BEGINS_OUTSIDE, shift, source.limit)
    base, limit = builder.gep(source.base, [shift], source_etype=I8), builder.sub(source.limit, shift)
    view = VIEWS[op.name](LlvmViews(lowering, op), op, source)
    lowering[op.result] = MemRef(base, limit, view.offset, view.sizes, view.strides)


def _distinct(lowering: Lowering, op: Operation) -> None:
    for operand, result in zip(op.operands, op.results, strict=True):
        lowering[result] = lowering.memref(operand)


def _metadata(lowering: Lowering, op: memref.ExtractStridedMetaDataOp) -> None:
    source = lowering.memref(op.source)
    lowering[op.base_buffer] = MemRef(source.base, source.limit, index(0), (), ())
    values = [source.offset, *source.sizes, *source.strides]
    lowering.values.update(zip([op.offset, *op.sizes, *op.strides], values, strict=True))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(VIEWS, _view),
    "memref.view": _shifted_view,
    "memref.distinct_objects": _distinct,
    "memref.extract_strided_metadata": _metadata,
}
