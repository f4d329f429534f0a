"""What the code of an AMD GPU asks the device: who a thread is, and what the other lanes have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, IntegerAttr, UnrealizedConversionCastOp, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith, rocdl
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.gpu.attributes import ShuffleMode
from tilewright.dialects.gpu.ids import (
    BlockDimOp,
    BlockIdOp,
    DimensionOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)
from tilewright.dialects.gpu.lanes import BarrierOp, ShuffleOp
from tilewright.rewrite.emitter import Emitter

Query: TypeAlias = "Callable[[Emitter, Any], list[SSAValue]]"
_REGISTERS = {
    ThreadIdOp: "rocdl.workitem.id",
    BlockIdOp: "rocdl.workgroup.id",
    BlockDimOp: "rocdl.workgroup.dim",
    GridDimOp: "rocdl.grid.dim",
}
_READS = {op.name: op for op in rocdl.OPERATIONS}  # the classes of registers have no names of their own
ALL_LANES = -1
DWORD_SHIFT = 2


def _register(emitter: Emitter, name: str) -> SSAValue:
    """A register of 32 bits as an index."""
    return _as_index(emitter, emitter.value(_READS[name].create(result_types=[i32])))


def _as_index(emitter: Emitter, value: SSAValue) -> SSAValue:
    wide = emitter.value(llvm.SExtOp.create(operands=(value,), result_types=[i64]))
    return emitter.value(UnrealizedConversionCastOp(operands=[[wide]], result_types=[[INDEX]]))


def _dimension(name: str) -> Query:
    def query(emitter: Emitter, op: DimensionOp) -> list[SSAValue]:
        return [_register(emitter, f"{name}.{op.properties['dimension'].data}")]  # pyright: ignore

    return query


def _global_id(emitter: Emitter, op: DimensionOp) -> list[SSAValue]:
    (block,) = _dimension(_REGISTERS[BlockIdOp])(emitter, op)
    (size,) = _dimension(_REGISTERS[BlockDimOp])(emitter, op)
    (thread,) = _dimension(_REGISTERS[ThreadIdOp])(emitter, op)
    return [emitter.value(arith.AddiOp(emitter.value(arith.MuliOp(block, size)), thread))]


def _constant(emitter: Emitter, number: int) -> SSAValue:
    return emitter.value(llvm.ConstantOp.create(result_types=[i32], properties={"value": IntegerAttr(number, i32)}))


def _lane(emitter: Emitter) -> SSAValue:
    """The lanes below this one, counted in both halves of the wave."""
    everyone, zero = _constant(emitter, ALL_LANES), _constant(emitter, 0)
    low = emitter.value(rocdl.MbcntLoOp.create(operands=(everyone, zero), result_types=[i32]))
    return emitter.value(rocdl.MbcntHiOp.create(operands=(everyone, low), result_types=[i32]))


def _lane_id(emitter: Emitter, op: Operation) -> list[SSAValue]:
    return [_as_index(emitter, _lane(emitter))]


def _wave_size(emitter: Emitter, op: Operation) -> list[SSAValue]:
    return [_register(emitter, "rocdl.wavefrontsize")]


def _barrier(emitter: Emitter, op: Operation) -> list[SSAValue]:
    emitter.insert(rocdl.BarrierOp.create())
    return []


def _shuffle(emitter: Emitter, op: ShuffleOp) -> list[SSAValue]:
    """The value of another lane of the group of `width` lanes that this one is in; its own if there is none."""
    lane = _lane(emitter)
    end = emitter.value(arith.AndIOp(emitter.value(arith.AddiOp(lane, op.width)), _negated(emitter, op.width)))
    source = _source_lane(emitter, op, lane)
    valid = emitter.compare("slt", source, end)
    chosen = emitter.value(arith.SelectOp(valid, source, lane))
    address = emitter.value(arith.ShLIOp(chosen, emitter.constant(DWORD_SHIFT)))
    is_float = isinstance(op.value.type, Float32Type)
    bits = emitter.value(arith.BitcastOp(op.value, i32)) if is_float else op.value
    got = emitter.value(rocdl.DsBpermuteOp.create(operands=(address, bits), result_types=[i32]))
    return [emitter.value(arith.BitcastOp(got, op.value.type)) if is_float else got, valid]


def _negated(emitter: Emitter, value: SSAValue) -> SSAValue:
    return emitter.value(arith.SubiOp(emitter.constant(0), value))


def _source_lane(emitter: Emitter, op: ShuffleOp, lane: SSAValue) -> SSAValue:
    match op.mode.data:
        case ShuffleMode.IDX:
            return op.offset
        case ShuffleMode.XOR:
            return emitter.value(arith.XOrIOp(lane, op.offset))
        case ShuffleMode.UP:
            return emitter.value(arith.SubiOp(lane, op.offset))
        case ShuffleMode.DOWN:
            return emitter.value(arith.AddiOp(lane, op.offset))


def is_known(op: Operation) -> bool:
    """Whether an operation can be lowered here; lanes exchange 32 bits at a time."""
    if isinstance(op, ShuffleOp):
        return op.value.type == i32 or isinstance(op.value.type, Float32Type)
    return type(op) in QUERIES


QUERIES: dict[type[Operation], Query] = {
    **{kind: _dimension(name) for kind, name in _REGISTERS.items()},
    GlobalIdOp: _global_id,
    LaneIdOp: _lane_id,
    SubgroupSizeOp: _wave_size,
    BarrierOp: _barrier,
    ShuffleOp: _shuffle,
}
