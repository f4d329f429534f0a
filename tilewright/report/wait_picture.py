"""The wait graph as a picture: from the controller down to the most likely cause."""

from __future__ import annotations

from collections.abc import Container, Iterator
from textwrap import wrap

from tilewright.ir.diagnostics import file_position, place
from tilewright.report.markup import Markup, element, headings_of, table
from tilewright.report.tracks import file_name
from tilewright.sim.hangs import OpenWait

WIDTH, GAP, MARGIN = 420, 44, 16
LINE = 17
LETTERS = 58
"""Letters of a line of text in a box."""
MOST_ASIDE = 2
"""Others that wait for the same thing and get a box of their own."""
FIRST = "the controller"


class WaitPicture:
    """Draws the waits of a run that is stuck."""

    def __init__(self, waits: list[OpenWait], cause: str = "", carriers: Container[str] = ()):
        """`carriers` only pass words on: they are not worth a box where they are not in the chain."""
        self.cause, self.carriers = cause, carriers
        self.by_name = {wait.name: wait for wait in waits}
        self.chain = list(self._follow())
        self.parts: list[Markup] = []
        self.y = float(MARGIN)
        self.tops: dict[str, tuple[float, float]] = {}

    def _follow(self) -> Iterator[OpenWait]:
        """The waits that lead from the controller to the cause."""
        at = self.by_name.get(FIRST) or next(iter(self.by_name.values()), None)
        seen = set[str]()  # waits may form a cycle
        while at is not None and at.name not in seen:
            seen.add(at.name)
            yield at
            at = self.by_name.get(at.needs) if at.needs else None

    def svg(self) -> Markup:
        for wait in self.chain:
            self._level(wait)
        self._end()
        is_wide = any(self._aside(wait) for wait in self.chain)
        # beside a chain of its own there is only the arrow of a cycle
        width = MARGIN * 2 + (1 + MOST_ASIDE) * WIDTH + MOST_ASIDE * GAP if is_wide else WIDTH + 2 * MARGIN + 60
        box = f"0 0 {width} {self.y:g}"
        label = "Who waits for whom, from the controller at the top to the most likely cause at the bottom"
        size = f"max-width: {width}px; min-width: {0.75 * width:g}px"
        return element("svg", *self.parts, class_="waits", viewBox=box, role="img", aria_label=label, style=size)

    def _aside(self, wait: OpenWait) -> list[OpenWait]:
        """Others that wait for the same one as an actor in the chain does."""
        chain = {other.name for other in self.chain}
        others = [w for w in self.by_name.values() if w.name not in chain and w.name not in self.carriers]
        return [w for w in others if w.needs == wait.needs] if wait.needs is not None else []

    def _level(self, wait: OpenWait) -> None:
        """One of the chain, beside it others that wait for the same, and the arrows down."""
        aside = self._aside(wait)
        shown = [wait, *aside[:MOST_ASIDE]]
        height = max(self._height(w) for w in shown)
        top = self.y
        for number, waiting in enumerate(shown):
            x = MARGIN + number * (WIDTH + GAP)
            self.parts.append(self._box(waiting, x, top, "chain" if number == 0 else "aside"))
            if number:
                bend = top + height + GAP / 2
                path = f"M{x + WIDTH / 2:g},{top + self._height(waiting):g}V{bend:g}H{MARGIN + WIDTH / 2:g}"
                self.parts.append(element("path", d=path, class_="edge"))
        if len(aside) > MOST_ASIDE:
            note = f"and {len(aside) - MOST_ASIDE} more"
            x = MARGIN + WIDTH * 3 + GAP * 2
            self.parts.append(element("text", note, x=x, y=top + height + 16, text_anchor="end", class_="small"))
        self.tops[wait.name] = (top, top + self._height(wait))
        self.y = top + height + GAP
        self._arrow(top + self._height(wait), self.y)

    def _height(self, wait: OpenWait) -> float:
        return 30 + LINE * (len(_lines(wait.reason)) + 1)

    def _box(self, wait: OpenWait, x: float, y: float, kind: str) -> Markup:
        texts = [
            element("text", shorten(wait.name, LETTERS - 8), x=x + 14, y=y + 22, class_="name"),
            *(element("text", t, x=x + 14, y=y + 22 + LINE * n) for n, t in enumerate(_lines(wait.reason), 1)),
        ]
        since = f"at it since cycle {wait.since:,}{_where(wait)}"
        bottom = y + self._height(wait)
        texts.append(element("text", since, x=x + 14, y=bottom - 9, class_="small"))
        shape = element("rect", x=x, y=y, width=WIDTH, height=bottom - y, rx=8)
        return element("g", shape, *texts, class_=f"wait {kind}")

    def _arrow(self, top: float, bottom: float) -> None:
        x = MARGIN + WIDTH / 2
        self.parts.append(element("path", d=f"M{x:g},{top:g}V{bottom - 7:g}", class_="edge"))
        self.parts.append(element("path", d=f"M{x:g},{bottom:g}l-5,-9h10z", class_="tip"))

    def _end(self) -> None:
        """What the chain ends with: a cause, or an actor that is in it already."""
        last = self.chain[-1]
        closes = last.needs in self.tops if last.needs else False
        lines = _lines(self.cause or last.cause or f"{last.needs} waits, too")
        height = 34 + LINE * len(lines)
        texts = [element("text", "most likely cause", x=MARGIN + 14, y=self.y + 22, class_="name")]
        texts += [element("text", t, x=MARGIN + 14, y=self.y + 22 + LINE * n) for n, t in enumerate(lines, 1)]
        shape = element("rect", x=MARGIN, y=self.y, width=WIDTH, height=height, rx=8)
        self.parts.append(element("g", shape, *texts, class_="wait cause"))
        if closes and last.needs:
            top, bottom = self.tops[last.needs]
            right, target = MARGIN + WIDTH, (top + bottom) / 2
            path = f"M{right},{self.y + height / 2:g}h26V{target:g}h-17"
            self.parts.append(element("path", d=path, class_="edge back"))
            self.parts.append(element("path", d=f"M{right},{target:g}l9,-5v10z", class_="tip back"))
        self.y += height + MARGIN

    def table(self) -> Markup:
        headings = headings_of("who", "why", "at it since cycle#", "for whom", "source")
        rows = [
            [w.name, w.reason, f"{w.since:,}", w.needs or w.cause, place(w.location).rstrip(": ")]
            for w in self.by_name.values()
        ]
        return table("Everybody who waits in the middle of something", headings, rows, "waits-table")


def _where(wait: OpenWait) -> str:
    """The line of a wait; of its file the last part of the path, which fits into a box."""
    position = file_position(wait.location)
    return f" · {shorten(file_name(position[0]), LETTERS - 34)}:{position[1]}" if position else ""


def shorten(text: str, most: int) -> str:
    """A text without its middle, where it is too long."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def _lines(text: str) -> list[str]:
    return wrap(text, LETTERS)
