"""C++ sources for the functions that a device declares: which file defines each, and what else is in its library."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from xdsl.dialects.builtin import StringAttr

from tilewright.device import Arch
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.errors import ArgumentError, near_match
from tilewright.ir.diagnostics import file_position
from tilewright.kernels.declaration import Declaration
from tilewright.sim.cpp_kernels import CKernel
from tilewright.sim.kernel_sources import KernelSource
from tilewright.sim.kernels import MissingFunction

SUFFIXES = (".cc", ".cpp", ".cxx", ".c")
CHECKOUTS = ("TILEWRIGHT_KERNEL_SOURCES", "MLIR_AIE_SOURCE_DIR", "MLIR_AIE_DIR", "MLIR_AIE_INSTALL_DIR")
"""Environment: folders in which mlir-aie's `aie_kernels` is looked for."""
ELF_MACHINES = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}


class KernelMode(StrEnum):
    """Which of several kernels of a name is taken."""

    AUTO = "auto"
    """The source that a declaration names, else the library's."""
    SOURCE = "source"
    """Sources, those of mlir-aie too, even where the library has the kernel."""
    LIBRARY = "library"
    """The library's, and sources only for what it lacks."""
    CHECKED = "checked"
    """As `source`, and each access of a kernel is checked."""

    @classmethod
    def named(cls, name: str | None) -> KernelMode:
        """The mode of a name; without one, what TILEWRIGHT_KERNELS says."""
        given = name if name is not None else os.environ.get("TILEWRIGHT_KERNELS") or cls.AUTO.value
        if given not in list(cls):
            where = "" if name is not None else "TILEWRIGHT_KERNELS: "
            known = ", ".join(cls)
            raise ArgumentError(f"{where}there is no kind of kernels {given!r}{near_match(given, cls)}: {known}")
        return cls(given)

    @property
    def prefers_sources(self) -> bool:
        return self in (KernelMode.SOURCE, KernelMode.CHECKED)


