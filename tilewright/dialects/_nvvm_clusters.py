"""nvvm: blocks of a cluster, which see each other's memory and wait for each other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, result_def

from tilewright.dialects._nvvm_copies import CLUSTER_POINTER, SHARED_POINTER
from tilewright.dialects._ods import op_definition, register_read


@op_definition
class MapaOp(IRDLOperation):
    """The address that a place in memory of the block has in block `b` of the cluster."""

    name = "nvvm.mapa"

    a = operand_def(SHARED_POINTER)
    b = operand_def(i32)
    res = result_def(CLUSTER_POINTER)
    assembly_format = "$a `,` $b attr-dict `:` type($a) `->` type($res)"


@op_definition
class ClusterArriveOp(IRDLOperation):
    """Come to the barrier of the cluster."""

    name = "nvvm.cluster.arrive"

    aligned = opt_prop_def(UnitAttr)
    assembly_format = "attr-dict"


@op_definition
class ClusterWaitOp(IRDLOperation):
    """Wait until all threads of the cluster have come to its barrier, and see what they have stored."""

    name = "nvvm.cluster.wait"

    aligned = opt_prop_def(UnitAttr)
    assembly_format = "attr-dict"


ClusterRankOp: type[IRDLOperation] = register_read("nvvm.read.ptx.sreg.cluster.ctarank")
"""Which block of its cluster this is."""
CLUSTERS: Sequence[type[IRDLOperation]] = [MapaOp, ClusterArriveOp, ClusterWaitOp, ClusterRankOp]
