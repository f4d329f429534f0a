"""The design whose instruction streams main.cpp makes: a product of matrices of i16 on four columns."""

from tilewright.designs import WholeArrayGemm

program = WholeArrayGemm("npu2", columns=4, operand="i16").program()
