"""Addresses of arrays as numbers, and what a warp does together on NVIDIA's GPUs."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i1, i32, i64

from tilewright.air.arrays import Array
from tilewright.air.trace import current
from tilewright.dialects import llvm
from tilewright.dialects import memref as ops
from tilewright.dialects._nvvm_copies import CLUSTER_POINTER, SHARED_POINTER
from tilewright.dialects._nvvm_stores import ElectSyncOp, SyncWarpOp
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.nvvm import GridDepAction, GridDepActionAttr, GridDepControlOp
from tilewright.iron.builders.handles import Value, value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, constant

ALIGNMENT = 1024
"""Where the copy engine begins a tile whose chunks it exchanges."""


def address_of(array: Array) -> ScalarValue:
    """Where an array begins."""
    start = build(ops.ExtractAlignedPointerAsIndexOp, results=[INDEX], source=array).results[0]
    return ScalarValue(start).astype(i64)


def near_address(room: Array, alignment: int = ALIGNMENT) -> ScalarValue:
    """Where an array begins among addresses of the block, at the next multiple of what the copy engine wants."""
    far = build(llvm.IntToPtrOp, results=[llvm.LLVMPointerType()], input=address_of(room)).results[0]
    near = build(llvm.AddrSpaceCastOp, results=[SHARED_POINTER], arg=far).results[0]
    number = ScalarValue(build(llvm.PtrToIntOp, results=[i64], input=near).results[0])
    return number if alignment == 1 else (number + (alignment - 1)) & -alignment


def near_pointer(address: ScalarValue) -> Value:
    """A pointer to memory of the block."""
    return value_of(build(llvm.IntToPtrOp, results=[SHARED_POINTER], input=address).results[0])


def cluster_pointer(address: ScalarValue) -> Value:
    """A pointer to memory of the block, as one of its cluster."""
    return value_of(build(llvm.IntToPtrOp, results=[CLUSTER_POINTER], input=address).results[0])


def warp_sync() -> None:
    """Wait for the other lanes of the warp, and see what they have stored."""
    build(SyncWarpOp, mask=constant(-1, i32))


def meet_launches(lets_begin: bool = True) -> None:
    """Let the next launch begin if it may, and wait for the one before this: on GPUs where launches can begin early.

    All lanes come here, before they access memory that other launches do. Where a multiprocessor has room for several
    blocks, those of a launch that begins early come to lie beside those that still run, and two on one multiprocessor
    while others have none.
    """
    if lets_begin:
        let_next_launch_begin()
    wait_for_last_launch()


def let_next_launch_begin() -> None:
    """As soon as all blocks have come here."""
    _launches(GridDepAction.LAUNCH_DEPENDENTS)


def wait_for_last_launch() -> None:
    """Until it has ended, and what it has written is seen."""
    _launches(GridDepAction.WAIT)


def _launches(action: GridDepAction) -> None:
    if current().target.begins_early:
        fields: dict[str, Any] = {"kind": GridDepActionAttr(action)}
        build(GridDepControlOp, **fields)


def elected() -> ScalarValue:
    """Whether this lane is the one of its warp that asks the copy engine for something; all lanes come here."""
    return ScalarValue(build(ElectSyncOp, results=[i1]).results[0])
