"""The design that main.cpp runs: a product of matrices of i16 on one core, of any size that is whole tiles."""

from tilewright.designs import SingleCoreGemm

program = SingleCoreGemm("npu2_1col", "i16").program()
