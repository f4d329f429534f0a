"""Writes docs/reference.md from the docstrings of all public names.

python docs/reference.py            writes it
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

PAGE = Path(__file__).parent / "reference.md"
MODULES = (
    "tilewright",
    "tilewright.txn",
    "tilewright.air",
    "tilewright.air.library",
    "tilewright.iron",
    "tilewright.iron.device",
    "tilewright.iron.controlflow",
    "tilewright.iron.open_sizes",
    "tilewright.iron.helpers.taplib",
    "tilewright.designs",
    "tilewright.sweeps",
)
"""What programs import from, in the order of the page."""
HEAD = """# Reference

All public names, with what their docstrings say. `python docs/reference.py` makes this page. The operations one by one,
as placed programs use them, are in `tilewright.iron.dialects`; kernels are listed by `tilewright kernels`.
"""


LONGEST_DEFAULT = 40


class Name(NamedTuple):
    name: str
    value: Any


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    return "\n".join([HEAD, *(line for module in MODULES for line in of_module(module))])


def of_module(name: str) -> Iterator[str]:
    module = import_module(name)
    yield f"## `{name}`\n"
    yield f"{text_of(module)}\n"
    for found in names_of(module):
        yield from of_name(found)


def names_of(module: Any) -> list[Name]:
    """The public names of a module, its own submodules left out."""
    listed: list[str] = getattr(module, "__all__", None) or dir(module)
    names = [name for name in listed if not name.startswith("_")]
    found = [Name(name, getattr(module, name)) for name in sorted(names, key=str.lower)]
    return [n for n in found if inspect.isclass(n.value) or inspect.isroutine(n.value)]


def of_name(found: Name) -> Iterator[str]:
    is_plain = inspect.isclass(found.value) and issubclass(found.value, BaseException | Enum)
    signature = "" if is_plain else signature_of(found.value)
    yield f"### `{found.name}{signature}`\n"
    yield f"{text_of(found.value)}\n"
    if inspect.isclass(found.value):
        if not is_plain and (made := text_of(vars(found.value).get("__init__"))):
            yield f"{made}\n"
        yield from of_members(found.value)


def of_members(kind: type[Any]) -> Iterator[str]:
    lines = list[str]()
    members: dict[str, Any] = dict(vars(kind))
    for name, member in members.items():
        if name.startswith("_"):
            continue
        value: Any = getattr(member, "__func__", member)
        if isinstance(value, property) and text_of(value):
            lines.append(f"- `{name}`: {first_sentences(value)}")
        elif inspect.isfunction(value) and text_of(value):
            lines.append(f"- `{name}{signature_of(value)}`: {first_sentences(value)}")
    if lines:
        yield "\n".join(lines) + "\n"


def signature_of(value: Any) -> str:
    """The parameters without their types, which the source has."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    shown = [_short(p) for p in parameters if p.name != "self"]
    return str(inspect.Signature(shown))


class _Default(NamedTuple):
    """How a default is shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _short(parameter: inspect.Parameter) -> inspect.Parameter:
    """Without its type; a default that is no plain value, or a long one, is only said to be there."""
    parameter = parameter.replace(annotation=inspect.Parameter.empty)
    if parameter.default is inspect.Parameter.empty:
        return parameter
    text = repr(parameter.default.value) if isinstance(parameter.default, Enum) else repr(parameter.default)
    is_long = len(text) > LONGEST_DEFAULT or " at 0x" in text
    return parameter.replace(default=_Default("..." if is_long else text))


def text_of(value: Any) -> str:
    return PARAMETER.sub(r"- `\1`: \2", inspect.cleandoc(getattr(value, "__doc__", None) or ""))


PARAMETER = re.compile(r"^    (\w+): (.*)$", re.MULTILINE)
"""What docstrings say of a parameter, or of an error."""


def first_sentences(value: Any) -> str:
    """The first paragraph, on one line, and what is said of parameters."""
    first, *others = text_of(value).split("\n\n")
    lists = [part for part in others if part.startswith(("Args:", "Raises:"))]
    return "\n".join([" ".join(first.split()), *(indent(part, "  ") for part in lists)])


if __name__ == "__main__":
    main()
