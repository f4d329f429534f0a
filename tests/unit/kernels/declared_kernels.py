"""Kernels of the library as the simulator finds them: through a declaration on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.kernels.binding import DeviceKernels

TYPES = {
    "int8": "i8",
    "uint8": "ui8",
    "int16": "i16",
    "uint16": "ui16",
    "int32": "i32",
    "bfloat16": "bf16",
    "float32": "f32",
}


def declared(declaration: str, device: str = "npu1", own: dict[str, Callable[..., Any]] | None = None) -> DeviceKernels:
    """The kernels of a device with one declaration, such as `@zero_i32(memref<4xi32>)`."""
    text = f"aie.device({device}) {{\n  func.func private {declaration}\n}}"
    module = parse_source(make_context(), text, "design.mlir")
    found = next(op for op in module.body.ops if isinstance(op, DeviceOp))
    assert any(isinstance(op, FuncOp) for op in found.body.ops)
    return DeviceKernels(own or {}, found)


def kernel(name: str, *arguments: Any, device: str = "npu1", flags: str = "") -> Callable[..., Any]:
    """The kernel for arguments of these types and shapes."""
    types = ", ".join(_type(argument) for argument in arguments)
    attributes = f" attributes {{tilewright.compile_flags = [{flags}]}}" if flags else ""
    return _kernel(name, f"@{name}({types}){attributes}", device)


@cache
def _kernel(name: str, declaration: str, device: str) -> Callable[..., Any]:
    return declared(declaration, device)[name]


def call(name: str, *arguments: Any, device: str = "npu1", flags: str = "") -> Any:
    """Call the library's kernel; arrays are written in place."""
    return kernel(name, *arguments, device=device, flags=flags)(*arguments)


def _type(argument: Any) -> str:
    if not hasattr(argument, "dtype"):
        return "i32"
    sizes = "".join(f"{size}x" for size in argument.shape)
    element = TYPES[argument.dtype.name] if argument.dtype.names is None else '!aiex.bfp<"v8bfp16ebs8">'
    return f"memref<{sizes}{element}>"
