"""Matrices as the copy engine takes them: described, and where they do not lie as it wants, copied on the device first.

Rows have to begin at multiples of 16 bytes, and tensor cores take elements of 8 and 32 bits along the depth alone. What
does not lie so is copied by a kernel, which turns it round, pads its rows, or splits f32 into two numbers that tensor
cores take, on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    FloatTF32Type,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    UnrealizedConversionCastOp,
    i32,
    i64,
)
from xdsl.ir import Attribute

from tilewright.air.arrays import Array, buffer_type
from tilewright.air.dtypes import bf16, f16, f32
from tilewright.air.levels import cdiv, launch
from tilewright.air.library.assembly import meet_launches
from tilewright.air.messages import array
from tilewright.air.tile_transfers import guarded_load
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.waves import barrier, lane, wave
from tilewright.device.tensor_maps import CHUNK_BYTES
from tilewright.dialects import arith, llvm, memref, nvgpu
from tilewright.iron import math
from tilewright.iron.builders.control import if_, make_if, yield_
from tilewright.iron.builders.handles import Value, value_of
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant
from tilewright.iron.builders.types import is_integer

ROW_BYTES = 128
"""What the engine exchanges chunks within, and so the width of what it copies at a time."""
SHARED = 3
"""The address space of memory of a block."""
SQUARE, SQUARE_WAVES = 32, 4
"""A block that copies a matrix takes a square of elements at a time."""
HIGH_BITS = 0xFFFFE000
"""Of an f32, those that tensor cores look at."""


@dataclass(frozen=True)
class Element:
    """What the tensor cores multiply."""

    name: str
    size: int
    type: Attribute
    """As the copy engine takes it."""
    along_depth: bool
    """Whether it is taken along the depth alone."""
    parts: tuple[tuple[int, ...], tuple[int, ...]] = ((0,), (0,))
    """Which of its two parts each multiple of the depth of A and of B has: their products are added up."""

    @property
    def depth(self) -> int:
        """Of one instruction."""
        return 32 // self.size

    @property
    def row(self) -> int:
        return ROW_BYTES // self.size

    @property
    def splits(self) -> bool:
        return len(self.parts[0]) > 1


ELEMENTS = {
    "f16": Element("f16", 2, Float16Type(), False),
    "bf16": Element("bf16", 2, BFloat16Type(), False),
    "e4m3": Element("e4m3", 1, Float8E4M3FNType(), True),
    "e5m2": Element("e5m2", 1, Float8E5M2Type(), True),
    "tf32": Element("tf32", 4, FloatTF32Type(), True),
    # its parts have so many bits as they are
    "tf32x3": Element("tf32", 4, Float32Type(), True, ((0, 0, 1), (0, 1, 0))),
}
"""By what a product is computed in. Three products of the parts of f32 leave out only that of both small ones."""
RESULTS = {f32: Element("f32", 4, Float32Type(), True), f16: ELEMENTS["f16"], bf16: ELEMENTS["bf16"]}
"""By the type of C."""


@dataclass(frozen=True)
class Operand:
    """A stack of matrices for the copy engine, on the host."""

    matrices: Any
    """A memref of their number, their rows and a row."""
    across: bool
    """Whether its rows lie across the depth."""
    depth: Any
    pitch: Any
    """Bytes from one row to the next."""


def operand(given: Array, across: bool, element: Element, side: int) -> Operand:
    """A matrix as it is, or a copy of it; which one is decided when its sizes are known."""
    _, rows, row = given.shape
    parts = element.parts[side]
    must_turn = across and element.along_depth
    if must_turn or element.splits:
        return _copied(given, across, element, parts, turned=must_turn)
    bytes = as_index(row) * element.size
    fits = bytes % CHUNK_BYTES == 0
    matrices = one_array(
        fits,
        given,
        lambda: given.ssa,
        lambda: _copied(given, across, element, parts, turned=False).matrices,
    )
    return Operand(matrices, across, rows if across else row, math.where(fits, bytes, ROW_BYTES))


def one_array(condition: Any, like: Array, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two arrays of the kind of a third, each as far as is needed for it to be there."""
    type = buffer_type([as_index(size) for size in like.shape], like.dtype)
    choice = make_if(condition, True, [type])
    for region, made in ((choice.thenRegion, yes), (choice.elseRegion, no)):
        with InsertionPoint(region.blocks[0]):
            yield_([_opened(made(), type)])
    return choice.op.results[0]


