"""Tensor cores and the copy engine: `nvvm`'s barriers of memory and copies of boxes; products of both makers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.device.gpu_matrices import WARP_INSTRUCTIONS
from tilewright.dialects._llvm_memory import Ordering
from tilewright.dialects._nvvm_copies import (
    CLUSTER_POINTER,
    MBarrierArriveExpectTxOp,
    MBarrierInitOp,
    MBarrierTryWaitParityOp,
)
from tilewright.dialects._nvvm_copies import CpAsyncBulkTensorGlobalToSharedClusterOp as TensorCopyOp
from tilewright.dialects._nvvm_matrices import MmaOp, WgmmaMmaAsyncOp, WGMMAScaleOut, WgmmaWaitGroupSyncOp
from tilewright.dialects._nvvm_stores import CpAsyncBulkTensorSharedCTAToGlobalOp as TensorStoreOp
from tilewright.dialects._nvvm_stores import CpAsyncBulkWaitGroupOp, StMatrixOp
from tilewright.dialects._rocdl_matrices import MATRIX_OPERATIONS, MatrixOp
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder
from tilewright.gpu.emulator.lower_lanes import shuffled
from tilewright.gpu.emulator.lower_memory import PLAIN, Order
from tilewright.gpu.emulator.memory import COUNT_BITS, mbarrier
from tilewright.gpu.emulator.program import (
    F32,
    I1,
    I16,
    I32,
    I64,
    Block,
    Constant,
    Edge,
    Operand,
    Register,
    Space,
    Struct,
    Unsupported,
    index,
    kind_of,
)

ORDERED, ORDERED_FOR_CLUSTER = Order(Ordering.acq_rel, "workgroup"), Order(Ordering.acq_rel, "cluster")
ABOUT_BARRIER = {"space": Space.LDS, "kind": I64, "limit": None, "order": ORDERED}
ABOUT_CLUSTERS_BARRIER = {**ABOUT_BARRIER, "space": Space.CLUSTER, "order": ORDERED_FOR_CLUSTER}
"""Of one that may be in memory of another block."""


@dataclass(frozen=True)
class Product:
    """A product of matrices: rows, columns and depth, types of elements, and which operand lies across the depth."""

    shape: tuple[int, int, int]
    types: tuple[str, str]
    across: tuple[bool, bool] = (False, False)
    signs: int = 1
    adds: bool = True
    blocks: int = 1
    """Matrices that are multiplied side by side."""


def _wide(b: ProgramBuilder, value: Operand) -> Operand:
    return Constant(I64, value.value) if isinstance(value, Constant) else b.emit("resize", I64, value, signed=True)


def _step(b: ProgramBuilder, address: SSAValue, step: Operand) -> Operand:
    about = ABOUT_CLUSTERS_BARRIER if address.type == CLUSTER_POINTER else ABOUT_BARRIER
    return b.emit("atomic", I64, step, b[address], index(0), update="mbarrier", **about)


def _init(b: ProgramBuilder, op: MBarrierInitOp) -> None:
    count = b[op.count]
    if not isinstance(count, Constant):
        raise Unsupported("how many arrivals it waits for must be known")
    # before any other looks at it: to them it is a store
    about = {**ABOUT_BARRIER, "order": PLAIN}
    b.emit("atomic", I64, index(mbarrier(count.value)), b[op.addr], index(0), update="xchg", **about)


def _expect(b: ProgramBuilder, op: MBarrierArriveExpectTxOp) -> None:
    inside, after = Block(), Block()
    if op.predicate is not None:
        b.branch(b[op.predicate], Edge(inside), Edge(after))
        b.block = inside
    _step(b, op.addr, b.plus(b.times(_wide(b, b[op.txcount]), index(1 << COUNT_BITS)), index(1)))
    if op.predicate is not None:
        b.goto(after)
        b.block = after


def _wait(b: ProgramBuilder, op: MBarrierTryWaitParityOp) -> None:
    """A loop that ends when the barrier has gone on to the other phase."""
    head, again, after = Block(), Block(), Block()
    address, parity = b[op.addr], _wide(b, b[op.phase])
    b.goto(head)
    b.block = head
    order = Order(Ordering.acquire, "workgroup")
    state = b.emit("load", I64, address, index(0), **{**ABOUT_BARRIER, "order": order})
    phase = b.emit("arith.andi", I64, state, index(1))
    b.branch(b.emit("eq", I1, phase, parity), Edge(again), Edge(after))
    b.block = again
    b.goto(head)
    b.block = after


def _tensor_copy(b: ProgramBuilder, op: TensorCopyOp) -> None:
    operands = [b[op.dst_mem], b[op.tma_descriptor], b[op.mbar], *(b[place] for place in op.coordinates)]
    if op.multicast_mask is None:
        b.effect("tensor_copy", *operands, multicast=False, space=Space.LDS, order=ORDERED)
    else:
        blocks = b[op.multicast_mask]
        b.effect("tensor_copy", *operands, blocks, multicast=True, space=Space.LDS, order=ORDERED_FOR_CLUSTER)


def _tensor_store(b: ProgramBuilder, op: TensorStoreOp) -> None:
    operands = [b[op.tma_descriptor], b[op.src_mem], *(b[place] for place in op.coordinates)]
    b.effect("tensor_store", *operands, space=Space.LDS)


def _wait_stores(b: ProgramBuilder, op: CpAsyncBulkWaitGroupOp) -> None:
    b.effect("stores_end", left=op.group.value.data)


def _stmatrix(b: ProgramBuilder, op: StMatrixOp) -> None:
    """Each lane stores what it has, where the lanes that know the rows say."""
    pointer, lane = b[op.ptr], b.input("lane_id")
    row, pair = b.emit("arith.shrsi", I64, lane, index(2)), b.emit("arith.andi", I64, lane, index(3))
    about: dict[str, Any] = {"space": Space.LDS, "kind": I16, "limit": None, "order": PLAIN}
    for number, source in enumerate(op.sources):
        for place in range(2):
            bits = b.emit("resize", I16, b.emit("arith.shrui", I32, b[source], Constant(I32, 16 * place)), signed=False)
            column = b.plus(b.times(pair, index(2)), index(place))
            line, at = (row, column) if op.layout.data == "row" else (column, row)
            knowing = b.emit("resize", I32, b.plus(line, index(8 * number)), signed=True)
            start = shuffled(b, "idx", pointer, knowing, Constant(I32, b.wave_size))[0]
            b.effect("store", bits, b.plus(start, b.times(at, index(2))), index(0), **about)


def _sums(b: ProgramBuilder, name: str, ins: list[Operand], count: int, about: Product) -> Struct:
    made: list[Register] = [b.register(F32) for _ in range(count)]
    b.effect(name, *ins, outs=made, about=about, space=Space.LDS)
    return Struct({(number,): register for number, register in enumerate(made)})


def _wgmma(b: ProgramBuilder, op: WgmmaMmaAsyncOp) -> Struct:
    before = b.values[op.inouts]
    assert isinstance(before, Struct)
    signs = 1 if op.scaleA.data == op.scaleB.data else -1
    product = Product(
        op.shape.sizes,
        (str(op.typeA.data), str(op.typeB.data)),
        (op.layoutA.data != "row", op.layoutB.data != "col"),
        signs,
        op.scaleD.data is WGMMAScaleOut.ONE,
    )
    if product.types[0] not in ELEMENTS or op.typeD.data != "f32":
        raise Unsupported(f"there are no products of {product.types[0]} into {op.typeD.data} here")
    count = product.shape[1] // 2
    sums = [before.leaves[number,] for number in range(count)]
    return _sums(b, "wgmma", [b[op.descriptorA], b[op.descriptorB], *sums], count, product)


def _mma(b: ProgramBuilder, op: MmaOp) -> Struct:
    said = [attribute.data for attribute in (op.multiplicandAPtxType, op.multiplicandBPtxType) if attribute is not None]
    types = ("f16", "f16") if not said else (str(said[0]), str(said[-1]))
    product = Product(op.shape.sizes, types)
    if (product.shape, types[0]) not in FRAGMENTS:
        raise Unsupported(f"there are no products of {types[0]} with this shape here")
    ins = [b[value] for value in op.operands]
    return _sums(b, "mma", ins, len(op.operandC), product)


ELEMENTS = {"f16", "bf16", "tf32", "e4m3", "e5m2"}
FRAGMENTS = {((row.m, row.n, row.k), row.element) for row in WARP_INSTRUCTIONS}


def _matrices(b: ProgramBuilder, op: MatrixOp) -> Register:
    """A matrix instruction of AMD's."""
    row = op.instruction
    if row.wave_size != b.wave_size:
        raise Unsupported(f"it is for waves of {row.wave_size} lanes, not of {b.wave_size}")
    modes = [b[value] for value in op.args[3:]]
    if any(not isinstance(mode, Constant) or mode.value for mode in modes):
        raise Unsupported("its modes, the last operands, have to be 0")
    flags = (bool(flag) for flag in (op.signA, op.signB, op.clamp))
    if row.repeats and row.element == "i8" and tuple(flags) != (True, True, False):
        raise Unsupported("integers have signs here, and sums wrap: signA = true, signB = true")
    made = b.register(kind_of(op.res.type))
    product = Product((row.m, row.n, row.k), (row.element, row.element))
    b.effect("matrices", *(b[value] for value in op.args[:3]), outs=[made], about=product, row=row)
    return made


