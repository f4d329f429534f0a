"""DMA tasks: descriptors that a runtime sequence sets up, starts, awaits and frees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Region
from xdsl.irdl import IRDLOperation

from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aiex import bd_chains
from tilewright.dialects.aiex import tasks as ops
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_integer
from tilewright.iron.builders.types import is_integer
from tilewright.iron.placed.dma import TransferPattern, bds, dma_bd, pattern_of
from tilewright.iron.placed.tiles import EndOp

MAX_DIMENSIONS = 4  # three of the descriptor, and its repetition


class DMAConfigureTaskOp(OpView):
    """A task on a channel of a tile."""

    OP = ops.DmaConfigureTaskOp


class DMAConfigureTaskForOp(OpView):
    """A task on the channel of an object FIFO or a shim allocation."""

    OP = ops.DmaConfigureTaskForOp


def dma_configure_task(
    tile: Any,
    direction: Any,
    channel: int,
    *,
    issue_token: bool | None = None,
    repeat_count: Any = None,
    repeat_count_val: Any = None,
    packet: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> DMAConfigureTaskOp:
    """A task on a channel; write its descriptors in `with bds(task) as bd:`."""
    place = {"tile": tile, "direction": direction, "channel": channel, "packet": packet}
    return DMAConfigureTaskOp(
        build(
            ops.DmaConfigureTaskOp,
            results=[INDEX],
            regions=[Region()],
            issue_token=issue_token,
            loc=loc,
            ip=ip,
            **place,
            **_repeats(repeat_count, repeat_count_val),
        )
    )


def dma_configure_task_for(
    alloc: Any,
    *,
    issue_token: bool | None = None,
    repeat_count: Any = None,
    repeat_count_val: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> DMAConfigureTaskForOp:
    """A task on the shim channel of an object FIFO, given as it is or by name."""
    return DMAConfigureTaskForOp(
        build(
            ops.DmaConfigureTaskForOp,
            results=[INDEX],
            regions=[Region()],
            alloc=alloc,
            issue_token=issue_token,
            loc=loc,
            ip=ip,
            **_repeats(repeat_count, repeat_count_val),
        )
    )


def _repeats(count: Any, value: Any) -> dict[str, Any]:
    """How often a task repeats: an attribute, or an operand where it is a value of the sequence."""
    if count is None or is_integer(count):
        return {"repeat_count": count, "repeat_count_val": value}
    return {"repeat_count": None, "repeat_count_val": as_integer(count, i32)}


def dma_start_bd_chain(
    symbol: Any, args: Sequence[Any], tile: Any, direction: Any, channel: int, **kwargs: Any
) -> OpView:
    """Start a chain made with `bd_chain` on a channel."""
    place = {"tile": tile, "direction": direction, "channel": channel}
    return OpView(build(bd_chains.DmaStartBdChainOp, results=[INDEX], symbol=symbol, args=args, **place, **kwargs))


def dma_start_bd_chain_for(symbol: Any, args: Sequence[Any], alloc: Any, **kwargs: Any) -> OpView:
    """Start a chain made with `bd_chain` on the channel of an object FIFO."""
    fields: dict[str, Any] = {"symbol": symbol, "args": args, "alloc": alloc}
    return OpView(build(bd_chains.DmaStartBdChainForOp, results=[INDEX], **fields, **kwargs))


def shim_dma_bd(
    mem: Any,
    tap: Any = None,
    offset: Any = None,
    sizes: Sequence[Any] | None = None,
    strides: Sequence[Any] | None = None,
    transfer_len: Any = None,
    burst_length: int = 0,
    packet: Any = None,
    offset_parameter: Any = None,
    *,
    dynamic_sizes: Sequence[Any] | None = None,
) -> None:
    """The descriptor of a transfer to or from a buffer of the host."""
    pattern = pattern_of("shim_dma_bd", tap, offset, sizes, strides, dynamic_sizes)
    _shim_bd(mem, pattern, transfer_len, burst_length, packet, offset_parameter)


def _shim_bd(
    mem: Any, pattern: TransferPattern, transfer_len: Any, burst_length: int, packet: Any, offset_parameter: Any
) -> None:
    dma_bd(
        mem,
        sizes=pattern.sizes,
        strides=pattern.strides,
        offset=pattern.offset,
        transfer_len=pattern.length if transfer_len is None else transfer_len,
        burst_length=burst_length,
        packet=packet,
        offset_parameter=offset_parameter,
    )


def shim_dma_single_bd_task(
    alloc: Any,
    mem: Any,
    tap: Any = None,
    offset: Any = None,
    sizes: Sequence[Any] | None = None,
    strides: Sequence[Any] | None = None,
    transfer_len: Any = None,
    issue_token: bool = False,
    burst_length: int = 0,
    packet: Any = None,
    offset_parameter: Any = None,
    *,
    dynamic_sizes: Sequence[Any] | None = None,
) -> DMAConfigureTaskForOp:
    """A task of one descriptor for the shim channel of an object FIFO.

    `sizes` and `strides` have up to four dimensions, outermost first; the outermost of four repeats the transfer. A
    `tap` gives them instead. Any number may be a value of the sequence; `dynamic_sizes` take the places of sizes of the
    pattern, except for those that are None.
    """
    pattern = pattern_of("shim_dma_single_bd_task", tap, offset, sizes, strides, dynamic_sizes)
    if len(pattern.sizes) > MAX_DIMENSIONS:
        refuse(
            f"shim DMA BD supports at most {MAX_DIMENSIONS} dimensions, got {len(pattern.sizes)}",
            (None, "merge dimensions that are contiguous, or start several tasks"),
        )
    pattern = pattern.padded(MAX_DIMENSIONS).converted()
    length = pattern.length if transfer_len is None else transfer_len
    task = dma_configure_task_for(alloc, issue_token=issue_token, **_repetition(pattern.sizes[0]))
    # the length is computed above: what is in a task's region are descriptors only
    with bds(task) as bd, bd[0]:
        _shim_bd(mem, pattern, length, burst_length, packet, offset_parameter)
        EndOp()
    return task


def _repetition(outermost: Any) -> dict[str, Any]:
    """The outermost size as the number of times that the task runs again."""
    if is_integer(outermost):
        return {"repeat_count": max(0, int(outermost) - 1)}  # runs beyond the first; a size that is left out is 0
    return {"repeat_count_val": ScalarValue(as_integer(outermost, i32)) - 1}


def _each(op_class: type[IRDLOperation], name: str, purpose: str) -> Any:
    # the text is upstream's
    def make(*args: Any) -> None:
        if not args:
            refuse(f"{name} must receive at least one DMAConfigureTaskForOp to {purpose}")
        for task in args:
            build(op_class, task=task)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`{op_class.name}` for each task, in order."
    return make


dma_start_task = _each(ops.DmaStartTaskOp, "dma_start_task", "start")
dma_await_task = _each(ops.DmaAwaitTaskOp, "dma_await_task", "wait for")
dma_free_task = _each(ops.DmaFreeTaskOp, "dma_free_task", "free")
