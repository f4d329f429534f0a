"""Compiled designs that are kept: in memory, and on disk from one process to the next.

The key is the whole program, with the lines that it comes from, and the compiler's own files. So whatever can change
the design changes the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tilewright
from tilewright.design import Design, compile_source, design_from_text
from tilewright.ir.printer import module_text
from tilewright.native.object_cache import cache_folder, keep_file
from tilewright.sources import BuiltSource, Source

_COMPILER = ("codegen", "device", "dialects", "ir", "native", "passes")


@dataclass
class Statistics:
    """How often designs were compiled, and how often that was not needed."""

    compiled: int = 0
    from_memory: int = 0
    from_disk: int = 0


statistics = Statistics()
_in_memory: dict[str, Design] = {}


def compiled_design(source: Source, use_cache: bool = True) -> Design:
    """The design of a program; without the cache it is compiled whatever is kept."""
    key = program_key(source)
    if not use_cache:
        return _compile(key, source)
    if key in _in_memory:
        statistics.from_memory += 1
    else:
        _in_memory[key] = _from_disk(key) or _compile(key, source)
    return _in_memory[key]


def forget_designs() -> None:
    """Empty the memory; what is on disk stays."""
    _in_memory.clear()


def program_key(source: Source) -> str:
    """Names a program and the compiler that it is for."""
    text = module_text(source.module, debuginfo=True) if isinstance(source, BuiltSource) else repr(source.texts)
    return hashlib.sha256(f"{compiler_key()}\0{text}".encode()).hexdigest()


@cache
def compiler_key() -> str:
    """Changes with the version, and with every file of the compiler."""
    home = Path(tilewright.__file__).parent
    stats = [(str(path.relative_to(home)), path.stat().st_mtime_ns, path.stat().st_size) for path in _files(home)]
    return hashlib.sha256(repr((tilewright.__version__, stats)).encode()).hexdigest()


def _files(home: Path) -> Iterator[Path]:
    yield from sorted(home.glob("*.py"))
    for part in _COMPILER:
        yield from sorted((home / part).rglob("*.py"))


def design_file(key: str) -> Path:
    """Where a design is kept."""
    return cache_folder() / "designs" / f"{key}.mlir"


def _compile(key: str, source: Source) -> Design:
    statistics.compiled += 1
    design = compile_source(source)
    keep_file(design_file(key), module_text(design.module, debuginfo=True).encode())
    return design


def _from_disk(key: str) -> Design | None:
    path = design_file(key)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    statistics.from_disk += 1
    return design_from_text(text, str(path))
