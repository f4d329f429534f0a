"""Compiler, runtime and simulator for AMD NPU runtime sequences: the names that outside programs rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.lazy import lazy_names

if TYPE_CHECKING:
    from tilewright import air as air
    from tilewright import txn as txn
    from tilewright.artifacts import load as load
    from tilewright.codegen.range_error import RangeError as RangeError
    from tilewright.design import Design as Design
    from tilewright.design import compile_source as compile
    from tilewright.ir.diagnostics import DiagnosedError as CompileError
    from tilewright.sim.faults import Fault as Fault
    from tilewright.sim.faults import Hang as Hang
    from tilewright.sim.stops import Interrupted as Interrupted
    from tilewright.sim.stops import Stopped as Stopped
    from tilewright.simulation import BareDevice as BareDevice

__version__ = "0.1.0"
__all__ = [
    "BareDevice",
    "CompileError",
    "Design",
    "Fault",
    "Hang",
    "Interrupted",
    "RangeError",
    "Stopped",
    "__version__",
    "air",
    "compile",
    "load",
    "txn",
]

_HOMES = {
    "BareDevice": "tilewright.simulation:BareDevice",
    "CompileError": "tilewright.ir.diagnostics:DiagnosedError",
    "Design": "tilewright.design:Design",
    "Fault": "tilewright.sim.faults:Fault",
    "Hang": "tilewright.sim.faults:Hang",
    "Interrupted": "tilewright.sim.stops:Interrupted",
    "RangeError": "tilewright.codegen.range_error:RangeError",
    "Stopped": "tilewright.sim.stops:Stopped",
    "air": "tilewright.air",
    "compile": "tilewright.design:compile_source",
    "load": "tilewright.artifacts:load",
    "txn": "tilewright.txn",
}
"""Where each name comes from."""
__getattr__ = lazy_names(__name__, _HOMES)
