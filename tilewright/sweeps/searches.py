"""Searches: which points are computed, in rounds. Each round may depend on the rows of those before."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import TypeAlias

from tilewright.errors import ArgumentError
from tilewright.sweeps.expressions import Value
from tilewright.sweeps.rows import Objective, SweepRow
from tilewright.sweeps.spaces import ParameterSpace, SweepPoint

Rounds: TypeAlias = "Generator[list[SweepPoint], Sequence[SweepRow], None]"
"""Gives the points of each round, and takes their rows."""
SEARCHES = ("grid", "random", "halving")


@dataclass(frozen=True)
class Search:
    """How to go through a space: all of it, some of it, or more and more of the best.

    `halving` begins with all values of the other parameters at the first value of `budget`; the best of each round, one
    of `keep`, go on to the next value.
    """

    kind: str = "grid"
    samples: int | None = None
    """So many points by chance; of `halving`, to begin with."""
    seed: int = 0
    budget: str | None = None
    keep: int = 3

    def __post_init__(self) -> None:
        if self.kind not in SEARCHES:
            raise ArgumentError(f"search is one of {', '.join(SEARCHES)}, got {self.kind!r}")
        if self.kind == "random" and self.samples is None:
            raise ArgumentError("a random search has a number of samples")
        if self.kind == "grid" and self.samples is not None:
            raise ArgumentError("a grid has all points; samples are for search = random or halving")
        if self.samples is not None and self.samples < 1:
            raise ArgumentError(f"samples is a positive number, got {self.samples}")
        if self.kind == "halving" and self.budget is None:
            raise ArgumentError("halving has a budget: the parameter whose values make points dearer and dearer")
        if self.kind != "halving" and self.budget is not None:
            raise ArgumentError("a budget is for search = halving")
        if self.keep < 2:
            raise ArgumentError(f"keep says that one of so many goes on, at least 2; got {self.keep}")

    def rounds(self, space: ParameterSpace, objective: Objective) -> Rounds:
        """The points of a space, a list for each round."""
        if self.budget is not None:
            space.check_known("budget", [self.budget])
            yield from self._halving(space, objective, self.budget)
        else:
            yield [space[number] for number in self._chosen(len(space))]

    def expected(self, space: ParameterSpace) -> int:
        """Points of all rounds, if none fails."""
        if self.budget is None:
            return min(len(space), self.samples or len(space))
        levels = len(space.parameters[self.budget])
        found, count = 0, min(len(space) // levels, self.samples or len(space))
        for _ in range(levels):
            found, count = found + count, ceil(count / self.keep)
        return found

    def _chosen(self, total: int) -> Sequence[int]:
        if self.samples is None or self.samples >= total:
            return range(total)
        return sorted(Random(self.seed).sample(range(total), self.samples))

    def _halving(self, space: ParameterSpace, objective: Objective, budget: str) -> Rounds:
        levels = space.parameters[budget]
        others = ParameterSpace({name: values for name, values in space.parameters.items() if name != budget})
        going = [others[number].values for number in self._chosen(len(others))]
        for level in levels:
            points = [space[_number(space, {**values, budget: level})] for values in going]
            rows = yield points
            ranked = objective.ranked(row for row in rows if row.is_ok)
            best = ranked[: ceil(len(points) / self.keep)]
            going = [{name: row.values[name] for name in others.parameters} for row in best]
            if not going:
                return


def _number(space: ParameterSpace, values: Mapping[str, Value]) -> int:
    """Which point of a space has these values."""
    number = 0
    for name, possible in space.parameters.items():
        number = number * len(possible) + possible.index(values[name])
    return number
