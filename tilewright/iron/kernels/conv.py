"""Convolutions of eight-bit pictures, line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.iron.builders.location import refuse
from tilewright.iron.kernels.library import LibraryFunction, array, i32s, library_function, source_of


def conv2dk1(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, act_dtype: Any = np.int8
) -> LibraryFunction:
    """`conv2dk1_*(input, kernels, output, width, input channels, output channels, scale)`: 1 x 1."""
    name, flags = _named("conv2dk1", act_dtype)
    types = _pointwise(input_width, input_channels, output_channels, act_dtype, np.uint8)
    return library_function(name, source_of("conv2dk1.cc", "aie2"), [*types, *i32s(4)], flags)


def conv2dk1_i8(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk1_i8(...)` as `conv2dk1`, with an output of int8."""
    types = _pointwise(input_width, input_channels, output_channels, np.int8, np.int8)
    return library_function("conv2dk1_i8", source_of("conv2dk1_i8.cc"), [*types, *i32s(4)], ["-DINT8_ACT"])


def conv2dk3(
    input_width: int = 32,
    input_channels: int = 64,
    output_channels: int = 64,
    act_dtype: Any = np.int8,
    weight_output_channels: int | None = None,
) -> LibraryFunction:
    """`conv2dk3_*(line0, line1, line2, wts, output, ...)`: 3 x 3.

    The weights may be of more channels than one call computes; its last argument says where those begin.
    """
    name, flags = _named("conv2dk3", act_dtype)
    line = array(input_width * input_channels, act_dtype)
    weights = 9 * input_channels * (weight_output_channels or output_channels)
    types = [line, line, line, array(weights, np.int8), array(input_width * output_channels, np.uint8)]
    return library_function(name, source_of("conv2dk3.cc", "aie2"), [*types, *i32s(8)], flags)


def conv2dk1_skip(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, act_dtype: Any = np.int8
) -> LibraryFunction:
    """`conv2dk1_skip_*(input0, input1, kernels, output, skip, ...)`: 1 x 1 of both halves, and skip."""
    name, flags = _named("conv2dk1_skip", act_dtype)
    skip = array(input_width * output_channels, act_dtype)
    types = [*_halves(input_width, input_channels, output_channels, input_channels * output_channels), skip]
    return library_function(name, source_of("conv2dk1_skip.cc", "aie2"), [*types, *i32s(5)], flags)


def conv2dk1_skip_init(
    input_width: int = 32,
    input_channels: int = 64,
    output_channels: int = 64,
    act_dtype: Any = np.int8,
    skip_input_channels: int | None = None,
) -> LibraryFunction:
    """`conv2dk1_skip_init_i8(...)`: as `conv2dk1_skip`, with a convolution of what is added."""
    name, flags = _named("conv2dk1_skip_init", act_dtype)
    skip_channels = skip_input_channels or input_channels
    weights = (input_channels + skip_channels) * output_channels  # both convolutions have theirs in one array
    skip = array(input_width * skip_channels, act_dtype)
    types = [*_halves(input_width, input_channels, output_channels, weights), skip]
    return library_function(name, source_of("conv2dk1_skip_init.cc", "aie2"), [*types, *i32s(7)], flags)


def conv2dk14(
    input_width: int = 224, input_channels: int = 16, output_channels: int = 16, kernel_width: int = 14
) -> LibraryFunction:
    """`conv2dk14_i8(input, kernels, output, ...)`: whole patches of 4-channel pixels."""
    patches, pixels = input_width // kernel_width, kernel_width**2  # of 4 channels each
    types = [
        array(patches * pixels * 4, np.uint8),
        array(output_channels * pixels * 4, np.int8),
        array(output_channels * patches * 8, np.int8),
    ]
    return library_function("conv2dk14_i8", source_of("conv2dk14.cc", "aie2p"), [*types, *i32s(5)])


_BLOCKS = (13, 14)  # the sources have functions for these blocks of MobileNet


