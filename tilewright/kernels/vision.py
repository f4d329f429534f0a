"""Kernels for lines and tiles of pictures: colours, thresholds, filters, and bits."""

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
from tilewright.kernels.elementwise import WORD_TYPES
from tilewright.kernels.numbers import saturated, shifted, wide, wrapped

_CHANNELS = 4  # red, green, blue, alpha
_OPAQUE = 255
_FILTER_STEP = 32  # pixels that the filter makes at once


def _define_lines_and_tiles(
    name: str,
    memory: Sequence[MemoryArg],
    rest: Sequence[Parameter],
    cycles: Function,
    summary: str,
    function: Function,
) -> None:
    """The same kernel for a line, which has a width, and for a tile, which has a height and a width.

    `function` gets the number of pixels where those stand, and so does `cycles`.
    """
    place = len(memory)

    def line(call: Call, *arguments: Any) -> None:
        function(call, *arguments)

    def tile(call: Call, *arguments: Any) -> None:
        function(call, *arguments[:place], arguments[place] * arguments[place + 1], *arguments[place + 2 :])

    def tile_cycles(call: Call, *arguments: Any) -> int:
        return cycles(call, *arguments[:place], arguments[place] * arguments[place + 1])

    width, height = ScalarArg("tileWidth"), ScalarArg("tileHeight")
    define(f"{name}Line", [*memory, ScalarArg("lineWidth"), *rest], cycles, summary)(line)
    define(f"{name}Tile", [*memory, height, width, *rest], tile_cycles, summary)(tile)


def _colour_cost(call: Call, _source: Array, _target: Array, count: int) -> int:
    return cost.moves(call, count * _CHANNELS, count * _CHANNELS)


def _gray2rgba(call: Call, gray: Array, rgba: Array, count: int) -> None:
    pixels = call.part(rgba, count * _CHANNELS).reshape(count, _CHANNELS)
    pixels[:, :3] = call.part(gray, count)[:, None]
    pixels[:, 3] = _OPAQUE


_LUMA = np.array([round(share * (1 << 15)) for share in (0.299, 0.587, 0.114)], np.int64)


def _channels(call: Call, rgba: Array, count: int) -> npt.NDArray[np.int64]:
    """Red, green and blue, each of all pixels."""
    return wide(call.part(rgba, count * _CHANNELS)).reshape(count, _CHANNELS).T[:3]


def _rgba2gray(call: Call, rgba: Array, gray: Array, count: int) -> None:
    # Half of the unit, so that the shift rounds.
    total = _LUMA @ _channels(call, rgba, count) + (1 << 14)
    call.part(gray, count)[:] = wrapped(shifted(total, 15), gray.dtype)


def _rgba2hue_line(call: Call, rgba: Array, hue: Array, count: int) -> None:
    by_division = call.unit.native_functions  # only the first of the generations runs the form with tables
    (_divided_hue if by_division else _table_hue)(call, rgba, hue, count)


def _hue_terms(colours: npt.NDArray[np.int64]) -> tuple[Array, Array, list[Array]]:
    """The span of the colours, which of them is greatest, and what the hue comes from in that case."""
    red, green, blue = colours
    greatest = colours.max(axis=0)
    # Where green and red are both greatest, the form with tables takes green.
    which = np.where(greatest == green, 1, np.where(greatest == red, 0, 2))
    return greatest - colours.min(axis=0), which, [green - blue, blue - red, red - green]


def _table_hue(call: Call, rgba: Array, hue: Array, count: int) -> None:
    """A table has 85 / span in sixteen bits, nine of them behind the point."""
    colours = _channels(call, rgba, count)
    span, which, terms = _hue_terms(colours)
    inverse = 85 * 512 // np.maximum(span, 1)
    # Ten and not nine bits: hue is halved, so that a circle of 510 fits into a byte. An odd start rounds.
    hues = [(term * inverse + (start << 9)) >> 10 for term, start in zip(terms, (1, 171, 341), strict=True)]
    call.part(hue, count)[:] = wrapped(np.where(span == 0, 0, np.choose(which, hues)), hue.dtype)


