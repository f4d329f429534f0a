"""Kernels from the C or C++ source that a declaration names, compiled for this computer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tilewright.kernels.declaration import Declaration
from tilewright.sim.kernels import CKernel, KernelError

_PORTABLE = ("-D", "-U", "-I", "-std=")
"""Flags that mean the same to the compiler of this computer."""
SHOWN_LINES = 4
"""Of a compiler's message: an error, its line of the source, and what points there."""


def source_kernel(declaration: Declaration) -> CKernel | None:
    """The function of the declaration's source; `KernelError` if that does not compile here, None if there is none."""
    name = declaration.symbol or declaration.name
    flags = [flag for flag in declaration.flags if flag.startswith(_PORTABLE)]
    if declaration.source is not None:
        return _compiled(declaration.source, name, flags)
    return None if declaration.source_file is None else CKernel(declaration.source_file, name, flags)


def _compiled(source: str, name: str, flags: Sequence[str]) -> CKernel:
    """The kernel of a source that is text: the compiler wants a file."""
    try:
        folder = TemporaryDirectory(prefix="tilewright-")
    except OSError as error:
        raise KernelError(f"its source cannot be written: {error.strerror}") from error
    with folder:
        path = Path(folder.name) / "kernel.cc"
        path.write_bytes(source.encode("utf-8", "surrogateescape"))
        return CKernel(path, name, flags)


def unusable_kernel(error: KernelError) -> Any:
    """A kernel that says why there is none, once it is called."""
    said = _with_first_error(str(error).splitlines())

    def kernel(*_arguments: Any) -> None:
        raise KernelError(f"{said}\nor bring a Python function of that name: run(..., kernels={{...}})")

    return kernel


def _with_first_error(lines: Sequence[str]) -> str:
    """What went wrong, and of a compiler's message the first error with the line that it is about."""
    found = next((number for number, line in enumerate(lines) if "error:" in line), None)
    if found is None:
        return "\n".join(lines[:SHOWN_LINES])
    return "\n".join([*lines[: min(found, 1)], *lines[found : found + SHOWN_LINES]])
