"""Runs kernels on the emulator with NumPy arrays as arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers import first, parsed
from xdsl.dialects.builtin import MemRefType, ModuleOp

from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.dialects.gpu.kernels import GPUFuncOp, GPUModuleOp
from tilewright.gpu.device import Size3
from tilewright.gpu.emulator.device import EmulatedKernel, EmulatorDevice

NAME = "kernel.mlir"


def kernel_module(program: str | ModuleOp, name: str = NAME) -> GPUModuleOp:
    """The first module of kernels of a program."""
    return first(GPUModuleOp, parsed(program, name) if isinstance(program, str) else program)


def emulator(chip: str = "gfx942", /, **options: Any) -> EmulatorDevice:
    return EmulatorDevice(GPU_TARGETS[chip], **options)


def in_kernel(body: str, arguments: str, more: str = "", rest: str = "") -> str:
    """A kernel @k with such arguments; `more` are its attributions, `rest` stands beside it."""
    return f"gpu.module @m {{ {rest} gpu.func @k({arguments}) {more} kernel {{ {body} gpu.return }} }}"


def loaded(device: EmulatorDevice, text: str | ModuleOp, name: str = "k") -> EmulatedKernel:
    return device.load(kernel_module(text)).kernel(name)


def parameters(function: GPUFuncOp, values: list[Any]) -> list[bytes]:
    """Arguments as LLVM's calling convention flattens them; arrays stand for the device's memory already."""
    flat = list[bytes]()
    for type, value in zip(function.function_type.inputs, values, strict=True):
        if isinstance(type, MemRefType):
            address, array = value
            strides = [stride // array.itemsize for stride in array.strides]
            numbers = [address, address, 0, *array.shape, *strides]
            flat += [int(number).to_bytes(8, "little", signed=True) for number in numbers]
        elif isinstance(value, np.generic):
            flat.append(value.tobytes())
        else:
            flat.append(int(value).to_bytes(8, "little", signed=True))
    return flat


def launch(
    device: EmulatorDevice,
    kernel: EmulatedKernel,
    *values: Any,
    grid: tuple[int, ...] = (1,),
    block: tuple[int, ...] = (64,),
    shared: int = 0,
) -> None:
    """Copy arrays to the device, run, and copy them back."""
    placed = list[Any]()
    for value in values:
        if isinstance(value, np.ndarray):
            address = device.allocate(value.nbytes)
            device.copy(address, value.ctypes.data, value.nbytes)
            placed.append((address, value))
        else:
            placed.append(value)
    device.launch(kernel, Size3(*grid), Size3(*block), shared, parameters(kernel.function, placed))
    for place in placed:
        if isinstance(place, tuple):
            address, array = place
            device.copy(array.ctypes.data, address, array.nbytes)
            device.free(address)


def run(text: str | ModuleOp, *values: Any, device: EmulatorDevice | None = None, **how: Any) -> EmulatorDevice:
    """Run kernel @k of a program."""
    device = device or emulator()
    launch(device, loaded(device, text), *values, **how)
    return device
