"""Compiling modules, by upstream's path."""

from tilewright.iron.utils.compile import compile_mlir_module, resolve_target_arch

__all__ = ["compile_mlir_module", "resolve_target_arch"]
