"""The module that a program is built in."""

from tilewright.iron.builders.module import ModuleContext, mlir_mod_ctx

__all__ = ["ModuleContext", "mlir_mod_ctx"]
