"""Compiler, runtime and simulator for AMD NPU runtime sequences: the names that outside programs rely on."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright import txn as txn
    from tilewright.artifacts import load as load
    from tilewright.codegen.range_error import RangeError as RangeError
    from tilewright.design import Design as Design
    from tilewright.design import compile_source as compile
    from tilewright.ir.diagnostics import DiagnosedError as CompileError
    from tilewright.sim.faults import Fault as Fault
    from tilewright.sim.faults import Hang as Hang

__version__ = "0.1.0"
__all__ = ["CompileError", "Design", "Fault", "Hang", "RangeError", "__version__", "compile", "load", "txn"]

_HOMES = {
    "CompileError": "tilewright.ir.diagnostics:DiagnosedError",
    "Design": "tilewright.design:Design",
    "Fault": "tilewright.sim.faults:Fault",
    "Hang": "tilewright.sim.faults:Hang",
    "RangeError": "tilewright.codegen.range_error:RangeError",
    "compile": "tilewright.design:compile_source",
    "load": "tilewright.artifacts:load",
    "txn": "tilewright.txn",
}
"""Where each name comes from; imported when it is first used, so that importing the package costs nothing."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
