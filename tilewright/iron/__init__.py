"""Python programs -> dialects: the vocabulary of IRON, placed and high level.

A program has a device, workers on its cores, ObjectFifos between them, and a runtime sequence that moves the host's
data; `tilewright.compile(program)` compiles it. `dialects` has the operations one by one, for programs that place
everything themselves.
"""

# Programs for mlir-aie only change their import lines. So `compile`, `dialects`, `extras`, `helpers`, `hostruntime`,
# `ir` and `utils` mirror upstream's paths, and many modules there only name what stands elsewhere: operations are built
# in `builders`, and the low-level style is in `placed`.

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.support.lazy import lazy_names, listed_names

if TYPE_CHECKING:
    from tilewright.iron import algorithms as algorithms
    from tilewright.iron import controlflow as controlflow
    from tilewright.iron import device as device
    from tilewright.iron import kernels as kernels
    from tilewright.iron import math as math
    from tilewright.iron.buffer import Buffer as Buffer
    from tilewright.iron.builders.location import UsageError as UsageError
    from tilewright.iron.dataflow import Acquire as Acquire
    from tilewright.iron.dataflow import Bd as Bd
    from tilewright.iron.dataflow import BdIteration as BdIteration
    from tilewright.iron.dataflow import CascadeFlow as CascadeFlow
    from tilewright.iron.dataflow import DmaChannel as DmaChannel
    from tilewright.iron.dataflow import Flow as Flow
    from tilewright.iron.dataflow import ObjectFifo as ObjectFifo
    from tilewright.iron.dataflow import PacketDest as PacketDest
    from tilewright.iron.dataflow import PacketFlow as PacketFlow
    from tilewright.iron.dataflow import PadDims as PadDims
    from tilewright.iron.dataflow import Release as Release
    from tilewright.iron.dataflow import StreamDims as StreamDims
    from tilewright.iron.dataflow import TileDma as TileDma
    from tilewright.iron.dtype import dtype_to_str as dtype_to_str
    from tilewright.iron.dtype import str_to_dtype as str_to_dtype
    from tilewright.iron.kernel import ExternalFunction as ExternalFunction
    from tilewright.iron.kernel import Kernel as Kernel
    from tilewright.iron.lock import Lock as Lock
    from tilewright.iron.printing import print_ as print_
    from tilewright.iron.program import Program as Program
    from tilewright.iron.runtime import Runtime as Runtime
    from tilewright.iron.runtime import RuntimeData as RuntimeData
    from tilewright.iron.runtime import RuntimeScalar as RuntimeScalar
    from tilewright.iron.runtime import Task as Task
    from tilewright.iron.runtime import TaskGroup as TaskGroup
    from tilewright.iron.runtime import sync_parameters as sync_parameters
    from tilewright.iron.scratchpad_parameter import ScratchpadParameter as ScratchpadParameter
    from tilewright.iron.utils import arange as arange
    from tilewright.iron.utils import ceildiv as ceildiv
    from tilewright.iron.utils import ensure_current_device as ensure_current_device
    from tilewright.iron.utils import full as full
    from tilewright.iron.utils import get_current_device as get_current_device
    from tilewright.iron.utils import ones as ones
    from tilewright.iron.utils import rand as rand
    from tilewright.iron.utils import randint as randint
    from tilewright.iron.utils import set_current_device as set_current_device
    from tilewright.iron.utils import set_tensor_class as set_tensor_class
    from tilewright.iron.utils import tensor as tensor
    from tilewright.iron.utils import zeros as zeros
    from tilewright.iron.utils import zeros_like as zeros_like
    from tilewright.iron.utils.callabledesign import CallableDesign as CallableDesign
    from tilewright.iron.utils.compile.jit import CompilableDesign as CompilableDesign
    from tilewright.iron.utils.compile.jit import CompileTime as CompileTime
    from tilewright.iron.utils.compile.jit import DispatchTime as DispatchTime
    from tilewright.iron.utils.compile.jit import In as In
    from tilewright.iron.utils.compile.jit import InOut as InOut
    from tilewright.iron.utils.compile.jit import Out as Out
    from tilewright.iron.utils.compile.jit import RunTime as RunTime
    from tilewright.iron.utils.compile.jit import compile_context as compile_context
    from tilewright.iron.utils.compile.jit import compileconfig as compileconfig
    from tilewright.iron.utils.compile.jit import get_compile_arg as get_compile_arg
    from tilewright.iron.utils.compile.reconfiguration import Reconfiguration as Reconfiguration
    from tilewright.iron.utils.jit import jit as jit
    from tilewright.iron.utils.trace import TileTrace as TileTrace
    from tilewright.iron.utils.trace import TraceBuffer as TraceBuffer
    from tilewright.iron.worker import Worker as Worker
    from tilewright.iron.worker import WorkerRuntimeBarrier as WorkerRuntimeBarrier

_HOMES = {
    "buffer": "Buffer",
    "builders.location": "UsageError",
    "dataflow": """
        Acquire Bd BdIteration CascadeFlow DmaChannel Flow ObjectFifo PacketDest PacketFlow PadDims Release StreamDims
        TileDma
    """,
    "dtype": "dtype_to_str str_to_dtype",
    "kernel": "ExternalFunction Kernel",
    "lock": "Lock",
    "printing": "print_",
    "program": "Program",
    "runtime": "Runtime RuntimeData RuntimeScalar Task TaskGroup sync_parameters",
    "scratchpad_parameter": "ScratchpadParameter",
    "utils": """
        arange ceildiv ensure_current_device full get_current_device ones rand randint set_current_device
        set_tensor_class tensor zeros zeros_like
    """,
    "utils.callabledesign": "CallableDesign",
    "utils.compile.jit": """
        CompilableDesign CompileTime DispatchTime In InOut Out RunTime compile_context compileconfig get_compile_arg
    """,
    "utils.compile.reconfiguration": "Reconfiguration",
    "utils.jit": "jit",
    "utils.trace": "TileTrace TraceBuffer",
    "worker": "Worker WorkerRuntimeBarrier",
}
"""Names by the module that they come from."""
_NAMES = {name: f"{__name__}.{home}:{name}" for home, names in _HOMES.items() for name in names.split()}
_MODULES = {name: f"{__name__}.{name}" for name in ("algorithms", "controlflow", "device", "kernels", "math")}

__all__ = [*_NAMES, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__, _NAMES | _MODULES)
__dir__ = listed_names(__name__)
