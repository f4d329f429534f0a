"""Kernels for cores of real devices, by Peano. The simulator needs none of this: it compiles sources for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tilewright.errors import Error
from tilewright.iron.kernel import ExternalFunction
from tilewright.iron.utils import config

_FLAGS = "-c -std=c++20 -O2 -DNDEBUG -D__AIE_API_AIE_ADF_HPP__ -Wno-parentheses -Wno-attributes -Wno-macro-redefined"


class KernelBuildError(Error, RuntimeError):
    """The vendor's compiler has not made an object file; the text is what it said."""


def compile_cxx_core_function(
    source_path: str | Path,
    target_arch: str,
    output_path: str | Path,
    include_dirs: Sequence[str] | None = None,
    compile_args: Sequence[str] | None = None,
    cwd: str | Path | None = None,
    use_chess: bool = False,
    inline: bool = False,
    symbol_name: str | None = None,
) -> None:
    """Have Peano make an object file for cores of a C++ source.

    Args:
        source_path: the source
        target_arch: `aie2` or `aie2p`
        output_path: the object file
        include_dirs: folders with headers
        compile_args: more flags
        cwd: the folder to compile in
        use_chess: the vendor's other compiler, which is not called from here; nor are `inline` and `symbol_name` used,
            which are for objects that are merged into a core's program
    """
    if use_chess or inline:
        raise KernelBuildError(f"{source_path}: error: {'Chess' if use_chess else 'inline'} builds are not made here")
    folders = [f"-I{config.cxx_header_path()}", *(f"-I{folder}" for folder in include_dirs or ())]
    target = Path(cwd or ".", output_path)
    # a build that fails leaves no half of a file
    with tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
        made = Path(folder, "kernel.o")
        flags = [f"--target={target_arch}-none-unknown-elf", *_FLAGS.split(), *folders, *(compile_args or ())]
        command = [config.peano_cxx_path(), str(source_path), "-o", str(made), *flags]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KernelBuildError(f"[Peano] compilation failed:\n{done.stderr}")
        os.replace(made, target)


def compile_external_kernel(func: ExternalFunction, kernel_dir: str | Path, target_arch: str) -> None:
    """Have Peano make the object file of a kernel in a folder, unless it is there."""
    folder = Path(kernel_dir)
    target = folder / (func.object_file_name or f"{func.name}.o")
    if target.exists():
        return
    source = folder / f"{func.original_name}.cc"
    includes = list(func.include_dirs)
    if func.source_string is not None:
        source.write_text(func.source_string, encoding="utf-8")
    else:
        given = Path(func.source_file or "")
        if not given.is_file():
            raise FileNotFoundError(f"ExternalFunction '{func.name}': source file not found: {given}")
        shutil.copyfile(given, source)
        includes.append(str(given.absolute().parent))  # headers beside the source are found from the copy, too
    flags = list(func.compile_flags)
    if func.name != func.original_name:
        flags.append(f"-D{func.original_name}={func.name}")
    compile_cxx_core_function(
        source, target_arch, target, includes, flags, use_chess=func.use_chess, inline=func.inline
    )


__all__ = ["KernelBuildError", "compile_cxx_core_function", "compile_external_kernel"]
