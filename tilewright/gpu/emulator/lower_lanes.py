"""Ids of threads, and what the lanes of a wave and the waves of a block do together: `gpu`, `rocdl` and `nvvm`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from tilewright.dialects._llvm_memory import Ordering
from tilewright.dialects._nvvm_stores import ElectSyncOp
from tilewright.dialects.gpu import lanes
from tilewright.dialects.gpu.attributes import DimensionAttr
from tilewright.dialects.nvvm import BarrierOp, MemoryBarrierOp, MemScope, ShflOp, VoteSyncOp
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder, memref_of_parts, strided
from tilewright.gpu.emulator.lane_operations import c_format
from tilewright.gpu.emulator.lower_memory import Order, load_value, store_to
from tilewright.gpu.emulator.lower_numbers import combining
from tilewright.gpu.emulator.program import (
    I1,
    I32,
    I64,
    LDS_WINDOW,
    Block,
    Constant,
    Edge,
    MemRefParts,
    Operand,
    Register,
    Struct,
    Unsupported,
    Value,
    index,
    kind_of,
)

MOST_WAVES = 32
"""Waves that a block can have: 1024 threads in waves of 32."""
SCOPES = {MemScope.CTA: "workgroup", MemScope.CLUSTER: "cluster", MemScope.GPU: "agent", MemScope.SYS: ""}
"""Scopes of PTX as LLVM names them for AMD."""


def _dimension(op: Operation) -> str:
    return str(cast(DimensionAttr, op.properties["dimension"]).data)


def _id(name: str) -> Handler:
    """An id or a size in a dimension; the launch knows all of them."""
    return lambda b, op: b.input(f"{name}_{_dimension(op)}")


def _global_id(b: ProgramBuilder, op: Operation) -> Operand:
    block, size, thread = (b.input(f"{name}_{_dimension(op)}") for name in ("block_id", "block_dim", "thread_id"))
    return b.plus(b.times(block, size), thread)


def _wave_size(b: ProgramBuilder, op: Operation) -> Operand:
    return Constant(kind_of(op.results[0].type), b.wave_size)


def _register_read(name: str) -> Handler:
    """An id in 32 bits, as registers hold it."""
    return lambda b, op: b.emit("resize", kind_of(op.results[0].type), b.input(name), signed=True)


def _grid_threads(dimension: str) -> Handler:
    """AMD counts a grid in threads."""

    def lower(b: ProgramBuilder, op: Operation) -> Operand:
        total = b.times(b.input(f"grid_dim_{dimension}"), b.input(f"block_dim_{dimension}"))
        return b.emit("resize", kind_of(op.results[0].type), total, signed=True)

    return lower


def _barrier(b: ProgramBuilder, op: Operation) -> None:
    b.wait()


def _nvvm_barrier(b: ProgramBuilder, op: BarrierOp) -> None:
    if op.number_of_threads is not None:
        raise Unsupported("barriers are for all threads of a block here")
    _barrier(b, op)


def shuffled(
    b: ProgramBuilder, mode: str, value: Operand, offset: Operand, width: Operand
) -> tuple[Register, Register]:
    """The value of another lane, and whether there is such a lane."""
    found, valid = b.register(value.kind), b.register(I1)
    b.effect("shuffle", value, offset, width, outs=[found, valid], mode=mode)
    return found, valid


def _shuffle(b: ProgramBuilder, op: lanes.ShuffleOp) -> None:
    b[op.shuffle_result], b[op.valid] = shuffled(b, str(op.mode.data), *b.operands(op))


def _shfl(b: ProgramBuilder, op: ShflOp) -> Value:
    """NVIDIA's: the mask of segments stands beside the last lane of one."""
    # the mask of lanes that take part says nothing here: a shuffle refuses to read from lanes that are not active
    _, value, offset, clamp = b.operands(op)
    if not isinstance(clamp, Constant):
        raise Unsupported("how many lanes take part must be known")
    width = Constant(I32, b.wave_size - (clamp.value >> 8 & b.wave_size - 1))
    kind = str(op.kind.data)
    found, valid = shuffled(b, "xor" if kind == "bfly" else kind, value, offset, width)
    return found if op.return_value_and_is_valid is None else Struct({(0,): found, (1,): valid})


def _subgroup_reduce(b: ProgramBuilder, op: lanes.SubgroupReduceOp) -> Operand:
    size = b.wave_size if op.cluster_size is None else op.cluster_size.value.data
    value, stride = b[op.value], op.cluster_stride.value.data
    return b.emit("wavereduce", value.kind, value, combine=str(op.op.data), size=size, stride=stride)


def _all_reduce(b: ProgramBuilder, op: lanes.AllReduceOp) -> Operand:
    """Of a block: a lane of each wave leaves the wave's part in memory of the block, and all combine these."""
    if op.op is None:
        raise Unsupported("a reduction by a body has no lanes of its own: name the operation")
    value, combine = b[op.value], str(op.op.data)
    part = b.emit("wavereduce", value.kind, value, combine=combine, size=b.wave_size, stride=1)
    scratch = b.shared_buffer(value.kind, MOST_WAVES)
    store_to(b, part, scratch, [b.input("subgroup_id")])
    _barrier(b, op)
    head, inside, after = Block(), Block(), Block()
    counter, total = b.register(I64), b.register(value.kind)
    head.parameters = [counter, total]
    b.goto(head, [index(1), load_value(b, scratch, [index(0)])])
    b.block = head
    b.branch(b.emit("slt", I1, counter, b.input("num_subgroups")), Edge(inside), Edge(after))
    b.block = inside
    combined = b.emit(combining(combine, value.kind), value.kind, total, load_value(b, scratch, [counter]))
    b.goto(head, [b.plus(counter, index(1)), combined])
    b.block = after
    # the next reduction may write to the parts while a slower wave still reads them
    _barrier(b, op)
    return total


