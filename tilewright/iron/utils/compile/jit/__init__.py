"""Designs from Python functions: what is known when, and what is kept."""

from tilewright.iron.utils.compile.jit.compilabledesign import CompilableDesign
from tilewright.iron.utils.compile.jit.compileconfig import compileconfig
from tilewright.iron.utils.compile.jit.context import compile_context, get_compile_arg
from tilewright.iron.utils.compile.jit.markers import CompileTime, DispatchTime, In, InOut, Out, RunTime

__all__ = [
    "CompilableDesign",
    "CompileTime",
    "DispatchTime",
    "In",
    "InOut",
    "Out",
    "RunTime",
    "compile_context",
    "compileconfig",
    "get_compile_arg",
]
