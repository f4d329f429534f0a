"""Errors as a person sees them: diagnostics with the line they are about, and one line for the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager

from tilewright.errors import Error
from tilewright.ir.diagnostics import Diagnostic, Severity, file_position, position_text
from tilewright.ir.escapes import visible

LONGEST_LINE, LONGEST_TEXT = 160, 1000
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;35", Severity.REMARK: "1;34", Severity.NOTE: "1;30"}


class CommandLineError(Error):
    """The command was called in a way that makes no sense; the text says how."""


class InputError(Error):
    """A file that the command was given cannot be read or written; the text says which and why."""


class LocatedError(InputError):
    """Something wrong in a file that is no text; the error begins with the name of that file."""


@contextmanager
def complaining(error_type: type[Exception], complaint: Callable[[str], Error]) -> Generator[None]:
    """Let a command say what goes wrong inside the block: `complaint` is its error with the text of that one."""
    try:
        yield
    except error_type as error:
        raise complaint(str(error)) from error


def show_diagnostics(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> None:
    """Print each diagnostic, and its line where the text of its file is known, to stderr."""
    lines = {name: text.split("\n") for name, text in sources.items()}
    for diagnostic in diagnostics:
        shown = None  # notes often are about the line of their error, which need not be quoted again
        for part in (diagnostic, *diagnostic.notes):
            position = file_position(part.location)
            print("\n".join(_render(part, position, {} if position == shown else lines)), file=sys.stderr)
            shown = position


def _render(
    diagnostic: Diagnostic, position: tuple[str, int, int] | None, sources: Mapping[str, list[str]]
) -> Iterable[str]:
    # input may have control characters in its names: those must not reach a terminal
    place = f"{position_text(position)}:" if position else "tilewright:"
    text = "\n".join(visible(line[:LONGEST_TEXT], keep="\t") for line in diagnostic.text.split("\n"))
    yield f"{_paint('1', place)} {_paint(COLORS[diagnostic.severity], f'{diagnostic.severity}:')} {text}"
    if position and 0 < position[1] <= len(sources.get(position[0], ())):
        yield from _excerpt(sources[position[0]][position[1] - 1], position[2])


def _excerpt(line: str, column: int) -> Iterable[str]:
    """The line with a caret under `column`; of a very long line the part around it."""
    start = 0 if len(line) <= LONGEST_LINE else max(0, column - LONGEST_LINE // 2)
    line = line.rstrip()[start : start + LONGEST_LINE]
    yield visible(line, keep="\t")
    yield "".join("\t" if c == "\t" else " " for c in visible(line[: max(column - 1 - start, 0)], keep="\t")) + "^"


def _paint(style: str, text: str) -> str:
    # https://no-color.org
    return f"\033[{style}m{text}\033[0m" if sys.stderr.isatty() and "NO_COLOR" not in os.environ else text
