"""Flags that the scripts of designs have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.iron.device.device import Device

DEFAULT_DEV_CHOICES: tuple[str, ...] = ("npu", "npu2")


def add_compile_args(
    parser: argparse.ArgumentParser,
    *,
    with_dev: bool = True,
    dev_choices: Sequence[str] = DEFAULT_DEV_CHOICES,
    default_dev: str | None = None,
    short_dev: str | None = "-d",
    with_elf: bool = False,
    with_full_elf: bool = False,
    with_pdi: bool = False,
    with_emit_mlir: bool = False,
) -> None:
    """`-d`, and the files that are written when a design is only to be compiled."""
    if with_dev:
        names = ["--dev"] if short_dev is None else [short_dev, "--dev"]
        parser.add_argument(
            *names, choices=list(dev_choices), default=default_dev, help="the device (default: the simulated one)"
        )
    if with_emit_mlir:
        parser.add_argument("--emit-mlir", action="store_true", help="print the design as MLIR (with --dev)")
    files = [("--xclbin-path", "the compiled design"), ("--insts-path", "the words of its sequence")]
    files += [("--elf-path", "those words in an ELF")] if with_elf else []
    files += [("--full-elf-path", "both in one ELF")] if with_full_elf else []
    files += [("--pdi-path", "its PDI")] if with_pdi else []
    for flag, what in files:
        parser.add_argument(flag, help=f"only compile: where to write {what}")


def add_benchmark_args(parser: argparse.ArgumentParser, *, default_warmup: int = 2, default_iters: int = 5) -> None:
    """`-w` and `-i`: how often to run before and while time is taken."""
    parser.add_argument("-w", "--warmup", type=int, default=default_warmup, help="runs before (default: %(default)s)")
    parser.add_argument("-i", "--iters", type=int, default=default_iters, help="runs (default: %(default)s)")


def add_trace_arg(parser: argparse.ArgumentParser, *, with_short: bool = True, default: int = 0) -> None:
    """`-t`: how large the buffer for a hardware trace is."""
    names = ["-t", "--trace_size"] if with_short else ["--trace_size"]
    parser.add_argument(*names, type=int, default=default, help="bytes of hardware trace (default: %(default)s)")


def add_runtime_args(
    parser: argparse.ArgumentParser, *, with_io_sizes: bool = False, with_benchmark: bool = False
) -> None:
    """What a script takes that runs a design which has been compiled before."""
    parser.add_argument("--xclbin", required=True, help="the compiled design: what --xclbin-path wrote")
    parser.add_argument("--instr", default="instr.txt", help="the words of its sequence (default: %(default)s)")
    # scripts have one set of flags for the simulator and for real devices
    parser.add_argument("-k", "--kernel", default="MLIR_AIE", help="accepted for real devices (default: %(default)s)")
    parser.add_argument("-v", "--verbosity", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=True, help="compare the results")
    add_trace_arg(parser)
    parser.add_argument("--trace-file", default="trace.txt", help="where a trace goes (default: %(default)s)")
    parser.add_argument("--ddr-id", type=int, default=4, help="accepted for real devices (default: %(default)s)")
    parser.add_argument("--enable-ctrl-pkts", action="store_true", help="accepted for real devices")
    if with_io_sizes:
        for name in ("in1", "in2", "out"):
            parser.add_argument(f"--{name}-size", type=int, default=0, help="bytes (default: %(default)s)")
    if with_benchmark:
        add_benchmark_args(parser)


def device_from_args(args: Any, *, dev_attr: str = "dev", n_cols: int | str | None = "auto") -> Device | None:
    """The device that `--dev` names, with `n_cols` columns: one for `auto`, or what `args` say; None is all."""
    name = getattr(args, dev_attr)
    if name is None:
        return None
    # only now: a script that asks for help need not wait for the devices
    from tilewright.iron.device import from_name

    if n_cols == "auto":
        n_cols = getattr(args, "n_cols", None) or 1
    if isinstance(n_cols, str):
        raise ValueError(f"n_cols must be an int, None, or 'auto'; got {n_cols!r}")
    return from_name(name, n_cols=n_cols)
