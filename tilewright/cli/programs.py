"""Programs that a command is given, read and checked: one in an input or, between markers, several."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from tilewright.cli.errors import show_diagnostics
from tilewright.cli.files import read_text
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity, collect, errors_in
from tilewright.ir.parser import parse_source
from tilewright.ir.split_input import split_input
from tilewright.ir.verifier import verify

ResultT = TypeVar("ResultT")


def load_program(path: str) -> ModuleOp:
    """The program in a file (`-`: on stdin); raises `DiagnosedError`, with the text to quote from, if it has faults."""
    name = source_name(path)
    text = read_text(path)
    # whoever shows the error has not seen the text
    try:
        return read_checked(make_context(), name, text)
    except DiagnosedError as error:
        error.sources[name] = text
        raise


def read_checked(ctx: Context, name: str, text: str) -> ModuleOp:
    """The program that a text says; raises `DiagnosedError` if it has faults."""
    module = parse_source(ctx, text, name)
    if errors := verify(module):
        raise CompileError(errors)
    return module


def source_name(path: str) -> str:
    """What locations call a file."""
    return "<stdin>" if path == "-" else path


class PartArguments(Protocol):
    """What a command line says about parts."""

    input: str
    split_marker: str | None
    verify_diagnostics: str | None


class InputPart(NamedTuple):
    """A program, the file that it is in, and how many lines of the file come before it."""

    file: str
    lines_before: int
    text: str

    def read(self, ctx: Context) -> ModuleOp:
        """The program, checked; its locations are those in the file."""
        # empty lines in front make the lines of the part those of the file
        return read_checked(ctx, self.file, "\n" * self.lines_before + self.text)


def work_on_parts(
    arguments: PartArguments, work: Callable[[InputPart], ResultT], nothing: ResultT
) -> tuple[list[ResultT], bool]:
    """The result of each part, `nothing` for one that has errors, and whether any has; shows what is reported."""
    file, text = source_name(arguments.input), read_text(arguments.input)
    parts = [(0, text)] if arguments.split_marker is None else split_input(text, arguments.split_marker)
    results, complaints = list[ResultT](), list[Diagnostic]()
    for part in (InputPart(file, *part) for part in parts):
        result, found = _attempt(part, work, nothing)
        results.append(result)
        complaints += _unexpected(part, found, arguments.verify_diagnostics)
    show_diagnostics(complaints, {file: text})
    return results, bool(errors_in(complaints))


def _attempt(
    part: InputPart, work: Callable[[InputPart], ResultT], nothing: ResultT
) -> tuple[ResultT, list[Diagnostic]]:
    with collect() as found:
        try:
            result = work(part)
            return nothing if errors_in(found) else result, found
        except DiagnosedError as error:
            found += error.diagnostics
        except RecursionError:
            start = FileLineColLoc(StringAttr(part.file), IntAttr(part.lines_before + 1), IntAttr(1))
            found.append(Diagnostic(Severity.ERROR, "the input is nested too deeply", start))
    return nothing, found


def _unexpected(part: InputPart, found: list[Diagnostic], verify_diagnostics: str | None) -> list[Diagnostic]:
    """What is reported or, if that is compared with what comments expect, how it differs."""
    if verify_diagnostics is None:
        return found
    from tilewright.ir.verify_diagnostics import check_expectations

    return check_expectations(part.text, part.file, part.lines_before, found, verify_diagnostics == "only-expected")
