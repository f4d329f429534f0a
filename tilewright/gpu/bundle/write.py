"""Makes a bundle of a lowered program: the host's code, the kernels, what runs them, and what there is to know."""

from __future__ import annotations

import io
import platform
import zipfile
from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import DYNAMIC_INDEX, BFloat16Type, IndexType, IntegerType
from xdsl.ir import Attribute, Operation

import tilewright
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.gpu.bundle.manifest import (
    FILE,
    HOST_OBJECT,
    EntryParameter,
    LaunchEntry,
    Manifest,
    ModuleEntry,
    Site,
    TrapEntry,
)
from tilewright.gpu.host.arguments import argument_names, returns_status
from tilewright.gpu.host.program import START, HostProgram, parameter_bytes
from tilewright.ir.diagnostics import file_position
from tilewright.native.gpu_code import GpuCode
from tilewright.native.host import library_triple, object_code
from tilewright.native.values import strides_of

RUNTIME, RUNNER = "runtime.zip", "run.py"
BUNDLE_FILES = FILE, HOST_OBJECT, RUNNER, RUNTIME
"""Those that each bundle has."""
RUNTIME_MODULES = (
    "device/gpu_targets",
    "device/tensor_maps",
    "errors",
    "gpu/bundle/machine_code",
    "gpu/bundle/manifest",
    "gpu/bundle/run",
    "gpu/cuda",
    "gpu/device",
    "gpu/driver_device",
    "gpu/hip",
    "gpu/host/context",
    "gpu/host/printing",
    "gpu/host/processes",
    "gpu/host/runtime",
    "gpu/host/supervisor",
    "native/context_layout",
    "native/elf",
    "native/kernel_facts",
    "support/output_files",
)
"""What runs a bundle: parts of this package that need NumPy and nothing else."""
PACKAGES = "", "device/", "gpu/", "gpu/bundle/", "gpu/host/", "native/", "support/"
"""Where they are; these say nothing by themselves in a bundle."""
RUNNER_TEXT = """\
# Runs this bundle: python3 run.py --help. Needs Python 3.11 or later, NumPy and the GPU's driver.
import sys
from pathlib import Path

folder = Path(__file__).resolve().parent
sys.path.insert(0, str(folder / "runtime.zip"))
from tilewright.gpu.bundle.run import main

sys.exit(main(folder))
"""
NUMPY_FLOATS = {16: "float16", 32: "float32", 64: "float64"}


def bundle_files(
    program: HostProgram, codes: Mapping[str, GpuCode], source: str, ranks: int | None
) -> dict[str, bytes]:
    """The files of a bundle, by name; `codes` are by the names of their files without the suffix."""
    manifest = _manifest(program, codes, source, ranks)
    return {
        FILE: manifest.text().encode(),
        HOST_OBJECT: object_code(program.native_module, library_triple()),
        RUNNER: RUNNER_TEXT.encode(),
        RUNTIME: _runtime(),
        **{stem + code.suffix: code.loadable for stem, code in codes.items()},
    }


def _runtime() -> bytes:
    """The modules of this package that a bundle needs, as a file that Python imports from; always the same bytes."""
    data = io.BytesIO()
    root = Path(tilewright.__file__).parent
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        # empty: what they import is not in a bundle
        contents = {f"{package}__init__": b"" for package in PACKAGES}
        contents |= {name: (root / f"{name}.py").read_bytes() for name in RUNTIME_MODULES}
        for name, text in contents.items():
            # without a date, so that the same program gives the same bytes
            entry = zipfile.ZipInfo(f"tilewright/{name}.py")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return data.getvalue()


def _manifest(program: HostProgram, codes: Mapping[str, GpuCode], source: str, ranks: int | None) -> Manifest:
    entry = program.entry
    code = next(iter(codes.values()), None)
    return Manifest(
        source=source,
        entry=entry.sym_name.data,
        start=START,
        returns_status=returns_status(entry),
        results=program.result_slots,
        # a program without kernels still opens a device
        target=code.target.chip if code is not None else "sm_90",
        wave_size=code.wave_size if code is not None else 0,
        ranks=ranks,
        host=platform.machine(),
        context_bytes=program.context_bytes,
        parameters=tuple(map(_parameter, argument_names(entry), entry.function_type.inputs)),
        calls=tuple((name, signature.codes) for name, signature in program.calls.items()),
        sites=tuple(map(_site, program.sites)),
        traps=tuple(TrapEntry(_site(trap.operation), trap.text) for trap in program.traps),
        launches=tuple(map(_launch, program.launches)),
        modules=tuple(ModuleEntry(code.name, stem + code.suffix, tuple(code.kernels)) for stem, code in codes.items()),
    )


def _site(op: Operation) -> Site:
    position = file_position(op.location)
    return Site(op.name, "" if position is None else ":".join(map(str, position)))


def _launch(op: LaunchFuncOp) -> LaunchEntry:
    return LaunchEntry(op.kernel.root_reference.data, op.kernel_name, tuple(parameter_bytes(op)))


def _parameter(name: str, type: Attribute) -> EntryParameter:
    if not is_ranked(type):
        return EntryParameter(name, _numpy_name(type))
    shape = tuple(-1 if size == DYNAMIC_INDEX else size for size in type.get_shape())
    dynamic = tuple(number for number, stride in enumerate(strides_of(type)) if stride is None)
    return EntryParameter(name, _numpy_name(type.element_type), shape, dynamic)


def _numpy_name(type: Attribute) -> str:
    match type:
        case IndexType():
            return "int64"
        case IntegerType():
            return f"int{max(8, type.width.data)}"
        # NumPy alone has no bfloat16: its bits
        case BFloat16Type():
            return "uint16"
        case _:
            return NUMPY_FLOATS[getattr(type, "bitwidth", 64)]
