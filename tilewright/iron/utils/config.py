"""Places of tools: ours, and the vendor's where the environment says that they are installed."""

from __future__ import annotations

import os
import shutil

from tilewright.errors import Error
from tilewright.iron.utils import configure


class ToolError(Error, RuntimeError):
    """A tool is not there; the text says where it was looked for."""


def root_path() -> str:
    """The folder of this installation."""
    return configure.install_path()


def cxx_header_path() -> str:
    """The folder with the C++ headers."""
    return f"{root_path()}/include"


def peano_install_dir() -> str:
    """The folder of Peano, which PEANO_INSTALL_DIR names."""
    if not os.path.isdir(configure.peano_install_dir):
        raise ToolError(f"Invalid Peano install directory: {configure.peano_install_dir}")
    return configure.peano_install_dir


def peano_cxx_path() -> str:
    """Peano's C++ compiler."""
    return _peano_tool("clang++", "compiler")


def peano_linker_path() -> str:
    """Peano's linker."""
    return _peano_tool("ld.lld", "linker")


def _peano_tool(name: str, what: str) -> str:
    path = os.path.join(peano_install_dir(), "bin", name)
    if not os.path.isfile(path):
        raise ToolError(f"Peano {what} not found in {path}")
    return path


def aiecc_path() -> str:
    """The compiler driver; `tilewright aiecc` is ours."""
    return _on_path("aiecc", "`tilewright aiecc` takes its flags")


def objcopy_path() -> str:
    """LLVM's objcopy, which can read objects of cores."""
    return _on_path("llvm-objcopy", "GNU's objcopy cannot read objects of cores")


def _on_path(name: str, remedy: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ToolError(f"Could not find {name} on PATH: {remedy}")
    return found
