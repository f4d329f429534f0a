"""Compiler, runtime and simulator for AMD NPU runtime sequences: the names that outside programs rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.support.lazy import lazy_names, listed_names

if TYPE_CHECKING:
    from tilewright import air as air
    from tilewright import designs as designs
    from tilewright import iron as iron
    from tilewright import txn as txn
    from tilewright.codegen.native_sequence import RangeError as RangeError
    from tilewright.driver.artifacts import load as load
    from tilewright.driver.compiled_design import Design as Design
    from tilewright.driver.compiled_design import compile_source as compile
    from tilewright.driver.loaded_device import BareDevice as BareDevice
    from tilewright.driver.loaded_device import LoadedDevice as LoadedDevice
    from tilewright.driver.run_result import RunResult as RunResult
    from tilewright.errors import ArgumentError as ArgumentError
    from tilewright.errors import Error as Error
    from tilewright.ir.diagnostics import CompileError as CompileError
    from tilewright.ir.run_errors import Fault as Fault
    from tilewright.ir.run_errors import Hang as Hang
    from tilewright.sim.runs import Interrupted as Interrupted
    from tilewright.sim.runs import Stopped as Stopped

__version__ = "0.1.0"  # pyproject.toml reads it from here
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
    "BareDevice": "tilewright.driver.loaded_device:BareDevice",
    "CompileError": "tilewright.ir.diagnostics:CompileError",
    "Design": "tilewright.driver.compiled_design:Design",
    "Error": "tilewright.errors:Error",
    "Fault": "tilewright.ir.run_errors:Fault",
    "Hang": "tilewright.ir.run_errors:Hang",
    "Interrupted": "tilewright.sim.runs:Interrupted",
    "LoadedDevice": "tilewright.driver.loaded_device:LoadedDevice",
    "RangeError": "tilewright.codegen.native_sequence:RangeError",
    "RunResult": "tilewright.driver.run_result:RunResult",
    "Stopped": "tilewright.sim.runs:Stopped",
    "air": "tilewright.air",
    "compile": "tilewright.driver.compiled_design:compile_source",
    "designs": "tilewright.designs",
    "iron": "tilewright.iron",
    "load": "tilewright.driver.artifacts:load",
    "txn": "tilewright.txn",
}
"""Where each name comes from."""
__getattr__ = lazy_names(__name__, _HOMES)
__dir__ = listed_names(__name__)
