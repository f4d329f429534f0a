"""C = A B on one core, for any M, K and N."""

from tilewright.designs import SingleCoreGemm

program = SingleCoreGemm("npu2_1col", "i16").program()
