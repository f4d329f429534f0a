"""The files of a compiled design: written by `tilewright compile`, opened again by `load`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeGuard, cast

from tilewright.driver.compiled_design import Design, design_from_text, devices_in
from tilewright.driver.manifest import CONFIGURATION, HEADER, INSTRUCTIONS, MANIFEST, PROGRAM, DesignFiles, manifest
from tilewright.errors import ArgumentError
from tilewright.support.file_names import is_file_name
from tilewright.support.outputs import write_files
from tilewright.support.tracebacks import at_user_line

SUFFIXES = (HEADER, INSTRUCTIONS, CONFIGURATION, ".so")


class NoDesign(ArgumentError, OSError):
    """A directory without a compiled design that can be read."""


def write_design(design: Design, directory: str | PathLike[str], library: str | None = None) -> list[Path]:
    """Write all files of a design, or none. Those of an earlier one that are of no more use are removed.

    With a name for it, a shared library of the generators and its C header are among them.
    """
    target, files = Path(directory), _files(design, library)
    target.mkdir(parents=True, exist_ok=True)
    written = {name.casefold() for name in files}
    obsolete = [name for name in _written_before(target) if name.casefold() not in written]
    return sorted(write_files(target, files, obsolete))


def _files(design: Design, library: str | None) -> dict[str, bytes]:
    from tilewright.ir.printer import module_text

    made = design.library(library) if library is not None else None
    names = DesignFiles.of(design, *((made.file, made.header_file) if made is not None else ()))
    files = {PROGRAM: module_text(design.module, debuginfo=True).encode()}
    contents = manifest(design, names)
    for device in devices_in(design.module):
        if (file := names.configuration(device)) is not None:
            files[file] = design.configuration(device.sym_name.data).astype("<u4").tobytes()
    for name in design.sequences:
        files[names.header(name)] = design.cpp(name).encode()
        if not design.scalars(name):
            files[names.instructions(name)] = design.txn(name).astype("<u4").tobytes()
    if made is not None:
        files |= {made.file: made.code, made.header_file: made.header.encode()}
        contents["library"] = {"file": made.file, "header": made.header_file, "functions": made.functions}
    return files | {MANIFEST: (json.dumps(contents, indent=2) + "\n").encode()}


def _written_before(directory: Path) -> set[str]:
    """Files that the manifest in a directory lists and that are there. It may be damaged, or not be ours at all."""
    path = directory / MANIFEST
    try:
        contents: object = json.loads(path.read_bytes()) if _is_plain_file(path) else None
    except (OSError, ValueError, RecursionError):
        return set()
    return {name for name in _listed(contents) if _is_ours(name) and _is_plain_file(directory / name)}


def _listed(contents: object) -> Iterator[object]:
    manifest = _members(contents)
    for device in map(_members, _items(manifest.get("devices"))):
        yield device.get("configuration")
        for sequence in map(_members, _items(device.get("sequences"))):
            yield from (sequence.get("header"), sequence.get("instructions"))
    library = _members(manifest.get("library"))
    yield from (library.get("file"), library.get("header"))


def _members(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _is_ours(name: object) -> TypeGuard[str]:
    """Whether a name is one that a compile may have given to a file in its directory."""
    return isinstance(name, str) and is_file_name(name) and name.endswith(SUFFIXES)


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


@at_user_line
def load(directory: str | PathLike[str]) -> Design:
    """The design that `tilewright compile` wrote into a `directory`; `CompileError` if its program is damaged."""
    path = Path(directory) / PROGRAM
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.is_file() else None
    except OSError as error:
        raise NoDesign(f"{path} cannot be read: {error.strerror}") from error
    if text is None:
        raise NoDesign(f"there is no {path}: `tilewright compile DESIGN -o DIR` writes one")
    return design_from_text(text, str(path))
