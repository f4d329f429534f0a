"""mlir-air's way to compile and run a launch on an NPU, which here runs it on the emulated GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tilewright.air.levels import launch
from tilewright.air.tensors import BuiltLaunch, CompiledKernel
from tilewright.errors import ArgumentError
from tilewright.support.tracebacks import user_facing


@user_facing
class XRTBackend:
    """Compiles launches over tensors; `options` are for the compiler of AIE cores, and mean nothing here."""

    def __init__(self, **options: Any):
        self.options = options

    def compile(self, built: Any) -> CompiledKernel:
        """What `launch.build()` gave, or a launch, as a kernel."""
        if not isinstance(built, BuiltLaunch | launch):
            raise ArgumentError(f"what is compiled is what `launch.build()` gives, not {built!r}")
        return built.compile()

    def load(self, kernel: CompiledKernel) -> Callable[..., tuple[Any, ...]]:
        """A function of all arrays, those that a kernel does not write before those that it writes, which gives all."""

        def run(*arrays: Any) -> tuple[Any, ...]:
            count = len(kernel.inputs)
            tensors = [*kernel.inputs, *kernel.outputs]
            if len(arrays) != len(tensors):
                names = ", ".join(tensor.name for tensor in tensors)
                raise ArgumentError(f"the kernel takes {len(tensors)} arrays ({names}), not {len(arrays)}")
            written: Any = kernel(*arrays[:count])
            return *arrays[:count], *(written if len(kernel.outputs) > 1 else [written])

        return run

    def compile_and_load(self, built: Any) -> Callable[..., tuple[Any, ...]]:
        return self.load(self.compile(built))

    def unload(self) -> None:
        """Say that what was loaded is not used any more."""


def run_transform(*_: Any) -> NoReturn:
    """Refuse a transform script, which rewrites a program for AIE cores."""
    raise ArgumentError("transform scripts are for the compiler of AIE cores: run the program without one")
