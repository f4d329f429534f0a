"""Convolutions of MobileNet's bottlenecks: loops over scalars that round halves to the even number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.kernels.convolution import (
    SIZES,
    Sums,
    define_pointwise,
    square,
    square_parameters,
    with_skip,
)
from tilewright.kernels.definition import Array, Call, Memory, Scalar, define
from tilewright.kernels.numbers import wide

_EVEN = "conv_even"
_TAPS = 9


def _cost(taps: int, with_inputs: bool = True) -> Callable[..., int]:
    """A product after the other: for each place, output and, unless each channel is on its own, input."""

    def cycles(call: Call, *arguments: Any) -> int:
        width, inputs, outputs = [argument for argument in arguments if not isinstance(argument, np.ndarray)][:3]
        return width * outputs * taps * (inputs if with_inputs else 1) * call.unit.scalar_mac_cycles

    return cycles


for _name, _source, _output in (("conv2dk1_relu_i8_ui8", "i8", "ui8"), ("conv2dk1_ui8_i8", "ui8", "i8")):
    define_pointwise(_name, _source, _output, _EVEN, _cost(1))
for _element in ("ui8", "i8"):
    _memory = [Memory("input0", "ui8"), Memory("kernels", "i8"), Memory("output", "i8"), Memory("skip", _element)]
    define(
        f"conv2dk1_skip_ui8_{_element}_i8",
        [*_memory, *SIZES, Scalar("scale"), Scalar("skip_scale")],
        _cost(1),
        "output = 1 x 1 convolution of input0, and skip",
    )(with_skip(_EVEN))


define(
    "conv2dk3_stride2_i8",
    square_parameters("i8"),
    _cost(_TAPS),
    "output = 3 x 3 convolution of three lines, at every other place",
)(square(stride=2, rounding=_EVEN))


def _depthwise_taps(call: Call, weights: Array, _inputs: int, channels: int, *_: Any) -> Sums:
    """Each channel with weights of its own, which stand as (channels / 8, 3, 3, 8)."""
    taps = wide(call.part(weights, channels * _TAPS)).reshape(channels // 8, 3, 3, 8)
    return np.eye(channels, dtype=np.int64) * taps.transpose(1, 2, 0, 3).reshape(3, 3, 1, channels)


for _stride, _places in ((1, "every place"), (2, "every other place")):
    define(
        f"conv2dk3_dw_stride{_stride}_relu_ui8_ui8",
        square_parameters("ui8"),
        _cost(_TAPS, with_inputs=False),
        f"output = 3 x 3 convolution of each channel of three lines, at {_places}",
    )(square(_stride, _EVEN, _depthwise_taps))
