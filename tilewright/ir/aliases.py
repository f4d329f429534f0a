"""Attributes that print as a name and are written out once, before or after the program: `#map1`, `#set`, `#loc7`.

Which name an alias gets depends on all the others, so printing puts a mark where the name will stand and records what
it stands for; `resolved` replaces the marks once everything has been printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    TupleType,
    UnknownLoc,
)
from xdsl.ir import Attribute, TypeAttribute

MAX_PLAIN_TUPLE = 16
"""Tuples with more elements are given an alias."""

_ALIAS_NAMES: dict[type[Attribute], str] = {
    AffineMapAttr: "map",
    AffineSetAttr: "set",
    TupleType: "tuple",
    UnknownLoc: "loc",
    FileLineColLoc: "loc",
    NameLoc: "loc",
    CallSiteLoc: "loc",
    FusedLoc: "loc",
}

_MARK = re.compile("\0(\\d+)\0")


AliasNamer = Callable[[Any], str | None]


def alias_namer(cls: type[Attribute]) -> AliasNamer | None:
    """What names the aliases of a class of attributes, where they have any; ours do it with a method `alias_name`."""
    if (method := getattr(cls, "alias_name", None)) is not None:
        return method
    name = next((_ALIAS_NAMES[base] for base in cls.__mro__ if base in _ALIAS_NAMES), None)
    if name == "tuple":
        return lambda type: name if len(type.types) > MAX_PLAIN_TUPLE else None
    return (lambda attribute: name) if name else None


@dataclass
class Alias:
    name: str
    definition: str
    sigil: str
    depth: int
    """One more than the depth of what the definition refers to: definitions come before their uses."""
    deferrable: bool
    """Only locations of operations refer to it, which MLIR's reader resolves when it has read everything."""
    visited: bool
    """Whether a place that asks for aliases mentions it; other places use one that exists and else write it out."""


class Aliases:
    """The aliases that one print needs, in the order of their first mention."""

    def __init__(self) -> None:
        self._aliases: list[Alias] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def __bool__(self) -> bool:
        return bool(self._aliases)

    def mark(
        self, attribute: Attribute, name: str, definition: str, depth: int, *, deferrable: bool, visit: bool
    ) -> str:
        """Record a mention; what comes back stands for the name in printed text."""
        number = self._numbers.setdefault((name, definition), len(self._aliases))
        if number == len(self._aliases):
            sigil = "!" if isinstance(attribute, TypeAttribute) else "#"
            self._aliases.append(Alias(name, definition, sigil, depth, deferrable, visit))
        elif visit and not self._aliases[number].visited:
            # the first mention that counts decides on the order, so the alias moves to the end
            old = self._aliases[number]
            self._numbers[name, definition] = len(self._aliases)
            self._aliases.append(Alias(name, definition, old.sigil, depth, deferrable, True))
            number = len(self._aliases) - 1
        if not deferrable and visit:
            self._forbid_deferring(number)
        return f"\0{number}\0"

    def _forbid_deferring(self, number: int) -> None:
        alias = self._aliases[number]
        if alias.deferrable:
            alias.deferrable = False
            for child in _MARK.findall(alias.definition):
                self._forbid_deferring(int(child))

    def resolved(self, text: str) -> tuple[str, str, str]:
        """Definitions to print in front, the text with names in it, and definitions to print behind."""
        visited = [(number, alias) for number, alias in enumerate(self._aliases) if alias.visited]
        visited.sort(key=lambda numbered: _order(numbered[1]))
        names = _unique_names([alias for _, alias in visited])
        by_number = {number: name for (number, _), name in zip(visited, names, strict=True)}

        def spell(mark: re.Match[str]) -> str:
            number = int(mark[1])
            if number not in by_number:
                alias = self._aliases[number]
                current = self._numbers[alias.name, alias.definition]
                by_number[number] = by_number.get(current) or _MARK.sub(spell, alias.definition)
            return by_number[number]

        front = back = ""
        for (_, alias), name in zip(visited, names, strict=True):
            line = f"{name} = {_MARK.sub(spell, alias.definition)}\n"
            if alias.deferrable:
                back += line
            else:
                front += line
        return front, _MARK.sub(spell, text), back


def _order(alias: Alias) -> tuple[int, bool, str]:
    return alias.depth, alias.sigil == "#", alias.name


def _unique_names(aliases: list[Alias]) -> list[str]:
    """`#map`, `#map1` ...; a name that ends in a digit keeps its number apart with an underscore."""
    used: set[str] = set()
    counts: dict[str, int] = {}
    names: list[str] = []
    for alias in aliases:
        name = alias.name
        stem = f"{name}_" if name[-1].isdigit() else name
        while name in used:
            counts[stem] = counts.get(stem, 0) + 1
            name = f"{stem}{counts[stem]}"
        used.add(name)
        names.append(alias.sigil + name)
    return names
