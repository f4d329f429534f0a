"""Compiled designs that are kept: in memory, and on disk from one process to the next.

The key is the whole program, with the lines that it comes from, and the compiler's own files. So whatever can change
the design changes the key.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tilewright.driver.compiled_design import Design, compile_source, compile_watched, design_from_text
from tilewright.driver.sources import BuiltSource, Source
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.pass_manager import Watcher
from tilewright.ir.printer import module_text
from tilewright.native.object_cache import CacheFolder, package_key
from tilewright.support.lazy import KeyedLocks, once
from tilewright.support.output_files import write_file

# All that compiling runs through: after a change in a folder that is missing here, old designs would be taken.
_COMPILER = ("", "codegen", "device", "dialects", "driver", "ir", "native", "passes", "rewrite", "support")
_ON_DISK = CacheFolder(".mlir", "designs")


@dataclass
class Statistics:
    """How often designs were compiled, and how often that was not needed."""

    compiled: int = 0
    from_memory: int = 0
    from_disk: int = 0


statistics = Statistics()
_locks = KeyedLocks()
_in_memory: dict[str, Design] = {}  # with native code, which a file does not have


def compiled_design(source: Source, use_cache: bool = True, watch: Watcher | None = None) -> Design:
    """The design of a program; without the cache it is compiled whatever is kept. `watch` is told of its passes."""
    key = program_key(source)
    if not use_cache:
        return _compile(key, source, watch)
    # One thread compiles it, others that want the same wait.
    with _locks.holding(key):
        found = _in_memory.get(key)
        if found is None:
            found = _in_memory[key] = _from_disk(key) or _compile(key, source, watch)
        else:
            statistics.from_memory += 1
        return found


def forget_designs() -> None:
    """Empty the memory; what is on disk stays."""
    _in_memory.clear()


def program_key(source: Source) -> str:
    """Names a program and the compiler that it is for."""
    text = module_text(source.module, debuginfo=True) if isinstance(source, BuiltSource) else repr(source.texts)
    return hashlib.sha256(f"{compiler_key()}\0{text}".encode()).hexdigest()


def compiler_key() -> str:
    """Changes with the version, and with every file of the compiler."""
    return package_key(*_COMPILER)


def design_file(key: str, design: Design) -> Path:
    """A file with a design: the one that is kept or, where nothing can be, one in a folder of this process alone."""
    # read, not only looked for: one that is damaged does not count
    if _ON_DISK.read(key) is not None:
        return _ON_DISK.path(key)
    path = _own_folder() / f"{key}.mlir"
    write_file(path, _text(design))  # whole: others may read the one from before
    return path


@once
def _own_folder() -> Path:
    folder, owner = Path(tempfile.mkdtemp(prefix="tilewright-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a copy of this process that ends has no say
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _compile(key: str, source: Source, watch: Watcher | None) -> Design:
    statistics.compiled += 1
    design = compile_source(source) if watch is None else compile_watched(source, watch)
    _ON_DISK.keep(key, _text(design))
    return design


def _text(design: Design) -> bytes:
    return module_text(design.module, debuginfo=True).encode()


def _from_disk(key: str) -> Design | None:
    data = _ON_DISK.read(key)
    if data is None:
        return None
    try:
        design = design_from_text(data.decode(), str(_ON_DISK.path(key)))
    except (UnicodeDecodeError, DiagnosedError):  # a damaged file is made again
        return None
    statistics.from_disk += 1
    return design
