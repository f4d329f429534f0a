"""Compiler, runtime and simulator for AMD NPU runtime sequences: the names that outside programs rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.support.lazy import lazy_names, listed_names

# __all__ makes these names public for type checkers
if TYPE_CHECKING:
    from tilewright import air, designs, iron, txn
    from tilewright.codegen.sequence_scalars import RangeError
    from tilewright.driver.artifacts import load
    from tilewright.driver.compiled_design import Design
    from tilewright.driver.compiled_design import compile_source as compile
    from tilewright.driver.loaded_device import BareDevice, LoadedDevice
    from tilewright.driver.run_result import RunResult
    from tilewright.errors import ArgumentError, Error
    from tilewright.ir.diagnostics import CompileError
    from tilewright.ir.run_errors import Fault, Hang
    from tilewright.sim.runs import Interrupted, Stopped
    from tilewright.sweeps.definition import Sweep, sweep
    from tilewright.sweeps.table import SweepResult

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
    "Sweep",
    "SweepResult",
    "__version__",
    "air",
    "compile",
    "designs",
    "iron",
    "load",
    "sweep",
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
    "RangeError": "tilewright.codegen.sequence_scalars:RangeError",
    "RunResult": "tilewright.driver.run_result:RunResult",
    "Stopped": "tilewright.sim.runs:Stopped",
    "Sweep": "tilewright.sweeps.definition:Sweep",
    "SweepResult": "tilewright.sweeps.table:SweepResult",
    "air": "tilewright.air",
    "compile": "tilewright.driver.compiled_design:compile_source",
    "designs": "tilewright.designs",
    "iron": "tilewright.iron",
    "load": "tilewright.driver.artifacts:load",
    "sweep": "tilewright.sweeps.definition:sweep",
    "txn": "tilewright.txn",
}
"""Where each name comes from."""
__getattr__ = lazy_names(__name__, _HOMES)
__dir__ = listed_names(__name__)
