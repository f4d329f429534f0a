"""Programs that a command is given: read and checked."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.files import read_text
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.verifier import verify


def load_program(path: str) -> ModuleOp:
    """The program in a file (`-`: on stdin); raises `DiagnosedError`, with the text to quote from, if it has faults."""
    name = source_name(path)
    text = read_text(path)
    try:
        module = parse_source(make_context(), text, name)
        errors = verify(module)
        if errors:
            raise DiagnosedError(errors)
        return module
    except DiagnosedError as error:
        error.sources[name] = text
        raise


def source_name(path: str) -> str:
    """What locations call a file."""
    return "<stdin>" if path == "-" else path
