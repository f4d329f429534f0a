"""How large the tiles of a band of loops are: as the option says, as the launch says, or as is left to us."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation

from tilewright.dialects import scf
from tilewright.dialects.air.levels import LaunchOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import band_of

ATTRIBUTE = "air.shim_dma_tile_sizes"


class EmptyTile(StrEnum):
    """What to do with a band for which no sizes are given."""

    SKIP = "skip"
    """Leave it whole, as upstream does."""
    ONE = "one"
    """Take every iteration for a tile, as upstream did for a while."""
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
    if option:
        return None if option[0] == 0 else option
    launch = launch_around(root)
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


def launch_around(op: Operation) -> LaunchOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, LaunchOp):
        parent = parent.parent_op()
    return parent
