"""A run over time as pictures of the array: what each tile was at, in some stretches of equal length.

A notebook shows one picture and a row of points to go from one to the next, which needs no program: a click, or the
arrow keys. Where styles are lost, the same is there in letters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from tilewright.device import TileId
from tilewright.device.register_names import TILE_WORDS
from tilewright.errors import ArgumentError
from tilewright.report.markup import Markup, card, disclosure, element, join
from tilewright.report.phases import LOOKS, Phase, PhaseKind
from tilewright.report.spans import Spans, spans_of
from tilewright.report.timeline import cover
from tilewright.report.tracks import full_name
from tilewright.sim.parts import PartKind
from tilewright.sim.record import RunRecord

MOST_FRAMES = 60
TILE, GAP, LAMP, LINE, CAPTION = (86, 40), 12, 11, 20, 180
"""In pixels: a tile, the room between two, the square of a channel, a line of text, and how long one can be."""
LETTERS = {PhaseKind.BUSY: "#", PhaseKind.WAIT: "-", PhaseKind.IDLE: "."}


@dataclass(frozen=True)
class Film:
    """Pictures of a run, one for each of `frames` stretches of it."""

    record: RunRecord
    frames: int

    def __post_init__(self) -> None:
        if not 1 <= self.frames <= MOST_FRAMES:
            raise ArgumentError(f"a film has 1 to {MOST_FRAMES} pictures, not {self.frames}")

    @cached_property
    def phases(self) -> dict[int, Sequence[Phase]]:
        """By part that did something: the phase that most of each stretch went to."""
        spans = spans_of(self.record)
        return {number: self._phases_of(spans[spans.part == number]) for number in np.unique(spans.part).tolist()}

    def _phases_of(self, spans: Spans) -> Sequence[Phase]:
        width = self._width
        found = [Phase(phase) for phase in np.unique(spans.phase).tolist() if phase != Phase.IDLE]
        if not found:
            return [Phase.IDLE] * self.frames
        covered = np.stack([cover(spans[spans.phase == phase], width, self.frames) for phase in found])
        best: npt.NDArray[np.int64] = np.where(covered.sum(axis=0) * 2 > width, covered.argmax(axis=0), -1)
        places: list[int] = best.tolist()
        return [Phase.IDLE if place < 0 else found[place] for place in places]

    @property
    def _width(self) -> int:
        return -(-max(self.record.cycles, 1) // self.frames)

    def __repr__(self) -> str:
        """A line of letters for each part: `#` busy, `-` waits, `.` idle."""
        names = {number: full_name(self.record.model, self.record.parts[number]) for number in self.phases}
        longest = max(map(len, names.values()), default=0)
        lines = [
            f"{names[number]:{longest}} {''.join(LETTERS[LOOKS[phase].kind] for phase in phases)}"
            for number, phases in self.phases.items()
        ]
        return "\n".join([f"{self.frames} stretches of {self._width:,} cycles: # busy, - waits, . idle", *lines])

    def _repr_html_(self) -> str:
        """A row of points, and the picture of the one that is chosen; lines of letters for where styles are lost."""
        rows = (TILE[1] + GAP) * self.record.model.rows - GAP
        box = max(max((x for x, _ in self._spots.values()), default=0) + TILE[0], CAPTION), rows + LINE
        pictures = [self._picture(frame, rows + LINE - 4) for frame in range(self.frames)]
        # The same film twice in a notebook is two groups with one name, which do not disturb each other's pictures.
        name = f"film-{sha256(''.join(pictures).encode()).hexdigest()[:12]}"
        inputs = [
            element("input", type="radio", name_=name, checked="" if frame == 0 else None, aria_label=self._time(frame))
            for frame in range(self.frames)
        ]
        label = f"the array in {self.frames} stretches of the run"
        shown = {"viewBox": f"0 0 {box[0]} {box[1]}", "width": box[0], "role": "img", "aria_label": label}
        return card(
            f"{self.record.cycles:,} cycles in {self.frames} pictures",
            element("style", Markup(_style(name, self.frames))),
            element("div", *inputs, element("svg", *self._plan(*pictures), **shown), class_=name),
            element("div", join(self._keys()), class_="quiet"),
            disclosure("the same in letters", element("pre", repr(self))),
        )

    def _time(self, frame: int) -> str:
        start = frame * self._width
        return f"cycles {start:,} to {min(start + self._width, self.record.cycles):,}"

    def _keys(self) -> Iterator[Markup]:
        for phase in sorted({phase for phases in self.phases.values() for phase in phases}):
            colour = f"color:var(--{LOOKS[phase].colour})"
            yield join([element("span", element("span", "■", style=colour), f" {LOOKS[phase].label}"), "  "])

    @cached_property
    def _spots(self) -> dict[TileId, tuple[int, int]]:
        """Where tiles are drawn; columns where nothing happens are left out."""
        parts, rows = self.record.parts, self.record.model.rows
        used = {tile.column for number in self.phases if (tile := parts[number].tile) is not None}
        return {
            TileId(column, row): ((TILE[0] + GAP) * at, (TILE[1] + GAP) * (rows - 1 - row))
            for at, column in enumerate(sorted(used))
            for row in range(rows)
        }

    def _plan(self, *pictures: Markup) -> Iterator[Markup]:
        """Outlines of tiles, the pictures, and over them what tiles are called."""
        outlines = "".join(_rectangle(x, y, *TILE) for x, y in self._spots.values())
        yield element("path", d=outlines, fill="none", stroke="var(--line)")
        yield from pictures
        for tile, (x, y) in self._spots.items():
            kind = TILE_WORDS[self.record.model.tile_type(*tile)]
            yield element("text", f"{kind} ({tile.column}, {tile.row})", x=x + 5, y=y + 14)

    def _picture(self, frame: int, bottom: int) -> Markup:
        """Cores fill their tiles, channels are squares in them; one shape for all that are in the same phase."""
        faint, full = defaultdict[Phase, list[str]](list), defaultdict[Phase, list[str]](list)
        for tile, (x, y) in self._spots.items():
            parts = self._on_tiles.get(tile, [])
            channels = [phases[frame] for kind, phases in parts if kind is PartKind.CHANNEL]
            side = min(LAMP, (TILE[0] - 10) // max(len(channels), 1) - 2)
            for number, phase in enumerate(channels):
                full[phase].append(_rectangle(x + 5 + (side + 2) * number, y + TILE[1] - LAMP - 5, side, LAMP))
            for phase in (phases[frame] for kind, phases in parts if kind is PartKind.CORE):
                faint[phase].append(_rectangle(x, y, *TILE))
        shapes = [_shape(phase, found, "0.5") for phase, found in faint.items()]
        shapes += [_shape(phase, found, None) for phase, found in full.items()]
        return element("g", *shapes, element("text", self._time(frame), x=0, y=bottom))

    @cached_property
    def _on_tiles(self) -> dict[TileId, list[tuple[PartKind, Sequence[Phase]]]]:
        found = defaultdict[TileId, list[tuple[PartKind, Sequence[Phase]]]](list)
        for number, phases in self.phases.items():
            part = self.record.parts[number]
            if part.tile is not None:
                found[part.tile].append((part.kind, phases))
        return found


def _rectangle(x: int, y: int, width: int, height: int) -> str:
    return f"M{x},{y}h{width}v{height}h-{width}z"


def _shape(phase: Phase, rectangles: Sequence[str], opacity: str | None) -> Markup:
    return element("path", d="".join(rectangles), fill=f"var(--{LOOKS[phase].colour})", fill_opacity=opacity)


def _style(name: str, frames: int) -> str:
    """One picture at a time: the one that stands in the place of the point which is chosen."""
    chosen = ",".join(f".{name} input:nth-of-type({n}):checked~svg g:nth-of-type({n})" for n in range(1, frames + 1))
    return f".{name} g{{display:none}} {chosen}{{display:inline}} .{name} input{{margin:0 1px}}"
