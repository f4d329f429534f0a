"""What parts of a kind were at, all of them together: bars, and the same as a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.device.register_names import TILE_WORDS
from tilewright.report.markup import Heading, Markup, element, join, percent, table
from tilewright.report.phases import BUSY, LOOKS, WAITS, Kind, Phase
from tilewright.report.shares import Shares
from tilewright.sim.parts import ArrayPart, PartKind, part_ids_of
from tilewright.sim.record import RunRecord

LEAST_WITH_TEXT = 0.14
"""Pieces of a bar that are smaller have no room for words."""


class Stalls:
    """The controller, the cores, and the channels of each kind of tile."""

    def __init__(self, record: RunRecord, shares: Shares):
        self.record, self.shares = record, shares
        self.groups = dict[str, list[int]]()
        parts = part_ids_of(record.model.name).parts
        for number in np.flatnonzero(shares.cycles.sum(axis=1)).tolist():
            self.groups.setdefault(self._kind(parts[number]), []).append(number)

    def _kind(self, part: ArrayPart) -> str:
        if part.tile is None:
            return "controller"
        kind = TILE_WORDS[self.record.model.tile_type(*part.tile)]
        return "cores" if part.kind is PartKind.CORE else f"{kind} channels"

    def markup(self) -> Markup:
        bars = element("div", *(self._bar(name, numbers) for name, numbers in self.groups.items()), class_="bars")
        return join([bars, self._table()])

    def _share(self, numbers: list[int], phase: Phase) -> float:
        return int(self.shares.cycles[numbers, phase].sum()) / max(self.shares.total * len(numbers), 1)

    def _bar(self, name: str, numbers: list[int]) -> Markup:
        count = f"{name} ({len(numbers)})" if len(numbers) > 1 else name
        bar = element("span", *self._pieces(numbers), class_="bar", aria_hidden="true")
        return element("div", element("span", count, class_="bar-name"), bar, class_="bar-row")

    def _pieces(self, numbers: list[int]) -> Iterator[Markup]:
        for phase in [*BUSY, *WAITS]:
            share, look = self._share(numbers, phase), LOOKS[phase]
            if share:
                said = f"{look.label} {percent(share)}"
                low = " low" if look.kind is Kind.WAIT else ""
                inside = said if share > LEAST_WITH_TEXT else ""
                style = f"width:{100 * share:.2f}%"
                yield element("span", inside, class_=f"back-{look.colour}{low}", style=style, title=said)

    def _table(self) -> Markup:
        phases = [phase for phase in LOOKS if phase and self.shares.cycles[:, phase].any()]
        headings = [Heading("at"), *(Heading(name, True) for name in self.groups)]
        rows = [[LOOKS[phase].label, *self._row(phase)] for phase in phases]
        return table("Shares of the run", headings, rows, "stalls-table")

    def _row(self, phase: Phase) -> Iterator[str]:
        for numbers in self.groups.values():
            share = self._share(numbers, phase)
            yield percent(share) if share else ""
