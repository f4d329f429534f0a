"""Spaces of points: all combinations of the values that parameters may have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, cast

from tilewright.errors import ArgumentError, UnknownNameError, near_match
from tilewright.sweeps.expressions import Value

MOST_POINTS = 10_000_000


@dataclass(frozen=True)
class SweepPoint:
    """A value for each parameter; `number` counts the combinations of the whole space."""

    number: int
    values: Mapping[str, Value]

    @cached_property
    def key(self) -> str:
        """The same for the same values, whatever space they are in."""
        return json.dumps(self.values, sort_keys=True)


@dataclass(frozen=True)
class ParameterSpace:
    """Parameters with their values, the last one changing fastest."""

    parameters: Mapping[str, Sequence[Value]]

    @staticmethod
    def of(given: Mapping[str, Any]) -> ParameterSpace:
        """The space of what a user gives: lists of values, single values, ranges, and tables of dotted names."""
        found = dict(_flat(given, ""))
        if not found:
            raise ArgumentError("a sweep has parameters: a name and its values for each")
        space = ParameterSpace(found)
        if len(space) > MOST_POINTS:
            raise ArgumentError(f"the sweep has {len(space):,} points, and may have {MOST_POINTS:,}")
        return space

    def __len__(self) -> int:
        return prod(len(values) for values in self.parameters.values())

    def __getitem__(self, number: int) -> SweepPoint:
        rest, found = number, dict[str, Value]()
        for name, values in reversed([*self.parameters.items()]):
            rest, at = divmod(rest, len(values))
            found[name] = values[at]
        return SweepPoint(number, {name: found[name] for name in self.parameters})

    def check_known(self, what: str, names: Iterable[str]) -> None:
        """Complain about the first name that is no parameter."""
        for name in names:
            if name not in self.parameters:
                near, there = near_match(name, self.parameters), ", ".join(self.parameters)
                raise UnknownNameError(f"{what}: no parameter '{name}'{near}; there is {there}")


def _flat(given: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Sequence[Value]]]:
    for name, values in given.items():
        if isinstance(values, Mapping):
            yield from _flat(cast("Mapping[str, Any]", values), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _values(f"{prefix}{name}", values)


def _values(name: str, given: Any) -> Sequence[Value]:
    every: list[Any] = [*cast("Sequence[Any]", given)] if isinstance(given, list | tuple | range) else [given]
    values = [_value(name, value) for value in every]
    if not values:
        raise ArgumentError(f"parameter {name} has no values")
    seen = set[tuple[type, Value]]()
    for value in values:
        if (type(value), value) in seen:  # 1 and True are the same to Python, and so are 1 and 1.0
            raise ArgumentError(f"parameter {name} has the value {value!r} twice")
        seen.add((type(value), value))
    return values


def _value(name: str, value: Any) -> Value:
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a number of NumPy
        value = value.item()
    if isinstance(value, list | tuple):
        return tuple(_value(name, part) for part in cast("Sequence[Any]", value))
    if isinstance(value, float) and value != value:
        raise ArgumentError(f"parameter {name} has a value that is no number")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ArgumentError(
        f"parameter {name}: a value is a number, a text, a truth value or a list of these, not {type(value).__name__}; "
        "have the function make others of them"
    )
