"""Tiles: small arrays that the lanes of a wave, or of a block, hold together in registers.

A tile is a value, computed element by element; `Buffer` is a place for one that changes. Element `e` of a tile is with
lane `e mod n`, so that neighbouring lanes read neighbouring elements; sums of products are divided in squares
(`tile_products`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.ir import Attribute

from tilewright.air.arrays import Array, Region, product_of, region_of, stored_number
from tilewright.air.block_memory import BlockArray, allocated, refuse_released, room_for, segment_memory
from tilewright.air.dtypes import DType, as_dtype, bf16, element_of, f16, f32, value_type
from tilewright.air.levels import Scope
from tilewright.air.micro_tiles import PackedShape
from tilewright.air.trace import OpenLevel, TileLanes, current, in_herd
from tilewright.air.waves import barrier, shuffle
from tilewright.dialects import scf
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.iron import math
from tilewright.iron.builders.control import for_, if_, make_if, yield_
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant
from tilewright.iron.builders.types import is_float_type, is_integer, is_list, numpy_type
from tilewright.support.tracebacks import user_facing

Shape: TypeAlias = tuple[int, ...]
MOST_SLOTS = 512
"""Elements of a tile that a lane may hold; more do not fit its registers by far."""
MOST_UNROLLED = 64
"""Elements that are moved by as many operations; more in a loop."""


@dataclass(frozen=True)
class TileLayout:
    """Which elements of a tile each lane holds: element `e` is with lane `e mod workers`."""

    shape: Shape
    workers: int

    @property
    def slots(self) -> int:
        """How many elements a lane holds."""
        return -(-prod(self.shape) // self.workers)

    @property
    def is_exact(self) -> bool:
        """Whether all lanes hold as many."""
        return prod(self.shape) % self.workers == 0

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        """Where in the tile the element is that lane `number` holds in this slot."""
        return _split(slot * self.workers, number, self.workers, self.shape)

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        """What is the same for slots of one row, and of one column, of a tile of two dimensions."""
        return slot, "same" if self.workers % self.shape[1] == 0 else slot

    def is_there(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        """Whether the tile has such an element; None if that is certain."""
        if (slot + 1) * self.workers <= prod(self.shape):
            return None
        return number + slot * self.workers < prod(self.shape)


@dataclass(frozen=True)
class SquareLayout(TileLayout):
    """A tile of two dimensions, divided in both among `lanes`: so many rows and columns of them."""

    lanes: tuple[int, int]

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        rows, columns = self.lanes
        row, column = self.line_keys(slot)
        return [number // columns + row * rows, number % columns + column * columns]

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        return divmod(slot, self.shape[1] // self.lanes[1])


@dataclass(frozen=True)
class TurnedLayout(TileLayout):
    """A tile whose dimensions are those of another one in reverse; lanes hold what they held."""

    straight: TileLayout

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        return self.straight.indices(slot, number)[::-1]

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        row, column = self.straight.line_keys(slot)
        return column, row


def _split(first: int, number: ScalarValue, workers: int, shape: Shape) -> list[Any]:
    """The indices of element `first + number`, where `first` is a multiple of the number of lanes."""
    if len(shape) <= 1:
        return [number + first if first else number][: len(shape)]
    width = shape[-1]
    if workers % width == 0:
        return [*_split(first // width, number // width, workers // width, shape[:-1]), number % width]
    if width % workers == 0:
        rest, column = divmod(first, width)
        return [*_indices_of(rest, shape[:-1]), number + column if column else number]
    place = number + first
    return [*_split_value(place // width, shape[:-1]), place % width]


def _split_value(value: ScalarValue, shape: Shape) -> list[Any]:
    return [value] if len(shape) == 1 else [*_split_value(value // shape[-1], shape[:-1]), value % shape[-1]]


def _indices_of(number: int, shape: Shape) -> list[int]:
    return [number] if len(shape) == 1 else [*_indices_of(number // shape[-1], shape[:-1]), number % shape[-1]]


def square_layout(shape: Shape, workers: int) -> TileLayout:
    """A tile of two dimensions, divided so that lanes hold about as many rows as columns."""
    rows, columns = shape
    best: tuple[int, int] | None = None
    for across in range(1, workers + 1):
        down = workers // across
        if workers % across or rows % down or columns % across:
            continue
        if best is None or _unevenness(shape, (down, across)) < _unevenness(shape, best):
            best = down, across
    return TileLayout(shape, workers) if best is None else SquareLayout(shape, workers, best)


def _unevenness(shape: Shape, lanes: tuple[int, int]) -> float:
    """How much a lane reads for what it computes; neighbours in a row are better than in a column."""
    rows, columns = shape[0] // lanes[0], shape[1] // lanes[1]
    return (rows + columns) / (rows * columns) + (0.001 * lanes[0] / lanes[1])


def shape_of(given: Any, what: str = "a tile") -> Shape:
    """The known shape of a tile, or of something else."""
    sizes = tuple(given) if is_list(given) else (given,)
    for size in sizes:
        if not is_integer(size) or size < 1:
            refuse(f"{what} has known sizes of 1 or more, not {size!r}", (None, "give numbers of Python"))
    return tuple(int(size) for size in sizes)


def workers_here() -> TileLanes:
    """The lanes that tiles are divided among."""
    workers = in_herd("a tile").workers
    assert workers is not None, "herds have lanes"
    return workers


def layout_of(shape: Shape, in_squares: bool = False) -> TileLayout:
    """How a tile of this shape is divided among lanes, or a sum of products."""
    count = workers_here().count
    layout = square_layout(shape, count) if in_squares and len(shape) == 2 else TileLayout(shape, count)
    if layout.slots > MOST_SLOTS:
        refuse(
            f"a tile of {' x '.join(map(str, shape))} is {layout.slots} elements for each of {layout.workers} lanes",
            (None, "make it smaller, or give the launch more waves"),
        )
    return layout


def _operator(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def apply(left: Any, right: Any) -> Any:
        return getattr(left, name)(right)

    def apply_reflected(left: Any, right: Any) -> Any:
        return getattr(left, f"__r{name[2:]}")(right)

    def direct(self: Tile, other: Any) -> Tile:
        return combine(apply, self, other)

    def reflected(self: Tile, other: Any) -> Tile:
        return combine(apply_reflected, self, other)

    return direct, reflected


@user_facing
class Tile:
    """A value of several elements, which lanes hold together; operators work element by element.

    `layout` says which lanes hold what, `slots` are the numbers of one lane.
    """

    def __init__(self, layout: TileLayout, slots: Sequence[ScalarValue]):
        self.layout, self.slots = layout, list(slots)

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    @property
    def type(self) -> Attribute:
        return self.slots[0].type

    @property
    def dtype(self) -> DType:
        return as_dtype(numpy_type(self.type))

    @property
    def T(self) -> Tile:
        """The same numbers with dimensions in reverse, as of NumPy's arrays; lanes hold what they held."""
        layout = self.layout
        if len(layout.shape) < 2:
            return self
        straight = layout.straight if isinstance(layout, TurnedLayout) else None
        return Tile(straight or TurnedLayout(layout.shape[::-1], layout.workers, layout), self.slots)

    def astype(self, dtype: Any) -> Tile:
        """The same numbers of another `dtype`."""
        wanted = element_of(dtype)
        return Tile(self.layout, [slot.astype(wanted) for slot in self.slots])

    __add__, __radd__ = _operator("__add__")
    __sub__, __rsub__ = _operator("__sub__")
    __mul__, __rmul__ = _operator("__mul__")
    __truediv__, __rtruediv__ = _operator("__truediv__")
    __floordiv__, __rfloordiv__ = _operator("__floordiv__")
    __mod__, __rmod__ = _operator("__mod__")
    __and__, __rand__ = _operator("__and__")
    __or__, __ror__ = _operator("__or__")
    __xor__, __rxor__ = _operator("__xor__")
    __lshift__, __rshift__ = _operator("__lshift__")[0], _operator("__rshift__")[0]
    __lt__, __le__ = _operator("__lt__")[0], _operator("__le__")[0]
    __gt__, __ge__ = _operator("__gt__")[0], _operator("__ge__")[0]
    __eq__, __ne__ = _operator("__eq__")[0], _operator("__ne__")[0]
    __hash__ = object.__hash__

    def __pow__(self, other: Any) -> Tile:
        return combine(_power, self, other)

    def __neg__(self) -> Tile:
        return combine(operator.neg, self)

    def __abs__(self) -> Tile:
        return combine(abs, self)

    def __invert__(self) -> Tile:
        return combine(operator.invert, self)

    def __bool__(self) -> bool:
        refuse("a tile has no truth value", (None, "choose element by element: `air.where(condition, a, b)`"))

    def __getitem__(self, key: Any) -> Tile:
        keys = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        if any(not isinstance(part, slice) or part != slice(None) for part in keys):
            refuse("lanes hold their own elements of a tile alone", (None, "store it, and load what is wanted"))
        return self

    def __iter__(self) -> Any:
        refuse("elements of a tile are with different lanes", (None, "operators work on all of them at once"))

    def sum(self) -> ScalarValue:
        """The sum of all elements, which all lanes get."""
        return reduced("sum", self)

    def max(self) -> ScalarValue:
        """The largest element."""
        return reduced("max", self)

    def min(self) -> ScalarValue:
        """The smallest element."""
        return reduced("min", self)

    def mean(self) -> ScalarValue:
        """The sum of all elements by their number."""
        return reduced("sum", self) / prod(self.shape)

    def __repr__(self) -> str:
        return f"<Tile {' x '.join(map(str, self.shape))} of {self.type}>"


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent


def as_tile(given: Any) -> Any:
    """A tile as it is, and what a buffer holds."""
    return given[:] if isinstance(given, Buffer) else given


def combine(function: Callable[..., Any], *given: Any) -> Any:
    """A function of numbers on tiles, element by element; numbers go with all elements."""
    operands = [as_tile(value) for value in given]
    tiles = [operand for operand in operands if isinstance(operand, Tile)]
    if not tiles:
        return function(*operands)
    layout = tiles[0].layout
    for tile in tiles[1:]:
        if tile.layout != layout:
            _refuse_layout(tiles[0], tile)
    slots = [
        function(*(operand.slots[slot] if isinstance(operand, Tile) else operand for operand in operands))
        for slot in range(layout.slots)
    ]
    return Tile(layout, slots)


def _refuse_layout(first: Tile, second: Tile) -> None:
    if first.shape != second.shape:
        shapes = " and ".join(" x ".join(map(str, tile.shape)) for tile in (first, second))
        refuse(f"tiles of {shapes} do not go together", (None, "both have one shape, or one of them is a number"))
    refuse(
        "these tiles are divided among lanes in different ways: one is a sum of products, or turned",
        (None, "load one to go with the other: `air.load(part, like=acc)`"),
    )


IDENTITIES: dict[str, tuple[float, str]] = {
    "sum": (0.0, "add"),
    "max": (-float("inf"), "max"),
    "min": (float("inf"), "min"),
}
"""What changes nothing, and the operator, of each reduction."""