def _wait_group(b: ProgramBuilder, op: WgmmaWaitGroupSyncOp) -> None:
    b.effect("products_end", left=op.group.value.data)


def _nothing(b: ProgramBuilder, op: Operation) -> None:
    """Registers and memory are seen at once here, nothing is nearer than the rest, launches end before others begin."""


HANDLERS: dict[str, Handler] = {
    "nvvm.mbarrier.init": _init,
    "nvvm.mbarrier.arrive": lambda b, op: _step(b, op.operands[0], index(1)),
    "nvvm.mbarrier.arrive.expect_tx": _expect,
    "nvvm.mbarrier.try_wait.parity": _wait,
    "nvvm.fence.mbarrier.init": _nothing,
    "nvvm.griddepcontrol": _nothing,
    "nvvm.prefetch": _nothing,
    "nvvm.cp.async.bulk.tensor.shared.cluster.global": _tensor_copy,
    "nvvm.cp.async.bulk.tensor.global.shared.cta": _tensor_store,
    "nvvm.cp.async.bulk.commit.group": lambda b, op: b.effect("stores_end", left=None),
    "nvvm.cp.async.bulk.wait_group": _wait_stores,
    "nvvm.fence.proxy": lambda b, op: b.effect("proxy_fence"),
    "nvvm.bar.warp.sync": _nothing,
    "nvvm.stmatrix": _stmatrix,
    "nvvm.wgmma.fence.aligned": _nothing,
    "nvvm.wgmma.commit.group.sync.aligned": lambda b, op: b.effect("products_end", left=None),
    "nvvm.wgmma.wait.group.sync.aligned": _wait_group,
    "nvvm.wgmma.mma_async": _wgmma,
    "nvvm.mma.sync": _mma,
    "nvvm.setmaxregister": _nothing,
    **{operation.name: _matrices for operation in MATRIX_OPERATIONS},
}
