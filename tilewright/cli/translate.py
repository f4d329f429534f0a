"""Write programs in other forms: TXN words, C++, JSON."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilewright.cli.errors import show_diagnostics
from tilewright.cli.files import read_text, write_atomically, write_text
from tilewright.cli.programs import source_name
from tilewright.cli.translate_arguments import Arguments, help_text, parse_arguments
from tilewright.cli.translations import TRANSLATE, Output
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity, collect, errors_in, showing_operations
from tilewright.ir.parser import parse_source
from tilewright.ir.split_input import split_input
from tilewright.ir.verifier import operation_text, verify


def run_command(argv: list[str]) -> int:
    arguments = parse_arguments(argv)
    if arguments.help:
        print(help_text())
        return 0
    name = source_name(arguments.input)
    text = read_text(arguments.input)
    parts = [(0, text)] if arguments.split_marker is None else list(split_input(text, arguments.split_marker))
    ctx = make_context(arguments.allow_unregistered)
    results, complaints = list[Output](), list[Diagnostic]()
    for lines_before, part in parts:
        result, found = _process(ctx, arguments, name, lines_before, part)
        if arguments.verify_diagnostics:
            from tilewright.ir.verify_diagnostics import check_expectations

            only_expected = arguments.verify_diagnostics == "only-expected"
            found = check_expectations(part, name, lines_before, found, only_expected)
        results.append(result)
        complaints += found
    show_diagnostics(complaints, {name: text})
    if errors_in(complaints):
        return 1
    _write(arguments, results)
    return 0


def _process(
    ctx: Context, arguments: Arguments, name: str, lines_before: int, text: str
) -> tuple[Output, list[Diagnostic]]:
    """What a part of the input becomes, nothing if there was an error, and what was reported on the way."""
    with collect() as found:
        try:
            return _translate(ctx, arguments, name, "\n" * lines_before + text), found
        except DiagnosedError as error:
            found += error.diagnostics
        except RecursionError:
            start = FileLineColLoc(StringAttr(name), IntAttr(lines_before + 1), IntAttr(1))
            found.append(Diagnostic(Severity.ERROR, "the input is nested too deeply", start))
    return "", found


def _translate(ctx: Context, arguments: Arguments, name: str, text: str) -> Output:
    module = parse_source(ctx, text, name)
    if errors := verify(module):
        raise DiagnosedError(errors)
    assert arguments.translation is not None
    with nullcontext() if arguments.verify_diagnostics else showing_operations(operation_text):
        return TRANSLATE[arguments.translation](ctx, module, arguments)


def _write(arguments: Arguments, results: list[Output]) -> None:
    texts = [result for result in results if isinstance(result, str)]
    if len(texts) == len(results):
        write_text(arguments.output, f"{arguments.output_split_marker}\n".join(texts))
        return
    data = b"".join(result for result in results if isinstance(result, bytes))
    if arguments.output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        write_atomically(Path(arguments.output), data)