def _identity(kind: str, type: Attribute) -> ScalarValue:
    value = IDENTITIES[kind][0]
    if is_float_type(type):
        return constant(value, type)
    if kind == "sum":
        return constant(0, type)
    import numpy as np

    info = np.iinfo(cast(Any, numpy_type(type)))
    return constant(int(info.min if kind == "max" else info.max), type)


def _join(kind: str, left: ScalarValue, right: ScalarValue) -> ScalarValue:
    if kind == "sum":
        return left + right
    return math.maximum(left, right) if kind == "max" else math.minimum(left, right)


def reduced(kind: str, given: Any) -> ScalarValue:
    """All elements of a tile in one number, which all lanes get; short floats are added up in f32."""
    tile: Tile = as_tile(given)
    if not isinstance(tile, Tile):
        refuse(f"expected a tile, not {given!r}")
    short = tile.type in (value_type(f16), value_type(bf16))
    wide = tile.astype(f32) if short else tile
    workers, layout = workers_here(), wide.layout
    slots = wide.slots
    if not layout.is_exact:
        there = layout.is_there(layout.slots - 1, workers.number)
        slots = [*slots[:-1], math.where(there, slots[-1], _identity(kind, wide.type))]
    value = reduce(lambda left, right: _join(kind, left, right), slots)
    offset = current().lanes // 2
    while offset:
        value = _join(kind, value, shuffle(value, offset, "xor"))
        offset //= 2
    if workers.waves > 1:
        value = _across_waves(kind, value, workers)
    return value.astype(tile.type) if short else value