def bn_conv2dk1_relu(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk1_relu_i8_ui8(input, kernels, output, ...)`: 1 x 1, and nothing below zero."""
    types = [*_pointwise(input_width, input_channels, output_channels, np.int8, np.uint8), *i32s(4)]
    return _bottleneck("conv2dk1_relu_i8_ui8", "conv2dk1_relu", types, "REGULAR", "INT8_ACT")


def bn_conv2dk1_i8(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk1_ui8_i8(input, kernels, output, ...)`: 1 x 1."""
    types = [*_pointwise(input_width, input_channels, output_channels, np.uint8, np.int8), *i32s(4)]
    return _bottleneck("conv2dk1_ui8_i8", "conv2dk1_i8", types, "REGULAR", "SCALAR")


def bn_conv2dk1_skip(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, skip_dtype: Any = np.uint8
) -> LibraryFunction:
    """`conv2dk1_skip_ui8_*_i8(input0, kernels, output, skip, ...)`: 1 x 1, and skip."""
    names = {np.uint8: "conv2dk1_skip_ui8_ui8_i8", np.int8: "conv2dk1_skip_ui8_i8_i8"}
    if skip_dtype not in names:
        refuse(f"bn_conv2dk1_skip(): skip_dtype must be np.uint8 or np.int8, got {skip_dtype}")
    types = _pointwise(input_width, input_channels, output_channels, np.uint8, np.int8)
    types += [array(input_width * output_channels, skip_dtype), *i32s(5)]
    signs = ["UNSIGNED_SKIP"] if skip_dtype == np.uint8 else []
    return _bottleneck(names[skip_dtype], "conv2dk1_skip", types, "REGULAR", "SCALAR", *signs)


def bn_conv2dk3(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk3_stride2_i8(line0, line1, line2, wts, output, ...)`: 3 x 3, at every other place."""
    line = array(input_width * input_channels, np.int8)
    weights = array(9 * input_channels * output_channels, np.int8)
    types = [line, line, line, weights, array(input_width // 2 * output_channels, np.uint8), *i32s(8)]
    return _bottleneck("conv2dk3_stride2_i8", "conv2dk3", types)


def bn_conv2dk3_dw(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, stride: int = 1
) -> LibraryFunction:
    """`conv2dk3_dw_stride*_relu_ui8_ui8(line0, line1, line2, wts, output, ...)`: 3 x 3 of each channel."""
    if stride not in (1, 2):
        refuse(f"bn_conv2dk3_dw(): stride must be 1 or 2, got {stride}")
    output = array(input_width // stride * output_channels, np.uint8)
    types = [*_depthwise(input_width, input_channels), output, *i32s(8)]
    name = f"conv2dk3_dw_stride{stride}_relu_ui8_ui8"
    return _bottleneck(name, "conv2dk3_dw", types, "REGULAR", "SCALAR", f"STRIDE{stride}")


def bn_conv2dk3_dw_out_split(
    input_width: int = 7, input_channels: int = 480, output_split_channels: int = 240, *, block_index: int = 13
) -> LibraryFunction:
    """`bn*_conv2dk3_ui8_out_split(line0, line1, line2, wts, output1, output2, ...)`: 3 x 3 of each channel, half of
    them in each output."""
    _check_block("bn_conv2dk3_dw_out_split", block_index)
    half = array(input_width * output_split_channels, np.uint8)
    types = [*_depthwise(input_width, input_channels), half, half, *i32s(8)]
    name = f"bn{block_index}_conv2dk3_ui8_out_split"
    return _bottleneck(name, "conv2dk3_dw", types, "SCALAR", f"BN{block_index}", "STRIDE1_OUT_SPLIT")


def bn_conv2dk1_relu_xy_pool_padded(
    input_width: int = 7, input_channels: int = 80, output_channels: int = 1280, weight_chunk_count: int | None = None
) -> LibraryFunction:
    """`conv2dk1_xy_pool_fused_relu_large_padded_i8_ui8(input, kernels, output, ...)`: 1 x 1, then the mean of places.

    The weights may come in pieces of `weight_chunk_count`.
    """
    weights = weight_chunk_count or input_channels * output_channels
    types = [array(input_width * input_channels, np.int8), array(weights, np.int8), array(output_channels, np.uint16)]
    name = "conv2dk1_xy_pool_fused_relu_large_padded_i8_ui8"
    macros = "SCALAR", "CONV_XYPOOL_FUSED_LARGE_PADDED", "INT8_ACT"
    return _bottleneck(name, "conv2dk1_relu", [*types, *i32s(8)], *macros)


def bn_conv2dk1_partial_put_i8(
    input_width: int = 7, input_channels: int = 80, weight_count: int = 4800, *, block_index: int = 13
) -> LibraryFunction:
    """`bn*_1_conv2dk1_i8_ui8_partial_width_put_new(input, kernels, ...)`: 1 x 1 of half the channels, put."""
    _check_block("bn_conv2dk1_partial_put_i8", block_index)
    types = [array(input_width * input_channels, np.int8), array(weight_count, np.int8), *i32s(7)]
    name = f"bn{block_index}_1_conv2dk1_i8_ui8_partial_width_put_new"
    return _bottleneck(name, "conv2dk1_i8", types, f"BN{block_index}_1_PARTIAL_PUT_I8_CAS_WIDTH_NEW")


def bn_conv2dk1_partial_get_relu_i8(
    input_width: int = 7,
    input_channels: int = 80,
    output_channels: int = 480,
    weight_count: int = 4800,
    *,
    block_index: int = 13,
) -> LibraryFunction:
    """`bn*_1_conv2dk1_i8_ui8_partial_width_get_new(input, kernels, output, ...)`: 1 x 1 of the other half of the
    channels, and what the cascade has of the first; nothing below zero."""
    _check_block("bn_conv2dk1_partial_get_relu_i8", block_index)
    types = [array(input_width * input_channels, np.int8), array(weight_count, np.int8)]
    types += [array(input_width * output_channels, np.uint8), *i32s(9)]
    name = f"bn{block_index}_1_conv2dk1_i8_ui8_partial_width_get_new"
    return _bottleneck(name, "conv2dk1_relu", types, f"BN{block_index}_1_PARTIAL_GET_I8_CAS_WIDTH_NEW")


def bn_conv2dk1_input_split_partial_put_ui8(
    input_width: int = 7, input_channels: int = 240, weight_count: int = 9600, *, block_index: int = 13
) -> LibraryFunction:
    """`bn*_1_conv2dk1_ui8_ui8_input_split_partial_width_put_new(input, kernels, ...)`: 1 x 1 of channels that are half
    of the input, to the cascade."""
    _check_block("bn_conv2dk1_input_split_partial_put_ui8", block_index)
    types = [array(input_width * input_channels, np.uint8), array(weight_count, np.int8), *i32s(7)]
    name = f"bn{block_index}_1_conv2dk1_ui8_ui8_input_split_partial_width_put_new"
    macro = f"BN{block_index}_1_INPUT_SPLIT_PARTIAL_PUT_UI8_UI8_CAS_WIDTH_NEW"
    return _bottleneck(name, "conv2dk1_i8", types, macro)


def bn_conv2dk1_input_split_partial_skip_get(
    input_width: int = 7,
    input_channels: int = 240,
    output_channels: int = 80,
    weight_count: int = 9600,
    *,
    block_index: int = 13,
) -> LibraryFunction:
    """`bn_*_2_conv2dk1_ui8_i8_i8_scalar_input_split_partial_width_get_new(input, kernels, output, skip, ...)`: 1 x 1 of
    the other half, what the cascade has of the first, and skip."""
    _check_block("bn_conv2dk1_input_split_partial_skip_get", block_index)
    line = array(input_width * output_channels, np.int8)
    types = [array(input_width * input_channels, np.uint8), array(weight_count, np.int8), line, line, *i32s(10)]
    name = f"bn_{block_index}_2_conv2dk1_ui8_i8_i8_scalar_input_split_partial_width_get_new"
    macro = f"BN{block_index}_1_INPUT_SPLIT_PARTIAL_GET_UI8_I8_I8_CAS_WIDTH_NEW"
    return _bottleneck(name, "conv2dk1_skip", types, macro)


def bn_fc_relu_ui16_pad(
    input_channels: int = 1280, output_channels: int = 16, weight_chunk_count: int | None = None
) -> LibraryFunction:
    """`post_L2_conv2dk1_relu_i16_ui16_pad(input, kernels, output, ...)`: all inputs to each output, nothing below zero.

    The weights may come in pieces of `weight_chunk_count`.
    """
    weights = weight_chunk_count or input_channels * output_channels
    types = [array(input_channels, np.uint16), array(weights, np.int8), array(output_channels, np.uint16), *i32s(5)]
    macros = "SCALAR", "POSTL2_PAD", "UINT16_ACT"
    return _bottleneck("post_L2_conv2dk1_relu_i16_ui16_pad", "conv2dk1_relu", types, *macros)


def _bottleneck(name: str, file: str, types: list[Any], *macros: str) -> LibraryFunction:
    return library_function(name, source_of(f"bottleneck/bn_{file}.cc", "aie2"), types, [f"-D{m}" for m in macros])


def _check_block(factory: str, block_index: int) -> None:
    if block_index not in _BLOCKS:
        known = " or ".join(map(str, _BLOCKS))
        refuse(f"{factory}(): block_index must be {known}, which the C++ source has functions for, got {block_index}")


def _depthwise(width: int, channels: int) -> list[Any]:
    """Three lines and the weights of each channel."""
    line = array(width * channels, np.uint8)
    return [line, line, line, array(9 * channels, np.int8)]


def _pointwise(width: int, inputs: int, outputs: int, source: Any, target: Any) -> list[Any]:
    """Input, weights and output of a line of a 1 x 1 convolution."""
    return [array(width * inputs, source), array(inputs * outputs, np.int8), array(width * outputs, target)]


def _named(base: str, act_dtype: Any) -> tuple[str, list[str]]:
    if act_dtype == np.int8:
        return f"{base}_i8", ["-DINT8_ACT"]
    if act_dtype == np.uint8:
        return f"{base}_ui8", []
    refuse(f"{base}(): act_dtype must be np.int8 or np.uint8, got {act_dtype}")


def _halves(width: int, inputs: int, outputs: int, weights: int) -> list[Any]:
    half = array(width * (inputs // 2), np.uint8)  # two cores each computed half of the channels
    return [half, half, array(weights, np.int8), array(width * outputs, np.uint8)]
