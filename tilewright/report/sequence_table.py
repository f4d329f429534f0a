"""The sequence as a table: operations below the lines of the source that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from tilewright.report.markup import Markup, element, join, text
from tilewright.report.operations import Step
from tilewright.report.tracks import file_name

CAPTION = "Operations of the sequence"
NUMBER = "number"
HEADINGS = (("operation", NUMBER), ("words", NUMBER), ("what it does", None), ("begins", NUMBER), ("cycles", NUMBER))
Lines = Mapping[str, Sequence[str]]
"""Source files, line by line."""


def sequence_table(steps: Iterable[Step], lines: Lines) -> Markup:
    """One body for each run of operations from the same line."""
    head = element("thead", element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in HEADINGS)))
    bodies = join(_body(list(group), lines) for _, group in groupby(steps, key=lambda step: step.line))
    table = element("table", element("caption", CAPTION), head, bodies, id="steps-table")
    return element("div", table, class_="scroll tall", tabindex=0, role="region", aria_label=CAPTION)


def _body(steps: list[Step], lines: Lines) -> Markup:
    return element("tbody", *_source_row(steps, lines), *(_row(step) for step in steps))


def _source_row(steps: list[Step], lines: Lines) -> Iterator[Markup]:
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


def _row(step: Step) -> Markup:
    begins = "" if step.start is None else f"{step.start:,}"
    if step.start is None:
        cycles = "not reached"
    else:
        cycles = "not done" if step.end is None else f"{step.end - step.start:,}"
    meaning = element("div", step.meaning, class_="meaning") if step.meaning else text(None)
    return element(
        "tr",
        element("th", str(step.number), scope="row", class_=NUMBER),
        element("td", f"{step.first_word} to {step.last_word}", class_=NUMBER),
        element("td", element("code", step.text), meaning),
        element("td", begins, class_=NUMBER),
        element("td", cycles, class_=NUMBER),
    )
