"""Designs from Python functions; see `tilewright.iron.utils.compile.jit`."""

from tilewright.iron.utils.compile.jit import (
    CompilableDesign,
    CompileTime,
    In,
    InOut,
    Out,
    compile_context,
    compileconfig,
    get_compile_arg,
)

__all__ = [
    "CompilableDesign",
    "CompileTime",
    "In",
    "InOut",
    "Out",
    "compile_context",
    "compileconfig",
    "get_compile_arg",
]
