"""The `tilewright` command: a table of commands, and what becomes of errors."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from tilewright import __version__

COMMANDS = {
    "compile": "lower a design: its configuration, and its runtime sequences once for all sizes",
    "run": "run a design on the simulated NPU",
    "air": "run and compile AIR programs for GPUs",
    "opt": "read, check, transform and print programs",
    "translate": "write programs as TXN words, C++ or JSON",
    "txn": "read, change and compare TXN binaries",
    "kernels": "list the kernels that designs can call without bringing them",
    "devices": "show the devices that are known, as a table and as pictures",
    "show": "show what a design puts on which tile",
    "demo": "multiply matrices of several sizes with one build, on the simulated NPU",
    "config": "say where the parts of this installation are",
}

WRONG_INPUT, WRONG_USAGE, INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 1, 2, 70, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, as long as the process
    gc.set_threshold(100_000)  # most objects made here live to the end: classes, and the program
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        return _explain(error)


def _run(arguments: list[str]) -> int:
    match arguments:
        case [] | ["-h" | "--help" | "help", *_]:
            print(_overview())
            return 0 if arguments else WRONG_USAGE
        case ["--version", *_]:
            print(f"tilewright {__version__}")
            return 0
        case [command, *rest] if command in COMMANDS:
            return _run_command(import_module(f"tilewright.cli.{command}"), command, rest)
        case _:
            print(f"tilewright: error: unknown command '{arguments[0]}'\n\n{_overview()}", file=sys.stderr)
            return WRONG_USAGE


def _run_command(module: ModuleType, name: str, arguments: list[str]) -> int:
    if hasattr(module, "run_command"):
        return module.run_command(arguments)
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    parser = ArgumentParser(f"tilewright {name}", description=module.__doc__)
    parser.formatter_class = RawDescriptionHelpFormatter
    module.add_arguments(parser)
    try:
        return module.run(parser.parse_args(arguments)) or 0
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else 0


def _overview() -> str:
    width = max(map(len, COMMANDS)) + 2
    table = "\n".join(f"  {name:{width}}{summary}" for name, summary in COMMANDS.items())
    return f"usage: tilewright COMMAND ...\n\n{table}\n\n`tilewright COMMAND --help` says more about each."


def _explain(error: Exception) -> int:
    """Print an error in a line or a few, never as a traceback unless that was asked for."""
    from tilewright.cli.errors import UsageError, show_diagnostics
    from tilewright.errors import Error
    from tilewright.ir.diagnostics import DiagnosedError

    if os.environ.get("TILEWRIGHT_TRACEBACK"):
        raise error
    match error:
        case DiagnosedError():
            show_diagnostics(error.diagnostics, error.sources)
            return WRONG_INPUT
        case UsageError():
            print(error, file=sys.stderr)
            return WRONG_USAGE
        case MemoryError():
            print("tilewright: error: out of memory", file=sys.stderr)
            return WRONG_INPUT
        case OSError():
            print(f"tilewright: error: {error.strerror or error}", file=sys.stderr)
            return WRONG_INPUT
        case Error():
            print(f"tilewright: error: {error}", file=sys.stderr)
            return WRONG_INPUT
        case _:
            print(f"tilewright: internal error: {_where(error)}{type(error).__name__}: {error}", file=sys.stderr)
            print("tilewright: please report this with the command and its input; ", end="", file=sys.stderr)
            print("with TILEWRIGHT_TRACEBACK=1 set it shows where it happened", file=sys.stderr)
            return INTERNAL_ERROR


def _where(error: Exception) -> str:
    """File and line of our own code that the error came through last."""
    found, trace = "", error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        if f"{os.sep}tilewright{os.sep}" in code.co_filename:
            found = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return found
