"""Compiler, runtime and simulator for AMD NPU runtime sequences: the names that outside programs rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.lazy import lazy_names, listed_names

if TYPE_CHECKING:
    from tilewright import air as air
    from tilewright import designs as designs
    from tilewright import iron as iron
    from tilewright import txn as txn
    from tilewright.artifacts import load as load
    from tilewright.codegen.range_error import RangeError as RangeError
    from tilewright.design import Design as Design
    from tilewright.design import compile_source as compile
    from tilewright.errors import ArgumentError as ArgumentError
    from tilewright.errors import Error as Error
    from tilewright.ir.diagnostics import CompileError as CompileError
    from tilewright.ir.run_errors import Fault as Fault
    from tilewright.ir.run_errors import Hang as Hang
    from tilewright.run_result import RunResult as RunResult
    from tilewright.sim.runs import Interrupted as Interrupted
    from tilewright.sim.runs import Stopped as Stopped
    from tilewright.simulation import BareDevice as BareDevice
    from tilewright.simulation import LoadedDevice as LoadedDevice

__version__ = "0.1.0"
__all__ = [
    "ArgumentError",
    "BareDevice",
    "CompileError",
    "Design",
    "Error",
    "Fault",
    "Hang",
    "Interrupted",
    "LoadedDevice",
    "RangeError",
    "RunResult",
    "Stopped",
    "__version__",
    "air",
    "compile",
    "designs",
    "iron",
    "load",
    "txn",
]

_HOMES = {
    "ArgumentError": "tilewright.errors:ArgumentError",
    "BareDevice": "tilewright.simulation:BareDevice",
    "CompileError": "tilewright.ir.diagnostics:CompileError",
    "Design": "tilewright.design:Design",
    "Error": "tilewright.errors:Error",
    "Fault": "tilewright.ir.run_errors:Fault",
    "Hang": "tilewright.ir.run_errors:Hang",
    "Interrupted": "tilewright.sim.runs:Interrupted",
    "LoadedDevice": "tilewright.simulation:LoadedDevice",
    "RangeError": "tilewright.codegen.range_error:RangeError",
    "RunResult": "tilewright.run_result:RunResult",
    "Stopped": "tilewright.sim.runs:Stopped",
    "air": "tilewright.air",
    "compile": "tilewright.design:compile_source",
    "designs": "tilewright.designs",
    "iron": "tilewright.iron",
    "load": "tilewright.artifacts:load",
    "txn": "tilewright.txn",
}
"""Where each name comes from."""
__getattr__ = lazy_names(__name__, _HOMES)
__dir__ = listed_names(__name__)
