"""Compiling designs: where they are kept, and what they are for."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import Error
from tilewright.native.object_cache import cache_folder
from tilewright.support.lazy import lazy_names

if TYPE_CHECKING:
    from tilewright.iron.device.device import Device
    from tilewright.iron.utils.compile.peano import compile_cxx_core_function, compile_external_kernel

NPU_CACHE_HOME = cache_folder()
"""Where compiled designs are kept; TILEWRIGHT_CACHE names another place."""


def resolve_target_arch(device: Device | None) -> str:
    """`aie2` or `aie2p`, as the vendor's compilers call the generations."""
    if device is None:
        raise ValueError("no device is chosen: iron.set_current_device(...)")
    return device.arch.name.lower()


class CompilerDriverError(Error, RuntimeError):
    """`tilewright aiecc` has not made all that was asked for; the text is what it said."""


def compile_mlir_module(
    mlir_module: Any,
    insts_path: str | PathLike[str] | None = None,
    pdi_path: str | PathLike[str] | None = None,
    xclbin_path: str | PathLike[str] | None = None,
    elf_path: str | PathLike[str] | None = None,
    full_elf_path: str | PathLike[str] | None = None,
    verbose: bool = False,
    work_dir: str | PathLike[str] | None = None,
    options: Sequence[str] | None = None,
    use_chess: bool = False,
    device: object = None,
    fold_ddr_addr_offset: bool = True,
) -> None:
    """Have `tilewright aiecc` make files of a module.

    Args:
        mlir_module: the module, or its text
        insts_path: where the TXN words go
        pdi_path: a file that is made elsewhere, as are `xclbin_path`, `elf_path` and `full_elf_path`: a
            `CompilerDriverError` says so, after all others are written
        verbose: whether the driver says what it does
        work_dir: where other files go
        options: more flags of the driver
        use_chess: for the vendor's compiler, as is `device`
        fold_ddr_addr_offset: whether the words have translated addresses of host buffers after the fifth
    """
    asked = {"npu-insts": insts_path, "pdi": pdi_path, "xclbin": xclbin_path, "elf": elf_path}
    asked["full-elf"] = full_elf_path
    flags = [
        flag
        for name, path in asked.items()
        if path is not None
        for flag in (f"--get-{name}", f"--{name}-name={Path(path).absolute()}")
    ]
    flags += [*(["--verbose"] if verbose else ()), *(() if fold_ddr_addr_offset else ["--fold-ddr-addr-offset=false"])]
    run_driver(mlir_module, [*flags, *(options or ())], work_dir)


def run_driver(mlir_module: Any, flags: Sequence[str], work_dir: str | PathLike[str] | None = None) -> None:
    """Call `tilewright aiecc` with flags, for a module or its text; other files go to `work_dir`."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "aie.mlir"
        source.write_text(str(mlir_module), encoding="utf-8")
        directory = Path(scratch if work_dir is None else work_dir)
        # the driver is a command, and what it says is for the user
        command = [sys.executable, "-m", "tilewright", "aiecc", f"--tmpdir={directory.absolute()}", *flags]
        done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompilerDriverError(done.stderr.strip())
    print(done.stderr, end="", file=sys.stderr)


_PEANO = "tilewright.iron.utils.compile.peano"
__getattr__ = lazy_names(
    __name__, {name: f"{_PEANO}:{name}" for name in ("compile_cxx_core_function", "compile_external_kernel")}
)

__all__ = [
    "NPU_CACHE_HOME",
    "CompilerDriverError",
    "compile_cxx_core_function",
    "compile_external_kernel",
    "compile_mlir_module",
    "resolve_target_arch",
    "run_driver",
]
