"""The scf dialect, with the syntax and the checks of upstream MLIR."""

from __future__ import annotations

from xdsl.dialects.scf import Scf

from tilewright.dialects._derived import derived_dialect
from tilewright.dialects.scf.branches import (
    ExecuteRegionOp,
    IfOp,
    IndexSwitchOp,
)
from tilewright.dialects.scf.loops import (
    ConditionOp,
    ForOp,
    WhileOp,
    YieldOp,
)
from tilewright.dialects.scf.parallel import (
    ForallOp,
    InParallelOp,
    ParallelOp,
    ReduceOp,
    ReduceReturnOp,
)

# xDSL's dialect with its operations replaced, and `scf.forall`, which it does not have.
SCF = derived_dialect(
    Scf,
    [
        ConditionOp,
        ExecuteRegionOp,
        ForOp,
        ForallOp,
        IfOp,
        InParallelOp,
        IndexSwitchOp,
        ParallelOp,
        ReduceOp,
        ReduceReturnOp,
        WhileOp,
        YieldOp,
    ],
)

__all__ = [
    "SCF",
    "ConditionOp",
    "ExecuteRegionOp",
    "ForOp",
    "ForallOp",
    "IfOp",
    "InParallelOp",
    "IndexSwitchOp",
    "ParallelOp",
    "ReduceOp",
    "ReduceReturnOp",
    "Scf",
    "WhileOp",
    "YieldOp",
]
