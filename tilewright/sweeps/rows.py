"""Rows of a sweep: what became of each point; and objectives, which say what of them is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, cast

from tilewright.errors import ArgumentError
from tilewright.sweeps.expressions import FieldExpression, Value


class Status(Enum):
    """How a point ended."""

    OK = "ok"
    PRUNED = "pruned"
    """A constraint does not hold; nothing was compiled."""
    COMPILE_ERROR = "compile error"
    HANG = "hang"
    FAULT = "fault"
    STOPPED = "stopped"
    """It took more cycles than it may."""
    ERROR = "error"
    """Whatever else was wrong with it: its function, a value that the sequence cannot take, what was measured."""
    LOST = "lost"
    """The process that computed it ended each time. Such a point is computed again when the sweep goes on."""


@dataclass(frozen=True)
class SweepRow:
    """A point of a sweep, and what became of it."""

    number: int
    values: Mapping[str, Value]
    status: Status
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reason: str = ""
    """Why it is not ok."""
    report: str | None = None
    """The page about its run, beside the table."""
    seconds: float = 0.0
    """What it took to compute, of time on a clock: nothing that a table compares."""

    @property
    def is_ok(self) -> bool:
        return self.status is Status.OK

    @property
    def named(self) -> dict[str, Any]:
        """Parameters and fields together, as expressions see them."""
        return {**self.values, **self.fields}

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"point": self.number, "parameters": dict(self.values), "status": self.status.value}
        found |= {"fields": dict(self.fields)}
        if self.reason:
            found["reason"] = self.reason
        return found | ({"report": self.report} if self.report else {})

    @staticmethod
    def of_json(found: Mapping[str, Any]) -> SweepRow:
        """The row that `to_json` wrote as `found`; raises `LookupError`, `TypeError` or `ValueError` for others."""
        values = {name: _as_value(value) for name, value in found["parameters"].items()}
        status, fields = Status(found["status"]), dict(found["fields"])
        row = SweepRow(int(found["point"]), values, status, fields, str(found.get("reason", "")), found.get("report"))
        return replace(row, seconds=float(found.get("seconds", 0.0)))


def _as_value(value: Any) -> Value:
    return tuple(_as_value(part) for part in cast("list[Any]", value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Objective:
    """What is to be small: an expression over parameters and fields. A `-` in front makes it what is to be large."""

    texts: Sequence[str]
    """The first one ranks; all together have a front."""

    def __post_init__(self) -> None:
        if not self.texts:
            raise ArgumentError("a sweep has an objective, such as time")

    @property
    def names(self) -> frozenset[str]:
        return frozenset[str]().union(*(FieldExpression(text).names for text in self.texts))

    def costs(self, row: SweepRow) -> tuple[float, ...]:
        """The value of each text for a row that is ok."""
        return tuple(FieldExpression(text)(row.named) for text in self.texts)

    def ranked(self, rows: Iterable[SweepRow]) -> list[SweepRow]:
        """Rows that are ok, the best first; equal ones in the order of their points."""
        return sorted(rows, key=lambda row: (self.costs(row)[0], row.number))

    def front(self, rows: Iterable[SweepRow]) -> list[SweepRow]:
        """Those that no other row is at least as good as in everything, and better in something."""
        costs = [(self.costs(row), row) for row in rows]
        costs.sort(key=lambda pair: (pair[0], pair[1].number))
        found = list[tuple[tuple[float, ...], SweepRow]]()
        for cost, row in costs:
            # those before are not worse in the first; of equal ones the first stays
            if not any(all(a <= b for a, b in zip(other, cost, strict=True)) for other, _ in found):
                found.append((cost, row))
        return [row for _, row in found]
