"""Ids of a thread: its place in the grid, the block and the wave, and how large these are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.gpu.attributes import Dimension, DimensionAttr
from tilewright.ir.constraints import described

BOUND = described(IntegerAttr.constr(IndexType()), "index attribute")


class IdOp(IRDLOperation):
    """An id or a size; `upper_bound` is known to be above it."""

    assembly_format = "(`upper_bound` $upper_bound^)? attr-dict"


class DimensionOp(IdOp):
    """An id or a size in one dimension."""

    # Two spaces, as MLIR prints it.
    assembly_format = "` ` $dimension (`upper_bound` $upper_bound^)? attr-dict"

    def __init__(self, dimension: Dimension):
        super().__init__(result_types=[INDEX], properties={"dimension": DimensionAttr(dimension)})


class WaveOp(IdOp):
    """An id or a size of waves, written with its type."""

    assembly_format = "(`upper_bound` $upper_bound^)? attr-dict `:` type($result)"


def _define(mnemonic: str, docstring: str, parent: type[IdOp] = DimensionOp) -> Any:
    """One of the operations here; they differ in nothing but their names."""
    fields: dict[str, Any] = {"dimension": prop_def(DimensionAttr)} if parent is DimensionOp else {}
    fields |= {
        "name": f"gpu.{mnemonic}",
        "upper_bound": opt_prop_def(BOUND),
        "result": result_def(INDEX),
        "traits": traits_def(Pure()),
        "__doc__": docstring,
        "__module__": __name__,
    }
    # `BlockIdOp` of `block_id`: the names by which MLIR knows them.
    class_name = "".join(part.capitalize() for part in mnemonic.split("_")) + "Op"
    return op_definition(cast(type[IdOp], type(class_name, (parent,), fields)))


ThreadIdOp: type[DimensionOp] = _define("thread_id", "Where in its block a thread is.")
BlockIdOp: type[DimensionOp] = _define("block_id", "Where in the grid a block is.")
BlockDimOp: type[DimensionOp] = _define("block_dim", "How many threads a block has.")
GridDimOp: type[DimensionOp] = _define("grid_dim", "How many blocks the grid has.")
GlobalIdOp: type[DimensionOp] = _define("global_id", "Where in the whole grid a thread is.")
ClusterIdOp: type[DimensionOp] = _define("cluster_id", "Where in the grid a cluster of blocks is.")
ClusterDimOp: type[DimensionOp] = _define("cluster_dim", "How many clusters the grid has.")
ClusterBlockIdOp: type[DimensionOp] = _define("cluster_block_id", "Where in its cluster a block is.")
ClusterDimBlocksOp: type[DimensionOp] = _define("cluster_dim_blocks", "How many blocks a cluster has.")
LaneIdOp: type[IdOp] = _define("lane_id", "Where in its wave a thread is.", IdOp)
SubgroupIdOp: type[IdOp] = _define("subgroup_id", "Which wave of its block a thread is in.", WaveOp)
NumSubgroupsOp: type[IdOp] = _define("num_subgroups", "How many waves a block has.", WaveOp)
SubgroupSizeOp: type[IdOp] = _define("subgroup_size", "How many lanes a wave has.", WaveOp)

OPS: Sequence[type[IRDLOperation]] = [
    ThreadIdOp,
    BlockIdOp,
    BlockDimOp,
    GridDimOp,
    GlobalIdOp,
    ClusterIdOp,
    ClusterDimOp,
    ClusterBlockIdOp,
    ClusterDimBlocksOp,
    LaneIdOp,
    SubgroupIdOp,
    NumSubgroupsOp,
    SubgroupSizeOp,
]
