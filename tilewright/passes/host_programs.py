"""The way of host code from AIR to runtime sequences, for modules that have both host code and a design."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, i64
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.air.levels import SegmentOp
from tilewright.dialects.airrt.loading import SegmentLoadOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.pass_manager import Pipeline, run_pipeline
from tilewright.passes.air.shim.host_transfers import host_transfers


def lower_host_programs(ctx: Context, module: ModuleOp) -> None:
    """Turn functions that move host memory through AIR channels into sequences of the module's devices."""
    devices = [op for op in module.body.block.ops if isinstance(op, DeviceOp)]
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and any(True for _ in host_transfers(op))]
    if not devices or not functions:
        return
    for function in functions:
        if len(devices) == 1 and not any(isinstance(op, SegmentOp | SegmentLoadOp) for op in function.walk()):
            name = StringAttr(devices[0].sym_name.data)
            load = SegmentLoadOp.create(result_types=[i64], properties={"sym_name": name})
            Rewriter.insert_op(load, InsertPoint.at_start(function.body.block))
    run_pipeline(ctx, module, _pipeline(str(devices[0].model)))


def _pipeline(device: str) -> Pipeline:
    from tilewright.passes.air.air_opt_shim_dma_bds import AirOptShimDmaBdsPass
    from tilewright.passes.air.air_opt_shim_dma_bds.tiling import EmptyTile
    from tilewright.passes.air.air_to_std import AirToStdPass
    from tilewright.passes.air.airrt_to_npu import AirrtToNpuPass
    from tilewright.passes.standard.canonicalize import CanonicalizePass

    pipeline = Pipeline()
    shim = AirOptShimDmaBdsPass(device, empty_tile=EmptyTile.AUTO)
    for step in (shim, AirToStdPass(), CanonicalizePass(), AirrtToNpuPass()):
        pipeline.add(step)
    return pipeline
