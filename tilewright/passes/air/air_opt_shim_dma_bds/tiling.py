"""Tiles of a band of loops: how large they are, and copies of the band for each, with a wait after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import prod
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import scf
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.levels import LaunchOp, RankOp
from tilewright.dialects.air.types import TOKEN
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.passes.air.shim.folding import Counting, counting_of
from tilewright.passes.air.shim.launches import blocking_wait
from tilewright.passes.air.shim.loops import check_copies, copy_body, light_copy
from tilewright.passes.air.shim.patterns import largest_factor
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import only_block

ATTRIBUTE = "air.shim_dma_tile_sizes"


def shim_loops(function: Operation) -> list[scf.ForOp]:
    """The outermost loops of the host's code."""
    found = (op for op in function.walk() if isinstance(op, scf.ForOp))
    return [loop for loop in found if isinstance(loop.parent_op(), LaunchOp | RankOp | FuncOp)]


def band_of(root: scf.ForOp) -> list[scf.ForOp]:
    """Loops that hold nothing but the next one, outermost first."""
    band = [root]
    while True:
        first = only_block(band[-1].body).first_op
        if not isinstance(first, scf.ForOp) or first.next_op is not only_block(band[-1].body).last_op:
            return band
        band.append(first)


@dataclass(frozen=True)
class _Level:
    """One loop of a band, and how many iterations go into one tile."""

    loop: scf.ForOp
    counting: Counting
    tile: int

    @property
    def starts(self) -> range:
        lower, step, trips = self.counting
        return range(lower, lower + trips * step, step * self.tile)


def tile_band(root: scf.ForOp, sizes: Sequence[int]) -> bool:
    """Copy a band for each of its tiles; a size is cut to a divisor of the trips. False if bounds are not known."""
    levels: list[_Level] = []
    for loop, size in zip(band_of(root), sizes, strict=False):
        counting = counting_of(loop)
        if counting is None:
            return False
        levels.append(_Level(loop, counting, largest_factor(counting.trips, size) or 1))
    # before the first copy: too many would fill the memory
    check_copies(root, prod(level.counting.trips // level.tile for level in levels))
    build = Emitter.before(root)
    tokens: Sequence[SSAValue] = root.iter_args
    for starts in product(*(level.starts for level in levels)):
        tokens = _tile(levels, starts, tokens, build)
    Rewriter.replace_op(root, (), tokens)
    return True


def _tile(
    levels: Sequence[_Level], starts: Sequence[int], tokens: Sequence[SSAValue], build: Emitter
) -> list[SSAValue]:
    """One tile, and the wait for it, which leaves nothing for the next tile to wait for."""
    ends = _copy(levels, starts, {}, tokens, build)
    if not ends:
        return []
    build.insert(blocking_wait(ends))
    return [build.value(WaitAllOp.create(result_types=[TOKEN]))]


def _copy(
    levels: Sequence[_Level],
    starts: Sequence[int],
    outer: dict[SSAValue, SSAValue],
    tokens: Sequence[SSAValue],
    build: Emitter,
) -> list[SSAValue]:
    """The loops of a band over one tile; a loop that would run once is left out."""
    level = levels[0]
    body = only_block(level.loop.body)
    counting, start = level.counting, starts[0]

    def number(value: int) -> SSAValue:
        return build.constant(value, level.loop.lb.type)

    # a loop that would run once
    if level.tile == 1:
        return _copy_inner(levels, starts, body, [number(start), *tokens], outer, build)
    block = Block(arg_types=[argument.type for argument in body.args])
    inside = Emitter.at_end(block, level.loop.location)
    inside.insert(scf.YieldOp(*_copy_inner(levels, starts, body, block.args, outer, inside)))
    bounds = number(start), number(start + level.tile * counting.step), number(counting.step)
    loop = scf.ForOp(*bounds, list(tokens), Region(block))
    loop.attributes.update(level.loop.attributes)
    return list(build.insert(loop).results)


def _copy_inner(
    levels: Sequence[_Level],
    starts: Sequence[int],
    body: Block,
    arguments: Sequence[SSAValue],
    outer: dict[SSAValue, SSAValue],
    build: Emitter,
) -> list[SSAValue]:
    known = outer | dict(zip(body.args, arguments, strict=True))
    # light: the program of a herd is compiled from the original, and copies would only be long
    if len(levels) == 1:
        return copy_body(body, arguments, build, known, light_copy)
    inner = levels[1].loop
    return _copy(levels[1:], starts[1:], known, [known.get(value, value) for value in inner.iter_args], build)


class EmptyTile(StrEnum):
    """What to do with a band for which no sizes are given, and whether what tokens demand is waited for."""

    UPSTREAM = "upstream"
    """Leave it whole, and wait as upstream does: at the ends of launches and tiles, and not for what blocks."""
    SKIP = "skip"
    """Leave it whole."""
    ONE = "one"
    """Take every iteration for a tile."""
    AUTO = "auto"
    """Choose by cost."""


def check_option(function: Operation, sizes: Sequence[int]) -> None:
    if 0 in sizes and len(sizes) > 1:
        fail(
            function,
            "shim-dma-tile-sizes=0 is only valid as a single-value sentinel; got a list containing 0",
            (None, "write shim-dma-tile-sizes=0 to tile nothing, or give a size of at least 1 for each loop"),
        )


def sizes_for(root: scf.ForOp, option: Sequence[int], empty: EmptyTile) -> Sequence[int] | None:
    """The size of a tile at each level of a band, None to leave it whole."""
    # the option of the pass comes before what a launch says
    if option:
        return None if option[0] == 0 else option
    launch = parent_of_type(root, LaunchOp)
    given = None if launch is None else launch.attributes.get(ATTRIBUTE)
    if launch is not None and given is not None:
        return _sizes_of_launch(launch, cast("DenseArrayBase[IntegerType]", given).get_values(), root)
    return [1] * len(band_of(root)) if empty is EmptyTile.ONE else None


def is_given(launch: LaunchOp) -> bool:
    """Whether a launch says itself how large its tiles are."""
    return ATTRIBUTE in launch.attributes


def _sizes_of_launch(launch: LaunchOp, sizes: Sequence[int], root: scf.ForOp) -> Sequence[int] | None:
    if not sizes:
        fail_op(launch, f"{ATTRIBUTE} must not be empty", (launch, "give one size for all loops, or one for each"))
    if list(sizes) == [0]:
        return None
    if any(size <= 0 for size in sizes):
        fail_op(launch, f"{ATTRIBUTE} values must be > 0 (use single-value [0] for the skip-tile sentinel)")
    return list(sizes) * len(band_of(root)) if len(sizes) == 1 else sizes
