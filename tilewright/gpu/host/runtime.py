"""One run of a host program on one rank: the functions that it calls, and what becomes of errors in them.

Native code cannot be left by an exception. A function of the runtime that fails keeps what it raised and marks the
context; the code looks at the mark after each call, and returns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from xdsl.dialects.builtin import LocationAttr

from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.gpu.device import Device, DeviceError, Kernel, KernelModule, RankLost, Size3, World
from tilewright.gpu.host.context import Context
from tilewright.gpu.host.device_functions import Memory
from tilewright.gpu.host.heap import SymmetricHeap
from tilewright.gpu.host.prints import FUNCTIONS as PRINTS
from tilewright.gpu.host.program import HostProgram
from tilewright.gpu.host.sample_matrices import FUNCTIONS as SAMPLES
from tilewright.gpu.host.streams import Streams
from tilewright.ir.diagnostics import op_text
from tilewright.ir.run_errors import Fault
from tilewright.ir.symbols import symbol_in
from tilewright.native.aggregates import flattened_types
from tilewright.native.lowering import SLOT_BYTES

Function = Callable[..., int | float | None]


class Exited(Exception):
    """The program called `exit`."""

    def __init__(self, status: int):
        self.status = status
        super().__init__(f"exit({status})")


class Runtime:
    """What a program on one rank finds behind the names that it calls."""

    def __init__(self, program: HostProgram, world: World, device: Device, context: Context):
        self.program, self.world, self.device, self.context = program, world, device, context
        self.memory = Memory(device)
        self.heap = SymmetricHeap(world, device, self.memory)
        self.failure: BaseException | None = None
        self._modules: dict[str, KernelModule] = {}
        self._launches = [self._prepared(launch) for launch in program.launches]
        functions = self._functions()
        self._pointers = [
            signature.python()(self._guarded(functions[name])) for name, signature in program.calls.items()
        ]
        context.functions = [ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers]

    def _functions(self) -> dict[str, Function]:
        return {
            **self.memory.functions(),
            **self.heap.functions(),
            **Streams().functions(),
            **SAMPLES,
            **PRINTS,
            "launch": self._launch,
            "exit": self._exit,
        }

    def run(self, arguments: Sequence[int], results: int) -> list[int]:
        """Call the entry; gives the bits of its results. Raises what ended it early."""
        given = (ctypes.c_uint64 * max(len(arguments), 1))(*arguments)
        room = (ctypes.c_uint64 * max(results, 1))()
        status = self.program.start(self.context.address, ctypes.addressof(given), ctypes.addressof(room))
        if self.failure is not None:
            raise self.failure
        if status < 0:
            trap = self.program.traps[self.context.trap]
            raise Fault(op_text(trap.operation, trap.text.format(*self.context.details)), trap.location)
        return list(room)

    def _guarded(self, function: Function) -> Function:
        """A function for native code to call: what it raises ends the run."""

        def call(*arguments: Any) -> int | float:
            with self.context.inside_call():
                try:
                    return function(*arguments) or 0
                except BaseException as error:
                    self.failure = self._located(error)
                    self.context.stop()
                    return 0

        return call

    def _located(self, error: BaseException) -> BaseException:
        """What ended the run, with the place in the program that asked for it."""
        match error:
            case DeviceError() | RankLost() | MemoryError() | OverflowError():
                op = self.program.sites[self.context.site]
                text = str(error) if isinstance(error, DeviceError | RankLost) else "needs more memory than there is"
                located = Fault(op_text(op, text), op.location)
                located.__cause__ = error
                return located
            case _:
                return error

    def _exit(self, status: int) -> None:
        raise Exited(status)

    def _prepared(self, launch: LaunchFuncOp) -> tuple[Kernel, list[int], LocationAttr]:
        """The kernel of a launch, and how many bytes each of its flattened parameters has."""
        module = self._module(launch)
        types = [part for operand in launch.kernel_operands for part in flattened_types(operand.type)]
        return module.kernel(launch.kernel_name), [_bytes(type) for type in types], launch.location

    def _module(self, launch: LaunchFuncOp) -> KernelModule:
        name = launch.kernel.root_reference.data
        if name not in self._modules:
            found = symbol_in(self.program.module, name)
            assert isinstance(found, GPUModuleOp), "the verifier looked for it"
            self._modules[name] = self.device.load(found)
        return self._modules[name]

    def _launch(self, number: int, *sizes_and_arguments: int) -> None:
        *sizes, shared, arguments = sizes_and_arguments
        kernel, widths, where = self._launches[number]
        values = [ctypes.string_at(arguments + SLOT_BYTES * place, width) for place, width in enumerate(widths)]
        grid, block = Size3(*sizes[:3]), Size3(*sizes[3:])
        if min(*grid, *block) <= 0:
            raise DeviceError(f"launches a grid of {_shown(grid)} blocks of {_shown(block)} threads")
        self.device.launch(kernel, grid, block, shared, values, where)
        self.device.synchronize()


def _shown(size: Size3) -> str:
    return " x ".join(map(str, size))


def _bytes(type: ir.Type) -> int:
    match type:
        case ir.IntType():
            return -(-type.width // 8)
        case ir.HalfType():
            return 2
        case ir.FloatType():
            return 4
        case _:
            return 8
