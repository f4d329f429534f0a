"""Parameters of C functions, as far as their source says: pointers know nothing of what they point to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tilewright.dialects.memref.types import is_ranked
from tilewright.native.numpy_types import NotInNumPy, dtype_of, is_float

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
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
