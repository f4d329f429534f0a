"""Functions from outside of a module: LLVM's intrinsics and the C library's."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir


def declared(module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
    """The declaration of a function, made when it is needed first."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)
