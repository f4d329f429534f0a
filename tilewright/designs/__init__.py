"""Designs to run, to read and to start from: products of matrices of any size from one build.

`WholeArrayGemm` uses up to all columns of a device. The same on one core comes in three styles: `SingleCoreGemm` with
workers that find their own places, `SingleCoreGemmTasks` and `SingleCoreGemmPlaced` placed by hand. `Gemm` compiles one
of them and multiplies.
"""

from __future__ import annotations

from tilewright.designs.any_size import Gemm as Gemm
from tilewright.designs.any_size import Product as Product
from tilewright.designs.gemm_types import TileShape as TileShape
from tilewright.designs.single_core_gemm import SingleCoreGemm as SingleCoreGemm
from tilewright.designs.single_core_gemm_placed import SingleCoreGemmPlaced as SingleCoreGemmPlaced
from tilewright.designs.single_core_gemm_tasks import SingleCoreGemmTasks as SingleCoreGemmTasks
from tilewright.designs.whole_array_gemm import WholeArrayGemm as WholeArrayGemm
