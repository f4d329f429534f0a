"""The options of passes: fields of a dataclass, read from text such as `count=3 names=a,b`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, NoReturn, Union, get_args, get_origin, get_type_hints

from tilewright.ir.diagnostics import fail
from tilewright.ir.pipeline_text import split_list

BOOLEANS = {
    None: True,
    # LLVM's command line takes these spellings and no others.
    **dict.fromkeys(("true", "True", "TRUE", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "0"), False),
}
"""What a boolean option may be set to; named without a value it is on."""


@dataclass(frozen=True)
class Option:
    """One option of a pass: its name on the command line, the field it sets, its type, default and help."""

    name: str
    field: str
    type: Any
    default: Any
    help: str

    @property
    def placeholder(self) -> str:
        """What `--help` shows for the value."""
        kind = _element_type(self.type)
        if issubclass(kind, StrEnum):
            return "|".join(kind)
        word = "bool" if kind is bool else "int" if kind is int else "string"
        return f"{word},..." if _is_list(self.type) else word

    def read(self, text: str | None) -> Any:
        """The value that `text` stands for; None is an option without a value."""
        if _is_list(self.type):
            return tuple(self._read_one(item) for item in split_list(text or "") if item)
        return self._read_one(text)

    def _read_one(self, text: str | None) -> Any:
        kind = _element_type(self.type)
        if kind is bool:
            if text not in BOOLEANS:
                self._refuse(f"'{text}' is invalid value for boolean argument! Try 0 or 1")
            return BOOLEANS[text]
        if text is None:
            self._refuse("requires a value!")
        if kind is int:
            try:
                return int(text, 0)
            except ValueError:
                self._refuse(f"'{text}' value invalid for integer argument!")
        if issubclass(kind, StrEnum) and text not in list(kind):
            self._refuse(f"Cannot find option named '{text}'!")
        return kind(text)

    def _refuse(self, why: str) -> NoReturn:
        fail(None, f"for the --{self.name} option: {why}")


@cache  # types are found in the texts of their annotations, which takes long
def options_of(pass_type: type) -> Sequence[Option]:
    """The options that a pass takes, in the order of their definition."""
    return list(_options(pass_type))


def _options(pass_type: type) -> Iterator[Option]:
    fields: dict[str, Field[Any]] = getattr(pass_type, "__dataclass_fields__", {})
    types = get_type_hints(pass_type) if fields else {}
    for name, definition in fields.items():
        # `__dataclass_fields__` has the class variables too.
        if get_origin(types[name]) is ClassVar:
            continue
        option = definition.metadata.get("option", name.replace("_", "-"))
        default = definition.default_factory() if definition.default_factory is not MISSING else definition.default
        yield Option(option, name, types[name], default, definition.metadata.get("help", ""))


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (tuple, list)


def _element_type(kind: Any) -> type[Any]:
    """`int` for `int`, `int | None`, `tuple[int, ...]` and `list[int]`."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    return _element_type(get_args(kind)[0]) if _is_list(kind) else kind