def _printf(b: ProgramBuilder, op: lanes.PrintfOp) -> None:
    values, format = b.operands(op), c_format(op.format.data)
    # tried now, so that no lane prints half of it before
    try:
        _ = format % tuple(0.0 if value.kind.is_float else 0 for value in values)
    except (TypeError, ValueError) as error:
        raise Unsupported(f"its format does not fit what it prints: {error}") from error
    b.effect("printf", *values, format=format)


def _dynamic_shared(b: ProgramBuilder, op: Operation) -> MemRefParts:
    """It begins behind what the kernel declares."""
    type = cast(MemRefType, op.results[0].type)
    pointer = b.plus(index(LDS_WINDOW), b.input("static_lds_bytes"))
    sizes = [b.input("dynamic_lds_bytes") if size < 0 else index(size) for size in type.get_shape()]
    return memref_of_parts(type, [pointer, index(strided(type).offset or 0), *sizes, index(1)])


def _ballot(b: ProgramBuilder, op: Operation) -> Operand:
    return b.emit("ballot", kind_of(op.results[0].type), b[op.operands[0]])


def _vote(b: ProgramBuilder, op: VoteSyncOp) -> Operand:
    kind = str(op.kind.data)
    if kind == "uni":
        raise Unsupported("whether lanes agree cannot be asked here")
    return b.emit("ballot" if kind == "ballot" else "vote", kind_of(op.res.type), b[op.pred], all=kind == "all")


def _read_lane(b: ProgramBuilder, op: Operation) -> Operand:
    value, *lane = b.operands(op)
    # below zero: the first lane that is active
    return b.emit("readlane", value.kind, value, *(lane or [Constant(I32, -1)]))


def _bpermute(b: ProgramBuilder, op: Operation) -> Operand:
    place, value = b.operands(op)
    # AMD counts places in bytes, four to a lane
    lane = b.emit("arith.shrsi", I32, place, Constant(I32, 2))
    return shuffled(b, "idx", value, lane, Constant(I32, b.wave_size))[0]


def _mbcnt(high: bool) -> Handler:
    return lambda b, op: b.emit("mbcnt", I32, *b.operands(op), b.input("lane_id"), high=high)


def _elect(b: ProgramBuilder, op: ElectSyncOp) -> Operand:
    """The first lane of the warp, which takes part as all others do."""
    if op.membermask is not None and not (isinstance(mask := b[op.membermask], Constant) and mask.value & 1):
        raise Unsupported("the first lane has to be among those that it chooses from")
    return b.emit("eq", I1, b.input("lane_id"), index(0))


def _memory_barrier(b: ProgramBuilder, op: MemoryBarrierOp) -> None:
    b.effect("fence", order=Order(Ordering.seq_cst, SCOPES[op.scope.data]))


DIMENSIONED = (
    *("thread_id", "block_id", "block_dim", "grid_dim"),
    *("cluster_id", "cluster_dim", "cluster_block_id", "cluster_dim_blocks"),
)
_NVVM = {"tid": "thread_id", "ctaid": "block_id", "ntid": "block_dim", "nctaid": "grid_dim"}
_ROCDL = {"workitem.id": "thread_id", "workgroup.id": "block_id", "workgroup.dim": "block_dim"}
HANDLERS: dict[str, Handler] = {
    **{f"gpu.{name}": _id(name) for name in DIMENSIONED},
    **{f"nvvm.read.ptx.sreg.{name}.{d}": _register_read(f"{full}_{d}") for name, full in _NVVM.items() for d in "xyz"},
    **{f"rocdl.{name}.{d}": _register_read(f"{full}_{d}") for name, full in _ROCDL.items() for d in "xyz"},
    **{f"rocdl.grid.dim.{d}": _grid_threads(d) for d in "xyz"},
    "nvvm.read.ptx.sreg.cluster.ctarank": _register_read("cluster_rank"),
    "nvvm.cluster.arrive": lambda b, op: b.effect("cluster_arrive"),
    "nvvm.cluster.wait": lambda b, op: b.wait(of_cluster=True),
    "nvvm.mapa": lambda b, op: b.emit("mapa", I64, *b.operands(op)),
    "gpu.global_id": _global_id,
    "gpu.lane_id": lambda b, op: b.input("lane_id"),
    "gpu.subgroup_id": lambda b, op: b.input("subgroup_id"),
    "gpu.num_subgroups": lambda b, op: b.input("num_subgroups"),
    "nvvm.read.ptx.sreg.laneid": _register_read("lane_id"),
    "nvvm.elect.sync": _elect,
    **dict.fromkeys(("gpu.subgroup_size", "nvvm.read.ptx.sreg.warpsize", "rocdl.wavefrontsize"), _wave_size),
    **dict.fromkeys(("gpu.barrier", "nvvm.barrier0", "rocdl.barrier", "rocdl.s.barrier"), _barrier),
    "nvvm.barrier": _nvvm_barrier,
    "gpu.shuffle": _shuffle,
    "nvvm.shfl.sync": _shfl,
    "rocdl.ds_bpermute": _bpermute,
    "rocdl.readlane": _read_lane,
    "rocdl.readfirstlane": _read_lane,
    "rocdl.ballot": _ballot,
    "nvvm.vote.sync": _vote,
    "rocdl.mbcnt.lo": _mbcnt(high=False),
    "rocdl.mbcnt.hi": _mbcnt(high=True),
    "nvvm.memory.barrier": _memory_barrier,
    "gpu.subgroup_reduce": _subgroup_reduce,
    "gpu.all_reduce": _all_reduce,
    "gpu.printf": _printf,
    "gpu.dynamic_shared_memory": _dynamic_shared,
}