def _divided_hue(call: Call, rgba: Array, hue: Array, count: int) -> None:
    """Division cuts towards zero, as in C, and red comes before green."""
    colours = _channels(call, rgba, count)
    span, which, terms = _hue_terms(colours)
    which = np.where(colours.max(axis=0) == colours[0], 0, which)
    quotients = [np.sign(term) * (85 * np.abs(term) // np.maximum(span, 1)) for term in terms]
    hues = [(quotient + start + 1) >> 1 for quotient, start in zip(quotients, (0, 170, 340), strict=True)]
    call.part(hue, count)[:] = wrapped(np.where(span == 0, 0, np.choose(which, hues)), hue.dtype)


_rgba, _gray = MemoryArg("in", "ui8"), MemoryArg("out", "ui8")
_define_lines_and_tiles("gray2rgba", [_rgba, _gray], [], _colour_cost, "out = gray, gray, gray, 255", _gray2rgba)
_define_lines_and_tiles("rgba2gray", [_rgba, _gray], [], _colour_cost, "out = 0.299 r + 0.587 g + 0.114 b", _rgba2gray)
_HUE = "out = hue, 0 to 255 for the whole circle"
define("rgba2hueLine", [_rgba, _gray, ScalarArg("lineWidth")], _colour_cost, _HUE)(_rgba2hue_line)


def _pixel_cost(_call: Call, _source: Array, _target: Array, height: int, width: int) -> int:
    return height * width * cost.SCALAR_ELEMENT_CYCLES


@define(
    "rgba2hueTile",
    [_rgba, _gray, ScalarArg("tileHeight"), ScalarArg("tileWidth")],
    _pixel_cost,
    _HUE,
)
def rgba2hue_tile(call: Call, rgba: Array, hue: Array, height: int, width: int) -> None:
    _divided_hue(call, rgba, hue, height * width)


def _threshold(values: Array, limit: Any, greatest: Any, kind: int) -> Array:
    """Kinds 0 to 4: binary, its inverse, cut, to zero, its inverse; others cut as well."""
    above: npt.NDArray[np.bool_] = values > limit
    zero = np.zeros_like(values)
    kinds: dict[int, Callable[[], Array]] = {
        0: lambda: np.where(above, greatest, zero),
        1: lambda: np.where(above, zero, greatest),
        3: lambda: np.where(above, values, zero),
        4: lambda: np.where(above, zero, values),
    }
    return kinds.get(kind, lambda: np.minimum(values, limit))().astype(values.dtype)


def _as(dtype: np.dtype[Any], *numbers: int) -> Array:
    return wrapped(np.array(numbers, np.int64), dtype)


def _threshold_line(call: Call, source: Array, target: Array, count: int, limit: int, greatest: int, kind: int) -> None:
    # Scalars come in sixteen bits where the elements have eight: they are cut as the C++ call cuts them.
    low, high = _as(source.dtype, limit, greatest)
    call.part(target, count)[:] = _threshold(call.part(source, count), low, high, kind & 0xFF)


def _line_cost(call: Call, source: Array, target: Array, count: int, *_rest: int) -> int:
    return cost.moves(call, count * source.itemsize, count * target.itemsize)


for _element in WORD_TYPES:
    _value = ScalarArg("thresholdValue", "i32" if _element == "i32" else "i16")
    _rest = [_value, ScalarArg("maxValue", _value.element), ScalarArg("thresholdType", "i8")]
    _lines = [MemoryArg("in", _element), MemoryArg("out", _element)]
    _define_lines_and_tiles("threshold", _lines, _rest, _line_cost, "out = in, cut at a value", _threshold_line)


@define(
    "threshold4ChLine",
    [
        _rgba,
        _gray,
        ScalarArg("lineWidth"),
        *(ScalarArg(f"thresholdValue{channel}", "i16") for channel in range(1, 5)),
        *(ScalarArg(f"maxValue{channel}", "i16") for channel in range(1, 5)),
        ScalarArg("thresholdType", "i8"),
    ],
    _line_cost,
    "out = in, each channel cut at a value of its own",
)
def threshold_channels(call: Call, source: Array, target: Array, count: int, *rest: int) -> None:
    pixels = call.part(source, count).reshape(-1, _CHANNELS)
    limits, greatest = _as(source.dtype, *rest[:4]), _as(source.dtype, *rest[4:8])
    call.part(target, count)[:] = _threshold(pixels, limits, greatest, rest[8] & 0xFF).reshape(-1)


def _pair_cost(call: Call, a: Array, _b: Array, out: Array, count: int, *_rest: int) -> int:
    return cost.moves(call, 2 * count * a.itemsize, count * out.itemsize)


def _bits(operation: Callable[[Array, Array], Array]) -> Function:
    def function(call: Call, a: Array, b: Array, out: Array, count: int) -> None:
        call.part(out, count)[:] = operation(call.part(a, count), call.part(b, count))

    return function


def _add_weighted(call: Call, a: Array, b: Array, out: Array, count: int, alpha: int, beta: int, gamma: int) -> None:
    """The weights have 14 bits behind the point; gamma is added before the shift, as the vector form does."""
    first, second = _as(DTYPES["i16"], alpha, beta)
    offset = wide(_as(a.dtype, gamma))
    total = wide(call.part(a, count)) * int(first) + wide(call.part(b, count)) * int(second) + offset
    call.part(out, count)[:] = saturated(shifted(total, 14), out.dtype)


for _element in WORD_TYPES:
    _three = [MemoryArg(part, _element) for part in ("in1", "in2", "out")]
    _define_lines_and_tiles("bitwiseAND", _three, [], _pair_cost, "out = in1 & in2", _bits(np.bitwise_and))
    _define_lines_and_tiles("bitwiseOR", _three, [], _pair_cost, "out = in1 | in2", _bits(np.bitwise_or))
    _weights = [
        ScalarArg("alpha", "i16"),
        ScalarArg("beta", "i16"),
        ScalarArg("gamma", _element.removeprefix("u")),
    ]
    _define_lines_and_tiles(
        "addWeighted", _three, _weights, _pair_cost, "out = alpha in1 + beta in2 + gamma", _add_weighted
    )


def _filter_cost(call: Call, *arguments: Any) -> int:
    return cost.products(call, "i8", arguments[4] * 32)  # 8 columns, of which 3 count, in 4 rows of which 3 do


@define(
    "filter2dLine",
    [
        *(MemoryArg(f"lineIn{row}", "ui8") for row in range(3)),
        _gray,
        ScalarArg("lineWidth"),
        MemoryArg("kernel", "i16", 9),
    ],
    _filter_cost,
    "out = the middle line, filtered by 3 x 3 weights with 12 bits behind the point",
)
def filter2d(call: Call, first: Array, second: Array, third: Array, out: Array, count: int, kernel: Array) -> None:
    """The weights lose their lower eight bits; pixels at the ends of a line count twice."""
    # The vector unit multiplies bytes: 12 bits behind the point become 4, which is the shift at the end.
    weights = wide(kernel).reshape(3, 3) >> 8
    total = np.zeros(count, np.int64)
    # Vectors of 32 pixels keep their last one for the next: from the third on it is the last but one, as in the source.
    seams = np.arange(2 * _FILTER_STEP, count, _FILTER_STEP)
    for row, line in zip(weights, (first, second, third), strict=True):
        padded = np.pad(wide(call.part(line, count)), 1, mode="edge")
        left = padded[:count].copy()
        left[seams] = padded[seams - 1]
        total += row[0] * left + row[1] * padded[1 : count + 1] + row[2] * padded[2 : count + 2]
    call.part(out, count)[:] = saturated(shifted(total, 4), out.dtype)
