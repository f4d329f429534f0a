"""Sweeps in files: TOML that says what is tried, Python that defines a `Sweep` or a function, MLIR."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tilewright.errors import ArgumentError, near_match
from tilewright.iron.scripts import script_names
from tilewright.sweeps.definition import Sweep

TYPES: Mapping[str, tuple[type, ...]] = {
    "design": (str,),
    "objective": (str, list),
    "search": (str,),
    "samples": (int,),
    "seed": (int,),
    "budget": (str,),
    "keep": (int,),
    "constraints": (list,),
    "columns": (dict,),
    "fields": (list,),
    "arguments": (dict,),
    "entry": (str,),
    "sequence": (str,),
    "max_cycles": (int,),
    "options": (dict,),
    "parameters": (dict,),
}
"""What a file of TOML may say, and as what: fields of `Sweep`. `measure` needs Python."""


def read_sweep(path: Path, changes: Mapping[str, Any]) -> Sweep:
    """The sweep in a file, with what a command line says instead; its parameters and arguments are added."""
    if path.suffix == ".toml":
        return replace(_changed(_of_toml(path), changes), file=(str(path),))
    entry = changes.get("entry")
    if path.suffix == ".py" and (found := _defined(path, entry)) is not None:
        words = (str(path), *(() if entry is None else ("--entry", entry)))
        return replace(_changed(found, {n: v for n, v in changes.items() if n != "entry"}), file=words)
    given: dict[str, Any] = {"design": path, "parameters": {}, **changes}
    return Sweep(**given, file=(str(path),))


def _changed(sweep: Sweep, changes: Mapping[str, Any]) -> Sweep:
    merged = {
        name: {**_flat(getattr(sweep, name)), **value} if name in ("parameters", "arguments", "columns") else value
        for name, value in changes.items()
    }
    return replace(sweep, **merged)


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Tables of dotted names with the names written out, so that single ones can be replaced."""
    found = dict[str, Any]()
    for name, value in table.items():
        inner = isinstance(value, Mapping)
        found |= _flat(cast("Mapping[str, Any]", value), f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return found


def _of_toml(path: Path) -> Sweep:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"cannot open '{path}': {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentError(f"{path}: error: {error}") from error
    for name, value in given.items():
        if name not in TYPES:
            near, there = near_match(name, TYPES), ", ".join(TYPES)
            raise ArgumentError(f"{path}: error: nothing is called '{name}' in a sweep{near}; there is {there}")
        if not isinstance(value, TYPES[name]) or isinstance(value, bool):
            kinds = {str: "a text", int: "a number", list: "a list", dict: "a table"}
            wanted = " or ".join(kinds[kind] for kind in TYPES[name])
            raise ArgumentError(f"{path}: error: {name} is {wanted}, not {value!r}")
    for name in ("design", "parameters"):
        if name not in given:
            raise ArgumentError(f"{path}: error: a sweep says its {name}")
    given["design"] = _beside(path, given["design"])
    return Sweep(**given)


def _beside(path: Path, design: str) -> Any:
    """A file that is named in a file lies beside it, whatever folder the command is started in."""
    return path.parent / design if design.endswith((".py", ".mlir")) else design


def _defined(path: Path, entry: str | None) -> Sweep | None:
    """The sweep that a file of Python defines, if it does."""
    names = script_names(path)
    found = {name: value for name, value in names.items() if isinstance(value, Sweep)}
    if entry is not None:
        return found.get(entry)
    if len(found) > 1:
        raise ArgumentError(
            f"{path}: error: this file defines several sweeps: {', '.join(found)}; choose: --entry NAME"
        )
    return next(iter(found.values()), None)


def number_or_text(text: str) -> Any:
    """A value as a command line has it: a number, a truth value, a list in brackets, or a text."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return int(text, 0) if text[:2].lower() in ("0x", "0b", "0o") else text
    return cast(Any, found) if isinstance(found, bool | int | float | list) else text


def values_of(name: str, text: str) -> list[Any]:
    """Values of a parameter: `1,2,4`, or `16:65:16` for a range as Python has it."""
    parts = text.split(":")
    if len(parts) in (2, 3) and all(part.lstrip("-").isdecimal() for part in parts):
        values = list(range(*map(int, parts)))
        if not values:
            raise ArgumentError(f"{name}: there is nothing in {text}")
        return values
    try:
        return [number_or_text(text)] if text.startswith("[") else [number_or_text(part) for part in text.split(",")]
    except ValueError as error:
        raise ArgumentError(f"{name}: '{text}' has no values") from error