def _opened(matrices: Any, type: Attribute) -> Any:
    """Matrices without what is known of their sizes."""
    return matrices if matrices.type == type else build(memref.CastOp, results=[type], source=matrices).results[0]


def _copied(given: Array, across: bool, element: Element, parts: Sequence[int], turned: bool) -> Operand:
    """A copy whose rows are padded with zeros: of all parts, one behind the other in depth."""
    batch, rows, row = given.shape
    out_rows, out_row = (row, rows) if turned else (rows, row)
    # rows begin at lines of the cache
    one = cdiv(out_row, element.row) * element.row
    pitch = one * len(parts)
    target = array((batch, out_rows, pitch), given.dtype)
    squares = one // SQUARE, cdiv(out_rows, SQUARE)

    @launch((squares[0], squares[1], batch), waves=SQUARE_WAVES)
    def _(x: Any, y: Any, number: Any) -> None:
        meet_launches()
        room = shared((SQUARE, SQUARE + 1), given.dtype)
        across_lanes, lines = lane() % SQUARE, wave() * (current().lanes // SQUARE) + lane() // SQUARE
        step = SQUARE_WAVES * current().lanes // SQUARE
        row0, column0 = (x * SQUARE, y * SQUARE) if turned else (y * SQUARE, x * SQUARE)
        for first in range(0, SQUARE, step):
            line = lines + first
            keys = [number, row0 + line, column0 + across_lanes]
            there = (keys[1] < rows) & (keys[2] < row)
            room[(across_lanes, line) if turned else (line, across_lanes)] = guarded_load(given, keys, there, 0)
        barrier()
        for first in range(0, SQUARE, step):
            line = lines + first
            out, column = y * SQUARE + line, x * SQUARE + across_lanes
            value = room[line, across_lanes]
            # what pads a row is zero: the engine knows no end of a part
            with if_((out < out_rows) & (column < one), hasElse=False):
                for place, part in enumerate(parts):
                    target[number, out, column + one * place if place else column] = _part(value, part, element)

    depth = one * len(parts) if element.splits else (out_row if turned or not across else rows)
    return Operand(target.ssa, across and not turned, depth, pitch * element.size)


def _part(value: ScalarValue, part: int, element: Element) -> ScalarValue:
    """The bits of an f32 that tensor cores look at, or of what that leaves out."""
    if not element.splits:
        return value
    high = _high(value)
    return high if part == 0 else _high(value - high)


def _high(value: ScalarValue) -> ScalarValue:
    bits = build(arith.BitcastOp, results=[i32], input=value).results[0]
    kept = ScalarValue(bits) & constant(HIGH_BITS - (1 << 32), i32)
    return ScalarValue(build(arith.BitcastOp, results=[value.type], input=kept).results[0])


def describe(matrices: Any, box: tuple[Any, Any], element: Element) -> Value:
    """What tells the copy engine the shape of matrices, and what it copies at a time: of a row, and how many rows.

    Their rows have to begin at multiples of 16 bytes.
    """
    row, rows = box
    shape = [int(size) if is_integer(size) else DYNAMIC_INDEX for size in (1, rows, row)]
    type = nvgpu.TensorMapDescriptorType(
        MemRefType(element.type, shape, NoneAttr(), IntegerAttr(SHARED, i64)),
        nvgpu.SwizzleAttr(nvgpu.Swizzle.SWIZZLE_128B),
        nvgpu.L2PromotionAttr(nvgpu.L2Promotion.NONE),
        nvgpu.OutOfBoundsAttr(nvgpu.OutOfBounds.ZERO),
        nvgpu.InterleaveAttr(nvgpu.Interleave.NONE),
    )
    sizes = [as_index(size).ssa for size in (1, rows, row)]
    made = build(nvgpu.TmaCreateDescriptorOp, results=[type], tensor=matrices, boxDimensions=sizes)
    return value_of(made.tensorMap)


def descriptor_pointer(descriptor: Value) -> Value:
    """Where a kernel has what the host has described."""
    results = [llvm.LLVMPointerType()]
    return value_of(build(UnrealizedConversionCastOp, results=results, inputs=[descriptor]).results[0])
