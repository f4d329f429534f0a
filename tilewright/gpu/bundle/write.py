"""Makes a bundle of a lowered program: the host's code, the kernels, what runs them, and what there is to know."""

from __future__ import annotations

import io
import platform
import zipfile
from collections.abc import Mapping
from pathlib import Path

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, BFloat16Type, IndexType, IntegerType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

import tilewright
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.gpu.bundle.manifest import FILE, HOST_OBJECT, Launch, Manifest, Module, Parameter, Site, Trap
from tilewright.gpu.host.program import START, HostProgram
from tilewright.ir.diagnostics import file_position
from tilewright.native.aggregates import flattened_types
from tilewright.native.functions import types_of_parts
from tilewright.native.gpu_code import GpuCode
from tilewright.native.host import library_triple, object_code
from tilewright.native.values import strides_of

RUNTIME, RUNNER = "runtime.zip", "run.py"
BUNDLE_FILES = FILE, HOST_OBJECT, RUNNER, RUNTIME
"""Those that each bundle has."""
RUNTIME_MODULES = (
    "errors",
    "device/gpu_targets",
    "gpu/run_options",
    "gpu/bundle/arguments",
    "gpu/bundle/machine_code",
    "gpu/bundle/manifest",
    "gpu/bundle/rank",
    "gpu/bundle/run",
    "gpu/cuda/__init__",
    "gpu/cuda/device",
    "gpu/cuda/driver",
    "gpu/device",
    "gpu/driver_device",
    "gpu/hip/__init__",
    "gpu/hip/device",
    "gpu/hip/library",
    "gpu/host/context",
    "gpu/host/gathering",
    "gpu/host/heap",
    "gpu/host/letters",
    "gpu/host/local_world",
    "gpu/host/memory",
    "gpu/host/output",
    "gpu/host/printing",
    "gpu/host/prints",
    "gpu/host/processes",
    "gpu/host/sample_matrices",
    "gpu/host/slots",
    "gpu/host/streams",
    "gpu/loading",
    "native/context_layout",
    "native/elf",
    "native/kernel_facts",
    "native/relocations",
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
        contents = {f"{package}__init__": b"" for package in PACKAGES}
        contents |= {name: (root / f"{name}.py").read_bytes() for name in RUNTIME_MODULES}
        for name, text in contents.items():
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
        returns_status=entry.sym_name.data == "main" and entry.function_type.outputs.data == (i32,),
        results=len(types_of_parts(entry.function_type.outputs)),
        target=code.target.chip if code is not None else "sm_90",
        wave_size=code.wave_size if code is not None else 0,
        ranks=ranks,
        host=platform.machine(),
        context_bytes=program.context_bytes,
        parameters=tuple(_parameters(entry)),
        calls=tuple((name, signature.letters) for name, signature in program.calls.items()),
        sites=tuple(_site(op) for op in program.sites),
        traps=tuple(Trap(_site(trap.operation), trap.text) for trap in program.traps),
        launches=tuple(_launch(op) for op in program.launches),
        modules=tuple(Module(code.name, stem + code.suffix, tuple(code.kernels)) for stem, code in codes.items()),
    )


def _site(op: Operation) -> Site:
    position = file_position(op.location)
    return Site(op.name, "" if position is None else ":".join(map(str, position)))


def _launch(op: LaunchFuncOp) -> Launch:
    types = [part for operand in op.kernel_operands for part in flattened_types(operand.type)]
    return Launch(op.kernel.root_reference.data, op.kernel_name, tuple(_bytes(type) for type in types))


def _bytes(type: ir.Type) -> int:
    if isinstance(type, ir.IntType):
        return -(-type.width // 8)
    return {"half": 2, "float": 4}.get(str(type), 8)


def _parameters(entry: FuncOp) -> list[Parameter]:
    arguments = entry.body.blocks[0].args
    return [
        _parameter(argument.name_hint or f"arg{number}", argument.type) for number, argument in enumerate(arguments)
    ]


def _parameter(name: str, type: Attribute) -> Parameter:
    if not is_ranked(type):
        return Parameter(name, _numpy_name(type))
    shape = tuple(-1 if size == DYNAMIC_INDEX else size for size in type.get_shape())
    dynamic = tuple(number for number, stride in enumerate(strides_of(type)) if stride is None)
    return Parameter(name, _numpy_name(type.element_type), shape, dynamic)


def _numpy_name(type: Attribute) -> str:
    match type:
        case IndexType():
            return "int64"
        case IntegerType():
            return f"int{max(8, type.width.data)}"
        case BFloat16Type():
            return "uint16"
        case _:
            return NUMPY_FLOATS[getattr(type, "bitwidth", 64)]
