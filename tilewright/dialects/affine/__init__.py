"""The affine dialect, with the syntax and the checks of upstream MLIR."""

from __future__ import annotations

from xdsl.dialects.affine import Affine

from tilewright.dialects._derived import derived_dialect
from tilewright.dialects.affine.access import (
    DmaStartOp,
    DmaWaitOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    VectorLoadOp,
    VectorStoreOp,
)
from tilewright.dialects.affine.loops import (
    ForOp,
    IfOp,
    ParallelOp,
    YieldOp,
)
from tilewright.dialects.affine.maps import (
    ApplyOp,
    DelinearizeIndexOp,
    LinearizeIndexOp,
    MaxOp,
    MinOp,
)

# xDSL's dialect with its operations replaced, and those that it does not have.
AFFINE = derived_dialect(
    Affine,
    [
        ApplyOp,
        DelinearizeIndexOp,
        DmaStartOp,
        DmaWaitOp,
        ForOp,
        IfOp,
        LinearizeIndexOp,
        LoadOp,
        MaxOp,
        MinOp,
        ParallelOp,
        PrefetchOp,
        StoreOp,
        VectorLoadOp,
        VectorStoreOp,
        YieldOp,
    ],
)

__all__ = [
    "AFFINE",
    "Affine",
    "ApplyOp",
    "DelinearizeIndexOp",
    "DmaStartOp",
    "DmaWaitOp",
    "ForOp",
    "IfOp",
    "LinearizeIndexOp",
    "LoadOp",
    "MaxOp",
    "MinOp",
    "ParallelOp",
    "PrefetchOp",
    "StoreOp",
    "VectorLoadOp",
    "VectorStoreOp",
    "YieldOp",
]
