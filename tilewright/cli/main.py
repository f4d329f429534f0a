"""The `tilewright` command: a table of commands, and what becomes of errors."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from tilewright import __version__

COMMANDS = {
    "compile": "lower a design: its configuration, and its runtime sequences once for all sizes",
    "run": "run a design on the simulated NPU",
    "sweep": "try a design with many values of its parameters, here or on a cluster",
    "exec": "run a program that is written for mlir-aie, unchanged",
    "air": "run and compile AIR programs for GPUs",
    "opt": "read, check, transform and print programs",
    "translate": "write programs as TXN words, C++ or JSON",
    "aiecc": "lower designs as mlir-aie's compiler driver does, with its flags",
    "txn": "read, change and compare TXN binaries",
    "package": "put a design into a container for XRT: xclbin, PDI, CDO, ELF",
    "inspect": "say what is in an xclbin, PDI, CDO, ELF or instruction file",
    "diff": "compare two such files by what they mean",
    "trace": "read what trace units recorded",
    "kernels": "list the kernels that designs can call without bringing them",
    "devices": "show the devices that are known, as a table and as pictures",
    "show": "show what a design puts on which tile",
    "plan": "choose the tiles of a product of matrices, by the room and the time that they take",
    "demo": "multiply matrices of several sizes with one build, on the simulated NPU",
    "config": "say where the parts of this installation are",
    "completion": "print what makes a shell complete commands, flags and passes",
}

LLVM_THREAD = "LLVM"
"""What `native.host` calls the thread in which LLVM works."""
WRONG_INPUT, WRONG_USAGE, INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 70, 130, 141, 143

_usual_warning_text = warnings.formatwarning


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, as long as the process
    gc.set_threshold(100_000)  # most objects made here live to the end: classes, and the program
    warnings.formatwarning = _warning_text
    try:
        with _exit_on_sigterm():
            status = _run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes stdout once more at its end
        return BROKEN_PIPE
    except Exception as error:
        return _explain(error)


def _interrupted() -> int:
    """End the process where LLVM is still at work in a thread: what Python frees at its end would wait for that."""
    if any(thread.name == LLVM_THREAD for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    # An interrupt in the middle of `exec` of text, as dataclasses do, makes Python end by the signal even if it is
    # handled (`unhandled_keyboard_interrupt` in pythonrun.c); the next text takes that back.
    exec("")
    return INTERRUPTED


def _warning_text(message: Warning | str, category: type[Warning], *place: Any) -> str:
    """One line for warnings of ours; those of a user's program are shown as ever."""
    if category.__module__.startswith("tilewright."):
        return f"tilewright: warning: {message}\n"
    return _usual_warning_text(message, category, *place)


@contextmanager
def _exit_on_sigterm() -> Generator[None]:
    """Turn SIGTERM into an exit that takes back what is half written, as an interrupt does."""
    try:
        before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    except ValueError:  # signals are for the main thread only
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(arguments: list[str]) -> int:
    match arguments:
        case [] | ["-h" | "--help" | "help", *_]:
            print(_overview())
            return 0 if arguments else WRONG_USAGE
        case ["--version", *_]:
            print(f"tilewright {__version__}")
            return 0
        # only the module of the command is imported, so that each starts fast
        case [command, *rest] if command in COMMANDS:
            return _run_command(import_module(f"tilewright.cli.{command}"), command, rest)
        case _:
            from tilewright.cli.parsers import did_you_mean
            from tilewright.ir.escapes import visible

            problem = f"unknown command '{visible(arguments[0])}'{did_you_mean(arguments[0], COMMANDS)}"
            print(f"tilewright: error: {problem}\n\n{_overview()}", file=sys.stderr)
            return WRONG_USAGE


def _run_command(module: ModuleType, name: str, arguments: list[str]) -> int:
    # tools in MLIR's manner read their command lines themselves
    if hasattr(module, "run_command"):
        return module.run_command(arguments)
    from tilewright.cli.parsers import parser_of

    # a command may have a tool that need not be named
    words = module.with_tool(arguments) if hasattr(module, "with_tool") else arguments
    try:
        return module.run(parser_of(name).parse_args(words)) or 0
    # argparse exits after its help and its complaints; callers of `main` want the status
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else 0


def _overview() -> str:
    width = max(map(len, COMMANDS)) + 2
    table = "\n".join(f"  {name:{width}}{summary}" for name, summary in COMMANDS.items())
    return f"usage: tilewright COMMAND ...\n\n{table}\n\n`tilewright COMMAND --help` says more about each."


def _explain(error: Exception) -> int:
    """Print an error in a line or a few, never as a traceback unless that was asked for."""
    from tilewright.cli.errors import CommandLineError, LocatedError, show_diagnostics
    from tilewright.errors import Error
    from tilewright.ir.diagnostics import DiagnosedError
    from tilewright.ir.escapes import visible_lines

    if os.environ.get("TILEWRIGHT_TRACEBACK"):
        raise error
    # many classes are several of these: the first that fits says most
    match error:
        case DiagnosedError():
            show_diagnostics(error.diagnostics, error.sources)
            return WRONG_INPUT
        case CommandLineError():
            print(visible_lines(str(error)), file=sys.stderr)
            return WRONG_USAGE
        case LocatedError():
            print(visible_lines(str(error)), file=sys.stderr)
            return WRONG_INPUT
        case MemoryError():
            print("tilewright: error: out of memory", file=sys.stderr)
            return WRONG_INPUT
        case ModuleNotFoundError(name="llvmlite"):
            text = "this makes native code, for which llvmlite is missing: pip install llvmlite"
            print(f"tilewright: error: {text}", file=sys.stderr)
            return WRONG_INPUT
        case OSError():
            named = f"{error.filename}: " if error.strerror and error.filename else ""
            print(f"tilewright: error: {visible_lines(f'{named}{error.strerror or error}')}", file=sys.stderr)
            return WRONG_INPUT
        case Error():
            print(f"tilewright: error: {visible_lines(str(error))}", file=sys.stderr)
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
