"""Programs that a command is given: read and checked."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.files import read_text
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.verifier import verify


def load_program(path: str) -> ModuleOp:
    """The program in a file (`-`: on stdin); raises `DiagnosedError`, with the text to quote from, if it has faults."""
    name = source_name(path)
    text = read_text(path)
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
