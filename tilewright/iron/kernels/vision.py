"""Kernels for lines of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.iron.kernels.library import LibraryFunction, array, bit_width, library_function, source_of

_CHANNELS = 4  # red, green, blue, alpha


def _colours(name: str, file: str, in_size: int, out_size: int, use_chess: bool) -> LibraryFunction:
    types = [array(in_size, np.uint8), array(out_size, np.uint8), np.int32]
    return library_function(name, source_of(file, "aie2"), types, (), use_chess)


def rgba2hue(line_width: int = 1920, use_chess: bool = False) -> LibraryFunction:
    """`rgba2hueLine(in, out, lineWidth)`."""
    return _colours("rgba2hueLine", "rgba2hue.cc", line_width * _CHANNELS, line_width, use_chess)


def rgba2gray(line_width: int = 1920, use_chess: bool = False) -> LibraryFunction:
    """`rgba2grayLine(in, out, lineWidth)`."""
    return _colours("rgba2grayLine", "rgba2gray.cc", line_width * _CHANNELS, line_width, use_chess)


def gray2rgba(line_width: int = 1920, use_chess: bool = False) -> LibraryFunction:
    """`gray2rgbaLine(in, out, lineWidth)`."""
    return _colours("gray2rgbaLine", "gray2rgba.cc", line_width, line_width * _CHANNELS, use_chess)


def threshold(line_width: int = 1920, dtype: Any = np.uint8, use_chess: bool = False) -> LibraryFunction:
    """`thresholdLine(in, out, lineWidth, value, max, type)`; types 0 to 4 as in `tilewright kernels threshold`."""
    width, line = bit_width(dtype, "threshold"), array(line_width, dtype)
    value = np.int32 if width == 32 else np.int16
    types = [line, line, np.int32, value, value, np.int8]
    return library_function("thresholdLine", source_of("threshold.cc", "aie2"), types, _width(width), use_chess)


def bitwise_or(line_width: int = 1920, dtype: Any = np.uint8, use_chess: bool = False) -> LibraryFunction:
    """`bitwiseORLine(in1, in2, out, lineWidth)`."""
    return _bitwise("OR", line_width, dtype, use_chess)


def bitwise_and(line_width: int = 1920, dtype: Any = np.uint8, use_chess: bool = False) -> LibraryFunction:
    """`bitwiseANDLine(in1, in2, out, lineWidth)`."""
    return _bitwise("AND", line_width, dtype, use_chess)


def _bitwise(operation: str, line_width: int, dtype: Any, use_chess: bool) -> LibraryFunction:
    width, line = bit_width(dtype, f"bitwise{operation}"), array(line_width, dtype)
    name = f"bitwise{operation}"
    types = [line, line, line, np.int32]
    return library_function(f"{name}Line", source_of(f"{name}.cc", "aie2"), types, _width(width), use_chess)


def filter2d(line_width: int = 1920, use_chess: bool = False) -> LibraryFunction:
    """`filter2dLine(in0, in1, in2, out, lineWidth, kernel)`: 3 x 3 weights with 12 bits behind the point."""
    line = array(line_width, np.uint8)
    types = [line, line, line, line, np.int32, array((3, 3), np.int16)]
    return library_function("filter2dLine", source_of("filter2d.cc", "aie2"), types, (), use_chess)


def add_weighted(line_width: int = 1920, dtype: Any = np.uint8, use_chess: bool = False) -> LibraryFunction:
    """`addWeightedLine(in1, in2, out, lineWidth, alpha, beta, gamma)`: weights with 14 bits behind the point."""
    width, line = bit_width(dtype, "add_weighted"), array(line_width, dtype)
    gamma = {8: np.int8, 16: np.int16, 32: np.int32}[width]
    types = [line, line, line, np.int32, np.int16, np.int16, gamma]
    return library_function("addWeightedLine", source_of("addWeighted.cc", "aie2"), types, _width(width), use_chess)


def _width(bits: int) -> list[str]:
    return [f"-DBIT_WIDTH={bits}"]  # one source has a variant for each
