"""A sweep as one page of HTML that needs nothing else: scatter plots with the front, parallel coordinates, a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10
from typing import Any

from tilewright.report.markup import Heading, Markup, element, join, table, template
from tilewright.report.page import PageSection, fill_page
from tilewright.sweeps.expressions import FieldExpression
from tilewright.sweeps.rows import SweepRow
from tilewright.sweeps.table import SweepResult

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 420, 84, 20, 16, 44
"""Of a plot, in pixels: the whole, and what axes need around it."""
AXIS_GAP, AXIS_TOP, AXIS_HEIGHT = 120, 40, 300
"""Of parallel coordinates."""
MOST_DRAWN = 2000
"""Points that pictures have, the best ones; the table has all."""
MOST_PLOTS = 12
MOST_TICKS = 6
LONGEST_LABEL = 16
EXACT = 1e15
"""Whole numbers below it have all their digits."""


def sweep_html(result: SweepResult) -> str:
    """The whole page."""
    page = _SweepPage(result)
    name = result.sweep.target.name
    return fill_page(
        f"{name} · tilewright sweep",
        page.head(name),
        page.sections(),
        command="tilewright sweep",
        script=template("sweep.js"),
        remark="Cycles are modelled, not measured. ",
    )


@dataclass(frozen=True)
class Axis:
    """Values of one column, from the smallest to the largest, as places from 0 to 1; words are in their order."""

    name: str
    values: Sequence[Any]

    @cached_property
    def words(self) -> Sequence[Any] | None:
        """Values that are no numbers, each once."""
        is_number = all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)
        return None if is_number else list(dict.fromkeys(self.values))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        if self.words is not None:
            return -0.5, len(self.words) - 0.5
        low, high = min(self.values), max(self.values)
        room = (high - low) * 0.04 or abs(high) * 0.04 or 1.0
        return low - room, high + room

    def place(self, value: Any) -> float:
        low, high = self._ends
        number = self.words.index(value) if self.words is not None else value
        return (number - low) / (high - low)

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """Round numbers in between, or the words, with their places."""
        if self.words is not None:
            every = -(-len(self.words) // MOST_TICKS)
            yield from ((self.place(word), shown(word)) for word in self.words[::every])
            return
        low, high = self._ends
        few = sorted(set(self.values))
        if len(few) <= MOST_TICKS:
            yield from ((self.place(value), shown(value)) for value in few)
            return
        step = _round_step((high - low) / MOST_TICKS)
        first = -floor(-low / step)
        for number in range(first, floor(high / step) + 1):
            yield self.place(number * step), shown(number * step)


def _round_step(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... times a power of ten."""
    power = 10.0 ** floor(log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def shown(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < EXACT):
        return f"{int(value):,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return json.dumps(value) if isinstance(value, tuple) else str(value)


class _SweepPage:
    def __init__(self, result: SweepResult):
        self.result, self.sweep = result, result.sweep
        self.drawn = result.ranked[:MOST_DRAWN]
        self.front = {row.number for row in result.front}
        self.best = result.best.number if result.best is not None else None

    def head(self, name: str) -> Markup:
        facts = join(element("div", element("dt", what), element("dd", value)) for what, value in self._facts())
        lead = f"a sweep for small {', '.join(self.sweep.objectives.texts)}: {self.sweep.search} over parameters"
        parts = [element("h1", name), element("p", lead, class_="lead"), element("dl", facts, class_="facts")]
        if self.result.command is not None:
            parts.append(element("p", "The best point again: ", element("code", self.result.command)))
        return join(parts)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "points", f"{len(self.result):,}"
        yield from ((status.value, f"{count:,}") for status, count in self.result.counts.items())
        if self.result.best is not None:
            for text, cost in zip(self.sweep.objectives.texts, self._costs(self.result.best), strict=True):
                yield f"best {text}" if text == self.sweep.objectives.texts[0] else text, shown(cost)

    def _costs(self, row: SweepRow) -> tuple[float, ...]:
        return self.sweep.objectives.costs(row)

    def sections(self) -> Iterator[PageSection]:
        if self.drawn:
            yield self._scatter()
            yield self._parallel()
            yield self._front()
        yield self._points()
        if any(not row.is_ok for row in self.result):
            yield self._failures()

    # Columns.

    @cached_property
    def _varied(self) -> Sequence[str]:
        return [name for name, values in self.sweep.space.parameters.items() if len(values) > 1]

    @cached_property
    def _numbers(self) -> Mapping[str, Axis]:
        """What can be drawn: objectives, other fields, and parameters that differ."""
        names = dict.fromkeys([*self.sweep.objectives.texts, *self.drawn[0].fields, *self._varied])
        found = dict[str, Axis]()
        for name in names:
            values = [self._value(row, name) for row in self.drawn]
            axis = Axis(name, values)
            if all(v is not None for v in values) and (axis.words is None or name in self._varied):
                found[name] = axis
        return found

    def _value(self, row: SweepRow, name: str) -> Any:
        return row.named[name] if name in row.named else FieldExpression(name)(row.named)

    # Scatter plots.

    def _scatter(self) -> PageSection:
        y = self._numbers[self.sweep.objectives.texts[0]]
        others = [name for name, axis in self._numbers.items() if name != y.name and len(set(axis.values)) > 1]
        usual = next((n for n in (*self.sweep.objectives.texts[1:], "l1_bytes") if n in others), None)
        ordered = ([usual] if usual else []) + [name for name in others if name != usual]
        lead = (
            f"Each point against {y.name}, which is to be small; the line joins those that nothing is better than in "
            "one of the two without being worse in the other. Points with a ring are on the front of all objectives. "
            "Choose one to open its report, where there is one."
        )
        choices = [element("option", name, value=number) for number, name in enumerate(ordered[:MOST_PLOTS])]
        chooser = element("label", "across: ", element("select", *choices, id="across"))
        plots = [
            element("figure", self._plot(self._numbers[name], y), class_="picture plot", hidden="" if number else None)
            for number, name in enumerate(ordered[:MOST_PLOTS])
        ]
        limit = [self._limit()] if len(self.drawn) < len(self.result.ranked) else []
        controls = element("p", chooser, class_="controls")
        return PageSection("scatter", "Points", lead, join([*limit, controls, *plots]))

    def _limit(self) -> Markup:
        return element("p", f"Pictures have the best {MOST_DRAWN:,} points; the table has all.", class_="limit")

    def _plot(self, x: Axis, y: Axis) -> Markup:
        def at(row_x: Any, row_y: Any) -> tuple[float, float]:
            across = LEFT + x.place(row_x) * (WIDTH - LEFT - RIGHT)
            return across, HEIGHT - BOTTOM - y.place(row_y) * (HEIGHT - TOP - BOTTOM)

        pairs = list(zip(x.values, y.values, self.drawn, strict=True))
        marks = [self._mark(row, *at(a, b)) for a, b, row in pairs]
        line = " ".join("{:.1f},{:.1f}".format(*at(a, b)) for a, b in _staircase([(a, b) for a, b, _ in pairs], x))
        drawn = [element("polyline", points=line, class_="front")] if line else []
        parts = [*self._frame(x, y), *drawn, *marks]
        label = f"{y.name} against {x.name}, a mark for each point; the table has the same numbers"
        return element("svg", *parts, class_="scatter", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="group", aria_label=label)

    def _frame(self, x: Axis, y: Axis) -> Iterator[Markup]:
        bottom = HEIGHT - BOTTOM
        yield element("path", d=f"M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}", class_="axis")
        for place, said in x.ticks:
            at = LEFT + place * (WIDTH - LEFT - RIGHT)
            yield element("path", d=f"M{at:.1f} {bottom}v5", class_="axis")
            yield element("text", said[:LONGEST_LABEL], x=f"{at:.1f}", y=bottom + 18, text_anchor="middle")
        for place, said in y.ticks:
            at = bottom - place * (bottom - TOP)
            yield element("path", d=f"M{LEFT} {at:.1f}h-5M{LEFT} {at:.1f}H{WIDTH - RIGHT}", class_="grid")
            yield element("text", said, x=LEFT - 8, y=f"{at + 4:.1f}", text_anchor="end")
        yield element("text", x.name, x=(WIDTH + LEFT) / 2, y=HEIGHT - 6, text_anchor="middle", class_="name")
        turned = f"rotate(-90 14 {bottom / 2:.0f})"
        yield element(
            "text", y.name, x=14, y=f"{bottom / 2:.0f}", text_anchor="middle", class_="name", transform=turned
        )

    def _mark(self, row: SweepRow, x: float, y: float) -> Markup:
        kind = "mark best" if row.number == self.best else "mark on-front" if row.number in self.front else "mark"
        size = 7 if row.number == self.best else 5
        circle = element("circle", element("title", self._said(row)), cx=f"{x:.1f}", cy=f"{y:.1f}", r=size, class_=kind)
        return element("a", circle, href=row.report or f"#point-{row.number}", data_point=row.number)

    def _said(self, row: SweepRow) -> str:
        values = ", ".join(f"{name} {shown(row.values[name])}" for name in self._varied)
        costs = zip(self.sweep.objectives.texts, self._costs(row), strict=True)
        return f"point {row.number}: {values}; " + ", ".join(f"{text} {shown(cost)}" for text, cost in costs)

    # Parallel coordinates.

    def _parallel(self) -> PageSection:
        names = [*self._varied, *(name for name in self._numbers if name not in self._varied)]
        axes = [axis for name in names if len(set((axis := self._numbers[name]).values)) > 1]
        width = AXIS_GAP * (len(axes) + 1)
        ranks = {row.number: at / max(len(self.drawn) - 1, 1) for at, row in enumerate(self.drawn)}
        # the best ones last, on top of the others
        lines = [self._line(axes, at, ranks) for at in reversed(range(len(self.drawn)))]
        drawn = [part for number, axis in enumerate(axes) for part in _standing(axis, AXIS_GAP * (number + 1))]
        label = "A line for each point, through its values of all parameters and fields; the table has the same numbers"
        height = AXIS_TOP + AXIS_HEIGHT + 20
        style = f"min-width: {width * 0.7:.0f}px; max-width: {max(width, 900)}px"
        box = f"0 0 {width} {height}"
        svg = element("svg", *lines, *drawn, class_="parallel", viewBox=box, role="img", aria_label=label, style=style)
        lead = (
            f"Each line is a point, the warmer the better its {self.sweep.objectives.texts[0]}: where warm lines meet "
            "is what the best points have in common."
        )
        return PageSection("parallel", "Parameters", lead, element("figure", svg, class_="picture"))

    def _line(self, axes: Sequence[Axis], at: int, ranks: Mapping[int, float]) -> Markup:
        row = self.drawn[at]
        places = (
            (AXIS_GAP * (number + 1), AXIS_TOP + AXIS_HEIGHT * (1 - axis.place(axis.values[at])))
            for number, axis in enumerate(axes)
        )
        points = " ".join(f"{x},{y:.1f}" for x, y in places)
        warmth = f"--use: {1 - ranks[row.number]:.3f}"
        title = element("title", self._said(row))
        kind = "best" if row.number == self.best else None
        return element("polyline", title, points=points, style=warmth, data_point=row.number, class_=kind)

    # Tables.

    def _front(self) -> PageSection:
        lead = "Nothing is better than these in one objective without being worse in another."
        return PageSection("front", "Front", lead, self._table("Front", self.result.front, "front-table"))

    def _points(self) -> PageSection:
        lead = "All points; the number of one that has a report leads to it."
        rows = [*self.result.ranked, *(row for row in self.result if row not in self._ranked)]
        return PageSection("points", "Table", lead, self._table("Points", rows, "points-table"))

    @cached_property
    def _ranked(self) -> _Rows:
        return _Rows(self.result.ranked)

    def _table(self, caption: str, rows: Sequence[SweepRow], name: str) -> Markup:
        fields = [n for n in self.result.headings if any(n in row.fields for row in rows)]
        headings = [Heading("point", True), *(Heading(n, True) for n in (*self._varied, *fields))]
        headings += [Heading("status"), Heading("reason")]
        is_main = name == "points-table"
        return table(caption, headings, [self._row(row, fields, is_main) for row in rows], name)

    def _row(self, row: SweepRow, fields: Sequence[str], is_main: bool) -> list[Any]:
        shared = {"id": f"point-{row.number}" if is_main else None, "data_point": row.number}
        number = element("a" if row.report else "span", row.number, href=row.report, **shared)
        values = [shown(row.values[name]) for name in self._varied]
        values += [shown(row.fields.get(name)) for name in fields]
        return [number, *values, row.status.value, row.reason]

    def _failures(self) -> PageSection:
        found = Counter((row.status.value, row.reason) for row in self.result if not row.is_ok)
        rows = [[status, reason, f"{count:,}"] for (status, reason), count in found.most_common()]
        headings = [Heading("status"), Heading("reason"), Heading("points", True)]
        lead = "Points that could not be compared, by what was wrong with them."
        return PageSection("failures", "Not computed", lead, table("Reasons", headings, rows, "reasons-table"))


class _Rows:
    """Rows by their points: rows themselves have no hash."""

    def __init__(self, rows: Sequence[SweepRow]):
        self._numbers = {row.number for row in rows}

    def __contains__(self, row: SweepRow) -> bool:
        return row.number in self._numbers


def _staircase(pairs: Sequence[tuple[Any, Any]], x: Axis) -> list[tuple[Any, Any]]:
    """The points that no other is below and left of; none where the values across have no order."""
    if x.words is not None:
        return []
    found = list[tuple[Any, Any]]()
    for pair in sorted(set(pairs)):
        if not found or pair[1] < found[-1][1]:
            found.append(pair)
    return found if len(found) > 1 else []


def _standing(axis: Axis, x: float) -> Iterator[Markup]:
    bottom = AXIS_TOP + AXIS_HEIGHT
    yield element("path", d=f"M{x} {AXIS_TOP}V{bottom}", class_="axis")
    yield element("text", axis.name, x=x, y=AXIS_TOP - 16, text_anchor="middle", class_="name")
    for place, said in axis.ticks:
        y = bottom - place * AXIS_HEIGHT
        yield element("path", d=f"M{x - 4} {y:.1f}h8", class_="axis")
        yield element("text", said[:LONGEST_LABEL], x=x + 7, y=f"{y + 4:.1f}", class_="tick")
