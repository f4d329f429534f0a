"""Running the LLVM IR of a core on this computer: intrinsics of the vendor's are functions here that write a log."""

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
VECTOR_ALIGNMENT = 32


def aligned_copy(array: Array, alignment: int = VECTOR_ALIGNMENT) -> Array:
    """The same numbers at an address as a buffer of a core has it."""
    room = np.zeros(array.nbytes + alignment, np.uint8)
    start = -room.ctypes.data % alignment
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class HostedCore:
    """The code of a core in this process."""

    def __init__(
        self, text: str, tile: FakeTile, memory: Mapping[str, Array], kernels: Mapping[str, Callable[..., Any]] = {}
    ):
        self.tile, self.kept = tile, list[Any]()
        # LLVM knows no such intrinsics, and refuses to call one.
        hosted = re.sub(r'@"llvm\.(aie2p?)\.', r'@"\1.', text)
        self.hosted = re.sub(r"^target triple.*$", "", hosted, count=1, flags=re.M)
        self.memory = memory

    def run(self, name: str) -> None:
        provide_library()

        def work() -> None:
            initialize_targets()
            machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault")
            module = llvm.parse_assembly(self.hosted, llvm.create_context())
            module.verify()
            engine = llvm.create_mcjit_compiler(module, machine)
            for variable in module.global_variables:
                if variable.name in self.memory:
                    engine.add_global_mapping(variable, self.memory[variable.name].ctypes.data)
            for function in module.functions:
                if function.is_declaration and (made := self._function(function.name)) is not None:
                    self.kept.append(made)
                    engine.add_global_mapping(function, ctypes.cast(made, ctypes.c_void_p).value)
            engine.finalize_object()
            ctypes.CFUNCTYPE(None)(engine.get_function_address(name))()

        with_llvm(work)

    def _function(self, name: str) -> Any:
        kind = name.partition(".")[2]
        log = self.tile.log
        match kind:
            case "acquire":
                return ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)(
                    lambda lock, value: log.append(("acquire", lock - OWN_LOCKS, value))
                )
            case "release":
                return ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)(
                    lambda lock, value: log.append(("release", lock - OWN_LOCKS, value))
                )
            case _:
                return None


def run_core_ir(body: str, tile: FakeTile | None = None, outside: str = "", **buffers: Array) -> FakeTile:
    """`run_core` with the code that a compiler for cores gets."""
    tile = tile or FakeTile(buffers)
    core = parse_core(body, tile.buffers, outside)
    device = core.parent_op()
    assert isinstance(device, DeviceOp)
    memory = {name: aligned_copy(array) for name, array in tile.buffers.items()}
    HostedCore(core_ir(device, core), tile, memory).run("core_0_2")
    for name, array in tile.buffers.items():
        array[...] = memory[name]
    return tile
