"""Shapes of tiles that matrix instructions of AIE cores want: in memory a tile of theirs is micro tiles, one by one.

Instructions of GPUs want no such order: memory of a packed shape has its logical shape here, behind leading dimensions.
The shape says what a tile is for, and in which order a stream goes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from tilewright.air.arrays import Region, Size
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import is_integer, is_list
from tilewright.support.tracebacks import user_facing

AXES = {"A": ("m", "k"), "B": ("k", "n"), "C": ("m", "n")}
"""Rows and columns of a factor, of the other one, and of their product."""


class PackedShape(tuple[int, ...]):
    """The sizes of packed memory on NPUs, a tuple, and what they are made of.

    `role` is "A", "B" or "C", `micro` the micro tile, `logical` rows and columns, `lead` the dimensions before them.
    """

    role: str
    micro: MicroTile
    logical: tuple[int, int]
    lead: tuple[int, ...]

    @classmethod
    def of(cls, role: str, micro: MicroTile, logical: tuple[int, int], lead: tuple[int, ...]) -> Self:
        rows, columns = micro.sizes(role)
        groups = logical[0] // rows, logical[1] // columns
        made = cls((*lead, groups[1], groups[0], rows, columns))
        made.role, made.micro, made.logical, made.lead = role, micro, logical, lead
        return made

    def __reduce__(self) -> Any:
        return PackedShape.of, (self.role, self.micro, self.logical, self.lead)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the memory here."""
        return *self.lead, *self.logical

    def walk(self, region: Region) -> Walk:
        """A part of an array, a `region`, in the order in which packed memory of this shape has it."""
        parts = region.array, region.offsets, region.sizes, region.is_point
        return Walk(*parts, self._extents(region), self.micro.sizes(self.role))

    def _extents(self, region: Region) -> tuple[int, int]:
        *lead, rows, columns = (1, 1, *region.known_shape())
        if len(region.shape) < 2 or any(size != 1 for size in lead):
            refuse(
                f"a part of {_sizes(region.shape)} has no rows and columns of {self.role} alone",
                (None, "give an index to all other dimensions, such as `a[i, 0:32, k : k + 16]`"),
            )
        for axis, size, unit in zip(AXES[self.role], (rows, columns), self.micro.sizes(self.role), strict=True):
            _check_multiple(self.role, axis, size, unit)
        return rows, columns

    def __repr__(self) -> str:
        return f"<PackedShape {tuple(self)}: {self.role} of {_sizes(self.logical)} in {self.micro!r}>"


@dataclass(frozen=True)
class Walk(Region):
    """Rows and columns of a part of an array, micro tile below micro tile: columns of them, rows, and what they are of.

    `extents` are its rows and columns, and `units` those of a micro tile.
    """

    extents: tuple[int, int]
    units: tuple[int, int]

    @property
    def shape(self) -> tuple[Size, ...]:
        (rows, columns), (down, across) = self.extents, self.units
        return columns // across, rows // down, down, across

    def keys(self, indices: Sequence[Size]) -> list[Size]:
        right, below, row, column = indices
        place = below * self.units[0] + row, right * self.units[1] + column
        lead = sum(not is_point for is_point in self.is_point) - 2
        return super().keys([*(0 for _ in range(lead)), *place])


@user_facing
@dataclass(frozen=True)
class MicroTile:
    """What a matrix instruction of an AIE core multiplies: `m` rows and `k` columns by `k` rows and `n` columns."""

    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        for name in ("m", "k", "n"):
            size: Any = getattr(self, name)
            if not is_integer(size) or size < 1:
                refuse(f"{name} of a micro tile is a number above 0, not {size!r}", (None, "such as `m=4`"))

    def a(self, M: int, K: int, lead: Sequence[int] = (1, 1)) -> PackedShape:
        """The shape of a left factor of `M` rows and `K` columns, behind dimensions `lead`."""
        return self._packed("A", (M, K), lead)

    def b(self, K: int, N: int, lead: Sequence[int] = (1, 1)) -> PackedShape:
        """The shape of a right factor of `K` rows and `N` columns, behind dimensions `lead`."""
        return self._packed("B", (K, N), lead)

    def c(self, M: int, N: int, lead: Sequence[int] = (1, 1)) -> PackedShape:
        """The shape of sums, `M` rows and `N` columns; `lead` is the grid of the herd that shares them."""
        return self._packed("C", (M, N), lead)

    def sizes(self, role: str) -> tuple[int, int]:
        """Rows and columns of a micro tile of a `role`: "A", "B" or "C"."""
        rows, columns = AXES[role]
        return getattr(self, rows), getattr(self, columns)

    def _packed(self, role: str, extents: tuple[int, int], lead: Sequence[int]) -> PackedShape:
        for axis, size, unit in zip(AXES[role], extents, self.sizes(role), strict=True):
            _check_multiple(role, axis, size, unit)
        given: Any = lead
        if not is_list(given) or not all(is_integer(size) and size >= 1 for size in given):
            refuse(f"leading dimensions are a list of numbers above 0, not {lead!r}", (None, "such as `lead=(4, 4)`"))
        return PackedShape.of(role, self, (int(extents[0]), int(extents[1])), tuple(int(size) for size in lead))


def micro_tile(m: int, k: int, n: int) -> MicroTile:
    """What a matrix instruction of an AIE core multiplies: `m` by `k` and `k` by `n`; on GPUs it says shapes alone."""
    return MicroTile(m, k, n)


def _check_multiple(role: str, axis: str, size: Any, unit: int) -> None:
    if not is_integer(size) or size < 1 or size % unit:
        refuse(
            f"{axis.upper()} of {role} is {size!r}, which is no multiple of {axis}={unit} of its micro tile",
            (None, f"make it a multiple of {unit}, or the micro tile smaller"),
        )


def check_product(a: Any, b: Any, acc: Any) -> None:
    """Refuse factors and sums of packed shapes that do not belong together; without sums (None) factors alone."""
    named = {"a": a, "b": b, "acc": acc}
    packed: dict[str, PackedShape | None] = {name: getattr(each, "packed", None) for name, each in named.items()}
    shapes = [shape for shape in packed.values() if shape is not None]
    if not shapes:
        return
    for (name, shape), role in zip(packed.items(), AXES, strict=True):
        if shape is None and named[name] is None:
            continue
        if shape is None:
            example = f"`air.alloc(mm.{role.lower()}(...), ...)`, where `mm` is an `air.micro_tile`"
            refuse(f"{name} is not packed, and others of the product are", (None, f"allocate it by {example}"))
        if shape.role != role:
            refuse(f"{name} is allocated as {shape.role}, and is {role} of the product")
    if len({shape.micro for shape in shapes}) > 1:
        made = ", ".join(f"{name} {shape.micro!r}" for name, shape in packed.items() if shape is not None)
        refuse(f"one product has one micro tile, not those of {made}", (None, "make all shapes of one `micro_tile`"))


def _sizes(shape: Sequence[Any]) -> str:
    return " x ".join(map(str, shape)) or "one element"
