"""Patterns that cut a matrix into tiles, or into groups of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.iron.helpers.taplib.checks import check_dimensions, clean_transformation
from tilewright.iron.helpers.taplib.tap import TensorAccessPattern
from tilewright.iron.helpers.taplib.tas import TensorAccessSequence

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
            if size % part != 0:
                raise ValueError(f"Tensor dimension {axis} ({size}) is not divisible by tile dim ({part})")
        if not isinstance(pattern_repeat, int) or pattern_repeat < 1:
            raise ValueError(f"Pattern repeat must be >= 1 but is {pattern_repeat}")
        if not allow_partial:
            _check_groups(tensor, tile, repeats, steps)
        axes = [_Axis.of(*numbers) for numbers in zip(tensor, tile, repeats, steps, strict=True)]
        layout = _Layout(tensor[1], tile_col_major, tile_group_col_major, pattern_repeat, prune_step)
        places = _places(axes, iter_col_major)
        sequence = TensorAccessSequence(tensor, num_steps=0)
        sequence.extend(TensorAccessPattern(tensor, *layout.pattern(axes, place)) for place in places)
        return sequence


def _check_groups(tensor: Sequence[int], tile: Sequence[int], repeats: Sequence[int], steps: Sequence[int]) -> None:
    for axis, (size, *group) in enumerate(zip(tensor, tile, repeats, steps, strict=True)):
        if size % prod(group) != 0:
            raise ValueError(
                f"allow_partial=False but tensor does not divide evenly into tile groups in dimension {axis}"
            )


@dataclass(frozen=True)
class _Axis:
    """One dimension of the matrix, in tiles."""

    tiles: int
    tile: int
    """Elements of a tile."""
    repeat: int
    """Tiles of a group."""
    step: int
    """From a tile of a group to the next one."""

    @classmethod
    def of(cls, size: int, tile: int, repeat: int, step: int) -> _Axis:
        """Groups and steps that reach out of the matrix are cut."""
        tiles = size // tile
        return cls(tiles, tile, min(repeat, -(-tiles // step)), 1 if step > tiles else step)

    @property
    def groups(self) -> int:
        """How many groups it takes to have each tile in one: whole blocks of interleaved groups, then what is left."""
        block = self.step * self.repeat  # of so many groups, each beginning a tile further
        left = self.tiles % block
        left_block = left // self.step * self.step
        return self.tiles // block * self.step + (left // left_block * self.step if left_block else left)

    def first_tile(self, group: int) -> int:
        block, place = divmod(group, self.step)
        return block * self.step * self.repeat + place

    def group_at(self, first: int) -> tuple[int, int]:
        """How many tiles the group has that begins here, and how far apart they are."""
        left = self.tiles - first
        return min(self.repeat, -(-left // self.step)), 1 if self.step > left else self.step


def _places(axes: Sequence[_Axis], column_major: bool) -> list[tuple[int, int]]:
    """The first tile (row, column) of each group, in order."""
    rows, columns = axes
    row_starts = [rows.first_tile(group) for group in range(rows.groups)]
    column_starts = [columns.first_tile(group) for group in range(columns.groups)]
    if column_major:
        return [(row, column) for column in column_starts for row in row_starts]
    return [(row, column) for row in row_starts for column in column_starts]


@dataclass(frozen=True)
class _Layout:
    """How a group becomes four sizes and strides."""

    width: int
    """Elements of a row of the matrix."""
    tile_col_major: bool
    group_col_major: bool
    repeat: int
    prune: bool

    def pattern(self, axes: Sequence[_Axis], place: tuple[int, int]) -> tuple[int, Sequence[int], Sequence[int]]:
        """Offset, sizes and strides of the group whose first tile is at a place."""
        rows, columns = axes
        offset = place[0] * rows.tile * self.width + place[1] * columns.tile
        (many_rows, row_step), (many_columns, column_step) = rows.group_at(place[0]), columns.group_at(place[1])
        height, width = rows.tile, columns.tile
        # tiles that follow each other in the order of their elements are one larger tile: a dimension less
        if self.prune and self.group_col_major and not self.tile_col_major and row_step == 1:
            height, many_rows = height * many_rows, 1
        elif self.prune and not self.group_col_major and self.tile_col_major and column_step == 1:
            width, many_columns = width * many_columns, 1
        inner = [(height, self.width), (width, 1)]
        down = (many_rows, self.width * height * row_step)
        outer = self._outer(down, (many_columns, width * column_step))
        sizes, strides = zip(*outer, *(reversed(inner) if self.tile_col_major else inner), strict=True)
        return offset, *self._repeated(*clean_transformation(list(sizes), list(strides)))

    def _outer(self, down: tuple[int, int], across: tuple[int, int]) -> list[tuple[int, int]]:
        """The two outer dimensions; one that is not needed comes first."""
        if down[0] > 1 and across[0] > 1:
            return [across, down] if self.group_col_major else [down, across]
        return [(1, 0), down if down[0] > 1 else across if across[0] > 1 else (1, 0)]

    def _repeated(self, sizes: Sequence[int], strides: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Only the outermost dimension of a descriptor can repeat without moving on."""
        if self.repeat == 1:
            return sizes, strides
        # it is taken by a group that needs four dimensions
        if sizes[0] != 1 or strides[0] != 0:
            raise ValueError(f"Ran out of dimensions for repeat (sizes={sizes}, strides={strides})")
        return [self.repeat, *sizes[1:]], strides
