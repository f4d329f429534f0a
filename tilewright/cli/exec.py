"""Run a program that is written for mlir-aie, as it stands, on the simulated NPU.

  tilewright exec [--aie WHOSE] SCRIPT.py [ARGS...]
  tilewright exec [--aie WHOSE] -m MODULE [ARGS...]

The program runs as `python SCRIPT.py ARGS...` would run it, but `import aie` and all below it are served by tilewright:
designs are compiled and run here, without mlir-aie, XRT or an NPU. See docs/exec.md.
"""

from __future__ import annotations

import builtins
import os
import runpy
import signal
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pkgutil import get_importer
from types import ModuleType
from typing import Any

from tilewright.cli.errors import CommandLineError, InputError
from tilewright.cli.parsers import parser_of
from tilewright.errors import Error
from tilewright.support.tracebacks import users_place, users_traceback

MAIN, STDIN = "__main__", "-"
WHOSE = ("tilewright", "installed")
FAILED = 1
_PYTHONS = (TypeError, ValueError, KeyError, RuntimeError)
"""Classes of Python's that errors of ours are, too."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.usage = "tilewright exec [--aie WHOSE] (SCRIPT.py | -m MODULE) [ARGS...]"
    parser.add_argument(
        "--aie",
        choices=WHOSE,
        help="whose `aie` the program imports: ours (default) or that of the installed mlir-aie; TILEWRIGHT_AIE in the "
        "environment says the same",
    )
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as `python -m MODULE` does")
    parser.add_argument(
        "script", nargs="?", metavar="SCRIPT.py", help="a file, a folder or zip file with a __main__.py, or - for stdin"
    )
    # they are taken before the parser reads the rest; this is for its help
    parser.add_argument("args", nargs="*", metavar="ARGS", help="what the program finds in sys.argv")


def run_command(arguments: list[str]) -> int:
    ours, theirs = _divided(arguments)
    try:
        args = parser_of("exec").parse_args(ours)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else 0
    if args.module is None and args.script is None:
        raise CommandLineError("tilewright: error: exec needs a program: SCRIPT.py or -m MODULE (see --help)")
    _choose(args.aie)
    return _run(lambda: _run_module(args.module, theirs) if args.module else _run_script(args.script, theirs))


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our part of a command line, up to the name of the program, and the program's."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != STDIN:
        if arguments[at].startswith("-m"):
            at += arguments[at] == "-m"
            break
        at += 2 if arguments[at] == "--aie" else 1
    return arguments[: at + 1], arguments[at + 1 :]


def _choose(whose: str | None) -> None:
    """Serve `aie`, or leave it to the installed package; processes that the program starts choose alike."""
    if whose is not None:
        os.environ["TILEWRIGHT_AIE"] = whose
    try:
        from tilewright import as_aie

        as_aie.serve()
    except ImportError as error:
        raise CommandLineError(f"tilewright: error: {error}") from error


def _run(program: Callable[[], object]) -> int:
    # what the command sets for itself is not for programs
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        program()
    except Error as error:
        _place(error)
        raise  # ours are told as all commands tell them, in a line or a few
    except Exception as error:
        sys.stdout.flush()
        shown = users_traceback(error)
        sys.excepthook(type(shown), shown, shown.__traceback__)
        return FAILED
    return 0


def _place(error: Error) -> None:
    """Let an error of ours name the program's line, and quote it."""
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    from tilewright.driver.sources import texts_of
    from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity

    if isinstance(error, CommandLineError | InputError):
        return
    if isinstance(error, DiagnosedError):
        parts = [part for diagnostic in error.diagnostics for part in (diagnostic, *diagnostic.notes)]
        error.sources.update(texts_of(part.location for part in parts))
        if kind := next((base.__name__ for base in _PYTHONS if isinstance(error, base)), None):
            error.diagnostics[0].text = f"{kind}: {error.diagnostics[0].text}"  # what the program could have caught
    elif (place := users_place(error)) is not None:
        where = FileLineColLoc(StringAttr(place[0]), IntAttr(place[1]), IntAttr(place[2]))
        located = CompileError([Diagnostic(Severity.ERROR, str(error), where)])
        located.sources.update(texts_of([where]))
        raise located from error


def _run_script(script: str, arguments: list[str]) -> None:
    sys.argv = [script, *arguments]
    # Python, too, takes the place of a program that is given by a relative path from the folder it starts in
    file = script if script == STDIN else os.path.join(os.getcwd(), script)
    if script == STDIN:
        _run_source(sys.stdin.buffer.read(), "<stdin>", folder="")
    elif get_importer(file) is not None:
        _import_from(file)
        _new_main()
        runpy._run_module_as_main(MAIN, alter_argv=False)
    else:
        _run_source(_source_of(script), file, folder=os.path.dirname(os.path.realpath(script)))


def _source_of(script: str) -> bytes:
    try:
        with open(script, "rb") as file:
            return file.read()
    except OSError as error:
        raise CommandLineError(f"tilewright: error: can't open file '{script}': {error.strerror}") from error


def _run_source(source: bytes, file: str, folder: str) -> None:
    _import_from(folder)
    names = _new_main()
    names |= {"__file__": file, "__cached__": None, "__loader__": SourceFileLoader(MAIN, file)}
    # else the `__future__` imports of this file would hold for the program
    exec(compile(source, file, "exec", dont_inherit=True), names)


def _new_main() -> dict[str, Any]:
    """The names of the module that a program runs in; it stays `__main__` for what runs after the program."""
    main = sys.modules[MAIN] = ModuleType(MAIN)
    names = vars(main)
    names["__builtins__"] = builtins
    return names


def _import_from(folder: str) -> None:
    """Let the program, and not this command, find what is beside it."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = ["-m", *arguments]
    _import_from(os.getcwd())
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # of a package around it
        found = None
    if found is None:
        raise InputError(f"No module named {name}")
    _new_main()
    runpy._run_module_as_main(name)  # `run_module` would put another module in the place of `__main__` at its end
