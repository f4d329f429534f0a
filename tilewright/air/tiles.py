"""Tiles: small arrays that the lanes of a wave, or of a block, hold together in registers.

A tile is a value, computed element by element; `Buffer` is a place for one that changes. Element `e` of a tile is with
lane `e mod n`, so that neighbouring lanes read neighbouring elements; sums of products are divided in squares
(`tile_products`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn, TypeAlias, cast

from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from tilewright.air.arrays import Array, Unloaded
from tilewright.air.block_memory import BlockArray, allocated, refuse_released, room_for, segment_memory
from tilewright.air.dtypes import DType, as_dtype, bf16, element_of, f16, f32, i32, ui32, value_type
from tilewright.air.levels import Scope
from tilewright.air.micro_tiles import PackedShape
from tilewright.air.tile_layouts import Shape, TileLayout, TurnedLayout, square_layout
from tilewright.air.trace import OpenLevel, TileLanes, current, in_herd
from tilewright.air.waves import barrier, shuffle
from tilewright.dialects import memref as ops
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.iron import math
from tilewright.iron.builders.arithmetic import constant_of, is_unsigned
from tilewright.iron.builders.control import if_
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant
from tilewright.iron.builders.types import is_float_type, is_integer, is_integer_type, is_list, numpy_type
from tilewright.support.tracebacks import user_facing

Formula: TypeAlias = Callable[[Sequence[Any]], ScalarValue]
SHORT_FLOATS = value_type(f16), value_type(bf16)
LONG_BITS = 32
MOST_SLOTS = 512
"""Elements of a tile that a lane may hold; more do not fit its registers by far."""


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
    apply = getattr(operator, name)

    def apply_reflected(left: Any, right: Any) -> Any:
        return getattr(left, f"__r{name[2:]}")(right)

    def direct(self: Tile, other: Any) -> Tile:
        return combine(apply, self, other)

    def reflected(self: Tile, other: Any) -> Tile:
        return combine(apply_reflected, self, other)

    return direct, reflected


class Elementwise:
    """Operators and reductions of tiles, and of the tiles that buffers hold."""

    __add__, __radd__ = _operator("__add__")
    __sub__, __rsub__ = _operator("__sub__")
    __mul__, __rmul__ = _operator("__mul__")
    __truediv__, __rtruediv__ = _operator("__truediv__")
    __floordiv__, __rfloordiv__ = _operator("__floordiv__")
    __mod__, __rmod__ = _operator("__mod__")
    __and__, __rand__ = _operator("__and__")
    __or__, __ror__ = _operator("__or__")
    __xor__, __rxor__ = _operator("__xor__")
    __lshift__, __rlshift__ = _operator("__lshift__")
    __rshift__, __rrshift__ = _operator("__rshift__")
    __lt__, __le__ = _operator("__lt__")[0], _operator("__le__")[0]
    __gt__, __ge__ = _operator("__gt__")[0], _operator("__ge__")[0]
    __eq__, __ne__ = _operator("__eq__")[0], _operator("__ne__")[0]
    __hash__ = object.__hash__

    def __pow__(self, other: Any) -> Tile:
        return combine(_power, self, other)

    def __rpow__(self, other: Any) -> Tile:
        return combine(_power, other, self)

    def __neg__(self) -> Tile:
        return combine(operator.neg, self)

    def __abs__(self) -> Tile:
        return combine(abs, self)

    def __invert__(self) -> Tile:
        return combine(operator.invert, self)

    def __bool__(self) -> bool:
        refuse(
            "a tile has no truth value",
            (None, "choose element by element: `air.where(condition, a, b)`, `air.maximum(a, b)`"),
        )

    def __iter__(self) -> Any:
        refuse("elements of a tile are with different lanes", (None, "operators work on all of them at once"))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Tile:
        """NumPy's functions, `np.exp(x)` or `np.maximum(x, 0)`, element by element."""
        function = math.numpy_function(ufunc.__name__) if method == "__call__" and not options else None
        if function is None:
            refuse(f"a program has no `{ufunc.__name__}` of NumPy", (None, "`tilewright.air.ops` has what there is"))
        return combine(function, *inputs)

    def astype(self, dtype: Any) -> Tile:
        """The same numbers of another `dtype`."""
        wanted = element_of(dtype)
        return combine(_conversion(wanted), self)

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The sum of all elements, which all lanes get; along an `axis`, a tile of the sums of lines.

        With `keepdims` the tile has one element along that axis. f16 and bf16 are added up as f32, i8 and i16 as i32.
        """
        return reduced("sum", self, axis, keepdims)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The largest element, or along an `axis` a tile of the largest ones of lines, as `sum` has it."""
        return reduced("max", self, axis, keepdims)

    def min(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The smallest element, or along an `axis` a tile of the smallest ones of lines, as `sum` has it."""
        return reduced("min", self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The index of the first of the largest elements, of all of them in one row or along an `axis`, as i32."""
        from tilewright.air.tile_scans import place_of_extreme  # it imports this module

        return place_of_extreme("max", self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The index of the first of the smallest elements, of all of them in one row or along an `axis`, as i32."""
        from tilewright.air.tile_scans import place_of_extreme  # it imports this module

        return place_of_extreme("min", self, axis, keepdims)

    def mean(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The sum of elements by their number, of all or along an `axis`, as `sum` has it; of whole numbers as f32."""
        tile: Tile = as_tile(self)
        is_short = tile.type in SHORT_FLOATS
        # the sum of many short ones may not be one
        wide = tile.astype(f32) if is_short or not is_float_type(tile.type) else tile
        mean = reduced("sum", wide, axis, keepdims) / (prod(tile.shape) if axis is None else tile.shape[axis])
        return mean.astype(tile.type) if is_short else mean


@user_facing
class Tile(Elementwise):
    """A value of several elements, which lanes hold together; operators work element by element.

    `layout` says which lanes hold what, `slots` are the numbers of one lane. A `formula` computes any element from its
    indices, where that takes no other lanes.
    """

    def __init__(self, layout: TileLayout, slots: Sequence[ScalarValue], formula: Formula | None = None):
        self.layout, self.slots, self.formula = layout, list(slots), formula

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
        layout, given = self.layout, self.formula
        if len(layout.shape) < 2:
            return self
        straight = layout.straight if isinstance(layout, TurnedLayout) else None
        formula = None if given is None else _turned(given)
        return Tile(straight or TurnedLayout(layout.shape[::-1], layout.workers, layout), self.slots, formula)

    def __getitem__(self, key: Any) -> Tile:
        keys = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
        if any(part is not None and part is not Ellipsis and not _is_all(part) for part in keys):
            refuse("lanes hold their own elements of a tile alone", (None, "store it, and load what is wanted"))
        dots = [place for place, part in enumerate(keys) if part is Ellipsis]
        given = sum(_is_all(part) for part in keys)
        if len(dots) > 1 or given > len(self.shape):
            refuse(f"a tile of {_sizes(self)} has no more dimensions", (None, "None among the indices makes new ones"))
        place = dots[0] if dots else len(keys)
        keys[place : place + 1] = [slice(None)] * (len(self.shape) - given)
        if None not in keys:
            return self
        from tilewright.air.tile_axes import expanded  # it imports this module

        return expanded(self, keys)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        refuse("a tile does not change", (None, "`air.alloc(shape)` is a place for one: `b[:] = tile`"))

    def __repr__(self) -> str:
        return f"<Tile {' x '.join(map(str, self.shape))} of {self.type}>"


def _is_all(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)


def _conversion(type: Attribute) -> Callable[[Any], Any]:
    def convert(number: Any) -> Any:
        return number.astype(type)

    return convert


def _turned(formula: Formula) -> Formula:
    return lambda indices: formula(indices[::-1])


def _quotient(left: Any, right: Any) -> Any:
    return left / right


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent


def as_tile(given: Any) -> Any:
    """A tile as it is, and what a buffer holds."""
    return given[:] if isinstance(given, Buffer) else given


def combine(function: Callable[..., Any], *given: Any) -> Any:
    """A function of numbers on tiles, element by element; numbers go with all elements."""
    for value in given:
        if isinstance(value, Unloaded):
            value.refuse_use()
    layouts = [value.layout for value in given if isinstance(value, Tile | Buffer)]
    if not layouts:
        return function(*given)
    if any(layout != layouts[0] for layout in layouts):
        from tilewright.air.tile_axes import together  # it imports this module

        given = tuple(together(given))
    operands = [as_tile(value) for value in given]
    tiles = [operand for operand in operands if isinstance(operand, Tile)]
    layout = tiles[0].layout
    slots = [
        function(*(operand.slots[slot] if isinstance(operand, Tile) else operand for operand in operands))
        for slot in range(layout.slots)
    ]
    if any(tile.formula is None for tile in tiles):
        return Tile(layout, slots)
    return Tile(layout, slots, lambda indices: function(*(_by_formula(operand, indices) for operand in operands)))


def _by_formula(operand: Any, indices: Sequence[Any]) -> Any:
    if not isinstance(operand, Tile):
        return operand
    assert operand.formula is not None
    return operand.formula(indices)


def _sizes(tile: Tile | Buffer | TileLayout) -> str:
    return " x ".join(map(str, tile.shape))


def refuse_shapes(tiles: Sequence[Tile | Buffer | TileLayout]) -> NoReturn:
    refuse(
        f"tiles of {' and '.join(map(_sizes, tiles))} do not go together",
        (None, "in each dimension sizes are equal, or 1: `x[:, None]` has one column"),
    )


def refuse_layout() -> NoReturn:
    refuse(
        "these tiles are divided among lanes in different ways: one is a sum of products, or turned",
        (None, "load one to go with the other: `air.load(part, like=acc)`"),
        (None, "a buffer goes with what it meets first: `acc[:] = air.fma(acc, scale, air.dot(x, y))`"),
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


def join(kind: str, left: ScalarValue, right: ScalarValue) -> ScalarValue:
    """Two elements of a reduction in one."""
    if kind == "sum":
        return left + right
    return math.maximum(left, right) if kind == "max" else math.minimum(left, right)


def widened(kind: str, tile: Tile) -> Tile:
    """What is reduced in place of a tile: short floats as f32, and short whole numbers that are added up as i32."""
    if tile.type in SHORT_FLOATS:
        return tile.astype(f32)
    type = tile.type
    if is_integer_type(type) and (type.width.data == 1 or (kind == "sum" and type.width.data < LONG_BITS)):
        return tile.astype(ui32 if is_unsigned(type) else i32)
    return tile


def reduced(kind: str, given: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """All elements of a tile in one number, which all lanes get, or each line along an axis; see `widened`."""
    if kind not in IDENTITIES:
        refuse(f"there is no reduction {kind!r}", (None, f"there are {', '.join(IDENTITIES)}"))
    tile: Tile = as_tile(given)
    if not isinstance(tile, Tile):
        refuse(f"expected a tile, not {given!r}", (None, "load it first: `air.load(a[i : i + 64])`"))
    if axis is not None:
        from tilewright.air.tile_axes import reduced_along  # it imports this module

        return reduced_along(kind, tile, axis, keepdims)
    if keepdims:
        refuse("`keepdims` is for reductions along an axis", (None, "of a whole tile one number is left"))
    wide = widened(kind, tile)
    workers, layout = workers_here(), wide.layout
    own = [layout.is_own(slot, workers.number) for slot in range(layout.slots)]
    slots = [
        number if condition is None else math.where(condition, number, _identity(kind, wide.type))
        for number, condition in zip(wide.slots, own, strict=True)
    ]
    value = functools.reduce(lambda left, right: join(kind, left, right), slots)
    offset = current().lanes // 2
    while offset:
        value = join(kind, value, shuffle(value, offset, "xor"))
        offset //= 2
    if workers.waves > 1:
        value = _across_waves(kind, value, workers)
    return value.astype(tile.type) if tile.type in SHORT_FLOATS else value


def _across_waves(kind: str, value: ScalarValue, workers: TileLanes) -> ScalarValue:
    """What each wave has come to, through memory of the block."""
    herd = in_herd("a tile")
    assert workers.wave is not None and herd.lane is not None
    places = room_for((workers.waves,), as_dtype(numpy_type(value.type)))
    barrier()
    with if_(herd.lane == 0, hasElse=False):
        places[workers.wave] = value
    barrier()
    waves = [places[wave] for wave in range(workers.waves)]
    return functools.reduce(lambda left, right: join(kind, left, right), waves)


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
class Buffer(Elementwise):
    """A place for a tile: `b[:]` is the tile that it holds, `b[:] = ...` lets it hold another one.

    `layout` says which lanes hold what, and `dtype` of which type elements are; `packed` is its packed shape, if it has
    one.
    """

    def __init__(self, layout: TileLayout, dtype: DType, packed: PackedShape | None = None):
        self.layout, self.dtype, self.packed = layout, dtype, packed
        self.memory = private(layout.slots, dtype)
        self.is_released = False
        self.is_uniform = True
        """Whether nothing but numbers has been stored so far, and nothing read."""

    def divide(self, layout: TileLayout) -> bool:
        """Let lanes hold what a `layout` says from here on, if they do, or if it has made no difference so far."""
        if self.is_uniform and layout.shape == self.shape:
            if layout.slots != self.layout.slots:
                self._resize(layout.slots)
            self.layout, self.is_uniform = layout, False
        return self.layout == layout

    def _resize(self, slots: int) -> None:
        """Have so many slots, all filled wherever those that were there so far were."""
        old, self.memory = self.memory.ssa, private(slots, self.dtype)
        for store in [cast(ops.StoreOp, use.operation) for use in old.uses]:
            if constant_of(store.indices[0]) == 0:
                with InsertionPoint(store):
                    for slot in range(slots):
                        place = [as_index(slot)]
                        build(ops.StoreOp, value=store.value, memref=self.memory, indices=place, loc=store.location)
            Rewriter.erase_op(store)
        Rewriter.erase_op(cast(Operation, old.owner))

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    @property
    def T(self) -> Tile:
        """The tile that it holds with dimensions in reverse."""
        return self[:].T

    def __getitem__(self, key: Any) -> Tile:
        if isinstance(key, tuple) and any(part is None for part in cast("tuple[Any, ...]", key)):
            return self[:][key]
        self._check(key)
        self.is_uniform = False
        return Tile(self.layout, [self.memory[slot] for slot in range(self.layout.slots)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        tile = as_tile(value)
        if isinstance(tile, Tile) and (tile.shape != self.shape or not self.divide(tile.layout)):
            tile = self._spread(tile)
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

    def _spread(self, tile: Tile) -> Tile:
        """A tile divided as this buffer is, and repeated to be as large."""
        from tilewright.air.tile_axes import fitted  # it imports this module

        return fitted(tile, self.layout)

    def __iadd__(self, other: Any) -> Buffer:
        self[:] = combine(operator.add, self, other)
        return self

    def __isub__(self, other: Any) -> Buffer:
        self[:] = combine(operator.sub, self, other)
        return self

    def __imul__(self, other: Any) -> Buffer:
        self[:] = combine(operator.mul, self, other)
        return self

    def __itruediv__(self, other: Any) -> Buffer:
        self[:] = combine(_quotient, self, other)
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
    slots = [layout.indices(slot, workers.number)[0] for slot in range(layout.slots)]
    return Tile(layout, slots, lambda indices: as_index(indices[0]))
