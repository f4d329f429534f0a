"""The way of host code from AIR to runtime sequences, for modules that have both host code and a design."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, i64
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.air.levels import SegmentOp
from tilewright.dialects.airrt.loading import SegmentLoadOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.pass_manager import run_pipeline
from tilewright.passes.air.shim.host_transfers import host_transfers
from tilewright.passes.pipelines import pipeline_of
from tilewright.rewrite.pass_bases import ops_of


@dataclass(frozen=True)
class HostOptions:
    """What mlir-air's compiler driver is told about host code, by its flags."""

    tile_sizes: tuple[int, ...] = ()
    """`--air-runtime-loop-tiling-sizes`: iterations in one tile of transfers, for each loop from the outside."""
    trace_size: int = 0
    trace_offset: int = 0


def host_lowering(device: str, options: HostOptions) -> tuple[str, ...]:
    """From functions of AIR programs to sequences, as the names of passes."""
    sizes = f" shim-dma-tile-sizes={','.join(map(str, options.tile_sizes))}" if options.tile_sizes else ""
    return (
        f"air-opt-shim-dma-bds{{device={device} empty-tile=auto{sizes}}}",
        "air-to-std",
        "canonicalize",
        f"airrt-to-npu{{trace-size={options.trace_size} trace-offset={options.trace_offset}}}",
    )


NO_OPTIONS = HostOptions()


def lower_host_programs(ctx: Context, module: ModuleOp, options: HostOptions = NO_OPTIONS) -> None:
    """Turn functions that move host memory through AIR channels into sequences of the module's devices."""
    devices = ops_of(module.ops, DeviceOp)
    functions = [op for op in ops_of(module.ops, FuncOp) if any(True for _ in host_transfers(op))]
    if not devices or not functions:
        return
    for function in functions:
        # A module with one device need not name it; with several, the host says which it loads.
        if len(devices) == 1 and not any(isinstance(op, SegmentOp | SegmentLoadOp) for op in function.walk()):
            properties = {"sym_name": StringAttr(devices[0].sym_name.data)}
            load = SegmentLoadOp.create(result_types=[i64], properties=properties)
            Rewriter.insert_op(load, InsertPoint.at_start(function.body.block))
    run_pipeline(ctx, module, pipeline_of(host_lowering(str(devices[0].model), options)))