def _across_waves(kind: str, value: ScalarValue, workers: TileLanes) -> ScalarValue:
    """What each wave has come to, through memory of the block."""
    herd = in_herd("a tile")
    assert workers.wave is not None and herd.lane is not None
    places = room_for((workers.waves,), as_dtype(numpy_type(value.type)))
    barrier()
    with if_(herd.lane == 0, hasElse=False):
        places[workers.wave] = value
    barrier()
    return reduce(lambda left, right: _join(kind, left, right), [places[wave] for wave in range(workers.waves)])


def shared(shape: Any, dtype: Any = f32) -> Array:
    """An array of a known `shape` and a `dtype` that the waves of a block share, for as long as the block runs."""
    home = current().inner("segment", "launch")
    if home is None:
        refuse("memory of a block is for blocks", (None, "allocate it in a function under `@air.launch(...)`"))
    return _array_of(home, shape_of(shape), as_dtype(dtype), MemorySpace.L2)


def private(shape: Any, dtype: Any = f32) -> Array:
    """An array of a known `shape` and a `dtype` that each lane has for itself; small ones become registers."""
    return _array_of(in_herd("memory of a lane"), shape_of(shape), as_dtype(dtype), MemorySpace.L1)


def _array_of(home: OpenLevel, shape: Shape, dtype: DType, space: MemorySpace) -> Array:
    return Array(allocated(home, shape, dtype, space), dtype, shape)


