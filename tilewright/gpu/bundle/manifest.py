"""Manifest of a bundle: everything but the code itself, in bundle.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from tilewright.gpu.device import DeviceError
from tilewright.native.kernel_facts import KernelFacts

FILE, HOST_OBJECT = "bundle.json", "host.o"
FORMAT = 1
"""Changes when older readers would misunderstand."""


@dataclass(frozen=True)
class Site:
    """A place in the source, and the operation there."""

    operation: str
    position: str
    """`file:line:column`, or nothing."""

    def error(self, text: str) -> str:
        where = f"{self.position}: " if self.position else ""
        return f"{where}error: '{self.operation}' op {text}"


@dataclass(frozen=True)
class TrapEntry:
    """What may go wrong at a place of the host's code; `text` has room for three numbers."""

    site: Site
    text: str


@dataclass(frozen=True)
class LaunchEntry:
    """A kernel that the host launches, and the bytes of its parameters."""

    module: str
    kernel: str
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class EntryParameter:
    """An argument of the entry: an array, or a number if it has no shape."""

    name: str
    type: str
    """The element's type as NumPy calls it."""
    shape: tuple[int, ...] | None = None
    """None for a number; -1 where any size goes."""
    dynamic_strides: tuple[int, ...] = ()
    """The dimensions whose strides the code has to be told."""


@dataclass(frozen=True)
class ModuleEntry:
    """Kernels that are loaded together from a file."""

    name: str
    file: str
    kernels: tuple[KernelFacts, ...]


@dataclass(frozen=True)
class Manifest:
    """Everything but the code itself."""

    source: str
    entry: str
    start: str
    """The function of the host's object that calls the entry."""
    returns_status: bool
    results: int
    """How many slots the results take."""
    target: str
    wave_size: int
    ranks: int | None
    """How many ranks the program says that there are."""
    host: str
    """The machine that the host's object is for, as Linux calls it."""
    context_bytes: int
    parameters: tuple[EntryParameter, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    """Functions of the runtime that the host calls, in the order of the context, with their type codes."""
    sites: tuple[Site, ...] = ()
    traps: tuple[TrapEntry, ...] = ()
    launches: tuple[LaunchEntry, ...] = ()
    modules: tuple[ModuleEntry, ...] = ()

    def text(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """What the bundle in a folder says; `DeviceError` if it is none, or of another time."""
    try:
        contents: dict[str, Any] = json.loads((folder / FILE).read_text())
        written = contents.pop("format")
    # a folder of something else, or a file that was cut off
    except (OSError, ValueError, KeyError) as error:
        raise DeviceError(f"{folder} is no bundle: {error}; make one with `tilewright air compile`") from error
    # before anything else is looked at: other formats have other fields
    if written != FORMAT:
        raise DeviceError(f"{folder} is a bundle of format {written}, this runs format {FORMAT}: compile it again")
    contents = _frozen(contents)
    contents |= {name: tuple(map(make, contents[name])) for name, make in _READERS.items()}
    return Manifest(**contents)


def _frozen(value: Any) -> Any:
    """JSON knows no tuples."""
    if isinstance(value, dict):
        return {name: _frozen(entry) for name, entry in cast(dict[str, Any], value).items()}
    return tuple(map(_frozen, cast(list[Any], value))) if isinstance(value, list) else value


def _module(entry: dict[str, Any]) -> ModuleEntry:
    return ModuleEntry(entry["name"], entry["file"], tuple(KernelFacts(**kernel) for kernel in entry["kernels"]))


_READERS: dict[str, Callable[[Any], Any]] = {
    "parameters": lambda entry: EntryParameter(**entry),
    "sites": lambda entry: Site(**entry),
    "traps": lambda entry: TrapEntry(Site(**entry["site"]), entry["text"]),
    "launches": lambda entry: LaunchEntry(**entry),
    "modules": _module,
}
"""What makes of JSON what each of the lists holds."""
