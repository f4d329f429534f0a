"""A run as one page of HTML that needs nothing else: pictures, a timeline to zoom, tables for all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tilewright.device.register_names import TILE_WORDS
from tilewright.ir.diagnostics import Diagnostic, file_position
from tilewright.ir.escapes import shown_json
from tilewright.report.array_picture import ArrayPicture
from tilewright.report.markup import (
    Heading,
    Markup,
    disclosure,
    element,
    headings_of,
    join,
    percent,
    size,
    table,
    template,
    text,
)
from tilewright.report.phases import BUSY, LOOKS, WAITS, Phase, PhaseKind
from tilewright.report.spans import Shares, Spans, cores_busy, shares_of, spans_of
from tilewright.report.summary import duration
from tilewright.report.tasks import OperationStep, steps_of, tasks_of
from tilewright.report.timeline import MOST_TASKS, Timeline, timeline_of
from tilewright.report.tracks import file_name, full_lock_name, full_name
from tilewright.report.traffic import HostTraffic, host_uses
from tilewright.report.wait_picture import WaitPicture
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.record import RunRecord

MOST_STEPS = 1000
"""Operations that the table of the sequence has."""
LONGEST_WAITS = 12
MOST_FUNCTIONS = 40
"""Of a core, those that took longest."""
FEW_COLUMNS = 2
CAUSE = "most likely cause: "
"""What the last note of a hang begins with."""
Sources = Mapping[str, str]
"""Texts of source files by name."""
CAPTION = "Operations of the sequence"
NUMBER = "number"
HEADINGS = (("operation", NUMBER), ("words", NUMBER), ("what it does", None), ("begins", NUMBER), ("cycles", NUMBER))
Lines = Mapping[str, Sequence[str]]
"""Source files, line by line."""
LEAST_WITH_TEXT = 0.14
"""Pieces of a bar that are smaller have no room for words."""


def page_html(record: RunRecord, title: str, sources: Sources | None = None, before: Sequence[PageSection] = ()) -> str:
    """The whole page; `before` has sections of the caller, which come first."""
    page = _Page(record, sources or {}, before)
    return fill_page(
        f"{title} · tilewright run",
        page.head(title),
        page.sections(),
        data=shown_json(page.data()),
        script=template("page.js"),
        command="tilewright run --report",
        remark="Cycles are modelled, not measured. ",
    )


def fill_page(
    title: str,
    head: Markup,
    sections: Iterable[PageSection],
    *,
    command: str,
    data: str = "{}",
    script: str = "",
    remark: str = "",
) -> str:
    """A page that needs nothing else; `command` is what writes it."""
    blanks = {
        "title": text(title),
        "command": text(command),
        "remark": text(remark),
        "style": Markup(template("page.css").replace("<!-- colours -->", template("colours.css"))),
        "script": Markup(template("tools.js") + script),
        "data": Markup(data),
        "head": head,
        "sections": join(map(_section, sections)),
    }
    html = template("page.html")
    # not `format`: style and script are full of braces
    for name, content in blanks.items():
        html = html.replace(f"<!-- {name} -->", content)
    return html


def _section(section: PageSection) -> Markup:
    label = f"{section.name}-title"
    heading = element("h2", section.title, id=label)
    lead = element("p", section.lead, class_="lead")
    return element("section", heading, lead, section.contents, id=section.name, aria_labelledby=label)


class PageSection(NamedTuple):
    name: str
    title: str
    lead: str
    """One sentence about what is to be seen."""
    contents: Markup


class _Page:
    def __init__(self, record: RunRecord, sources: Sources, before: Sequence[PageSection]):
        self.record, self.before = record, before
        self.lines = {name: text.split("\n") for name, text in sources.items()}
        self.spans: Spans = spans_of(record)
        self.shares: Shares = shares_of(record, self.spans)
        self.tasks = tasks_of(record)
        self.steps = list(steps_of(record, MOST_STEPS))  # used by the table and by the timeline

    @cached_property  # both the page's data and its texts ask for it
    def timeline(self) -> Timeline:
        return timeline_of(self.record, self.spans, self.tasks)

    def data(self) -> dict[str, object]:
        """What the script of the timeline needs."""
        looks = [{"label": look.label, "kind": look.kind.value, "colour": look.colour} for look in LOOKS.values()]
        return {
            "cycles": self.record.cycles,
            "clock": self.record.clock_hz,
            "phases": looks,
            "groups": self.timeline.groups,
            "tracks": self.timeline.tracks,
            "tasks": self.timeline.tasks,
            "binCycles": self.timeline.bin_cycles,
            "steps": [step.text for step in self.steps],
            "places": [f"{file_name(step.line[0])}:{step.line[1]}" if step.line else "" for step in self.steps],
        }

    def head(self, title: str) -> Markup:
        """What was run, and how it ended, in large letters."""
        state, said = _outcome(self.record)
        badge = element("span", said, class_=f"badge {state}")
        facts = join(element("div", element("dt", name), element("dd", value)) for name, value in self._facts())
        heading = element("h1", title, " ", badge)
        lead = element("p", f"one run on a simulated {self.record.model}", class_="lead")
        return join([heading, lead, element("dl", facts, class_="facts")])

    def _facts(self) -> Iterator[tuple[str, str]]:
        record, seconds = self.record, self.record.cycles / self.record.clock_hz
        yield "cycles", f"{record.cycles:,}"
        yield f"at {record.clock_hz / 1e9:.2g} GHz", duration(seconds)
        busy = cores_busy(record, self.shares)
        if busy.cores:
            yield f"{busy.cores} core{'s' * (busy.cores != 1)} busy", percent(busy.share)
        moved = sum(use.read_bytes + use.written_bytes for use in self.uses.values())
        yield "host traffic", size(moved)
        yield "bytes per cycle", f"{moved / max(record.cycles, 1):.2f}"
        yield "operations", f"{len(record.stream.opcodes):,}"
        yield "events", f"{len(record.trace):,}"

    @cached_property
    def uses(self) -> Mapping[int, HostTraffic]:
        return host_uses(self.record)

    def sections(self) -> Iterator[PageSection]:
        yield from self.before
        if self.record.error is not None:
            yield self._error(self.record.error)
        yield self._array()
        yield self._timeline()
        yield self._stalls()
        if any(self.record.profiles.values()):
            yield self._functions()
        yield self._sequence()
        yield self._buffers()
        if self.record.notes:
            lines = join(element("li", line) for note in self.record.notes for line in note.lines())
            yield PageSection("notes", "Notes", "What the simulator remarked on the way.", element("ul", lines))

    def _error(self, error: Diagnostic) -> PageSection:
        contents = [element("pre", "\n".join(error.lines()), class_="message", tabindex=0, aria_label="the message")]
        if self.record.waits:
            texts = (note.text for note in error.notes if note.text.startswith(CAUSE))
            # streams pass on what others wait for, so they get no boxes of their own
            streams = {w.name for w in self.record.waits if self.record.parts[w.part].kind is PartKind.STREAM}
            picture = WaitPicture(list(self.record.waits), next(texts, "").removeprefix(CAUSE), streams)
            figure = element("figure", picture.svg(), class_="picture")
            contents += [figure, disclosure("The same as a table, with everybody who waits", picture.table())]
        lead = "Nothing could move any more. Each box waits for what is below it." if self.record.waits else ""
        return PageSection("why", "Why it stopped", lead or "The run ended here.", join(contents))

    def _array(self) -> PageSection:
        picture = ArrayPicture(self.record, self.shares)
        figure = element("figure", picture.svg(), class_="picture")
        lead = (
            "The bar of a core is what it was at, the gauge of a DMA channel how much of the time it moved words, and "
            "a stream is the warmer the fuller it was. Choose a tile to see it in the timeline."
        )
        scale = element("p", "stream use ", element("span", class_="scale", aria_hidden="true"), " 0 to 100 %")
        tables = [picture.tile_table(), picture.stream_table()]
        if self.record.model.columns <= FEW_COLUMNS:  # there is room beside the picture
            shown = element("div", figure, element("div", scale, *tables), class_="beside")
        else:
            shown = join([figure, scale, disclosure("The same as tables", *tables)])
        return PageSection("array", "Array", lead, shown)

    def _timeline(self) -> PageSection:
        lead = (
            "Tall bars work, low bars wait; the height of a bar that moves words is how many it moves per cycle. "
            "Drag or scroll sideways to move, Ctrl and wheel to zoom; with the keyboard: arrows, + and -, 0 for all."
        )
        legend = join(self._legend())
        widget = Markup(template("timeline.html"))
        limits = [element("p", text, class_="limit") for text in self._limits()]
        contents = [*limits, element("ul", legend, class_="legend"), widget, self._longest()]
        return PageSection("timeline", "Timeline", lead, join(contents))

    def _limits(self) -> Iterator[str]:
        """What the page leaves out."""
        if self.timeline.bin_cycles is not None:
            yield (
                f"The run has {len(self.record.trace):,} events, more than a page can hold: its longest tracks show "
                f"the shares of phases in stretches of {self.timeline.bin_cycles:,} cycles. --trace writes every event."
            )
        if len(self.tasks) > MOST_TASKS:
            yield f"Arrows are drawn for the first {MOST_TASKS:,} of {len(self.tasks):,} tasks."

    def _legend(self) -> Iterator[Markup]:
        used = set(np.unique(self.spans.phase).tolist())
        for phase, look in LOOKS.items():
            if phase in used:
                swatch = element("span", class_=f"swatch {look.kind.value} back-{look.colour}", aria_hidden="true")
                yield element("li", swatch, look.label, title=look.meaning)

    def _longest(self) -> Markup:
        """The waits that took longest, each with a button that shows it."""
        # part 0 is the controller, which waits for all others
        waits = self.spans[np.isin(self.spans.phase, WAITS) & (self.spans.part > 0)]
        order = np.argsort(-waits.cycles, kind="stable")[:LONGEST_WAITS]
        tracks = {track["part"]: number for number, track in enumerate(self.timeline.tracks) if "part" in track}
        rows = list[list[str]]()
        for index in order.tolist():
            part, start, end = int(waits.part[index]), int(waits.start[index]), int(waits.end[index])
            look, lock = LOOKS[Phase(int(waits.phase[index]))], int(waits.detail[index])
            cause = full_lock_name(self.record, lock) if look.label == LOOKS[Phase.LOCK].label else look.cause
            name = full_name(self.record.model, self.record.parts[part])
            go = element("button", "show", type="button", data_track=tracks[part], data_from=start, data_to=end)
            rows.append([name, cause, f"{start:,}", f"{end - start:,}", go])
        headings = headings_of("who", "waits for", "from cycle#", "cycles#", "timeline")
        return disclosure("The longest waits, as a table", table("The longest waits", headings, rows, "longest-table"))

    def _stalls(self) -> PageSection:
        lead = "What parts of a kind were at, as shares of the run, all of them together; the rest is idle."
        return PageSection("stalls", "Stalls by cause", lead, Stalls(self.record, self.shares).markup())

    def _functions(self) -> PageSection:
        headings = headings_of("core", "function", "cycles#", "share#", "bundles#", "waited#")
        rows = list[list[str]]()
        for place, functions in sorted(self.record.profiles.items()):
            total = max(sum(it.cycles for it in functions), 1)
            for it in functions[:MOST_FUNCTIONS]:
                numbers = [f"{it.cycles:,}", percent(it.cycles / total), f"{it.bundles:,}", f"{it.waited:,}"]
                rows.append([f"({place.column}, {place.row})", it.function, *numbers])
        lead = (
            "Machine code of cores: cycles in each function without what it calls, of which the core stood still in "
            "those that it waited. A function without a name has its address."
        )
        shown = table("Cycles by function", headings, rows, "functions-table")
        return PageSection("functions", "Functions of cores", lead, shown)

    def _sequence(self) -> PageSection:
        total = len(self.record.stream.opcodes)
        lead = f"{total:,} operations, in the order in which the controller carries them out."
        if total > len(self.steps):
            lead += f" The table has the first {len(self.steps):,}."
        if not self.record.locations:
            lead += " Which lines they come from is not known."
        return PageSection("sequence", "Sequence", lead, sequence_table(self.steps, self.lines))

    def _buffers(self) -> PageSection:
        sizes = "bytes#", "read by the array#", "written#"
        headings = headings_of("buffer", "argument#", "address#", *sizes, "over")
        rows = list[list[str]]()
        for argument in self.record.arguments:
            use = self.uses.get(argument.number, HostTraffic(0, 0, ()))
            over = ", ".join(full_name(self.record.model, self.record.parts[part]) for part in use.channels)
            numbers = [f"{argument.size_bytes:,}", f"{use.read_bytes:,}", f"{use.written_bytes:,}"]
            rows.append([argument.name, str(argument.number), f"{argument.address:#x}", *numbers, over])
        what = "What the sequence was given, where the array saw it, and what became of it."
        lead = what if rows else "The sequence takes no arrays."
        return PageSection("buffers", "Host buffers", lead, table("Host buffers", headings, rows, "buffers-table"))


def _outcome(record: RunRecord) -> tuple[str, str]:
    """How a run ended: the class of its badge, and the words on it."""
    error = record.error
    if error is None:
        return "ended", "ran to its end"
    where = file_position(error.location)
    at = f" at line {where[1]}" if where else ""
    # only hangs have open waits
    if record.waits:
        return "stuck", f"hangs{at}"
    stopped = next((word for word in ("stopped", "interrupted") if error.text.startswith(word)), None)
    return "faulty", f"{stopped or 'fails'}{at}"


def sequence_table(steps: Iterable[OperationStep], lines: Lines) -> Markup:
    """One body for each run of operations from the same line."""
    head = element("thead", element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in HEADINGS)))
    groups = (list(group) for _, group in groupby(steps, key=lambda step: step.line))
    bodies = join(element("tbody", *_source_row(group, lines), *map(_row, group)) for group in groups)
    table = element("table", element("caption", CAPTION), head, bodies, id="steps-table")
    return element("div", table, class_="scroll tall", tabindex=0, role="region", aria_label=CAPTION)


def _source_row(steps: list[OperationStep], lines: Lines) -> Iterator[Markup]:
    """The line that the operations below come from, with all their words and cycles."""
    first, last = steps[0], steps[-1]
    if first.line is None:
        return
    name, number = first.line
    known = lines.get(name, ())
    code = known[number - 1].strip() if 0 < number <= len(known) else ""
    words = f"words {first.first_word} to {last.last_word}"
    took = f", {last.end - first.start:,} cycles" if first.start is not None and last.end is not None else ""
    where = element("span", f"{file_name(name)}:{number}", class_="where")
    said = join([where, " ", element("code", code), " ", element("span", words + took, class_="where")])
    yield element("tr", element("th", said, colspan=len(HEADINGS), scope="rowgroup"), class_="source")


def _row(step: OperationStep) -> Markup:
    begins, cycles = "", "not reached"
    if step.start is not None:
        begins, cycles = f"{step.start:,}", "not done" if step.end is None else f"{step.end - step.start:,}"
    meaning = element("div", step.meaning, class_="meaning") if step.meaning else text(None)
    return element(
        "tr",
        element("th", str(step.number), scope="row", class_=NUMBER),
        element("td", f"{step.first_word} to {step.last_word}", class_=NUMBER),
        element("td", element("code", step.text), meaning),
        element("td", begins, class_=NUMBER),
        element("td", cycles, class_=NUMBER),
    )


class Stalls:
    """The controller, the cores, and the channels of each kind of tile."""

    def __init__(self, record: RunRecord, shares: Shares):
        self.record, self.shares = record, shares
        self.groups = dict[str, list[int]]()
        for number in np.flatnonzero(shares.cycles.sum(axis=1)).tolist():
            self.groups.setdefault(self._kind(record.parts[number]), []).append(number)

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
        # work first, so that the pieces of a bar can be compared from bar to bar
        for phase in [*BUSY, *WAITS]:
            share, look = self._share(numbers, phase), LOOKS[phase]
            if share:
                said = f"{look.label} {percent(share)}"
                low = " low" if look.kind is PhaseKind.WAIT else ""
                inside = said if share > LEAST_WITH_TEXT else ""
                style = f"width:{100 * share:.2f}%"
                yield element("span", inside, class_=f"back-{look.colour}{low}", style=style, title=said)

    def _table(self) -> Markup:
        phases = [phase for phase in LOOKS if phase and self.shares.cycles[:, phase].any()]
        headings = [Heading("at"), *(Heading(name, True) for name in self.groups)]
        rows = [[LOOKS[phase].label, *self._row(phase)] for phase in phases]
        return table("Shares of the run", headings, rows, "stalls-table")

    def _row(self, phase: Phase) -> Iterator[str]:
        shares = (self._share(numbers, phase) for numbers in self.groups.values())
        return (percent(share) if share else "" for share in shares)
