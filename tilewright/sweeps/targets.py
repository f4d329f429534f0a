"""Targets of sweeps: the function that makes a program for values of parameters, or a program that is there already.

Parameters that the function takes are known when the program is compiled. All others are scalar arguments of its
runtime sequence: points that differ in nothing else share one build.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from tilewright.driver.sources import PYTHON_SUFFIX, Source, TextSource, is_program, is_text, source_of
from tilewright.errors import ArgumentError, UnknownNameError, near_match
from tilewright.iron.scripts import load_script, script_names
from tilewright.iron.utils.compile.jit.fingerprint import fingerprint
from tilewright.sweeps.expressions import Value


@dataclass(frozen=True)
class Trial:
    """A program with more to say about it than its text: what a function may give instead of the program alone."""

    program: Any
    """Anything that `tilewright.compile` takes, or an object with a method `program`, such as `WholeArrayGemm`."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of the sequence by name: numbers for scalars; arrays, or texts such as `random:1`, for buffers."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Known already, for constraints and for the table; such as `l1_bytes`, which need not be found out then."""


class SweepTarget:
    """What a sweep is over. Other processes find it again where it was found, or get it along."""

    def __init__(self, design: Any, entry: str | None = None):
        """A target.

        Args:
            design: a function, a program, MLIR text, `FILE.py`, `FILE.mlir` or `MODULE:NAME`
            entry: of a file of Python: the function or the program
        """
        self.design, self.entry = design, entry
        self.text: str | None = None
        """MLIR, which goes along to other processes."""
        self.digest = ""
        """Changes when the target does, as far as that can be told."""
        path = self.path
        if path is not None and path.suffix != PYTHON_SUFFIX:
            self.text = _read(path).decode(errors="surrogateescape")
        known = _read(path) if path is not None else self._identity().encode()
        self.digest = sha256(repr((self.entry, known)).encode()).hexdigest()

    @property
    def path(self) -> Path | None:
        """The file that it is in, where a file was named."""
        is_named = isinstance(self.design, str) and not _is_module(self.design) and not is_text(self.design)
        return Path(self.design) if is_named or isinstance(self.design, Path) else None

    def _identity(self) -> str:
        if isinstance(self.design, str) and is_text(self.design):
            return self.design
        if isinstance(self.design, str):
            file = getattr(_module_of(self.design), "__file__", None)
            return self.design + (_read(Path(file)).hex() if file else "")
        return fingerprint(self.design) or f"{type(self.design)} {getattr(self.design, '__qualname__', '')}"

    def __repr__(self) -> str:
        return f"<SweepTarget: {self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        # what was found here is found anew elsewhere
        return {name: value for name, value in vars(self).items() if name not in ("found", "taken")}

    @property
    def name(self) -> str:
        """What to call it."""
        if isinstance(self.design, str) and is_text(self.design):
            return "<text>"
        if isinstance(self.design, str | Path):
            return f"{self.design}:{self.entry}" if self.entry else str(self.design)
        return getattr(self.design, "__name__", type(self.design).__name__)

    @cached_property
    def found(self) -> Any:
        """The function or the program itself. A file of Python is run for it."""
        path = self.path
        if path is not None and path.suffix == PYTHON_SUFFIX:
            return self._in_file(path)
        if path is not None:
            return TextSource(self.text or "", str(path))
        is_module = isinstance(self.design, str) and not is_text(self.design)
        return _in_module(self.design) if is_module else self.design

    def _in_file(self, path: Path) -> Any:
        if sha256(repr((self.entry, _read(path))).encode()).hexdigest() != self.digest:
            raise ArgumentError(f"{path} is another file here than where the sweep was begun")
        names = script_names(path)
        if self.entry is None:
            functions = [n for n, value in names.items() if _is_own_function(value, path)]
            if not any(is_program(value) for value in names.values()) and len(functions) == 1:
                return names[functions[0]]
            return load_script(path)
        if self.entry not in names:
            raise UnknownNameError(f"{path}: there is no '{self.entry}'{near_match(self.entry, names)}")
        return names[self.entry]

    @cached_property
    def taken(self) -> Mapping[str, inspect.Parameter] | None:
        """Parameters of the function by name; None if it takes any."""
        if not self._is_function:
            return {}
        found = inspect.signature(self.found).parameters
        return None if any(p.kind is p.VAR_KEYWORD for p in found.values()) else found

    @property
    def _is_function(self) -> bool:
        found = self.found
        return isinstance(found, Callable) and not is_program(found) and not isinstance(found, TextSource)

    def is_compiled_in(self, parameter: str) -> bool:
        """Whether a parameter is known when the program is compiled."""
        return self.taken is None or parameter.partition(".")[0] in self.taken

    def trial(self, values: Mapping[str, Value]) -> Trial:
        """The program for values of parameters; those that it does not take are left out."""
        if not self._is_function:
            return Trial(self.found)
        given = {name: value for name, value in values.items() if self.is_compiled_in(name)}
        made = self.found(**self._nested(given))
        return made if isinstance(made, Trial) else Trial(made)

    def _nested(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """Arguments of the function: `tile.m` is a field of the default of `tile`."""
        found = dict[str, Any]()
        for name, value in values.items():
            base, dot, member = name.partition(".")
            if not dot:
                found[base] = value
                continue
            start: Any = found.get(base, self.taken[base].default if self.taken is not None else None)
            if not is_dataclass(start) or isinstance(start, type) or member not in {f.name for f in fields(start)}:
                raise ArgumentError(f"{self.name} has no parameter {base} with a field {member}")
            found[base] = replace(start, **{member: value})
        return found


def source_of_trial(trial: Trial) -> Source:
    """What a trial's program is to the compiler."""
    program: Any = trial.program
    # designs such as `WholeArrayGemm` make their programs
    return source_of(program if is_program(program) or not hasattr(program, "program") else program.program())


def _is_module(text: str) -> bool:
    module, colon, name = text.partition(":")
    return (
        bool(colon)
        and not module.endswith((PYTHON_SUFFIX, ".mlir"))
        and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))
    )


def _in_module(text: str) -> Any:
    found: Any = _module_of(text)
    try:
        for part in text.partition(":")[2].split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise ArgumentError(f"there is no {text}: {error}") from error
    return found


def _module_of(text: str) -> ModuleType:
    try:
        return import_module(text.partition(":")[0])
    except ImportError as error:
        raise ArgumentError(f"there is no {text}: {error}") from error


def _is_own_function(value: Any, path: Path) -> bool:
    is_public = inspect.isfunction(value) and not value.__name__.startswith("_")
    return is_public and value.__code__.co_filename == str(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArgumentError(f"cannot open '{path}': {cast(str, error.strerror)}") from error
