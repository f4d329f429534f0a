"""Compiler, runtime and simulator for AMD NPU runtime sequences: the names that outside programs rely on."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright import txn as txn
    from tilewright.ir.diagnostics import DiagnosedError as CompileError

__version__ = "0.1.0"
__all__ = ["CompileError", "__version__", "txn"]

_HOMES = {"CompileError": "tilewright.ir.diagnostics:DiagnosedError", "txn": "tilewright.txn"}
"""Where each name comes from; imported when it is first used, so that importing the package costs nothing."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
