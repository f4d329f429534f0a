"""Diagnostics as test expectations: `// expected-error@+1 {{text}}` in a program, compared with what was reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilewright.ir.diagnostics import Diagnostic, Severity, file_position

DIRECTIVE = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)? *"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}$"
)
REGEX_BLOCK = re.compile(r"\{\{(.*?)\}\}")


@dataclass
class Expectation:
    """One directive: what has to be reported, and on which line (None where the place has to be unknown)."""

    severity: Severity
    text: str
    pattern: re.Pattern[str]
    line: int | None
    written_at: FileLineColLoc
    met: bool = False

    def fits(self, line: int | None, text: str) -> bool:
        return line == self.line and self.pattern.search(text) is not None


def check_expectations(
    text: str, filename: str, lines_before: int, reported: Sequence[Diagnostic], only_expected: bool = False
) -> list[Diagnostic]:
    """Compare the directives in `text` with what was reported; each difference is an error, none is success.

    A note is never unexpected: notes carry help of ours beside those that MLIR words. With `only_expected` nothing is.
    """
    expected, mistakes = read_expectations(text, filename, lines_before)
    for diagnostic in _with_notes(reported):
        difference = _settle(diagnostic, expected, filename)
        if difference and not only_expected:
            mistakes.append(difference)
    for missing in (e for e in expected if not e.met):
        message = f'expected {missing.severity} "{missing.text}" was not produced'
        mistakes.append(Diagnostic(Severity.ERROR, message, missing.written_at))
    return mistakes


def read_expectations(text: str, filename: str, lines_before: int) -> tuple[list[Expectation], list[Diagnostic]]:
    """The directives in `text`, and errors for those that cannot be read."""
    found, mistakes = list[Expectation](), list[Diagnostic]()
    for_next_line = list[Expectation]()
    number = last_plain_line = lines_before
    for number, line in enumerate(text.split("\n"), lines_before + 1):
        match = DIRECTIVE.search(line.rstrip())
        if match is None:
            for expectation in for_next_line:
                expectation.line = number
            # `below` is the next line without a directive, `above` the last one: directives may be stacked.
            for_next_line, last_plain_line = [], number
            continue
        at = FileLineColLoc(StringAttr(filename), IntAttr(number), IntAttr(match.start() + 1))
        try:
            pattern = _compile(match["text"], regex=match["regex"] is not None)
        except re.error as error:
            mistakes.append(Diagnostic(Severity.ERROR, f"invalid regex: {error}", at))
            continue
        expectation = Expectation(Severity(match["severity"]), match["text"], pattern, number, at)
        match match["place"]:
            case None:
                pass
            case "above":
                expectation.line = last_plain_line
            case "below":
                for_next_line.append(expectation)
            case "unknown":
                expectation.line = None
            case offset:
                expectation.line = number + int(offset)
        found.append(expectation)
    for expectation in for_next_line:
        expectation.line = number
    return found, mistakes


def _compile(text: str, regex: bool) -> re.Pattern[str]:
    """`text` as a pattern: literal, but for what stands in `{{...}}` of a `-re` directive."""
    if not regex:
        return re.compile(re.escape(text))
    # Literal text and patterns by turns.
    parts = REGEX_BLOCK.split(text)
    return re.compile("".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))


def _with_notes(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _with_notes(diagnostic.notes)


def _settle(diagnostic: Diagnostic, expected: list[Expectation], filename: str) -> Diagnostic | None:
    """Mark the expectation that `diagnostic` meets, or say why it is a surprise."""
    position = file_position(diagnostic.location)
    # Diagnostics in other files cannot be expected in this one.
    if position is None or position[0] == filename:
        line = position[1] if position else None
        fitting = [e for e in expected if e.fits(line, diagnostic.text)]
        same = [e for e in fitting if e.severity is diagnostic.severity]
        if same:
            # As in MLIR one expectation takes any number of equal diagnostics.
            next((e for e in same if not e.met), same[0]).met = True
            return None
        if fitting:
            message = f"'{diagnostic.severity}' diagnostic emitted when expecting a '{fitting[-1].severity}'"
            return Diagnostic(Severity.ERROR, message, fitting[-1].written_at)
    if diagnostic.severity is Severity.NOTE:
        return None
    return Diagnostic(Severity.ERROR, f"unexpected {diagnostic.severity}: {diagnostic.text}", diagnostic.location)
