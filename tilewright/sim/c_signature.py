"""Signatures of C and C++ functions, and whether a call from a program fits them.

C is read here, as far as it is plain; of C++ the compiler tells (include/tilewright/call.hpp).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from tilewright.dialects.memref.types import is_ranked
from tilewright.native.host_arrays import NotInNumPy, dtype_of, is_float

WRAP = (1 << 64) - 1
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_QUALIFIER = re.compile(r"\b(const|volatile|register|restrict|__restrict__|__restrict|signed|std::)\b|std::")
_INTEGERS = {"char": 1, "short": 2, "int": 4, "long": 8, "long long": 8, "bool": 1, "_Bool": 1}
_FLOATS = {"float": 4, "double": 8, "_Float16": 2, "bfloat16": 2, "bfloat16_t": 2, "__bf16": 2}
_BYTES = {
    **_INTEGERS,
    **{f"unsigned {name}": size for name, size in _INTEGERS.items()},
    **{f"{sign}int{8 * size}_t": size for sign in ("", "u") for size in (1, 2, 4, 8)},
    **_FLOATS,
    "unsigned": 4,
    "size_t": 8,
}


@dataclass(frozen=True)
class CParameter:
    """A parameter whose type is one of C's own."""

    text: str
    type: str
    is_pointer: bool

    def complaint(self, given: Attribute) -> str | None:
        """Why it cannot take an argument of a type; None if it can, or nothing is known against it."""
        if is_ranked(given) != self.is_pointer:
            return f"'{self.text}' is {'a' if self.is_pointer else 'no'} pointer"
        try:
            dtype = dtype_of(given.element_type if is_ranked(given) else given)
        except NotInNumPy:
            return None
        fits = self._points_to(dtype) if self.is_pointer else self._takes(dtype)
        return None if fits else f"'{self.text}' is of another type"

    def _points_to(self, dtype: np.dtype[Any]) -> bool:
        """Bytes stand for anything, and integers may be the bits of floating-point numbers."""
        size = _BYTES[self.type]
        is_raw = size == 1 or dtype.itemsize == 1
        return is_raw or (size == dtype.itemsize and (self.type not in _FLOATS or is_float(dtype)))

    def _takes(self, dtype: np.dtype[Any]) -> bool:
        """Integers are passed in full registers, whatever their size is; short floats cannot be passed at all."""
        if is_float(dtype):
            return dtype.itemsize < 4 or (self.type in _FLOATS and _BYTES[self.type] == dtype.itemsize)
        return self.type not in _FLOATS


def c_parameters(source: str, name: str) -> list[CParameter | None] | None:
    """The parameters of a function that a source defines, None for types that are not C's own; None if it is unclear.

    C says nothing about the parameters of `f()`.
    """
    found = re.findall(rf"\b{re.escape(name)}\s*\(([^()]*)\)\s*\{{", _COMMENT.sub(" ", source))
    # Overloads, or macros that look like the function: better no check than a wrong one.
    if len(set(found)) != 1:
        return None
    texts = [" ".join(text.split()) for text in found[0].split(",")]
    if texts == [""]:
        return None
    return [] if texts == ["void"] else [_parameter(text) for text in texts]


def _parameter(text: str) -> CParameter | None:
    plain = " ".join(_QUALIFIER.sub(" ", text.replace("*", " * ")).split())
    shape = re.fullmatch(r"([\w ]+?)( \*)?( ?\b\w+)?((?:\[\w*\])*)", plain)
    if shape is None:
        return None
    base, star, declared, array = shape.groups()
    if star is None and declared is not None and base not in _BYTES:
        base, declared = f"{base}{declared}", None
    return CParameter(text, base, bool(star or array)) if base in _BYTES else None


def signature_complaint(parameters: Sequence[CParameter | None], types: Sequence[Attribute]) -> str | None:
    """What is wrong with a call of a function."""
    if None not in parameters and len(parameters) != len(types):
        return f"it takes {len(parameters)} arguments, got {len(types)}"
    for parameter, given in zip(parameters, types, strict=False):
        if parameter is not None and (complaint := parameter.complaint(given)) is not None:
            return f"{complaint}, got {given}"
    return None


_KINDS = {"i": "an integer", "u": "an integer", "f": "a floating point number", "v": "nothing", "o": "an own type"}
_FLOAT_LAYOUTS = {4: Struct("<f"), 8: Struct("<d")}


