"""Write programs in other forms: TXN words, C++, JSON."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from xdsl.context import Context

from tilewright.cli.files import write_atomically, write_text
from tilewright.cli.program_parts import Part, work_on_parts
from tilewright.cli.translate_arguments import Arguments, help_text, parse_arguments
from tilewright.cli.translations import TRANSLATE, Output
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import showing_operations
from tilewright.ir.verifier import operation_text


def run_command(argv: list[str]) -> int:
    arguments = parse_arguments(argv)
    if arguments.help:
        print(help_text())
        return 0
    ctx = make_context(arguments.allow_unregistered)
    results, failed = work_on_parts(arguments, partial(_translate, ctx, arguments), "")
    if failed:
        return 1
    _write(arguments, results)
    return 0


def _translate(ctx: Context, arguments: Arguments, part: Part) -> Output:
    module = part.read(ctx)
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