@user_facing
class Buffer:
    """A place for a tile: `b[:]` is the tile that it holds, `b[:] = ...` lets it hold another one.

    `layout` says which lanes hold what, and `dtype` of which type elements are; `packed` is its packed shape, if it has
    one.
    """

    def __init__(self, layout: TileLayout, dtype: DType, packed: PackedShape | None = None):
        self.layout, self.dtype, self.packed = layout, dtype, packed
        self.memory = private(layout.slots, dtype)
        # all elements are the same number so far
        self._is_uniform = True
        self.is_released = False

    def divide(self, layout: TileLayout) -> bool:
        """Let lanes hold what a `layout` of as many elements says from here on, if they do, or if it has made no
        difference so far."""
        if self._is_uniform and layout.slots == self.layout.slots:
            self.layout, self._is_uniform = layout, False
        return self.layout == layout

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    def __getitem__(self, key: Any) -> Tile:
        self._check(key)
        self._is_uniform = False
        return Tile(self.layout, [self.memory[slot] for slot in range(self.layout.slots)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        tile = as_tile(value)
        if isinstance(tile, Tile):
            self._is_uniform = False
            if tile.layout != self.layout:
                _refuse_layout(self[:], tile)
        for slot in range(self.layout.slots):
            self.memory[slot] = tile.slots[slot] if isinstance(tile, Tile) else tile

    def _check(self, key: Any) -> None:
        refuse_released(self)
        keys = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        if self.packed is not None and len(keys) == len(self.packed.shape):
            keys = keys[-len(self.shape) :]  # leading ones are not there
        if any(part is not Ellipsis and (not isinstance(part, slice) or part != slice(None)) for part in keys):
            refuse(
                "lanes hold their own elements of a tile alone",
                (None, "read and write all of it, `b[:]`, or use `air.shared(shape)`"),
            )

    def _with(self, other: Any, operator: str) -> Any:
        return getattr(self[:], operator)(other)

    def __iadd__(self, other: Any) -> Buffer:
        self[:] = self[:] + other
        return self

    def __isub__(self, other: Any) -> Buffer:
        self[:] = self[:] - other
        return self

    def __imul__(self, other: Any) -> Buffer:
        self[:] = self[:] * other
        return self

    def __repr__(self) -> str:
        return f"<Buffer {' x '.join(map(str, self.shape))} of {self.dtype}>"


def alloc(shape: Any, dtype: Any = f32, scope: Scope | None = None, vector: int | None = None) -> Any:
    """Memory of a `shape` and a `dtype`: a buffer for a tile, or memory of the block, as the `scope` says.

    `scope` is `herd.private()` or `segment.private()`; memory of a segment that does not fit a block is memory of the
    device. `vector` is a width for NPUs and means nothing here.
    """
    if scope is not None and not isinstance(scope, Scope):
        refuse(f"the memory to allocate in is `herd.private()` or `segment.private()`, not {scope!r}")
    packed = shape if isinstance(shape, PackedShape) else None
    sizes = shape_of(shape if packed is None else packed.shape)
    if scope is not None and scope.kind == "shared":
        return segment_memory(sizes, as_dtype(dtype), packed)
    if packed is not None and set(packed.lead) <= {1}:
        sizes = packed.logical
    return Buffer(layout_of(sizes), as_dtype(dtype), packed)


def dealloc(buffer: Any) -> None:
    """Say that a buffer is not used any more; on GPUs it lives as long as its block or lane."""
    is_array = isinstance(buffer, Array) and memory_space(ssa_of(buffer).type) not in (None, MemorySpace.L3)
    if not is_array and not isinstance(buffer, Buffer | BlockArray):
        refuse(f"expected a buffer that was allocated, not {buffer!r}")
    if isinstance(buffer, Buffer | BlockArray):
        refuse_released(buffer)
        buffer.is_released = True


def full(shape: Any, value: Any, dtype: Any = f32) -> Buffer:
    """A buffer of a `shape` and a `dtype` whose elements are all `value`."""
    made = Buffer(layout_of(shape_of(shape)), as_dtype(dtype))
    made[:] = value
    return made


def zeros(shape: Any, dtype: Any = f32) -> Buffer:
    """A buffer of zeros of a `shape` and a `dtype`, such as for sums of products."""
    made = Buffer(layout_of(shape_of(shape), in_squares=True), as_dtype(dtype))
    made[:] = 0
    return made


def arange(size: int) -> Tile:
    """The numbers from 0 to `size - 1`, as indices."""
    layout, workers = layout_of(shape_of(size)), workers_here()
    return Tile(layout, [layout.indices(slot, workers.number)[0] for slot in range(layout.slots)])


def inside(region: Region, indices: Sequence[Any]) -> ScalarValue | None:
    """Whether an element of a part is in the array; None if that is certain."""
    condition: ScalarValue | None = None
    rest = list(zip(region.offsets, region.sizes, region.array.shape, region.is_point, strict=True))
    keys = region.keys(indices)
    for (offset, length, size, _), key in zip(rest, keys, strict=True):
        if is_integer(offset) and offset == 0 and length is size:
            continue
        if is_integer(offset) and is_integer(length) and is_integer(size) and offset + length <= size:
            continue
        check = as_index(key) < size
        condition = check if condition is None else condition & check
    return condition


def _both(first: ScalarValue | None, second: ScalarValue | None) -> ScalarValue | None:
    return second if first is None else first if second is None else first & second


def guarded_load(array: Array, keys: Sequence[Any], condition: ScalarValue | None, fill: Any) -> ScalarValue:
    """An element where a condition holds, and `fill` elsewhere."""
    if condition is None:
        return array.element(keys)
    choice = make_if(condition, True, [value_type(array.dtype)])
    with InsertionPoint(choice.thenRegion.blocks[0]):
        yield_([array.element(keys)])
    with InsertionPoint(choice.elseRegion.blocks[0]):
        yield_([ScalarValue(stored_number(fill, array.dtype))])
    return ScalarValue(cast(scf.IfOp, choice.op).results[0])


def load(source: Any, fill: Any = 0, like: Any = None) -> Tile:
    """A part of an array, `source`, as a tile; what is outside of the array is `fill`.

    With `like`, a tile or a buffer of the same shape, elements are with the lanes that hold that one's.
    """
    region = region_of(source, "`air.load`")
    shape, workers = region.known_shape(), workers_here()
    layout = layout_of(shape) if like is None else as_tile(like).layout
    if layout.shape != shape:
        refuse(f"a part of {' x '.join(map(str, shape))} is not like {like!r}")
    slots = list[ScalarValue]()
    for slot in range(layout.slots):
        indices = layout.indices(slot, workers.number)
        condition = _both(layout.is_there(slot, workers.number), inside(region, indices))
        slots.append(guarded_load(region.array, region.keys(indices), condition, fill))
    return Tile(layout, slots)


def store_tile(given: Any, target: Any) -> None:
    """Store a tile, or one number everywhere, into a part of an array, as far as it is in the array."""
    region = region_of(target, "`air.store`")
    tile, workers = as_tile(given), workers_here()
    layout = tile.layout if isinstance(tile, Tile) else layout_of(region.known_shape())
    if layout.shape != region.known_shape():
        sizes = (" x ".join(map(str, shape)) for shape in (layout.shape, region.known_shape()))
        refuse("a tile of {} cannot be stored in a part of {}".format(*sizes))
    for slot in range(layout.slots):
        indices = layout.indices(slot, workers.number)
        condition = _both(layout.is_there(slot, workers.number), inside(region, indices))
        value = tile.slots[slot] if isinstance(tile, Tile) else tile
        if condition is None:
            region.array.set_element(region.keys(indices), value)
        else:
            with if_(condition, hasElse=False):
                region.array.set_element(region.keys(indices), value)


def store(source: Any, target: Any) -> None:
    """Store a tile, a buffer or a number, `source`, into a part of an array, `target`, as far as it is in the array."""
    store_tile(source, target)


def cooperative_copy(target: Array, source: Region, fill: Any = 0) -> None:
    """Fill memory of the block with a part of an array: all lanes of the block share the work, and all wait for it."""
    trace = current()
    herd = trace.inner("herd")
    if herd is None:
        from tilewright.air.waves import thread_numbers

        number, count = thread_numbers()
    else:
        workers = herd.workers
        assert workers is not None and workers.wave is not None and herd.lane is not None
        number, count = workers.wave * trace.lanes + herd.lane, workers.block_waves * trace.lanes
    shape = source.known_shape()
    if prod(shape) != product_of(target.shape):
        refuse(f"a part of {' x '.join(map(str, shape))} does not fill {target!r}")
    barrier()
    copy_elements(Region.whole(target), source, number, count, fill)
    barrier()


def copy_elements(target: Region, source: Region, number: ScalarValue, count: Any, fill: Any = 0) -> None:
    """Copy a part of an array to one that has as many elements, of which lane `number` of `count` copies some."""
    shape = source.shape
    total = product_of(shape)
    if is_integer(count) and is_integer(total) and total <= MOST_UNROLLED * count:
        layout = TileLayout(source.known_shape(), count)
        for slot in range(layout.slots):
            indices = layout.indices(slot, number)
            there = layout.is_there(slot, number)
            if there is None:
                _copy_element(target, source, indices, fill)
            else:
                with if_(there, hasElse=False):
                    _copy_element(target, source, indices, fill)
    else:
        for place in for_(number, total, count):
            _copy_element(target, source, _split_value(place, shape), fill)


def _copy_element(target: Region, source: Region, indices: Sequence[Any], fill: Any) -> None:
    value = guarded_load(source.array, source.keys(indices), inside(source, indices), fill)
    # leading dimensions of one element need not be written
    rank = len(target.shape)
    own = [0] * (rank - len(indices)) + list(indices)[-rank:]
    condition = inside(target, own)
    if condition is None:
        target.array.set_element(target.keys(own), value)
    else:
        with if_(condition, hasElse=False):
            target.array.set_element(target.keys(own), value)
