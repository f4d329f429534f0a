"""Running the LLVM IR of a core on this computer, with functions that write a log in place of intrinsics."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
from core_programs import FakeTile, parse_core

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.core_programs import core_ir
from tilewright.native.host import initialize_targets, with_llvm
from tilewright.native.math_functions import provide_library

Array = npt.NDArray[Any]
OWN_LOCKS = 48
"""What a core calls the first lock of its own tile."""
ALIGNMENT = 32
CASCADE_BYTES = 64
INTRINSICS = {
    "acquire": "void @{0}(i32 %lock, i32 %value) {{ call void @on_acquire(i32 %lock, i32 %value) ret void }}",
    "release": "void @{0}(i32 %lock, i32 %value) {{ call void @on_release(i32 %lock, i32 %value) ret void }}",
    "event": "void @{0}(i32 %number) {{ call void @on_event(i32 %number) ret void }}",
    "put.ms": "void @{0}(i32 %value, i32 %last) {{ call void @on_put(i32 %value, i32 %last) ret void }}",
    "get.ss": """{{i32, i32}} @{0}() {{ %value = call i32 @on_get()
        %pair = insertvalue {{i32, i32}} zeroinitializer, i32 %value, 0 ret {{i32, i32}} %pair }}""",
    "mcd.write.vec": """void @{0}(<16 x i32> %value, i32 %enable) {{ %room = alloca <16 x i32>
        store <16 x i32> %value, ptr %room call void @on_put_cascade(ptr %room) ret void }}""",
    "scd.read.vec": """<16 x i32> @{0}(i32 %enable) {{ %room = alloca <16 x i32> call void @on_get_cascade(ptr %room)
        %value = load <16 x i32>, ptr %room ret <16 x i32> %value }}""",
}
"""What the intrinsics do here."""
HOOKS = """
declare void @on_acquire(i32, i32)
declare void @on_release(i32, i32)
declare void @on_event(i32)
declare void @on_put(i32, i32)
declare i32 @on_get()
declare void @on_put_cascade(ptr)
declare void @on_get_cascade(ptr)
"""
C_TYPES = {
    "void": None,
    "ptr": ctypes.c_void_p,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "float": ctypes.c_float,
}


def aligned_copy(array: Array) -> Array:
    """The same numbers at an address as a buffer of a core has it."""
    room = np.zeros(array.nbytes + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def hosted(text: str) -> str:
    """The module for this computer, with the intrinsics that it declares defined."""
    for arch, name in re.findall(r'^declare .*@"llvm\.(aie2p?)\.([\w.]+)"\(.*\)$', text, re.M):
        quoted = f'@"llvm.{arch}.{name}"'
        text = re.sub(rf"^declare .*{re.escape(quoted)}\(.*\)$", "", text, flags=re.M)
        # LLVM refuses calls of intrinsics that it does not know.
        text = text.replace(quoted, f'@"{name}"') + "define " + INTRINSICS[name].format(f'"{name}"') + "\n"
    return re.sub(r"^target triple.*$", HOOKS, text, count=1, flags=re.M)


class HostedCore:
    """The code of a core in this process."""

    def __init__(self, text: str, tile: FakeTile, memory: Mapping[str, Array]):
        self.text, self.tile, self.memory = text, tile, memory
        self.functions: dict[str, Any] = {}

    def run(self, name: str) -> None:
        provide_library()
        self._declare(r"^declare (\S+) @\"(\w+)\"\((.*)\)$", self.text, self.tile.kernels)
        hooks: dict[str, Callable[..., Any]] = {
            "on_acquire": lambda lock, value: self._note("acquire", lock - OWN_LOCKS, value),
            "on_release": lambda lock, value: self._note("release", lock - OWN_LOCKS, value),
            "on_event": lambda number: self._note("event", number),
            "on_put": lambda value, last: self._note("put_stream", value, last),
            "on_get": lambda: int.from_bytes(self.tile.stream.pop(0), "little", signed=True),
            "on_put_cascade": lambda place: self._note("put_cascade", ctypes.string_at(place, CASCADE_BYTES)),
            "on_get_cascade": lambda place: ctypes.memmove(place, self.tile.cascade.pop(0), CASCADE_BYTES) and None,
        }
        self._declare(r"^declare (\S+) @(\w+)\((.*)\)$", HOOKS, hooks)
        with_llvm(lambda: self._run(name))

    def _note(self, *event: Any) -> None:
        self.tile.log.append(event)

    def _declare(self, pattern: str, text: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        for result, name, arguments in re.findall(pattern, text, re.M):
            if name in functions:
                types = [C_TYPES[each.split()[0]] for each in arguments.split(", ") if each]
                self.functions[name] = ctypes.CFUNCTYPE(C_TYPES[result], *types)(functions[name])

    def _run(self, name: str) -> None:
        initialize_targets()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault")
        module = llvm.parse_assembly(hosted(self.text), llvm.create_context())
        module.verify()
        engine = llvm.create_mcjit_compiler(module, machine)
        for variable in module.global_variables:
            if variable.name in self.memory:
                engine.add_global_mapping(variable, self.memory[variable.name].ctypes.data)
        for function in module.functions:
            if function.name in self.functions:
                address = ctypes.cast(self.functions[function.name], ctypes.c_void_p).value
                engine.add_global_mapping(function, address)
        engine.finalize_object()
        ctypes.CFUNCTYPE(None)(engine.get_function_address(name))()


def ir_of(body: str, buffers: Mapping[str, Array], outside: str = "") -> str:
    """The LLVM IR of a core with these buffers."""
    core = parse_core(body, buffers, outside)
    device = core.parent_op()
    assert isinstance(device, DeviceOp)
    return core_ir(device, core)


def run_core_ir(body: str, tile: FakeTile | None = None, outside: str = "", **buffers: Array) -> FakeTile:
    """`run_core` with the code that the compiler for cores gets."""
    tile = tile or FakeTile(buffers)
    memory = {name: aligned_copy(array) for name, array in tile.buffers.items()}
    HostedCore(ir_of(body, tile.buffers, outside), tile, memory).run("core_0_2")
    for name, array in tile.buffers.items():
        array[...] = memory[name]
    return tile
