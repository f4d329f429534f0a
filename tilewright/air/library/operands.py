"""Matrices as the copy engine takes them: described, and where they do not lie as it wants, copied on the device first.

Rows have to begin at multiples of 16 bytes, and tensor cores take elements of 8 and 32 bits along the depth alone. What
does not lie so is copied by a kernel, which turns it round, pads its rows, or splits f32 into two numbers that tensor
cores take, on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xdsl.dialects.builtin import i32, i64

from tilewright.air.arrays import Array
from tilewright.air.dtypes import bf16, f16, f32, ui8
from tilewright.air.escapes import EMULATOR
from tilewright.air.levels import cdiv, launch
from tilewright.air.library.assembly import address_of, effect, near_address
from tilewright.air.messages import FlatArray, array
from tilewright.air.tiles import guarded_load, shared
from tilewright.air.trace import current
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import arith
from tilewright.dialects._syntax import INDEX
from tilewright.iron.builders.control import if_, make_if, yield_
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant

ROW_BYTES = 128
"""What the engine exchanges chunks within, and so the width of what it copies at a time."""
CHUNK_BYTES = 16
MAP_BYTES = 128
SWIZZLE_128 = 3
SQUARE, SQUARE_WAVES = 32, 4
"""A block that copies a matrix takes a square of elements at a time."""
HIGH_BITS = 0xFFFFE000
"""Of an f32, those that tensor cores look at."""


@dataclass(frozen=True)
class Element:
    """What the tensor cores multiply."""

    name: str
    size: int
    code: int
    """Of `tensormap.replace`."""
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
    "f16": Element("f16", 2, 6, False),
    "bf16": Element("bf16", 2, 10, False),
    "e4m3": Element("e4m3", 1, 0, True),
    "e5m2": Element("e5m2", 1, 0, True),
    "tf32": Element("tf32", 4, 11, True),
    "tf32x3": Element("tf32", 4, 7, True, ((0, 0, 1), (0, 1, 0))),
}
"""By what a product is computed in. Three products of the parts of f32 leave out only that of both small ones."""
RESULTS = {f32: Element("f32", 4, 7, True), f16: ELEMENTS["f16"], bf16: ELEMENTS["bf16"]}
"""By the type of C."""


@dataclass(frozen=True)
class Operand:
    """A stack of matrices for the copy engine, on the host."""

    address: Any
    pitch: Any
    """Elements from one row to the next."""
    across: bool
    """Whether its rows lie across the depth."""
    batch: Any
    extent: Any
    depth: Any

    @property
    def sizes(self) -> tuple[Any, Any]:
        """Of a row, and how many there are."""
        return (self.extent, self.depth) if self.across else (self.depth, self.extent)


def operand(given: Array, across: bool, element: Element, side: int) -> Operand:
    """A matrix as it is, or a copy of it; which one is decided when its sizes are known."""
    batch, rows, row = given.shape
    extent, depth = (row, rows) if across else (rows, row)
    parts = element.parts[side]
    must_turn = across and element.along_depth
    if must_turn or element.splits:
        return _copied(given, across, element, parts, turned=must_turn)
    granule = CHUNK_BYTES // element.size
    choice = make_if(as_index(row) % granule == 0, True, [INDEX, INDEX])
    with InsertionPoint(choice.thenRegion.blocks[0]):
        yield_([_host_address(given), as_index(row)])
    with InsertionPoint(choice.elseRegion.blocks[0]):
        made = _copied(given, across, element, parts, turned=False)
        yield_([made.address, as_index(made.pitch)])
    address, pitch = (ScalarValue(result) for result in choice.op.results)
    return Operand(address, pitch, across, batch, extent, depth)


def _host_address(given: Array) -> ScalarValue:
    return address_of(given).astype(INDEX)


def _copied(given: Array, across: bool, element: Element, parts: Sequence[int], turned: bool) -> Operand:
    """A copy with padded rows: of all parts, one behind the other in depth."""
    batch, rows, row = given.shape
    out_rows, out_row = (row, rows) if turned else (rows, row)
    granule = CHUNK_BYTES // element.size
    one = cdiv(out_row, granule) * granule
    pitch = one * len(parts)
    memory = array((as_index(batch) * out_rows * pitch,), given.dtype)
    target = FlatArray(memory.ssa, given.dtype, (batch, out_rows, pitch))
    squares = cdiv(out_row, SQUARE), cdiv(out_rows, SQUARE)

    @launch((squares[0], squares[1], batch), waves=SQUARE_WAVES)
    def _(x: Any, y: Any, number: Any) -> None:
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
    extent = out_rows if turned or not across else row
    return Operand(_host_address(memory), pitch, across and not turned, batch, extent, depth)


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


class Described(NamedTuple):
    """Matrices, what the copy engine copies of them at a time (of a row, and how many rows), and their elements."""

    operand: Operand
    box: tuple[int, int]
    element: Element


def described_result(c: Array, rows: int) -> Described:
    """C, for an engine that stores so many rows at a time; they have to begin at multiples of 16 bytes."""
    batch, m, n = c.shape
    element = RESULTS[c.dtype]
    return Described(Operand(_host_address(c), n, False, batch, m, n), (element.row, rows), element)


def describe(maps: Array, described: Sequence[Described]) -> None:
    """Have a kernel write what tells the copy engine the shapes of matrices, and of what it copies at a time."""

    @launch(1, waves=1)
    def _(_: Any) -> None:
        if current().backend == EMULATOR:
            for number, about in enumerate(described):
                _write_words(maps, number, about)
        else:
            _write_maps(maps, described)


def _write_words(maps: Array, number: int, about: Described) -> None:
    """As the emulator has them."""
    given, box, element = about
    kinds = 3 | element.size << 8 | element.code << 16 | SWIZZLE_128 << 24
    row, rows = given.sizes
    pitch = as_index(given.pitch) * element.size
    words = [given.address, kinds, row, rows, given.batch, 0, 0, pitch, pitch * rows, 0, 0, *box, 1, 0, 0]
    with if_(lane() == 0, hasElse=False):
        for place, word in enumerate(words):
            maps[number, place] = as_index(word).astype(i64)


def _write_maps(maps: Array, described: Sequence[Described]) -> None:
    room = shared(len(described) * MAP_BYTES + 1024, ui8)
    lines = [".reg .pred first; .reg .b32 at; setp.eq.u32 first, $1, 0; shl.b32 at, $1, 2; add.u32 at, at, $0;"]
    lines += [f"st.shared.b32 [at+{MAP_BYTES * number}], 0;" for number in range(len(described))]
    lines += ["bar.warp.sync -1;"]
    values: list[Any] = [near_address(room).astype(i32), lane().astype(i32), address_of(maps)]
    kinds = ["r", "r", "l"]
    for number, (given, box, element) in enumerate(described):
        row, rows = given.sizes
        pitch = as_index(given.pitch) * element.size
        first = len(values)
        values += [as_index(given.address).astype(i64)]
        values += [as_index(size).astype(i32) for size in (row, rows, given.batch)]
        values += [as_index(size).astype(i64) for size in (pitch, pitch * rows)]
        kinds += ["l", "r", "r", "r", "l", "l"]
        lines += _description(number * MAP_BYTES, first, (*box, 1), element)
    lines += ["bar.warp.sync -1; .reg .b64 far; .reg .b32 near;"]
    publish = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    for number in range(len(described)):
        lines.append(f"add.u32 near, $0, {MAP_BYTES * number}; add.s64 far, $2, {MAP_BYTES * number};")
        lines.append(f"{publish} [far], [near], {MAP_BYTES};")
    effect(lines, ",".join(kinds), values)


def _description(place: int, first: int, box: Sequence[int], element: Element) -> Iterator[str]:
    """Fields of a map; `first` is the operand with its address, and then come sizes and bytes."""
    fields: list[tuple[str, int, Any]] = [("global_address", 64, f"${first}"), ("rank", 32, len(box) - 1)]
    for dimension, size in enumerate(box):
        fields += [("box_dim", 32, f"{dimension}, {size}"), ("element_stride", 32, f"{dimension}, 1")]
        fields += [("global_dim", 32, f"{dimension}, ${first + 1 + dimension}")]
    fields += [("global_stride", 64, f"{number}, ${first + 4 + number}") for number in range(2)]
    fields += [("elemtype", 32, element.code), ("interleave_layout", 32, 0)]
    fields += [("swizzle_mode", 32, SWIZZLE_128), ("fill_mode", 32, 0)]
    for name, width, value in fields:
        yield f"@first tensormap.replace.tile.{name}.shared::cta.b1024.b{width} [$0+{place}], {value};"
