"""draft"""
from tilewright.codegen.core_llvm import core_llvm
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import GlobalOp
from tilewright.ir.context import make_context
from tilewright.ir.pass_manager import run_pipeline
from tilewright.passes.pipelines import CORE_LOWERING, pipeline_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter

def core_modules(device):
    out={}
    for core in [op for op in device.body.ops if isinstance(op, CoreOp)]:
        out[tuple(core.place)] = core_ir(device, core)
    return out

def core_ir(device, core):
    module=alone(device, core)
    ctx=make_context()
    steps=[s.format(device=device.sym_name.data,column=core.place.column,row=core.place.row) if "tilecol" in s else s for s in CORE_LOWERING]
    run_pipeline(ctx, module, pipeline_of(steps), verify_each=False)
    return core_llvm(module, device.model.arch, [f"core_{core.place.column}_{core.place.row}"])

def alone(device, core):
    mapper={}
    body=Block()
    for op in device.body.ops:
        if isinstance(op,(BufferOp,LockOp,FuncOp,GlobalOp)) or op is core or op.name=="aie.tile":
            body.add_op(op.clone(mapper))
    copy=device.clone_without_regions()
    copy.regions[0].add_block(body)
    return ModuleOp([copy])
