"""Patterns that cut a matrix into tiles, or into groups of tiles.

In a runtime sequence, sizes may be numbers of the sequence. How many patterns there are is one then, too, and each of
them is computed when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from tilewright.iron.helpers.taplib.checks import (
    Number,
    check_dimensions,
    clean_transformation,
    is_known,
    is_multiple,
    is_one,
    one_if_larger,
    smaller,
)
from tilewright.iron.helpers.taplib.tap import TensorAccessPattern
from tilewright.iron.helpers.taplib.tas import RuntimeAccessSequence, TensorAccessSequence

_DIMENSIONS = 2


class TensorTiler2D:
    """Makes sequences that visit a matrix tile by tile; there are no objects of it."""

    def __init__(self) -> None:
        raise Exception(
            f"{self.__class__} cannot be instantiated. Use it as a factory/generator of TensorAccessSequences."
        )

    @classmethod
    def simple_tiler(
        cls,
        tensor_dims: Sequence[int],
        tile_dims: Sequence[int] | None = None,
        tile_col_major: bool = False,
        iter_col_major: bool = False,
        pattern_repeat: int = 1,
        prune_step: bool = True,
    ) -> TensorAccessSequence:
        """A pattern for each tile; the whole matrix is one tile if no size is given."""
        return cls.group_tiler(
            tensor_dims,
            tensor_dims if tile_dims is None else tile_dims,
            tile_col_major=tile_col_major,
            iter_col_major=iter_col_major,
            pattern_repeat=pattern_repeat,
            prune_step=prune_step,
        )

    @classmethod
    def group_tiler(
        cls,
        tensor_dims: Sequence[int],
        tile_dims: Sequence[int],
        tile_group_dims: Sequence[int] | None = None,
        tile_col_major: bool = False,
        tile_group_col_major: bool = False,
        iter_col_major: bool = False,
        pattern_repeat: int = 1,
        allow_partial: bool = False,
        prune_step: bool = True,
    ) -> TensorAccessSequence:
        """A pattern for each group of neighbouring tiles; groups are counted in tiles."""
        return cls.step_tiler(
            tensor_dims,
            tile_dims,
            (1,) * _DIMENSIONS if tile_group_dims is None else tile_group_dims,
            tile_col_major=tile_col_major,
            tile_group_col_major=tile_group_col_major,
            iter_col_major=iter_col_major,
            allow_partial=allow_partial,
            pattern_repeat=pattern_repeat,
            prune_step=prune_step,
        )

    @classmethod
    def step_tiler(
        cls,
        tensor_dims: Sequence[int],
        tile_dims: Sequence[int],
        tile_group_repeats: Sequence[int],
        tile_group_steps: Sequence[int] | None = None,
        tile_col_major: bool = False,
        tile_group_col_major: bool = False,
        iter_col_major: bool = False,
        allow_partial: bool = False,
        pattern_repeat: int = 1,
        prune_step: bool = True,
    ) -> TensorAccessSequence:
        """A pattern for each group of tiles that are `tile_group_steps` tiles apart.

        `allow_partial` lets groups at the edges be smaller; `pattern_repeat` visits each pattern several times.
        """
        tensor = check_dimensions(tensor_dims, _DIMENSIONS)
        tile = check_dimensions(tile_dims, _DIMENSIONS)
        repeats = check_dimensions(tile_group_repeats, _DIMENSIONS)
        steps = check_dimensions(tile_group_steps or (1,) * _DIMENSIONS, _DIMENSIONS)
        for axis, (size, part) in enumerate(zip(tensor, tile, strict=True)):
            if not is_multiple(size, part, f"dimension {axis} of the tensor modulo that of a tile"):
                raise ValueError(f"Tensor dimension {axis} ({size}) is not divisible by tile dim ({part})")
        if not isinstance(pattern_repeat, int) or pattern_repeat < 1:
            raise ValueError(f"Pattern repeat must be >= 1 but is {pattern_repeat}")
        if not allow_partial:
            _check_groups(tensor, tile, repeats, steps)
        axes = [_Axis.of(*numbers, allow_partial) for numbers in zip(tensor, tile, repeats, steps, strict=True)]
        layout = _Layout(tile_col_major, tile_group_col_major, pattern_repeat, prune_step)
        tiling = _Tiling(tensor, axes, iter_col_major, layout)
        if not all(map(is_known, (*tensor, *tile, *repeats, *steps))):
            # those who give Python's numbers need not tell the two apart
            return cast(TensorAccessSequence, RuntimeAccessSequence(tensor, tiling.count, tiling.pattern))
        sequence = TensorAccessSequence(tensor, num_steps=0)
        sequence.extend(tiling.pattern(number) for number in range(tiling.count))
        return sequence


def _check_groups(
    tensor: Sequence[Number], tile: Sequence[Number], repeats: Sequence[Number], steps: Sequence[Number]
) -> None:
    for axis, (size, *group) in enumerate(zip(tensor, tile, repeats, steps, strict=True)):
        if not is_multiple(size, prod(group), f"dimension {axis} of the tensor modulo that of a group of tiles"):
            raise ValueError(
                f"allow_partial=False but tensor does not divide evenly into tile groups in dimension {axis}"
            )


def _cut(repeat: Number, tiles: Number, step: Number) -> Number:
    """How many tiles a group has, of which there are some left and one at least."""
    return 1 if is_one(repeat) else smaller(repeat, -(-tiles // step))


@dataclass(frozen=True)
class _Axis:
    """One dimension of the matrix, in tiles."""

    tiles: Number
    tile: Number
    """Elements of a tile."""
    repeat: Number
    """Tiles of a group."""
    step: Number
    """From a tile of a group to the next one."""
    has_partial: bool
    """Whether the last groups may have fewer tiles."""

    @classmethod
    def of(cls, size: Number, tile: Number, repeat: Number, step: Number, allow_partial: bool) -> _Axis:
        """Groups and steps that reach out of the matrix are cut."""
        tiles = size // tile
        if not allow_partial:
            return cls(tiles, tile, repeat, step, False)  # then none does
        return cls(tiles, tile, _cut(repeat, tiles, step), one_if_larger(step, tiles), True)

    @property
    def groups(self) -> Number:
        """How many groups it takes to have each tile in one: whole blocks of interleaved groups, then what is left."""
        block = self.step * self.repeat  # of so many groups, each beginning a tile further
        whole = self.tiles // block * self.step
        return whole + smaller(self.step, self.tiles % block) if self.has_partial else whole

    def first_tile(self, group: Number) -> Number:
        if is_one(self.step):
            return group * self.repeat
        block, place = divmod(group, self.step)
        return block * self.step * self.repeat + place

    def group_at(self, first: Number) -> tuple[Number, Number]:
        """How many tiles the group has that begins here, and how far apart they are."""
        if not self.has_partial:
            return self.repeat, self.step
        left = self.tiles - first
        return _cut(self.repeat, left, self.step), one_if_larger(self.step, left)


@dataclass(frozen=True)
class _Tiling:
    """The patterns of a matrix, by number."""

    tensor: Sequence[Number]
    axes: Sequence[_Axis]
    column_major: bool
    layout: _Layout

    @property
    def count(self) -> Number:
        rows, columns = self.axes
        return rows.groups * columns.groups

    def pattern(self, number: Number) -> TensorAccessPattern:
        rows, columns = self.axes
        inner = (rows if self.column_major else columns).groups
        outer_group, inner_group = (number, 0) if is_one(inner) else divmod(number, inner)
        row, column = (inner_group, outer_group) if self.column_major else (outer_group, inner_group)
        place = rows.first_tile(row), columns.first_tile(column)
        return TensorAccessPattern(self.tensor, *self.layout.pattern(self.tensor[1], self.axes, place))


@dataclass(frozen=True)
class _Layout:
    """How a group becomes four sizes and strides."""

    tile_col_major: bool
    group_col_major: bool
    repeat: int
    prune: bool

    def pattern(
        self, row_length: Number, axes: Sequence[_Axis], place: tuple[Number, Number]
    ) -> tuple[Number, Sequence[Number], Sequence[Number]]:
        """Offset, sizes and strides of the group whose first tile is at a place."""
        rows, columns = axes
        offset = place[0] * rows.tile * row_length + place[1] * columns.tile
        (many_rows, row_step), (many_columns, column_step) = rows.group_at(place[0]), columns.group_at(place[1])
        height, width = rows.tile, columns.tile
        # tiles that follow each other in the order of their elements are one larger tile: a dimension less
        if self.prune and self.group_col_major and not self.tile_col_major and is_one(row_step):
            height, many_rows = height * many_rows, 1
        elif self.prune and not self.group_col_major and self.tile_col_major and is_one(column_step):
            width, many_columns = width * many_columns, 1
        inner = [(height, row_length), (width, 1)]
        down = (many_rows, row_length * height * row_step)
        outer = self._outer(down, (many_columns, width * column_step))
        sizes, strides = zip(*outer, *(reversed(inner) if self.tile_col_major else inner), strict=True)
        return offset, *self._repeated(*clean_transformation(list(sizes), list(strides)))

    def _outer(self, down: tuple[Number, Number], across: tuple[Number, Number]) -> list[tuple[Number, Number]]:
        """The two outer dimensions; one that is not needed comes first."""
        needed = [dimension for dimension in (down, across) if not is_one(dimension[0])]
        ordered = needed[::-1] if self.group_col_major else needed
        return [(1, 0)] * (_DIMENSIONS - len(ordered)) + ordered

    def _repeated(
        self, sizes: Sequence[Number], strides: Sequence[Number]
    ) -> tuple[Sequence[Number], Sequence[Number]]:
        """Only the outermost dimension of a descriptor can repeat without moving on."""
        if self.repeat == 1:
            return sizes, strides
        # it is taken by a group that needs four dimensions
        if not is_one(sizes[0]) or not (is_known(strides[0]) and strides[0] == 0):
            raise ValueError(f"Ran out of dimensions for repeat (sizes={sizes}, strides={strides})")
        return [self.repeat, *sizes[1:]], strides
