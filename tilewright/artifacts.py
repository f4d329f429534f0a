"""The files of a compiled design: written by `tilewright compile`, opened again by `load`."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from os import PathLike
from pathlib import Path

from tilewright.design import Design, design_from_text
from tilewright.manifest import manifest

PROGRAM, MANIFEST = "design.mlir", "design.json"


def write_design(design: Design, directory: str | PathLike[str]) -> list[Path]:
    """Write all files of a design, or none: they are complete before the first of them appears in `directory`."""
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tilewright-", dir=target) as scratch:
        for name, data in _files(design).items():
            (Path(scratch) / name).write_bytes(data)
        names = sorted(os.listdir(scratch))
        for name in names:
            shutil.move(str(Path(scratch) / name), str(target / name))
    return [target / name for name in names]


def _files(design: Design) -> dict[str, bytes]:
    from tilewright.ir.printer import module_text

    files = {PROGRAM: module_text(design.module, debuginfo=True).encode()}
    files[MANIFEST] = (json.dumps(manifest(design), indent=2) + "\n").encode()
    for name in design.sequences:
        files[f"{name}.h"] = design.cpp(name).encode()
        if not design.scalars(name):
            files[f"{name}.insts.bin"] = design.txn(name).astype("<u4").tobytes()
    return files


def load(directory: str | PathLike[str]) -> Design:
    """The design that `write_design` wrote into a directory."""
    path = Path(directory) / PROGRAM
    return design_from_text(path.read_text(encoding="utf-8"), str(path))
