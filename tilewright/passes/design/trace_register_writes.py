"""Register writes in a runtime sequence, each with its constants before it."""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.device import TileId
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op, NpuWrite32Op
from tilewright.rewrite.emitter import Emitter


class RegisterWriter:
    """Puts instructions at a point of a sequence, for one place in the source."""

    def __init__(self, at: InsertPoint, location: LocationAttr):
        self.builder = Emitter(at, location)

    def constant(self, value: int) -> SSAValue:
        return self.builder.constant(value)

    def write(self, tile: TileId, offset: int, value: int) -> None:
        self.builder.insert(NpuWrite32Op(self.constant(offset), self.constant(value), *tile))

    def write_masked(self, tile: TileId, offset: int, value: int, mask: int) -> None:
        operands = [self.constant(number) for number in (offset, value, mask)]
        self.builder.insert(NpuMaskWrite32Op(operands[0], operands[1], operands[2], *tile))
