"""Designs in packages: what goes into a container so that the simulator can run it, and a design out of it again."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from tilewright.containers.embedded_design import EmbeddedDesign, KernelCode, Place
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import CallOp
from tilewright.driver.compiled_design import Design, design_from_text
from tilewright.errors import ArgumentError
from tilewright.ir.printer import module_text
from tilewright.kernels.binding import declarations_of
from tilewright.kernels.declaration import Declaration
from tilewright.kernels.sources import DeviceSources, KernelMode
from tilewright.native.object_cache import private_files, user_secret
from tilewright.sim.kernel_sources import INCLUDE, PLAIN_SUFFIXES, KernelSource

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<named>"[^"\n]+"|<[^>\n]+>).*$', re.M)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b.*$", re.M)
OBJECTS = "packages"
"""The folder of the cache for objects that packages bring."""
TRUST = "TILEWRIGHT_TRUST_PACKAGES"
"""Environment: whether C++ code in packages that others have made is run."""
MOST_INCLUDED = 1 << 24
"""Characters of a kernel with all that it includes: a file that includes itself has no end."""


def packaged_design(
    design: Design, device: str | None = None, cores_with_code: Iterable[Place] = (), pdi: UUID | None = None
) -> EmbeddedDesign:
    """What a package carries of a design, for the image of one of its devices: `cores_with_code` have machine code."""
    op, with_code = design.device(device), set(cores_with_code)
    cores = [core.place for core in op.body.ops if isinstance(core, CoreOp) and core.place is not None]
    kernels = {name: code for each in design.device_ops for name, code in kernel_codes(each)}
    text = module_text(design.module, debuginfo=True)
    found = EmbeddedDesign(text, op.sym_name.data, kernels, cores, [it for it in cores if it in with_code], pdi)
    return replace(found, seal=_seal(found))


def kernel_codes(device: DeviceOp) -> Iterator[tuple[str, KernelCode]]:
    """The functions that a device's cores call and that have a source or an object, with all that it needs."""
    declarations = declarations_of(device)
    called = {op.callee.string_value() for op in device.walk() if isinstance(op, CallOp)}
    sources = DeviceSources(device, declarations, KernelMode.named(None))
    for name in (name for name in declarations if name in called):
        source = sources.source(declarations[name])
        if source is not None and (source.path is None or source.path.is_file()):
            yield name, _code(source, Declaration.of(declarations[name]).symbol)


def _code(source: KernelSource, symbol: str | None) -> KernelCode:
    if source.path is not None and source.path.suffix in PLAIN_SUFFIXES - {".c"}:
        return KernelCode(symbol=symbol, object=source.bytes())
    folders = [Path(flag[2:]) for flag in _joined(source.flags) if flag.startswith("-I")]
    # folders of this computer say nothing to others, and what was in them is in the text
    flags = tuple(flag for flag in _joined(source.flags) if not flag.startswith("-I"))
    return KernelCode(_Flattening(folders).text(source), flags, symbol)


def _joined(flags: Sequence[str]) -> Iterator[str]:
    """Flags with their values: `-I DIR` as `-IDIR`."""
    parts = iter(flags)
    for flag in parts:
        yield flag + next(parts, "") if flag in ("-I", "-D", "-U") else flag


class _Flattening:
    """One text of a source and all files that it includes but those that come with this package or the compiler."""

    def __init__(self, folders: Sequence[Path]):
        self.folders = folders
        self._once = set[Path]()
        self._size = 0

    def text(self, source: KernelSource) -> str:
        folder = source.path.parent if source.path is not None else None
        return self._flat(source.read(), folder, source.shown)

    def _flat(self, text: str, folder: Path | None, name: str) -> str:
        self._size += len(text)
        if self._size > MOST_INCLUDED:
            raise ArgumentError(f"{name} and the files that it includes are too large for a package, or have no end")

        def included(match: re.Match[str]) -> str:
            named = match["named"]
            path = self._find(named[1:-1], folder if named.startswith('"') else None)
            if path is None:
                return match[0]
            line = text.count("\n", 0, match.end()) + 2
            if path in self._once:
                return ""
            inner = path.read_text(encoding="utf-8", errors="surrogateescape")
            if _ONCE.search(inner):
                self._once.add(path)
                inner = _ONCE.sub("", inner)
            flat = self._flat(inner, path.parent, str(path))
            return f"#line 1 {_quoted(str(path))}\n{flat}\n#line {line} {_quoted(name)}"

        return _INCLUDE.sub(included, text)

    def _find(self, named: str, folder: Path | None) -> Path | None:
        if (INCLUDE / named).is_file():  # of this package, which is here and there
            return None
        for place in ([folder] if folder is not None else []) + list(self.folders):
            if (path := (place / named).resolve()).is_file():
                return None if INCLUDE in path.parents else path
        return None


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


class RunnableDesign(NamedTuple):
    """A design that can be loaded, and the kernels to load it with."""

    design: Design
    kernels: dict[str, Path | str]


def runnable(embedded: EmbeddedDesign, file: str) -> RunnableDesign:
    """The design of a package; `CompileError` if its text is damaged. Locations call the text by the package's file."""
    design = design_from_text(embedded.design, file)
    _check_trust(embedded, design, file)
    kernels = dict[str, Path | str]()
    for device in design.device_ops:
        for name, declaration in declarations_of(device).items():
            code = embedded.kernels.get(name)
            if code is None:
                continue
            if code.object:
                path = _object_file(code.object)
                kernels[name] = f"{path}:{code.symbol}" if code.symbol else path
            else:
                Declaration(name, code.flags, code.text, None, code.symbol).attach(declaration)
    return RunnableDesign(design, kernels)


def _seal(embedded: EmbeddedDesign) -> str:
    """What only this user can make of a package; nothing where no secret can be kept."""
    secret = user_secret("packages")
    return "" if secret is None else hmac.new(secret, embedded.unsealed(), sha256).hexdigest()


def _check_trust(embedded: EmbeddedDesign, design: Design, file: str) -> None:
    """Refuse kernels in C++ that somebody else has put into a package: they would run here with the user's rights."""
    if os.environ.get(TRUST, "0") not in ("", "0"):
        return
    declared = [(name, Declaration.of(it)) for op in design.device_ops for name, it in declarations_of(op).items()]
    names = {*embedded.kernels} | {name for name, it in declared if it.source or it.source_file or it.flags}
    if names and not (embedded.seal and hmac.compare_digest(embedded.seal, _seal(embedded))):
        raise ArgumentError(
            f"{file}: it brings C++ code ({', '.join(map(repr, sorted(names)))}) that would run on this computer with "
            f"your rights, and it was not packaged by you, or with another version: package it again, or set {TRUST}=1 "
            "if you trust who made it"
        )


def _object_file(data: bytes) -> Path:
    """A file with an object: compilers take files. It is named after its contents, which are checked."""
    name = f"{sha256(data).hexdigest()}.o"
    return private_files(OBJECTS, {name: data}) / name
