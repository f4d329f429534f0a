"""Convolutions of eight-bit pictures, line by line.

A line stands as (channels / 8, width, 8); weights as (output channels / 8, input channels / 8, kernel height, kernel
width, 8 inputs, 8 outputs). Sums are shifted, rounded and saturated to the type of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.kernels import cost
from tilewright.kernels.definition import (
    DTYPES,
    Array,
    Call,
    Function,
    MemoryArg,
    Parameter,
    ScalarArg,
    define,
)
from tilewright.kernels.numbers import saturated, shifted, wide

GROUP = 8  # channels that stand together
_TOP, _BOTTOM = 0, 2
SIZES = [ScalarArg("input_width"), ScalarArg("input_channels"), ScalarArg("output_channels")]
_UP = "positive_inf"
Sums = npt.NDArray[np.int64]
EVEN = "conv_even"
TAPS = 9


def line_of(call: Call, line: Array, width: int, channels: int) -> Sums:
    """A line as (width, channels)."""
    grouped = wide(call.part(line, width * channels)).reshape(channels // GROUP, width, GROUP)
    return grouped.swapaxes(0, 1).reshape(width, channels)


def _weights_of(call: Call, weights: Array, inputs: int, outputs: int, taps: int = 1, first: int = 0) -> Sums:
    """Weights as (taps, inputs, outputs), from an output channel on."""
    skipped = first * inputs * taps
    found = wide(call.part(weights, skipped + outputs * inputs * taps)[skipped:])
    grouped = found.reshape(outputs // GROUP, inputs // GROUP, taps, GROUP, GROUP)
    # Groups of inputs, then inputs in a group, likewise outputs: both become one axis each.
    return grouped.transpose(2, 1, 3, 0, 4).reshape(taps, inputs, outputs)


def store_line(call: Call, output: Array, sums: Sums, shift: int, rounding: str) -> None:
    """Sums of (width, channels) to where a line stands."""
    width, channels = sums.shape
    grouped = sums.reshape(width, channels // GROUP, GROUP).swapaxes(0, 1).reshape(-1)
    call.part(output, sums.size)[:] = saturated(shifted(grouped, shift, rounding), output.dtype)


def pointwise_cost(call: Call, *arguments: Any) -> int:
    # Width, inputs and outputs are the first scalars of every convolution, whatever memory stands before them.
    numbers = [argument for argument in arguments if not isinstance(argument, np.ndarray)]
    return cost.products(call, "i8", int(np.prod(numbers[:3], dtype=np.int64)))


def _pointwise_sums(
    call: Call, sources: Sequence[Array], weights: Array, width: int, inputs: int, outputs: int
) -> Sums:
    """A 1 x 1 convolution of channels that come in one piece or in two halves."""
    lines = [line_of(call, source, width, inputs // len(sources)) for source in sources]
    return np.concatenate(lines, axis=1) @ _weights_of(call, weights, inputs, outputs)[0]


def _pointwise(rounding: str) -> Function:
    def function(
        call: Call, source: Array, weights: Array, output: Array, width: int, inputs: int, outputs: int, scale: int
    ) -> None:
        store_line(call, output, _pointwise_sums(call, [source], weights, width, inputs, outputs), scale, rounding)

    return function


def define_pointwise(
    name: str, source: str, output: str, rounding: str, cycles: Callable[..., int] = pointwise_cost
) -> None:
    """Put a 1 x 1 convolution into the library."""
    memory = [MemoryArg("input", source), MemoryArg("kernels", "i8"), MemoryArg("output", output)]
    summary = "output = 1 x 1 convolution of input"
    define(name, [*memory, *SIZES, ScalarArg("scale")], cycles, summary)(_pointwise(rounding))


define_pointwise("conv2dk1_i8", "i8", "ui8", _UP)
define_pointwise("conv2dk1_ui8", "ui8", "ui8", _UP)
# The same name twice: the declaration's output type chooses.
define_pointwise("conv2dk1_i8", "i8", "i8", "symmetric_inf")


def square_parameters(element: str) -> list[Parameter]:
    """Those of a 3 x 3 convolution: three lines, weights, output, sizes."""
    memory = [
        *(MemoryArg(f"line{row}", element) for row in range(3)),
        MemoryArg("wts", "i8"),
        MemoryArg("output", "ui8"),
    ]
    sizes = ("kernel_width", "kernel_height", "check", "scale", "channel_offset")
    return [*memory, *SIZES, *map(ScalarArg, sizes)]


def _square_cost(call: Call, *arguments: Any) -> int:
    return 9 * pointwise_cost(call, *arguments)


def _dense_taps(
    call: Call, weights: Array, inputs: int, outputs: int, kernel: tuple[int, int], channel_offset: int
) -> Sums:
    taps = _weights_of(call, weights, inputs, outputs, kernel[0] * kernel[1], channel_offset)
    return taps.reshape(*kernel, inputs, outputs)


def square(stride: int = 1, rounding: str = _UP, read_taps: Callable[..., Sums] = _dense_taps) -> Function:
    """A 3 x 3 convolution at every place, or every other one."""

    def function(
        call: Call,
        first: Array,
        second: Array,
        third: Array,
        weights: Array,
        output: Array,
        width: int,
        inputs: int,
        outputs: int,
        kernel_width: int,
        kernel_height: int,
        check: int,
        scale: int,
        channel_offset: int,
    ) -> None:
        taps = read_taps(call, weights, inputs, outputs, (kernel_height, kernel_width), channel_offset)
        lines = [line_of(call, line, width, taps.shape[2]) for line in (first, second, third)]
        store_line(call, output, square_sums(lines, taps, check, stride), scale, rounding)

    return function


def square_sums(lines: Sequence[Sums], taps: Sums, check: int, stride: int = 1) -> Sums:
    """Taps are (height, width, inputs, outputs), or (height, width, channels) where each channel is on its own.

    Outside of the picture are zeros: beside each line, above the top and below the bottom.
    """
    apply = np.matmul if taps.ndim == 4 else np.multiply
    width = len(lines[0]) // stride
    total = np.zeros((width, taps.shape[-1]), np.int64)
    for row, line in enumerate(lines):
        # `check` is the kernel's own word for which line of the picture this is.
        if (row, check) not in ((0, _TOP), (2, _BOTTOM)):
            padded = np.pad(line, ((1, 1), (0, 0)))
            shifts = [padded[tap : tap + width * stride : stride] for tap in range(taps.shape[1])]
            total += sum(apply(shift, weights) for shift, weights in zip(shifts, taps[row], strict=True))
    return total


for _element in ("i8", "ui8"):
    _summary = "output = 3 x 3 convolution of three lines; check is 0 at the top, 2 at the bottom"
    define(f"conv2dk3_{_element}", square_parameters(_element), _square_cost, _summary)(square())


def _as_i8(sums: Sums, scale: int, rounding: str = _UP) -> Sums:
    """Sums that go through a register of eight bits."""
    return wide(saturated(shifted(sums, scale, rounding), DTYPES["i8"]))


def with_skip(rounding: str = _UP) -> Function:
    """A 1 x 1 convolution of one source or two halves, and a line that is added to it."""

    def function(call: Call, *arguments: Any) -> None:
        *sources, weights, output, skip, width, inputs, outputs, scale, skip_scale = arguments
        # The C++ source saturates before it adds the skip, so a sum over 127 is lost even if the skip is negative.
        sums = _as_i8(_pointwise_sums(call, sources, weights, width, inputs, outputs), scale, rounding)
        store_line(call, output, sums + line_of(call, skip, width, outputs), skip_scale, rounding)

    return function


def _projected_skip(
    call: Call,
    first: Array,
    second: Array,
    weights: Array,
    output: Array,
    skip: Array,
    width: int,
    inputs: int,
    outputs: int,
    skip_inputs: int,
    scale: int,
    skip_scale: int,
    skip_conv_scale: int,
) -> None:
    """What is added is a 1 x 1 convolution itself; its weights follow the others."""
    sums = _as_i8(_pointwise_sums(call, [first, second], weights, width, inputs, outputs), scale)
    # The scale of the projection is its own: the two are brought to one unit before they are added.
    added = _pointwise_sums(call, [skip], weights[inputs * outputs :], width, skip_inputs, outputs)
    store_line(call, output, sums + _as_i8(added, skip_conv_scale), skip_scale, _UP)


for _element in ("i8", "ui8"):
    _memory = [
        MemoryArg("input0", "ui8"),
        MemoryArg("input1", "ui8"),
        MemoryArg("kernels", "i8"),
        MemoryArg("output", "ui8"),
        MemoryArg("skip", _element),
    ]
    _scales = [ScalarArg("scale"), ScalarArg("skip_scale")]
    define(
        f"conv2dk1_skip_{_element}",
        [*_memory, *SIZES, *_scales],
        pointwise_cost,
        "output = 1 x 1 convolution of both inputs, and skip",
    )(with_skip())
define(
    "conv2dk1_skip_init_i8",
    [
        *_memory[:4],
        MemoryArg("skip", "i8"),
        *SIZES,
        ScalarArg("skip_channels"),
        *_scales,
        ScalarArg("scale_skip_conv"),
    ],
    pointwise_cost,
    "output = 1 x 1 convolution of both inputs, and one of skip",
)(_projected_skip)


def _patch_cost(call: Call, *arguments: Any) -> int:
    width, _inputs, outputs, kernel_width, _scale = arguments[3:]
    return cost.products(call, "i8", width // kernel_width * outputs * kernel_width**2 * 4)


@define(
    "conv2dk14_i8",
    [
        MemoryArg("input", "ui8"),
        MemoryArg("kernels", "i8"),
        MemoryArg("output", "i8"),
        *SIZES,
        ScalarArg("kernel_width"),
        ScalarArg("scale"),
    ],
    _patch_cost,
    "output = convolution of whole patches of 4-channel pixels",
)
def patches(
    call: Call,
    source: Array,
    weights: Array,
    output: Array,
    width: int,
    _channels: int,
    outputs: int,
    kernel_width: int,
    scale: int,
) -> None:
    """Eight patches stand together, two pixels of each; weights as (channels / 8, pixels, 4, 8)."""
    tiles, pairs = width // kernel_width, kernel_width**2 // 2
    pixels = wide(call.part(source, tiles * pairs * 8)).reshape(tiles // 8, pairs, 8, 8)
    filters = wide(call.part(weights, outputs * pairs * 8)).reshape(outputs // 8, pairs, 8, 8)
    sums = np.einsum("tpns,cpso->ctno", pixels, filters).reshape(-1)
    call.part(output, sums.size)[:] = saturated(shifted(sums, scale, "symmetric_inf"), output.dtype)


def product_cost(taps: int, with_inputs: bool = True) -> Callable[..., int]:
    """A product after the other: for each place, output and, unless each channel is on its own, input."""

    def cycles(call: Call, *arguments: Any) -> int:
        width, inputs, outputs = [argument for argument in arguments if not isinstance(argument, np.ndarray)][:3]
        return width * outputs * taps * (inputs if with_inputs else 1) * call.unit.scalar_mac_cycles

    return cycles


for _name, _source, _output in (("conv2dk1_relu_i8_ui8", "i8", "ui8"), ("conv2dk1_ui8_i8", "ui8", "i8")):
    define_pointwise(_name, _source, _output, EVEN, product_cost(1))
for _element in ("ui8", "i8"):
    _memory = [
        MemoryArg("input0", "ui8"),
        MemoryArg("kernels", "i8"),
        MemoryArg("output", "i8"),
        MemoryArg("skip", _element),
    ]
    define(
        f"conv2dk1_skip_ui8_{_element}_i8",
        [*_memory, *SIZES, ScalarArg("scale"), ScalarArg("skip_scale")],
        product_cost(1),
        "output = 1 x 1 convolution of input0, and skip",
    )(with_skip(EVEN))


define(
    "conv2dk3_stride2_i8",
    square_parameters("i8"),
    product_cost(TAPS),
    "output = 3 x 3 convolution of three lines, at every other place",
)(square(stride=2, rounding=EVEN))


def depthwise_taps(call: Call, weights: Array, _inputs: int, channels: int, *_: Any) -> Sums:
    """Each channel with weights of its own, which stand as (channels / 8, 3, 3, 8)."""
    taps = wide(call.part(weights, channels * TAPS)).reshape(channels // GROUP, 3, 3, GROUP)
    return taps.transpose(1, 2, 0, 3).reshape(3, 3, channels)


for _stride, _places in ((1, "every place"), (2, "every other place")):
    define(
        f"conv2dk3_dw_stride{_stride}_relu_ui8_ui8",
        square_parameters("ui8"),
        product_cost(TAPS, with_inputs=False),
        f"output = 3 x 3 convolution of each channel of three lines, at {_places}",
    )(square(_stride, EVEN, depthwise_taps))
