"""What the process of one rank does with a bundle: loads the host's code and the kernels, and calls the entry."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilewright.gpu.bundle.arguments import Arguments, entry_parts
from tilewright.gpu.bundle.machine_code import load_object
from tilewright.gpu.bundle.manifest import HOST_OBJECT, Launch, Manifest
from tilewright.gpu.device import DeviceError, DeviceOptions, Kernel, RankLost, Size3, World
from tilewright.gpu.host.context import Context
from tilewright.gpu.host.device_functions import Memory
from tilewright.gpu.host.heap import SymmetricHeap
from tilewright.gpu.host.letters import pointer_maker
from tilewright.gpu.host.prints import FUNCTIONS as PRINTS
from tilewright.gpu.host.sample_matrices import FUNCTIONS as SAMPLES
from tilewright.gpu.host.streams import Streams
from tilewright.gpu.loading import LoadableCode
from tilewright.native.context_layout import SLOT_BYTES

FAILED = 1
Function = Callable[..., int | float | None]


class Stop(Exception):
    """The program ended itself."""

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


def run_rank(
    folder: Path,
    manifest: Manifest,
    world: World,
    options: DeviceOptions,
    open_device: Callable[[World, DeviceOptions], Any],
    context: Context,
    arguments: Arguments,
) -> int:
    """Run the entry; gives the exit status and prints what went wrong."""
    try:
        device = open_device(world, options)
        try:
            return Rank(folder, manifest, world, device, context).run(arguments)
        finally:
            device.close()
    except Stop as stop:
        return stop.status % 256
    except (DeviceError, RankLost) as error:
        print(error if isinstance(error, Located) else f"error: {error}", file=sys.stderr, flush=True)
        return FAILED


class Located(DeviceError):
    """An error whose text begins with the place in the source where the host asked for what failed."""


class Rank:
    """The host's code of one rank, and the functions that it calls."""

    def __init__(self, folder: Path, manifest: Manifest, world: World, device: Any, context: Context):
        self.manifest, self.device, self.context = manifest, device, context
        self.memory = Memory(device)
        heap = SymmetricHeap(world, device, self.memory)
        self.failure: BaseException | None = None
        self.code = load_object((folder / HOST_OBJECT).read_bytes())
        modules = {
            module.name: device.load_code(LoadableCode((folder / module.file).read_bytes(), module.kernels))
            for module in manifest.modules
        }
        self._launches = [(self._kernel(modules, launch), launch.parameters) for launch in manifest.launches]
        functions: dict[str, Function] = {
            **self.memory.functions(),
            **heap.functions(),
            **Streams().functions(),
            **SAMPLES,
            **PRINTS,
            "launch": self._launch,
            "exit": self._exit,
        }
        self._pointers = [pointer_maker(letters)(self._guarded(functions[name])) for name, letters in manifest.calls]
        context.functions = [ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers]

    def _kernel(self, modules: dict[str, Any], launch: Launch) -> Kernel:
        return modules[launch.module].kernel(launch.kernel)

    def run(self, arguments: Arguments) -> int:
        placed = [self._placed(array) for array in arguments.arrays]
        parts = entry_parts(self.manifest, arguments, placed)
        given = (ctypes.c_uint64 * max(len(parts), 1))(*parts)
        room = (ctypes.c_uint64 * max(self.manifest.results, 1))()
        start = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(self.code.address(self.manifest.start))
        status = start(self.context.address, ctypes.addressof(given), ctypes.addressof(room))
        if self.failure is not None:
            raise self.failure
        if status < 0:
            trap = self.manifest.traps[self.context.trap]
            raise Located(trap.site.error(trap.text.format(*self.context.details)))
        for array, address in zip(arguments.arrays, placed, strict=True):
            self.memory.copy(array.ctypes.data, address, array.nbytes)
        return room[0] % 256 if self.manifest.returns_status else 0

    def _placed(self, array: Any) -> int:
        """A copy of an array that host and device may access."""
        address = self.memory.allocate(array.nbytes, 0, 1)
        self.memory.copy(address, array.ctypes.data, array.nbytes)
        return address

    def _guarded(self, function: Function) -> Function:
        """A function for native code to call: what it raises ends the run."""

        def call(*arguments: Any) -> int | float:
            with self.context.inside_call():
                try:
                    return function(*arguments) or 0
                except (DeviceError, RankLost) as error:
                    self.failure = Located(self.manifest.sites[self.context.site].error(str(error)))
                except BaseException as error:
                    self.failure = error
                self.context.stop()
                return 0

        return call

    def _exit(self, status: int) -> None:
        raise Stop(status)

    def _launch(self, number: int, *sizes_and_arguments: int) -> None:
        *sizes, shared, arguments = sizes_and_arguments
        kernel, widths = self._launches[number]
        values = [ctypes.string_at(arguments + SLOT_BYTES * place, width) for place, width in enumerate(widths)]
        self.device.launch(kernel, Size3(*sizes[:3]), Size3(*sizes[3:]), shared, values)
        self.device.synchronize()
