"""Convolutions of MobileNet's last blocks: sums that two cores share over the cascade, pooling, and the classifier.

Lines and weights stand as in `convolution`. A core that only puts computes its half of the input channels, the one that
gets adds the other half; each call is for one group of eight output channels.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from tilewright.kernels.convolution import (
    EVEN,
    GROUP,
    SIZES,
    TAPS,
    Sums,
    depthwise_taps,
    line_of,
    product_cost,
    square_parameters,
    square_sums,
    store_line,
)
from tilewright.kernels.definition import DTYPES, Array, Call, MemoryArg, ScalarArg, define
from tilewright.kernels.numbers import saturated, shifted, wide
from tilewright.sim.kernels import CallingCore

BLOCKS = (13, 14)
"""Blocks of the network that the sources have functions for."""
_PIXELS = 7
"""The sources have the width of these blocks written into them."""
_POOLED = 49
_CASCADE_BYTES = 64
_LANES = 16
"""Accumulators of 64 bits that go over the cascade at once, in two steps."""


def _half_sums(
    call: Call, source: Array, weights: Array, width: int, inputs: int, split: int, half: int, group: int
) -> Sums:
    """Sums of some input channels for eight output channels: (pixels, 8)."""
    channels = inputs // split
    line = line_of(call, source, width, (half + 1) * channels)[:_PIXELS, half * channels :]
    first = group * channels * GROUP
    taps = wide(call.part(weights, first + channels * GROUP)[first:]).reshape(channels, GROUP)
    return line @ taps


def _put(core: CallingCore, sums: Sums) -> Generator[Any, Any, None]:
    for row in sums:
        lanes = np.zeros(_LANES, np.int64)
        lanes[:GROUP] = row
        for step in np.split(lanes, 2):
            yield from core.put_cascade(step.tobytes())


def _get(core: CallingCore) -> Generator[Any, Any, Sums]:
    rows = list[Sums]()
    for _ in range(_PIXELS):
        steps = list[bytes]()
        for _ in range(2):
            steps.append((yield from core.get_cascade(_CASCADE_BYTES)))
        rows.append(np.frombuffer(b"".join(steps), np.int64)[:GROUP])
    return np.stack(rows)


def _put_half(
    core: CallingCore,
    call: Call,
    source: Array,
    weights: Array,
    width: int,
    inputs: int,
    _outputs: int,
    split: int,
    _weight_index: int,
    _x_start: int,
    group: int,
) -> Generator[Any, Any, None]:
    yield from _put(core, _half_sums(call, source, weights, width, inputs, split, 0, group))


def _group_of(call: Call, line: Array, width: int, outputs: int, split: int, chunk: int, group: int) -> Array:
    """Where a line has the eight channels of a call: (pixels, 8)."""
    first = (group + outputs // (GROUP * split) * chunk) * width * GROUP
    return call.part(line, first + width * GROUP)[first:].reshape(width, GROUP)[:_PIXELS]


def _get_relu(
    core: CallingCore,
    call: Call,
    source: Array,
    weights: Array,
    output: Array,
    width: int,
    inputs: int,
    outputs: int,
    scale: int,
    split: int,
    output_split: int,
    weight_index: int,
    _x_start: int,
    group: int,
) -> Generator[Any, Any, None]:
    own = _half_sums(call, source, weights, width, inputs, split, 1, group)
    sums = own + (yield from _get(core))
    target = _group_of(call, output, width, outputs, output_split, weight_index, group)
    target[:] = saturated(shifted(sums, scale, EVEN), output.dtype)


def _get_skip(
    core: CallingCore,
    call: Call,
    source: Array,
    weights: Array,
    output: Array,
    skip: Array,
    width: int,
    inputs: int,
    outputs: int,
    scale: int,
    skip_scale: int,
    split: int,
    output_split: int,
    weight_index: int,
    _x_start: int,
    group: int,
) -> Generator[Any, Any, None]:
    # The other half of the channels is another buffer, so this one begins with its own.
    own = _half_sums(call, source, weights, width, inputs, split, 0, group)
    sums = wide(saturated(shifted(own + (yield from _get(core)), scale, EVEN), DTYPES["i8"]))
    place = (width, outputs, output_split, weight_index, group)
    added = sums + wide(_group_of(call, skip, *place))
    _group_of(call, output, *place)[:] = saturated(shifted(added, skip_scale, EVEN), output.dtype)


def _group_cost(call: Call, *arguments: Any) -> int:
    # A call is for eight channels, whatever the output has.
    width, inputs = [argument for argument in arguments if not isinstance(argument, np.ndarray | CallingCore)][:2]
    return width * inputs * GROUP * call.unit.scalar_mac_cycles


def _input(element: str) -> list[MemoryArg]:
    return [MemoryArg("input", element), MemoryArg("kernels", "i8")]


def _scalars(*names: str) -> Sequence[ScalarArg]:
    return [*SIZES, *map(ScalarArg, names)]


def _out_split(
    call: Call,
    first: Array,
    second: Array,
    third: Array,
    weights: Array,
    output1: Array,
    output2: Array,
    width: int,
    _inputs: int,
    channels: int,
    _kernel_width: int,
    _kernel_height: int,
    check: int,
    scale: int,
    _channel_offset: int,
) -> None:
    taps = depthwise_taps(call, weights, channels, channels)
    lines = [line_of(call, line, width, channels) for line in (first, second, third)]
    halves = np.split(square_sums(lines, taps, check), 2, axis=1)
    for output, sums in zip((output1, output2), halves, strict=True):
        store_line(call, output, sums, scale, EVEN)


for _block in BLOCKS:
    for _name, _element in (
        (f"bn{_block}_1_conv2dk1_i8_ui8_partial_width_put_new", "i8"),
        (f"bn{_block}_1_conv2dk1_ui8_ui8_input_split_partial_width_put_new", "ui8"),
    ):
        define(
            _name,
            [*_input(_element), *_scalars("input_split", "weight_index", "x_start", "oc")],
            _group_cost,
            "cascade = 1 x 1 convolution of the first half of the channels",
            on_core=True,
        )(_put_half)
    define(
        f"bn{_block}_1_conv2dk1_i8_ui8_partial_width_get_new",
        [
            *_input("i8"),
            MemoryArg("output", "ui8"),
            *_scalars("scale", "input_split", "output_split", "weight_index", "x_start", "oc"),
        ],
        _group_cost,
        "output = cascade + 1 x 1 convolution of the second half of the channels",
        on_core=True,
    )(_get_relu)
    define(
        f"bn_{_block}_2_conv2dk1_ui8_i8_i8_scalar_input_split_partial_width_get_new",
        [
            *_input("ui8"),
            MemoryArg("output", "i8"),
            MemoryArg("skip", "i8"),
            *_scalars("scale", "skip_scale", "input_split", "output_split", "weight_index", "x_start", "oc"),
        ],
        _group_cost,
        "output = cascade + 1 x 1 convolution of input, and skip",
        on_core=True,
    )(_get_skip)
    _lines, _sizes = square_parameters("ui8")[:4], square_parameters("ui8")[5:]
    define(
        f"bn{_block}_conv2dk3_ui8_out_split",
        [*_lines, MemoryArg("output1", "ui8"), MemoryArg("output2", "ui8"), *_sizes],
        product_cost(TAPS, with_inputs=False),
        "outputs = 3 x 3 convolution of each channel of three lines, half of them in each",
    )(_out_split)


def _average(totals: Sums) -> Sums:
    """Of a picture of 49 places, as the source rounds: halves to even, and a half is any number whose first decimal
    is 5."""
    means = totals.astype(np.float32) / np.float32(_POOLED)
    whole = means.astype(np.int64)
    to_even = whole + (whole & 1)
    is_half = (means * np.float32(10)).astype(np.int64) % 10 == 5
    return np.where(is_half, to_even, (means + np.float32(0.5)).astype(np.int64))


def _relu_u8(sums: Sums, scale: int) -> Sums:
    return wide(saturated(shifted(sums, scale, EVEN), DTYPES["ui8"]))


def _pool_cost(call: Call, *arguments: Any) -> int:
    # a call is for one part of the output channels
    return product_cost(1)(call, *arguments) // max(1, int(arguments[-2]))


@define(
    "conv2dk1_xy_pool_fused_relu_large_padded_i8_ui8",
    [
        *_input("i8"),
        MemoryArg("output", "ui16"),
        *_scalars("output_channels_padd", "scale", "y_index", "output_split", "weight_index"),
    ],
    _pool_cost,
    "output = 1 x 1 convolution of input, added up over the picture; its mean after the last line",
)
def pooled(
    call: Call,
    source: Array,
    weights: Array,
    output: Array,
    width: int,
    inputs: int,
    outputs: int,
    padded: int,
    scale: int,
    row: int,
    split: int,
    weight_index: int,
) -> None:
    channels = outputs // split
    line = line_of(call, source, width, inputs)
    taps = wide(call.part(weights, channels * inputs)).reshape(channels // GROUP, inputs, GROUP)
    sums = _relu_u8(np.einsum("xi,oie->xoe", line, taps).reshape(width, channels), scale).sum(axis=0)
    first = channels // GROUP * weight_index * GROUP
    target = call.part(output, first + channels)[first:]
    totals = sums + (wide(target) if row else 0)
    target[:] = (_average(totals) if row == width - 1 else totals).astype(output.dtype)
    call.part(output, max(padded, outputs))[outputs:] = 0


def _classifier_cost(call: Call, *arguments: Any) -> int:
    width, inputs, _padded, outputs, _scale = arguments[3:]
    return width * inputs * outputs * call.unit.scalar_mac_cycles


@define(
    "post_L2_conv2dk1_relu_i16_ui16_pad",
    [
        MemoryArg("input", "ui16"),
        MemoryArg("kernels", "i8"),
        MemoryArg("output", "ui16"),
        *map(ScalarArg, ("input_width", "input_channels", "input_channels_pad", "output_channels", "scale")),
    ],
    _classifier_cost,
    "output = 1 x 1 convolution of input, whose weights have room for more channels",
)
def classifier(
    call: Call,
    source: Array,
    weights: Array,
    output: Array,
    width: int,
    inputs: int,
    padded: int,
    outputs: int,
    scale: int,
) -> None:
    line = line_of(call, source, width, inputs)
    taps = wide(call.part(weights, outputs * padded)).reshape(outputs // GROUP, padded, GROUP)[:, :inputs]
    sums = np.einsum("xi,oie->oxe", line, taps).reshape(-1)
    call.part(output, sums.size)[:] = _relu_u8(sums, scale)
