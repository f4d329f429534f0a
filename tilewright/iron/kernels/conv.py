"""Convolutions of eight-bit pictures, line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.iron.builders.location import refuse
from tilewright.iron.kernels.library import LibraryFunction, array, i32s, source_of


def conv2dk1(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, act_dtype: Any = np.int8
) -> LibraryFunction:
    """`conv2dk1_*(input, kernels, output, width, input channels, output channels, scale)`: 1 x 1."""
    name, flags = _named("conv2dk1", act_dtype)
    types = _pointwise(input_width, input_channels, output_channels, act_dtype, np.uint8)
    return LibraryFunction(name, source_of("conv2dk1.cc", "aie2"), [*types, *i32s(4)], flags)


def conv2dk1_i8(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk1_i8(...)` as `conv2dk1`, with an output of int8."""
    types = _pointwise(input_width, input_channels, output_channels, np.int8, np.int8)
    return LibraryFunction("conv2dk1_i8", source_of("conv2dk1_i8.cc"), [*types, *i32s(4)], ["-DINT8_ACT"])


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
    return LibraryFunction(name, source_of("conv2dk3.cc", "aie2"), [*types, *i32s(8)], flags)


def conv2dk1_skip(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, act_dtype: Any = np.int8
) -> LibraryFunction:
    """`conv2dk1_skip_*(input0, input1, kernels, output, skip, ...)`: 1 x 1 of both halves, and skip."""
    name, flags = _named("conv2dk1_skip", act_dtype)
    skip = array(input_width * output_channels, act_dtype)
    types = [*_halves(input_width, input_channels, output_channels, input_channels * output_channels), skip]
    return LibraryFunction(name, source_of("conv2dk1_skip.cc", "aie2"), [*types, *i32s(5)], flags)


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
    return LibraryFunction(name, source_of("conv2dk1_skip_init.cc", "aie2"), [*types, *i32s(7)], flags)


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
    return LibraryFunction("conv2dk14_i8", source_of("conv2dk14.cc", "aie2p"), [*types, *i32s(5)])


def bn_conv2dk1_relu(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk1_relu_i8_ui8(input, kernels, output, ...)`: 1 x 1, and nothing below zero."""
    return _bottleneck("conv2dk1_relu_i8_ui8", np.int8, np.uint8, input_width, input_channels, output_channels)


def bn_conv2dk1_i8(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk1_ui8_i8(input, kernels, output, ...)`: 1 x 1."""
    return _bottleneck("conv2dk1_ui8_i8", np.uint8, np.int8, input_width, input_channels, output_channels)


def bn_conv2dk1_skip(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, skip_dtype: Any = np.uint8
) -> LibraryFunction:
    """`conv2dk1_skip_ui8_*_i8(input0, kernels, output, skip, ...)`: 1 x 1, and skip."""
    names = {np.uint8: "conv2dk1_skip_ui8_ui8_i8", np.int8: "conv2dk1_skip_ui8_i8_i8"}
    if skip_dtype not in names:
        refuse(f"bn_conv2dk1_skip(): skip_dtype must be np.uint8 or np.int8, got {skip_dtype}")
    types = _pointwise(input_width, input_channels, output_channels, np.uint8, np.int8)
    types += [array(input_width * output_channels, skip_dtype), *i32s(5)]
    return LibraryFunction(names[skip_dtype], source_of("bottleneck/bn_conv2dk1_skip.cc", "aie2"), types)


def bn_conv2dk3(input_width: int = 32, input_channels: int = 64, output_channels: int = 64) -> LibraryFunction:
    """`conv2dk3_stride2_i8(line0, line1, line2, wts, output, ...)`: 3 x 3, at every other place."""
    line = array(input_width * input_channels, np.int8)
    weights = array(9 * input_channels * output_channels, np.int8)
    types = [line, line, line, weights, array(input_width // 2 * output_channels, np.uint8)]
    return LibraryFunction("conv2dk3_stride2_i8", source_of("bottleneck/bn_conv2dk3.cc", "aie2"), [*types, *i32s(8)])


def bn_conv2dk3_dw(
    input_width: int = 32, input_channels: int = 64, output_channels: int = 64, stride: int = 1
) -> LibraryFunction:
    """`conv2dk3_dw_stride*_relu_ui8_ui8(line0, line1, line2, wts, output, ...)`: 3 x 3 of each channel."""
    if stride not in (1, 2):
        refuse(f"bn_conv2dk3_dw(): stride must be 1 or 2, got {stride}")
    line = array(input_width * input_channels, np.uint8)
    output = array(input_width // stride * output_channels, np.uint8)
    types = [line, line, line, array(9 * input_channels, np.int8), output]
    source = source_of("bottleneck/bn_conv2dk3_dw.cc", "aie2")
    return LibraryFunction(f"conv2dk3_dw_stride{stride}_relu_ui8_ui8", source, [*types, *i32s(8)])


def _bottleneck(name: str, source: Any, target: Any, width: int, inputs: int, outputs: int) -> LibraryFunction:
    types = [*_pointwise(width, inputs, outputs, source, target), *i32s(4)]
    return LibraryFunction(name, source_of(f"bottleneck/bn_{name}.cc", "aie2"), types)


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
