"""Manifest of a bundle: everything but the code itself, in bundle.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
    modules: tuple[ModuleEntry, ...] = field(default=())

    def text(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def is_bundle(path: Path) -> bool:
    return (path / FILE).is_file()


def read_manifest(folder: Path) -> Manifest:
    """What the bundle in a folder says; `DeviceError` if it is none, or of another time."""
    try:
        contents: dict[str, Any] = json.loads((folder / FILE).read_text())
        written = contents.pop("format")
    except (OSError, ValueError, KeyError) as error:
        raise DeviceError(f"{folder} is no bundle: {error}; make one with `tilewright air compile`") from error
    if written != FORMAT:
        raise DeviceError(f"{folder} is a bundle of format {written}, this runs format {FORMAT}: compile it again")
    for name, make in _READERS.items():
        contents[name] = tuple(make(entry) for entry in contents[name])
    return Manifest(**contents)


def _site(entry: dict[str, Any]) -> Site:
    return Site(**entry)


def _trap(entry: dict[str, Any]) -> TrapEntry:
    return TrapEntry(_site(entry["site"]), entry["text"])


def _launch(entry: dict[str, Any]) -> LaunchEntry:
    return LaunchEntry(entry["module"], entry["kernel"], tuple(entry["parameters"]))


def _parameter(entry: dict[str, Any]) -> EntryParameter:
    return EntryParameter(entry["name"], entry["type"], _optional(entry["shape"]), tuple(entry["dynamic_strides"]))


def _module(entry: dict[str, Any]) -> ModuleEntry:
    return ModuleEntry(entry["name"], entry["file"], tuple(_kernel(kernel) for kernel in entry["kernels"]))


def _kernel(entry: dict[str, Any]) -> KernelFacts:
    parameters, block = tuple(entry["parameters"]), _optional(entry["block"])
    return KernelFacts(entry["name"], parameters, entry["shared_bytes"], block, entry["waves"], entry["launch_bytes"])


def _optional(numbers: Sequence[int] | None) -> Any:
    return None if numbers is None else tuple(numbers)


def _call(entry: list[str]) -> tuple[str, ...]:
    return tuple(entry)


_READERS: dict[str, Callable[[Any], Any]] = {
    "parameters": _parameter,
    "calls": _call,
    "sites": _site,
    "traps": _trap,
    "launches": _launch,
    "modules": _module,
}
"""What makes of JSON what each of the lists holds."""
