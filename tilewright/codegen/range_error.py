"""Scalars that the hardware cannot take."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import LocationAttr

from tilewright.errors import Error
from tilewright.ir.diagnostics import place


class RangeError(Error, ValueError):
    """A sequence was asked for with values for which it has no valid stream; says which, why and where."""

    def __init__(self, text: str, arguments: Mapping[str, int], location: LocationAttr):
        self.arguments, self.location = dict(arguments), location
        given = ", ".join(f"{name} = {value}" for name, value in arguments.items())
        super().__init__(f"{place(location)}error: {text}" + (f" (with {given})" if given else ""))
