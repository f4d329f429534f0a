"""Compiling modules, by upstream's path."""

from tilewright.iron.utils.compile import compile_mlir_module, resolve_target_arch
from tilewright.iron.utils.compile.peano import compile_cxx_core_function, compile_external_kernel

__all__ = ["compile_cxx_core_function", "compile_external_kernel", "compile_mlir_module", "resolve_target_arch"]
