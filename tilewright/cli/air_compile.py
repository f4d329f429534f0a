"""Compile an AIR program for a GPU.

Writes into DIR: program.mlir (host functions and modules of kernels), host.ll (the host's side as LLVM IR), and for
each module of kernels NAME.ptx for NVIDIA's GPUs, NAME.s, NAME.o and, if there is an ld.lld, NAME.hsaco for AMD's;
kernels.json says what kernels need, and on AMD's GPUs take; those that spill registers are named. DIR is a bundle as
well: `tilewright air run DIR` runs it, and so does `python3 DIR/run.py` on a machine that has nothing but Python, NumPy
and the GPU's driver.

With --emit nothing is written, but the program printed as it is after all passes, or after the one that --after names:
in MLIR, or as LLVM IR (host and kernels).
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import CommandLineError, InputError, complaining
from tilewright.cli.files import print_written, read_text, write_folder
from tilewright.cli.parsers import HEAP_SIZE, arguments, switch, value

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.air import AirProgram
    from tilewright.device.gpu_targets import GpuTarget
    from tilewright.dialects.gpu.kernels import GPUModuleOp
    from tilewright.native.gpu_code import GpuCode

NATIVE = "native"
PROGRAM, HOST, KERNELS = "program.mlir", "host.ll", "kernels.json"


add_arguments = arguments(
    {
        "file": value("FILE", "a program in MLIR"),
        "--target": value("CHIP", "the GPU, as sm_90 (default: gfx942); native: this machine's", default="gfx942"),
        "-o": value("DIR", "where the files go", dest="directory"),
        "--wave-size": value("N", "lanes of a processing element (default: the GPU's)", type=int),
        "--heap-size": HEAP_SIZE,
        "-O": value(
            "LEVEL",
            "0 (default), or 2: wide and early copies, tiles that fit the banks",
            dest="opt_level",
            type=int,
            choices=(0, 2),
            default=0,
        ),
        "--entry": value("FUNC", "the function that the host begins with (default: main)"),
        "--emit": {"choices": ("mlir", "llvm"), "help": "print the program instead of writing files"},
        "--after": value("PASS", "with --emit mlir: as it is after this pass (help lists them)"),
        "--json": switch("print the names of the files for machines"),
    }
)


def run(args: Namespace) -> int:
    from tilewright.air import AirProgram, lanes_of
    from tilewright.cli.programs import source_name
    from tilewright.passes.air.hierarchies import find_target

    target = find_target(_native_chip() if args.target == NATIVE else args.target)
    args.wave_size = lanes_of(target, args.wave_size)
    if args.after == "help":
        print("\n".join(_pass_names(target, args.opt_level)))
        return 0
    program = AirProgram(read_text(args.file), source_name(args.file))
    if args.after is not None and args.emit != "mlir":
        raise _usage("--after goes with --emit mlir")
    if args.emit is not None:
        print(_text(program, target, args), end="")
        return 0
    if args.directory is None:
        raise _usage("say where the files go, -o DIR, or print the program, --emit mlir")
    print_written(write_folder(Path(args.directory), _files(program, target, args)), args.json)
    return 0


def _native_chip() -> str:
    from tilewright.gpu.chips import detect_chip
    from tilewright.gpu.device import DeviceError

    with complaining(DeviceError, InputError):
        return detect_chip()


def _usage(text: str) -> CommandLineError:
    return CommandLineError(f"tilewright air compile: {text}")


def _pass_names(target: GpuTarget, opt_level: int) -> list[str]:
    from tilewright.air import split_passes
    from tilewright.air.program import opt_passes

    return [step.partition("{")[0] for step in opt_passes(split_passes(target, target.wave_size), opt_level)]


def _text(program: AirProgram, target: GpuTarget, args: Namespace) -> str:
    from tilewright.ir.printer import module_text

    if args.emit == "llvm":
        from tilewright.native.gpu_code import llvm_module, machine_of

        module = program.lowered(target, args.wave_size, args.heap_size, opt_level=args.opt_level)
        host = [program.host(module, args.entry).text] if _has_entry(module) else []
        machine = machine_of(target, args.wave_size or 0)
        return "\n".join([*host, *(str(llvm_module(found, machine)[0]) for found in _kernel_modules(module))])
    texts = dict[str, str]()  # after each pass: where it stands in the order need not be known
    module = program.lowered(
        target,
        args.wave_size,
        args.heap_size,
        lambda name, op: texts.update({name: module_text(op) + "\n"}),
        args.opt_level,
    )
    if args.after is None:
        return module_text(module) + "\n"
    if args.after not in texts:
        raise _usage(f"--after: '{args.after}' is none of {', '.join(_pass_names(target, args.opt_level))}")
    return texts[args.after]


def _kernel_modules(module: ModuleOp) -> list[GPUModuleOp]:
    from tilewright.dialects.gpu.kernels import GPUModuleOp

    return [op for op in module.body.ops if isinstance(op, GPUModuleOp)]


def _has_entry(module: ModuleOp) -> bool:
    from tilewright.dialects.func import FuncOp

    return any(isinstance(op, FuncOp) and not op.is_declaration for op in module.body.ops)


def _files(program: AirProgram, target: GpuTarget, args: Namespace) -> dict[str, bytes]:
    from tilewright.gpu.bundle.write import BUNDLE_FILES, bundle_files
    from tilewright.gpu.resources import kernel_resources
    from tilewright.ir.printer import module_text
    from tilewright.native.gpu_code import compile_kernels, machine_of
    from tilewright.support.output_files import FileNames

    module = program.lowered(target, args.wave_size, args.heap_size, opt_level=args.opt_level)
    files = {PROGRAM: (module_text(module, debuginfo=True) + "\n").encode()}
    kernels = list[dict[str, Any]]()
    names = FileNames(PROGRAM, HOST, KERNELS, *BUNDLE_FILES)
    codes: dict[str, GpuCode] = {}
    for found in _kernel_modules(module):
        code = compile_kernels(found, machine_of(target, args.wave_size or 0))
        # a program may name modules as it likes, also like files that are written anyway
        stem = names.stem(code.name, ".ptx", ".s", ".o", ".hsaco")
        files[f"{stem}.ptx" if code.object is None else f"{stem}.s"] = code.assembly.encode()
        if code.object is not None:
            files[f"{stem}.o"] = code.object
        taken = {found.name: found for found in kernel_resources(code.assembly, target)}
        for kernel in code.kernels:
            facts = {"module": code.name, **asdict(kernel)}
            if kernel.name in taken:
                facts["resources"] = taken[kernel.name].facts(target)
                for text in taken[kernel.name].complaints(target):
                    print(f"{stem}: kernel @{kernel.name} {text}", file=sys.stderr)
            kernels.append(facts)
        codes[stem] = _linked(code)
    # a program of kernels alone has no host's side, so it is no bundle
    if _has_entry(module):
        host = program.host(module, args.entry)
        files[HOST] = host.text.encode()
        files |= bundle_files(host, codes, program.name, program.said_ranks())
    contents = {"target": target.chip, "wave_size": args.wave_size or target.wave_size, "kernels": kernels}
    return files | {KERNELS: (json.dumps(contents, indent=2) + "\n").encode()}


def _linked(code: GpuCode) -> GpuCode:
    """What a driver loads; says so if there is no linker for it."""
    from tilewright.native.gpu_amdgcn import NoLinker
    from tilewright.native.gpu_code import linked_code

    try:
        return linked_code(code)
    except NoLinker as error:
        # the object file is of use all the same
        print(f"{code.name}: {error}", file=sys.stderr)
        return code
