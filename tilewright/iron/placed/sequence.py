"""Runtime sequences, and the chains of descriptors they can start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Region

from tilewright.dialects.aie import sequence as ops
from tilewright.dialects.aiex import configure as configure_ops
from tilewright.dialects.aiex import firmware, scratchpad
from tilewright.iron.builders.checks import call_body
from tilewright.iron.builders.handles import OpView, value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.regions import fill, new_block, region_op
from tilewright.iron.builders.types import convert_type
from tilewright.iron.placed.dma import bds
from tilewright.iron.placed.generated import builder


class RuntimeSequenceOp(OpView):
    """What the controller does when the host calls it."""

    OP = ops.RuntimeSequenceOp

    def __init__(self, *, sym_name: str | None = None, loc: Any = None, ip: Any = None):
        super().__init__(build(ops.RuntimeSequenceOp, regions=[Region()], sym_name=sym_name, loc=loc, ip=ip))


def runtime_sequence(
    *inputs: Any, sym_name: str | None = None, context: Any = None
) -> Callable[[Callable[..., Any]], RuntimeSequenceOp]:
    """Write the sequence: `@runtime_sequence(types)` on a function whose parameters are its arguments.

    Array types are the host's buffers. Scalar types are numbers that the host gives when it runs the sequence. The
    function's name is the sequence's, and its parameters' names are the arguments'.
    """

    def decorate(body: Callable[..., Any]) -> RuntimeSequenceOp:
        view = RuntimeSequenceOp(sym_name=body.__name__ if sym_name is None else sym_name)
        fill(view.op.regions[0], body, [convert_type(type) for type in inputs])
        return view

    return decorate


class BDChainOp(OpView):
    """A chain of descriptors with open ends."""

    OP = ops.BdChainOp


def bd_chain(*inputs: Any) -> Callable[[Callable[..., Any]], BDChainOp]:
    """Write a chain that sequences start with their buffers; the function takes the blocks, then the arguments."""

    def decorate(body: Callable[..., Any]) -> BDChainOp:
        view = BDChainOp(build(ops.BdChainOp, regions=[Region()], sym_name=body.__name__))
        block = new_block(view.op.regions[0], [convert_type(type) for type in inputs])
        with bds(view) as blocks:
            call_body(body, blocks, *map(value_of, block.args))
        return view

    return decorate


def _configure(symbol: Any, *, expand_mode: Any = None, loc: Any = None, ip: Any = None) -> OpView:
    fields = {"symbol": symbol, "expand_mode": expand_mode}
    return OpView(build(configure_ops.ConfigureOp, regions=[Region()], loc=loc, ip=ip, **fields))


configure = region_op(_configure, name="configure")
run = builder(configure_ops.RunOp, "runtime_sequence_symbol args")
npu_load_pdi = builder(firmware.NpuLoadPdiOp, optional="device_ref id size address expand_mode")
npu_preempt = builder(firmware.NpuPreemptOp, "level")
npu_create_scratchpad = builder(firmware.NpuCreateScratchpadOp, "size", optional="usage_type")
scratchpad_parameter = builder(scratchpad.ScratchpadParameterOp, "sym_name type_=type", optional="state_table_idx kind")
sync_scratchpad_parameters_from_host = builder(scratchpad.SyncScratchpadParametersFromHostOp)


def read_scratchpad_parameter(name: str, result_type: Any) -> Any:
    """The value of a scratchpad parameter, inside a core."""
    op = build(scratchpad.ReadScratchpadParameterOp, results=[convert_type(result_type)], parameter=name)
    return value_of(op.results[0])