@dataclass(frozen=True)
class DeviceSources:
    """The sources for the declarations of a device."""

    device: DeviceOp
    declarations: Mapping[str, FuncOp]
    mode: KernelMode

    @property
    def arch(self) -> Arch:
        return self.device.model.arch

    def object_files(self, function: FuncOp) -> list[str]:
        """The object files that a function is linked from."""
        return sorted(self._object_files(function))

    def kernel(self, function: FuncOp) -> CKernel | None:
        """The compiled function of a declaration; None if there is no source for it, `KernelError` if that is wrong."""
        declaration = Declaration.of(function)
        symbol = declaration.symbol or declaration.name
        own = self._own_source(declaration, function)
        if own is not None:
            return self._compiled(self._with_names(own, function), symbol)
        # One object file has several functions; any of the sources that it is made of may define this one.
        for source in dict.fromkeys(self._companions(function)):
            try:
                return self._compiled(source, symbol)
            except MissingFunction:
                continue
        return None

    def source(self, function: FuncOp) -> KernelSource | None:
        """The source that a declaration names, or one of its object file that has the function's name in it."""
        declaration = Declaration.of(function)
        own = self._own_source(declaration, function)
        if own is not None:
            return own
        symbol = (declaration.symbol or declaration.name).encode()
        found = dict.fromkeys(self._companions(function))
        return next((it for it in found if symbol in it.bytes()), None)

    def given(self, path: Path, symbols: Mapping[str, str]) -> dict[str, CKernel]:
        """Kernels of a file that the user names: the functions in it by the names that cores call."""
        functions = [self.declarations[name] for name in symbols if name in self.declarations]
        flags = [flag for function in functions for flag in Declaration.of(function).flags]
        source = KernelSource(path, None, tuple(dict.fromkeys(flags)), tuple(sorted(set(symbols.values()))))
        return {name: self._compiled(source, symbol) for name, symbol in symbols.items()}

    def _compiled(self, source: KernelSource, symbol: str) -> CKernel:
        return CKernel(source, symbol, arch=self.arch, checked=self.mode is KernelMode.CHECKED)

    def _own_source(self, declaration: Declaration, function: FuncOp) -> KernelSource | None:
        """What a declaration itself says."""
        flags = tuple(declaration.flags)
        if declaration.source is not None:
            return KernelSource(None, declaration.source, flags)
        if declaration.source_file is None:
            return None
        path = Path(declaration.source_file)
        found = next((place for place in _beside(function, path) if place.is_file()), None)
        # The library's own kernels name files of mlir-aie, which are there only for those who want sources.
        if found is None and not path.is_absolute() and path.parts[:1] == ("aie_kernels",):
            found = self._in_checkout(path) if self.mode.prefers_sources else None
            return None if found is None else KernelSource(found, None, (*flags, *_checkout_flags(found)))
        return KernelSource(found or path.absolute(), None, flags)

    def _with_names(self, source: KernelSource, function: FuncOp) -> KernelSource:
        """A source with all functions that are called in it: of the same object file, or the same source."""
        names = set[str]()
        for other in self.declarations.values():
            declaration = Declaration.of(other)
            shared = self._object_files(function) & self._object_files(other)
            own = self._own_source(declaration, other)
            if other is function or own == source or (shared and own is None):
                names.add(declaration.symbol or declaration.name)
        return replace(source, names=tuple(sorted(names)))

    def _companions(self, function: FuncOp) -> Iterator[KernelSource]:
        """Sources of the object files that a declaration without a source is linked with."""
        files = self._object_files(function)
        for other in self.declarations.values():
            own = self._own_source(Declaration.of(other), other) if files & self._object_files(other) else None
            if own is not None:
                yield self._with_names(own, other)
        flags = tuple(Declaration.of(function).flags)
        for file in sorted(files):
            found = self._object_source(file, function)
            if found is not None:
                extra = _checkout_flags(found)
                yield self._with_names(KernelSource(found, None, (*flags, *extra)), function)

    def _object_source(self, file: str, function: FuncOp) -> Path | None:
        """The source of an object file: one of its stem beside the design, or the object itself if it is for here."""
        path = Path(file)
        for place in _beside(function, path):
            if place.suffix in SUFFIXES and place.is_file():
                return place
            for suffix in SUFFIXES:
                if (source := place.with_suffix(suffix)).is_file():
                    return source
            if place.is_file() and _is_for_here(place):
                return place
        return self._in_checkout(Path(f"{path.stem}.cc")) if self.mode.prefers_sources else None

    def _in_checkout(self, path: Path) -> Path | None:
        """A file of mlir-aie's kernels; by its name alone, it is looked for in the folder of the architecture first."""
        arch = self.arch.name.lower()
        relative = [path] if len(path.parts) > 1 else [Path("aie_kernels", part, path) for part in (arch, "generic")]
        for folder in checkouts():
            for file in relative:
                if (found := folder / file).is_file():
                    return found
        return None

    def _object_files(self, function: FuncOp) -> set[str]:
        """What a function is linked with: as its declaration says, else the cores that call it."""
        named = function.attributes.get("link_with")
        if isinstance(named, StringAttr):
            return {named.data}
        return set(self._core_files.get(function.sym_name.data, ()))

    @cached_property
    def _core_files(self) -> dict[str, set[str]]:
        found = dict[str, set[str]]()
        for core in self.device.body.ops:
            if not isinstance(core, CoreOp):
                continue
            files = {file.data for file in core.link_files or ()}
            files |= {core.link_with.data} if core.link_with is not None else set()
            for call in core.walk() if files else ():
                if isinstance(call, CallOp):
                    found.setdefault(call.callee.string_value(), set()).update(files)
        return found


def _beside(function: FuncOp, path: Path) -> Iterator[Path]:
    """Where a file that a design names may be: beside the design, or where the program runs."""
    position = file_position(function.location)
    if position is not None and not path.is_absolute():
        yield Path(position[0]).absolute().parent / path
    yield path.absolute()


def checkouts() -> Iterator[Path]:
    """Folders that have mlir-aie's `aie_kernels` in them."""
    for variable in CHECKOUTS:
        if not (named := os.environ.get(variable)):
            continue
        folder = Path(named).absolute()
        for root in (folder, folder.parent if folder.name == "aie_kernels" else folder, folder / "include"):
            if (root / "aie_kernels").is_dir():
                yield root


def _checkout_flags(path: Path) -> tuple[str, ...]:
    """Folders that sources of mlir-aie include from."""
    root = next((parent for parent in path.parents if parent.name == "aie_kernels"), None)
    return () if root is None else (f"-I{root}", f"-I{root.parent}")


def _is_for_here(path: Path) -> bool:
    """Whether an object file is of this computer's kind; those for cores are of another."""
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") == ELF_MACHINES.get(platform.machine())
