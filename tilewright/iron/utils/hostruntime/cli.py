"""Command lines of the scripts of designs: print MLIR, compile, or run and compare."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tilewright.device import Arch
from tilewright.iron import utils
from tilewright.iron.utils.hostruntime.current_device import get_current_device, set_current_device

if TYPE_CHECKING:
    from tilewright.iron.device.device import Device
    from tilewright.iron.utils.callabledesign import CallableDesign

__all__ = ["get_current_device", "run_design_cli", "set_current_device"]
_FAMILIES = {Arch.AIE2: "npu", Arch.AIE2p: "npu2"}


def run_design_cli(
    design: CallableDesign,
    opts: Any,
    *,
    compile_kwargs: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
    run_and_verify: Callable[[Any], None] | None = None,
    device: Device | Callable[[Any], Device | None] | None = None,
    emit_mlir: Callable[[Any], None] | None = None,
    validate: Callable[[Any], None] | None = None,
) -> None:
    """Do what the flags of `add_compile_args` say; without any of them, call `run_and_verify`.

    The device is the one of `--dev`, else that of `device`, else the simulated one.
    """
    _check_files(opts)
    emits = getattr(opts, "emit_mlir", False)
    utils.hostruntime.set_current_device(_device(opts, device, must_be_named=emits))
    if validate is not None:
        validate(opts)
    # asked for when they are needed: after `validate`, and not for a run
    arguments = lambda: compile_kwargs(opts) if callable(compile_kwargs) else compile_kwargs  # noqa: E731
    if emits and emit_mlir is not None:
        emit_mlir(opts)
    elif emits:
        print(design.specialize(**arguments()).as_mlir())
    elif _written_files(opts):
        design.specialize(**arguments()).compile(**_written_files(opts))
    elif run_and_verify is None:
        sys.exit(
            "run_design_cli: no run_and_verify callback was provided — this design only supports the compile-only "
            "path (pass --xclbin-path + --insts-path) or --emit-mlir."
        )
    else:
        run_and_verify(opts)


def _check_files(opts: Any) -> None:
    xclbin, insts, elf = (getattr(opts, name, None) for name in ("xclbin_path", "insts_path", "full_elf_path"))
    if xclbin is not None and not insts:
        sys.exit("--xclbin-path requires --insts-path (must be set together)")
    if elf is not None and xclbin is not None:
        sys.exit("--full-elf-path and --xclbin-path/--insts-path are mutually exclusive")


def _written_files(opts: Any) -> dict[str, Any]:
    """Arguments of `compile`, if it is only to compile."""
    if (elf := getattr(opts, "full_elf_path", None)) is not None:
        return {"full_elf_path": elf}
    if getattr(opts, "xclbin_path", None) is None:
        return {}
    named = {"xclbin_path": "xclbin_path", "inst_path": "insts_path", "elf_path": "elf_path", "pdi_path": "pdi_path"}
    found = {name: getattr(opts, option, None) for name, option in named.items()}
    return {name: path for name, path in found.items() if path is not None}


def _device(opts: Any, device: Device | Callable[[Any], Device | None] | None, *, must_be_named: bool) -> Device:
    from tilewright.iron.device import from_name

    if device is not None and not callable(device):
        return device
    if getattr(opts, "dev", None) is None:
        if must_be_named:
            sys.exit("run_design_cli: --emit-mlir requires an explicit target; pass --dev.")
        if device is None and not hasattr(opts, "dev"):
            raise ValueError(
                "run_design_cli: device=None requires opts to expose a 'dev' attribute (the standard add_compile_args "
                "flag). Pass device=<Device or callable> explicitly otherwise."
            )
        simulated = utils.get_current_device()
        if simulated is None:
            sys.exit("run_design_cli: compile-only mode requires --dev: there is no device to compile for")
        # scripts look at it afterwards
        opts.dev = _FAMILIES.get(simulated.arch, simulated.name)
    found = from_name(opts.dev) if device is None else device(opts)
    if found is None:
        raise ValueError("run_design_cli: device selector returned None")
    return found
