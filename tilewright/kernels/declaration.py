"""Declarations of kernels: what a function without a body says about the C++ source that defines it on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.shown import quoted

COMPILE_FLAGS = "tilewright.compile_flags"
"""Attribute: what the source is compiled with, such as `-DB_COL_MAJ`."""
SOURCE = "tilewright.source"
"""Attribute: the source itself."""
SOURCE_FILE = "tilewright.source_file"
"""Attribute: the file with the source."""
SYMBOL = "tilewright.symbol"
"""Attribute: what the function is called in the source, if it is not the same as here."""


@dataclass(frozen=True)
class Declaration:
    """A kernel as its declaration describes it."""

    name: str
    flags: Sequence[str] = ()
    source: str | None = None
    source_file: str | None = None
    symbol: str | None = None

    @classmethod
    def of(cls, function: FuncOp) -> Declaration:
        """What the attributes of a function say."""
        name = function.sym_name.data
        texts = (_text(function, key) for key in (SOURCE, SOURCE_FILE, SYMBOL))
        return cls(name, _flags(function), *texts)

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes that say the same."""
        texts = {SOURCE: self.source, SOURCE_FILE: self.source_file, SYMBOL: self.symbol}
        found: dict[str, Attribute] = {key: StringAttr(text) for key, text in texts.items() if text is not None}
        if self.flags:
            found[COMPILE_FLAGS] = ArrayAttr([StringAttr(flag) for flag in self.flags])
        return found

    def attach(self, function: FuncOp) -> None:
        """Let a declaration say this, beside its first argument: its own attributes are as mlir-aie prints them."""
        count, own = len(function.function_type.inputs), dict(self.attributes)
        if count == 0:
            function.attributes.update(own)
        elif own:
            function.arg_attrs = ArrayAttr([DictionaryAttr(own), *[DictionaryAttr({})] * (count - 1)])

    @property
    def macros(self) -> dict[str, str]:
        """`-DNAME=VALUE` as NAME: VALUE."""
        pairs = [flag.removeprefix("-D").partition("=") for flag in self.flags if flag.startswith("-D")]
        # A macro without a value is 1, as compilers have it.
        return {name: value if equals else "1" for name, equals, value in pairs}


def _attribute(function: FuncOp, key: str) -> Attribute | None:
    first = next(iter(function.arg_attrs or ()), None)
    return function.attributes.get(key) or (None if first is None else first.data.get(key))


def _text(function: FuncOp, key: str) -> str | None:
    found = _attribute(function, key)
    if found is not None and not isinstance(found, StringAttr):
        fail(function, f"'{key}' is {quoted(found)}, but should be a string")
    return None if found is None else found.data


def _flags(function: FuncOp) -> list[str]:
    found = _attribute(function, COMPILE_FLAGS)
    if found is None:
        return []
    if not isa(found, ArrayAttr[StringAttr]):
        fail(function, f"'{COMPILE_FLAGS}' is {quoted(found)}, but should be a list of strings")
    return [flag.data for flag in found]
