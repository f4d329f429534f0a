"""`nvvm` operations of the tensor cores and the copy engine, as PTX: LLVM has no intrinsics for most of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.device.gpu_targets import Vendor
from tilewright.dialects._nvvm_copies import CpAsyncBulkTensorGlobalToSharedClusterOp as TensorCopyOp
from tilewright.dialects._nvvm_copies import MBarrierArriveExpectTxOp
from tilewright.dialects._nvvm_matrices import (
    MmaOp,
    SetMaxRegisterOp,
    WgmmaMmaAsyncOp,
    WGMMAScaleIn,
    WGMMAScaleOut,
    WgmmaWaitGroupSyncOp,
)
from tilewright.dialects._nvvm_stores import CpAsyncBulkTensorSharedCTAToGlobalOp as TensorStoreOp
from tilewright.dialects._nvvm_stores import CpAsyncBulkWaitGroupOp, ElectSyncOp, FenceProxyOp, StMatrixOp, SyncWarpOp
from tilewright.dialects.llvm import LLVMStructType
from tilewright.dialects.nvvm import GridDepAction, GridDepControlOp
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import call, i32
from tilewright.native.lowering import Handler
from tilewright.native.traps import Untranslatable
from tilewright.native.values import I1, I32, I64

SHARED_SPACES = SHARED_SPACE, CLUSTER_SPACE = 3, 7
HOPPER = "sm_90a"
TRANSPOSABLE = "f16", "bf16"
"""Elements that `wgmma` takes by rows and by columns; all others have to lie along the depth."""


def _near(kernel: KernelLowering, pointer: ir.Value) -> ir.Value:
    """An address of memory of the block, in its 32 bits."""
    if cast(Any, pointer.type).addrspace not in SHARED_SPACES:
        raise Untranslatable("it wants a pointer to memory of the block, !llvm.ptr<3>")
    return kernel.builder.ptrtoint(pointer, I32)


def _assembly(
    kernel: KernelLowering,
    lines: Sequence[str],
    constraints: str,
    values: Sequence[ir.Value],
    result: ir.Type | None = None,
) -> ir.Value:
    type = ir.FunctionType(result or ir.VoidType(), [value.type for value in values])
    text = f"{{ {' '.join(lines)} }}" if len(lines) > 1 else lines[0]
    return kernel.builder.asm(type, text, f"{constraints},~{{memory}}".lstrip(","), list(values), side_effect=True)


def _needs(kernel: KernelLowering, hopper: bool = False) -> None:
    machine = kernel.machine
    if machine.target.vendor is not Vendor.NVIDIA or (hopper and machine.chip != HOPPER):
        wanted = f"compile it for {HOPPER}" if hopper else "compile it for a GPU of NVIDIA's"
        raise Untranslatable(f"{machine.chip} has no such instruction; {wanted}")


def _place(pointer: ir.Value) -> str:
    """Whose memory of the block a pointer is for: this block's, or any of the cluster's."""
    return "shared::cluster" if cast(Any, pointer.type).addrspace == CLUSTER_SPACE else "shared::cta"


def _plain(text: str, hopper: bool = True) -> Handler:
    """An instruction without operands."""

    def lower(kernel: KernelLowering, op: Operation) -> None:
        _needs(kernel, hopper)
        _assembly(kernel, [text], "", [])

    return lower


def _barrier(text: str) -> Handler:
    """An instruction on a barrier, with numbers behind its address."""

    def lower(kernel: KernelLowering, op: Operation) -> None:
        _needs(kernel)
        pointer, *numbers = (kernel[operand] for operand in op.operands)
        _assembly(kernel, [text], ",".join(["r"] * len(op.operands)), [_near(kernel, pointer), *numbers])

    return lower


def _arrive(kernel: KernelLowering, op: Operation) -> None:
    _needs(kernel)
    pointer = _near(kernel, kernel[op.operands[0]])
    if not list(op.results[0].uses):
        _assembly(kernel, ["mbarrier.arrive.shared::cta.b64 _, [$0];"], "r", [pointer])
        return
    text = "mbarrier.arrive.shared::cta.b64 $0, [$1];"
    kernel[op.results[0]] = _assembly(kernel, [text], "=l,r", [pointer], I64)


def _arrive_expect(kernel: KernelLowering, op: MBarrierArriveExpectTxOp) -> None:
    _needs(kernel)
    text = f"mbarrier.arrive.expect_tx.{_place(kernel[op.addr])}.b64 _, [$0], $1;"
    values = [_near(kernel, kernel[op.addr]), kernel[op.txcount]]
    if op.predicate is None:
        _assembly(kernel, [text], "r,r", values)
        return
    # a branch would part lanes that have to be together for what follows
    values.append(kernel.builder.zext(kernel[op.predicate], I32))
    _assembly(kernel, [".reg .pred on; setp.ne.b32 on, $2, 0;", f"@on {text}"], "r,r,r", values)


# the name of a label is its block's alone
WAIT = "{ .reg .pred done; WAITING: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1, $2; @!done bra WAITING; }"


def _tensor_copy(kernel: KernelLowering, op: TensorCopyOp) -> None:
    _needs(kernel)
    target, barrier = (_near(kernel, kernel[value]) for value in (op.dst_mem, op.mbar))
    described = kernel.builder.ptrtoint(kernel[op.tma_descriptor], I64)
    places = [kernel[value] for value in op.coordinates]
    values = [target, described, barrier, *places]
    listed = ", ".join(f"${3 + number}" for number in range(len(places)))
    name = f"cp.async.bulk.tensor.{len(places)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    constraints = ["r", "l", "r", *["r"] * len(places)]
    rest = ""
    if op.multicast_mask is not None:
        name, rest = f"{name}.multicast::cluster", f", ${len(values)}"
        values.append(kernel[op.multicast_mask])
        constraints.append("h")
    _assembly(kernel, [f"{name} [$0], [$1, {{{listed}}}], [$2]{rest};"], ",".join(constraints), values)


def _prefetch(kernel: KernelLowering, op: Operation) -> None:
    _needs(kernel)
    _assembly(kernel, ["prefetch.tensormap [$0];"], "l", [kernel.builder.ptrtoint(kernel[op.operands[0]], I64)])


def _tensor_store(kernel: KernelLowering, op: TensorStoreOp) -> None:
    _needs(kernel)
    places = [kernel[value] for value in op.coordinates]
    listed = ", ".join(f"${2 + number}" for number in range(len(places)))
    name = f"cp.async.bulk.tensor.{len(places)}d.global.shared::cta.tile.bulk_group"
    values = [kernel.builder.ptrtoint(kernel[op.tma_descriptor], I64), _near(kernel, kernel[op.src_mem]), *places]
    constraints = ",".join(["l", *["r"] * (len(places) + 1)])
    _assembly(kernel, [f"{name} [$0, {{{listed}}}], [$1];"], constraints, values)


def _wait_stores(kernel: KernelLowering, op: CpAsyncBulkWaitGroupOp) -> None:
    _needs(kernel)
    read = ".read" if op.read is not None else ""
    _assembly(kernel, [f"cp.async.bulk.wait_group{read} {op.group.value.data};"], "", [])


def _fence_proxy(kernel: KernelLowering, op: FenceProxyOp) -> None:
    _needs(kernel)
    space = "" if op.space is None else f"::{op.space.data}"
    _assembly(kernel, [f"fence.proxy.{op.kind.data}{space};"], "", [])


def _sync_warp(kernel: KernelLowering, op: SyncWarpOp) -> None:
    _assembly(kernel, ["bar.warp.sync $0;"], "r", [kernel[op.mask]])


def _elect(kernel: KernelLowering, op: ElectSyncOp) -> None:
    """Assemblers know that one lane goes on behind it: what it asks the copy engine for takes no loop over lanes."""
    _needs(kernel)
    mask = i32(-1) if op.membermask is None else kernel[op.membermask]
    found = call(kernel, "llvm.nvvm.elect.sync", ir.LiteralStructType([I32, I1]), mask)
    kernel[op.pred] = kernel.builder.extract_value(found, 1)


def _stmatrix(kernel: KernelLowering, op: StMatrixOp) -> None:
    _needs(kernel)
    values = [kernel[value] for value in op.sources]
    transposed = "" if op.layout.data == "row" else ".trans"
    name = f"stmatrix.sync.aligned.m8n8.x{len(values)}{transposed}.shared::cta.b16"
    listed = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    constraints = ",".join(["r"] * (len(values) + 1))
    _assembly(kernel, [f"{name} [$0], {{{listed}}};"], constraints, [_near(kernel, kernel[op.ptr]), *values])


def _wgmma(kernel: KernelLowering, op: WgmmaMmaAsyncOp) -> None:
    """One instruction; sums stay in the registers that they are in."""
    _needs(kernel, hopper=True)
    count = len(cast(LLVMStructType, op.inouts.type).types.data)
    sums = kernel[op.inouts]
    values = [kernel.builder.extract_value(sums, number) for number in range(count)]
    m, n, k = op.shape.sizes
    a, b, d = op.typeA.data, op.typeB.data, op.typeD.data
    name = f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{d}.{a}.{b}"
    registers = ", ".join(f"${number}" for number in range(count))
    immediates = [1 if scale.data is WGMMAScaleIn.ONE else -1 for scale in (op.scaleA, op.scaleB)]
    transposed = [op.layoutA.data != "row", op.layoutB.data != "col"]
    if a in TRANSPOSABLE:
        immediates += map(int, transposed)
    elif any(transposed):
        raise Untranslatable(f"wgmma takes {a} along the depth alone: A by rows and B by columns")
    on = int(op.scaleD.data is WGMMAScaleOut.ONE)
    lines = [f".reg .pred on; setp.ne.b32 on, {on}, 0;"]
    rest = ", ".join(map(str, immediates))
    lines.append(f"{name} {{{registers}}}, ${2 * count}, ${2 * count + 1}, on, {rest};")
    constraints = ",".join([*["=f"] * count, *map(str, range(count)), "l", "l"])
    values += [kernel[op.descriptorA], kernel[op.descriptorB]]
    kernel[op.results_] = _assembly(kernel, lines, constraints, values, sums.type)


def _wait_group(kernel: KernelLowering, op: WgmmaWaitGroupSyncOp) -> None:
    _needs(kernel, hopper=True)
    _assembly(kernel, [f"wgmma.wait_group.sync.aligned {op.group.value.data};"], "", [])


def _mma(kernel: KernelLowering, op: MmaOp) -> None:
    _needs(kernel)
    groups = [[_bits(kernel, kernel[value]) for value in group] for group in (op.operandA, op.operandB, op.operandC)]
    said = op.multiplicandAPtxType, op.multiplicandBPtxType
    types = ["f16" if type is None else str(type.data) for type in said]
    m, n, k = op.shape.sizes
    sums = len(groups[2])
    lists, place = list[str](), sums
    for group in groups:
        lists.append(", ".join(f"${place + number}" for number in range(len(group))))
        place += len(group)
    name = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.f32.{types[0]}.{types[1]}.f32"
    text = f"{name} {{{', '.join(f'${n}' for n in range(sums))}}}, {', '.join(f'{{{part}}}' for part in lists)};"
    constraints = ",".join([*["=f"] * sums, *["r"] * len(groups[0] + groups[1]), *["f"] * sums])
    values = [value for group in groups for value in group]
    struct = ir.LiteralStructType([ir.FloatType()] * sums)
    kernel[op.res] = _assembly(kernel, [text], constraints, values, struct)


def _bits(kernel: KernelLowering, value: ir.Value) -> ir.Value:
    """What a register of 32 bits holds; floats go as they are."""
    return kernel.builder.bitcast(value, I32) if isinstance(value.type, ir.VectorType) else value


def _mapa(kernel: KernelLowering, op: Operation) -> None:
    _needs(kernel)
    values = [_near(kernel, kernel[op.operands[0]]), kernel[op.operands[1]]]
    text = "mapa.shared::cluster.u32 $0, $1, $2;"
    address = kernel.builder.asm(ir.FunctionType(I32, [I32, I32]), text, "=r,r,r", values, side_effect=False)
    kernel[op.results[0]] = kernel.builder.inttoptr(address, ir.PointerType(addrspace=CLUSTER_SPACE))


def _cluster_barrier(text: str) -> Handler:
    def lower(kernel: KernelLowering, op: Operation) -> None:
        _needs(kernel)
        _assembly(kernel, [f"{text}{'.aligned' if 'aligned' in op.properties else ''};"], "", [])

    return lower


def _cluster_rank(kernel: KernelLowering, op: Operation) -> None:
    _needs(kernel)
    type = ir.FunctionType(I32, [])
    kernel[op.results[0]] = kernel.builder.asm(type, "mov.u32 $0, %cluster_ctarank;", "=r", [], side_effect=False)


def _set_registers(kernel: KernelLowering, op: SetMaxRegisterOp) -> None:
    _needs(kernel, hopper=True)
    action = op.action.data[:3]
    _assembly(kernel, [f"setmaxnreg.{action}.sync.aligned.u32 {op.regCount.value.data};"], "", [])


def _grid(kernel: KernelLowering, op: GridDepControlOp) -> None:
    target = kernel.machine.target
    if not target.begins_early:
        raise Untranslatable(f"{target.chip} has no launches that begin early; NVIDIA's GPUs from sm_90 on have")
    kernel.begins_early |= op.kind.data is GridDepAction.WAIT
    _assembly(kernel, [f"griddepcontrol.{op.kind.data};"], "", [])


HANDLERS: dict[str, Handler] = {
    "nvvm.griddepcontrol": _grid,
    "nvvm.mapa": _mapa,
    "nvvm.cluster.arrive": _cluster_barrier("barrier.cluster.arrive"),
    "nvvm.cluster.wait": _cluster_barrier("barrier.cluster.wait"),
    "nvvm.read.ptx.sreg.cluster.ctarank": _cluster_rank,
    "nvvm.mbarrier.init": _barrier("mbarrier.init.shared::cta.b64 [$0], $1;"),
    "nvvm.mbarrier.arrive": _arrive,
    "nvvm.mbarrier.arrive.expect_tx": _arrive_expect,
    "nvvm.mbarrier.try_wait.parity": _barrier(WAIT),
    "nvvm.fence.mbarrier.init": _plain("fence.mbarrier_init.release.cluster;", hopper=False),
    "nvvm.prefetch": _prefetch,
    "nvvm.cp.async.bulk.tensor.shared.cluster.global": _tensor_copy,
    "nvvm.cp.async.bulk.tensor.global.shared.cta": _tensor_store,
    "nvvm.cp.async.bulk.commit.group": _plain("cp.async.bulk.commit_group;", hopper=False),
    "nvvm.cp.async.bulk.wait_group": _wait_stores,
    "nvvm.fence.proxy": _fence_proxy,
    "nvvm.bar.warp.sync": _sync_warp,
    "nvvm.elect.sync": _elect,
    "nvvm.stmatrix": _stmatrix,
    "nvvm.wgmma.fence.aligned": _plain("wgmma.fence.sync.aligned;"),
    "nvvm.wgmma.commit.group.sync.aligned": _plain("wgmma.commit_group.sync.aligned;"),
    "nvvm.wgmma.wait.group.sync.aligned": _wait_group,
    "nvvm.wgmma.mma_async": _wgmma,
    "nvvm.mma.sync": _mma,
    "nvvm.setmaxregister": _set_registers,
}
