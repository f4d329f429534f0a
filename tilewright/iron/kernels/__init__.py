"""Kernels that a program only has to ask for: the simulator has them, and the vendor's compiler has their sources.

Each function here gives one for the sizes and types that it is told; `tilewright kernels` lists what they call.
"""

# a module for each of upstream's; programs take all from here
from tilewright.iron.kernels.activation import (
    bf16_exp,
    bf16_exp_ref,
    gelu,
    gelu_ref,
    relu_ref,
    silu,
    silu_ref,
    softmax,
    softmax_ref,
    swiglu,
)
from tilewright.iron.kernels.conv import (
    bn_conv2dk1_i8,
    bn_conv2dk1_relu,
    bn_conv2dk1_skip,
    bn_conv2dk3,
    bn_conv2dk3_dw,
    conv2dk1,
    conv2dk1_i8,
    conv2dk1_skip,
    conv2dk1_skip_init,
    conv2dk3,
    conv2dk14,
)
from tilewright.iron.kernels.eltwise import add, mul, passthrough, relu, scale
from tilewright.iron.kernels.linalg import cascade_mm, mm, mv
from tilewright.iron.kernels.reduce import compute_max, reduce_add, reduce_max, reduce_min
from tilewright.iron.kernels.vision import (
    add_weighted,
    bitwise_and,
    bitwise_or,
    filter2d,
    gray2rgba,
    rgba2gray,
    rgba2hue,
    threshold,
)

__all__ = [
    "add",
    "add_weighted",
    "bf16_exp",
    "bf16_exp_ref",
    "bitwise_and",
    "bitwise_or",
    "bn_conv2dk1_i8",
    "bn_conv2dk1_relu",
    "bn_conv2dk1_skip",
    "bn_conv2dk3",
    "bn_conv2dk3_dw",
    "cascade_mm",
    "compute_max",
    "conv2dk1",
    "conv2dk1_i8",
    "conv2dk1_skip",
    "conv2dk1_skip_init",
    "conv2dk3",
    "conv2dk14",
    "filter2d",
    "gelu",
    "gelu_ref",
    "gray2rgba",
    "mm",
    "mul",
    "mv",
    "passthrough",
    "reduce_add",
    "reduce_max",
    "reduce_min",
    "relu",
    "relu_ref",
    "rgba2gray",
    "rgba2hue",
    "scale",
    "silu",
    "silu_ref",
    "softmax",
    "softmax_ref",
    "swiglu",
    "threshold",
]
