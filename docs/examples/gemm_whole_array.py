"""C = A B on four columns of an NPU, for any M, K and N."""

from tilewright.designs import WholeArrayGemm

program = WholeArrayGemm("npu1", columns=4, operand="i16").program()
