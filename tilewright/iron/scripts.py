"""Files of Python that define a program: run, and searched for it."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from tilewright.driver.sources import BuiltSource, Source, TextSource, is_program, texts_of
from tilewright.ir.diagnostics import DiagnosedError, fail
from tilewright.iron.builders.module import Module, ModuleContext, collect_modules, finished

MAIN = "__main__"


def built(given: Any) -> Source:
    """The source of a program that is a Python object."""
    match given:
        case ModuleContext() | Module():
            return BuiltSource(finished(given))
        case ModuleOp():
            return BuiltSource(given)
        case str():
            return TextSource(given, "<text>")
        # a design that is called like a function is one, too
        case _ if is_program(given):
            return built(given.resolve_program())
        case _:
            raise TypeError(
                f"cannot compile {type(given).__name__}: give a path, MLIR text, a Program, or a module that was built"
            )


# output, arguments and folders for imports are the process's: one thread at a time lends them to its script
_running = threading.RLock()


def load_script(path: Path, entry: str | None = None) -> Source:
    """The program that a file defines: the only one that it has, or what `entry` names.

    `entry` is a program, a function without arguments that gives one, or `__main__` for a file that builds its program
    only when it is run as a script.
    """
    with _running, collect_modules() as modules:
        namespace = vars(_run(path, MAIN if entry == MAIN else path.stem))
        programs = {name: value for name, value in namespace.items() if _is_program(value)}
        if entry not in (None, MAIN):
            return _chosen(path, namespace, str(entry))
    if len(programs) == 1:
        with _explaining(path):
            return built(next(iter(programs.values())))
    if not programs and len(modules) == 1:  # scripts of upstream print their module and keep it nowhere
        return built(modules[0])
    _fail_to_choose(path, programs, len(modules))


def script_names(path: Path) -> Mapping[str, Any]:
    """What a file defines, by name; it is run for that."""
    with _running, collect_modules():
        return vars(_run(path, path.stem))


def _is_program(value: Any) -> bool:
    return isinstance(value, Module | ModuleContext) or is_program(value)


def _chosen(path: Path, namespace: Mapping[str, Any], entry: str) -> Source:
    value = namespace.get(entry)
    if value is None:
        fail(_at(path), f"there is no '{entry}' in this file", (_at(path), "--entry names what is to be compiled"))
    with _explaining(path):
        return built(value() if isinstance(value, Callable) and not _is_program(value) else value)


def _fail_to_choose(path: Path, programs: Mapping[str, Any], modules: int) -> NoReturn:
    start = _at(path)
    if programs or modules:
        names = ", ".join(programs) or f"{modules} modules without names"
        fail(start, f"this file defines several programs: {names}", (start, "choose one: --entry NAME"))
    fail(
        start,
        "this file defines no program",
        (
            start,
            "give a Program a name, such as `program = Program(...)`, or say which function makes it: --entry NAME",
        ),
        (start, f"or, if it is made under `if __name__ == '{MAIN}':`, --entry {MAIN}"),
    )


def _run(path: Path, name: str) -> ModuleType:
    """Run a file as a module of its own; what it prints is not ours to show."""
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        fail(_at(path, error.lineno or 1, error.offset or 1), f"SyntaxError: {error.msg}")
    module = ModuleType(name)
    module.__file__ = str(path)
    with _importing_from(path.parent, name, module), redirect_stdout(StringIO()), _explaining(path):
        exec(code, vars(module))
    return module


@contextmanager
def _importing_from(folder: Path, name: str, module: ModuleType) -> Generator[None]:
    """Let a script find the files beside it, and see no arguments but its own name."""
    path, arguments, before = sys.path[:], sys.argv, sys.modules.get(name)
    sys.path.insert(0, str(folder))
    # scripts of designs read their command line
    sys.argv = [str(module.__file__)]
    # dataclasses and pickling look a module up by its name
    sys.modules[name] = module
    try:
        yield
    finally:
        sys.path[:], sys.argv = path, arguments
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


@contextmanager
def _explaining(path: Path) -> Generator[None]:
    """Turn what goes wrong in a script into an error about its line."""
    try:
        yield
    except DiagnosedError as error:
        parts = [part for diagnostic in error.diagnostics for part in (diagnostic, *diagnostic.notes)]
        error.sources.update(texts_of(part.location for part in parts))
        raise
    except (Exception, SystemExit) as error:  # scripts with wrong arguments exit
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line, column = (frames[-1].lineno or 1, (frames[-1].colno or 0) + 1) if frames else (1, 1)
        where = _at(path, line, column)
        # an error of ours with the script's own as its cause: `TILEWRIGHT_TRACEBACK` shows both
        try:
            fail(where, f"{type(error).__name__}: {error}", (where, "this happens when the file is run"))
        except DiagnosedError as found:
            found.sources.update(texts_of([where]))
            raise found from error


def _at(path: Path, line: int = 1, column: int = 1) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(str(path)), IntAttr(line), IntAttr(column))
