"""The files of a compiled design: written by `tilewright compile`, opened again by `load`."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from os import PathLike
from pathlib import Path

from tilewright.design import Design, design_from_text, devices_in
from tilewright.manifest import configuration_file, manifest

PROGRAM, MANIFEST = "design.mlir", "design.json"


def write_design(design: Design, directory: str | PathLike[str], library: str | None = None) -> list[Path]:
    """Write all files of a design, or none: they are complete before the first of them appears in `directory`.

    With a name for it, a shared library of the generators and its C header are among them.
    """
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tilewright-", dir=target) as scratch:
        for name, data in _files(design, library).items():
            (Path(scratch) / name).write_bytes(data)
        names = sorted(os.listdir(scratch))
        for name in names:
            shutil.move(str(Path(scratch) / name), str(target / name))
    return [target / name for name in names]


def _files(design: Design, library: str | None) -> dict[str, bytes]:
    from tilewright.ir.printer import module_text

    files = {PROGRAM: module_text(design.module, debuginfo=True).encode()}
    contents = manifest(design)
    for device in devices_in(design.module):
        if (file := configuration_file(device)) is not None:
            files[file] = design.configuration(device.sym_name.data).astype("<u4").tobytes()
    for name in design.sequences:
        files[f"{name}.h"] = design.cpp(name).encode()
        if not design.scalars(name):
            files[f"{name}.insts.bin"] = design.txn(name).astype("<u4").tobytes()
    if library is not None:
        made = design.library(library)
        files |= {made.file: made.code, made.header_file: made.header.encode()}
        contents["library"] = {"file": made.file, "header": made.header_file, "functions": made.functions}
    return files | {MANIFEST: (json.dumps(contents, indent=2) + "\n").encode()}


def load(directory: str | PathLike[str]) -> Design:
    """The design that `write_design` wrote into a directory."""
    path = Path(directory) / PROGRAM
    return design_from_text(path.read_text(encoding="utf-8"), str(path))