@dataclass(frozen=True)
class CppType:
    """The type of a parameter or result, as call.hpp writes it."""

    letter: str
    size: int
    is_pointer: bool

    @classmethod
    def parse(cls, text: str) -> CppType:
        rest = text.removeprefix("p")
        return cls(rest[0], int(rest[1:]), text.startswith("p"))

    def __str__(self) -> str:
        kind = _KINDS[self.letter]
        if self.is_pointer and (not self.size or self.letter == "o"):
            return "a pointer"
        sized = kind if not self.size else f"{kind} of {self.size} byte{'s' * (self.size != 1)}"
        return f"a pointer to {sized}" if self.is_pointer else sized

    def points_to(self, dtype: np.dtype[Any]) -> bool:
        """Bytes stand for anything, vectors for their elements, and integers may be the bits of floats."""
        if self.letter in "ov" or 1 in (self.size, dtype.itemsize):
            return True
        return self.size == dtype.itemsize and (self.letter != "f" or is_float(dtype))

    def takes(self, dtype: np.dtype[Any]) -> bool:
        """Whether a number goes into it: integers of any size do, as in registers; bits stand for short floats."""
        if is_float(dtype):
            return self.size == dtype.itemsize and (self.letter == "f" or (self.letter in "iu" and self.size == 2))
        return self.letter in "iu"

    def packer(self, type: Attribute | None) -> Callable[[Any], int]:
        """Makes the bits of a number."""
        if self.letter != "f" and (type is None or not is_float(_number_type(type))):
            return lambda value: int(value) & WRAP
        if self.size in _FLOAT_LAYOUTS:
            layout = _FLOAT_LAYOUTS[self.size]
            return lambda value: int.from_bytes(layout.pack(value), "little")
        dtype = _number_type(type)
        return lambda value: int.from_bytes(np.asarray(value).astype(dtype).tobytes(), "little")

    def value(self, data: bytes, type: Attribute | None) -> Any:
        """A result as a Python number."""
        if self.letter == "v":
            return None
        if type is not None:
            return np.frombuffer(data, dtype_of(type), 1)[0].item()
        if self.letter == "f" and self.size in _FLOAT_LAYOUTS:
            return _FLOAT_LAYOUTS[self.size].unpack_from(data)[0]
        return int.from_bytes(data[: self.size], "little", signed=self.letter == "i")


def _number_type(type: Attribute | None) -> np.dtype[Any]:
    if type is None or is_ranked(type):
        return np.dtype(ml_dtypes.bfloat16)
    return dtype_of(type)


def cpp_complaint(
    parameters: Sequence[CppType], types: Sequence[Attribute], returned: CppType, result: Attribute | None
) -> str | None:
    """What is wrong with a call of a function."""
    if len(parameters) != len(types):
        return f"it takes {len(parameters)} arguments, got {len(types)}"
    for number, (parameter, type) in enumerate(zip(parameters, types, strict=True)):
        if is_ranked(type) != parameter.is_pointer:
            return f"argument {number} is {parameter}, got {type}"
        with suppress(NotInNumPy):
            dtype = dtype_of(type.element_type if is_ranked(type) else type)
            if not (parameter.points_to(dtype) if parameter.is_pointer else parameter.takes(dtype)):
                return f"argument {number} is {parameter}, got {type}"
    if result is None:
        return None
    dtype = dtype_of(result)
    if returned.is_pointer or returned.size != dtype.itemsize or (returned.letter == "f") != is_float(dtype):
        same = returned.letter in "iu" and not is_float(dtype) and returned.size >= dtype.itemsize
        if not same or returned.is_pointer:
            return f"it gives {returned}, but the call takes {result}"
    return None


def function_type(source: str, name: str) -> str | None:
    """The type of pointers to a function that a source defines, in its own words; None if it is unclear which.

    Templates of the same name are left out.
    """
    plain = _DIRECTIVE.sub(" ", _COMMENT.sub(" ", source))
    pattern = rf"(template\s*<[^{{}};]*>\s*)?\b([A-Za-z_][\w:\s*&]*[\s*&])\b{re.escape(name)}\s*\(([^(){{}};]*)\)\s*{{"
    found = {
        (" ".join(result.split()), " ".join(parameters.split()))
        for template, result, parameters in re.findall(pattern, plain)
        if not template
    }
    if len(found) != 1:
        return None
    result, parameters = found.pop()
    result = re.sub(r"\b(static|inline|extern|constexpr)\b", "", result).strip()
    return f"{result} (*)({re.sub(r'=[^,]*', '', parameters).strip()})"
