"""Kernels from the C or C++ source that a declaration names, compiled for this computer."""

from __future__ import annotations

import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilewright.kernels.declaration import Declaration
from tilewright.native.object_cache import cache_folder, keep_file
from tilewright.sim.kernels import CKernel, KernelError

_PORTABLE = ("-D", "-U", "-I", "-std=")
"""Flags that mean the same to the compiler of this computer."""


def source_kernel(declaration: Declaration) -> CKernel | None:
    """The function of the declaration's source; `KernelError` if that does not compile here, None if there is none."""
    path = _path(declaration)
    if path is None:
        return None
    flags = [flag for flag in declaration.flags if flag.startswith(_PORTABLE)]
    return CKernel(path, declaration.symbol or declaration.name, flags)


def _path(declaration: Declaration) -> Path | None:
    if declaration.source is not None:
        return _written(declaration.source)
    return None if declaration.source_file is None else Path(declaration.source_file)


def _written(source: str) -> Path:
    """A file with the source: the compiler wants one."""
    name = f"{sha256(source.encode()).hexdigest()}.cc"
    for folder in (cache_folder() / "sources", Path(tempfile.gettempdir()) / "tilewright-sources"):
        path = folder / name
        keep_file(path, source.encode())
        if path.is_file():
            return path
    raise KernelError(f"its source cannot be written to {cache_folder()}, nor to {tempfile.gettempdir()}")


def unusable_kernel(error: KernelError) -> Any:
    """A kernel that says why there is none, once it is called."""
    first = str(error).splitlines()[0]

    def kernel(*_arguments: Any) -> None:
        raise KernelError(f"{first}; bring a Python function of that name: run(..., kernels={{...}})")

    return kernel
