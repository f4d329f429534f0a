"""`memref`: the same memory under another type, or a part of it. A system of numbers for `dialects.memref.meaning`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from xdsl.ir import Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.memref.meaning import VIEWS, Viewed, ViewNumbers
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder
from tilewright.gpu.emulator.program import Constant, MemRefParts, Operand, Unsupported, index, kind_of


class EmulatorViews(ViewNumbers[Operand]):
    """Computes where a builder stands; products are exact, so that wrong sizes lead nowhere."""

    def __init__(self, b: ProgramBuilder):
        self.b = b

    def constant(self, number: int) -> Operand:
        return index(number)

    def value(self, value: SSAValue) -> Operand:
        return self.b[value]

    def known(self, number: Operand) -> int | None:
        return number.value if isinstance(number, Constant) else None

    def times(self, a: Operand, b: Operand) -> Operand:
        return self.b.place(index(0), (a, b))

    def scaled(self, steps: Sequence[Operand], strides: Sequence[Operand]) -> list[Operand]:
        return list(map(self.times, steps, strides))

    def position(self, source: Viewed[Operand], indices: Sequence[Operand]) -> Operand:
        return self.b.place(source.offset, *zip(indices, source.strides, strict=True))

    def refuse(self, text: str) -> NoReturn:
        raise Unsupported(text)


def _view(b: ProgramBuilder, op: Operation) -> None:
    source = b.memref(op.operands[0])
    for result in op.results:
        view = VIEWS[op.name](EmulatorViews(b), op, source)
        b[result] = replace(source, **view._asdict())


def _shifted_view(b: ProgramBuilder, op: memref.ViewOp) -> None:
    """Other elements in the same bytes."""
    source, kind = b.memref(op.source), kind_of(op.result.type.element_type)
    pointer = b.plus(source.pointer, b.plus(source.offset, b[op.byte_shift]))
    view = VIEWS[op.name](EmulatorViews(b), op, source)
    b[op.result] = MemRefParts(kind, source.space, pointer, view.offset, view.sizes, view.strides)


def _metadata(b: ProgramBuilder, op: memref.ExtractStridedMetaDataOp) -> None:
    source = b.memref(op.source)
    b[op.base_buffer] = MemRefParts(source.kind, source.space, source.pointer, index(0), (), ())
    targets: list[SSAValue] = [op.offset, *op.sizes, *op.strides]
    for target, value in zip(targets, [source.offset, *source.sizes, *source.strides], strict=True):
        b[target] = value


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(VIEWS, _view),
    "memref.view": _shifted_view,
    "memref.extract_strided_metadata": _metadata,
}
