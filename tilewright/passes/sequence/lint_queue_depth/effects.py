"""Effects of instructions, transfers and tasks on DMA queues and descriptors, as the linter follows a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from tilewright.device import DmaDirection, TileId
from tilewright.device.dma_registers import ChannelId
from tilewright.device.hazards import BdName, Hazard, HazardReader
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import constant_value, lookup_symbol, tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex import bd_chains, control, firmware, instructions, memcpy, queue, tasks, write_bd
from tilewright.dialects.aiex.resolution import absolute_address, block_words
from tilewright.dialects.memref import GetGlobalOp
from tilewright.passes.sequence.lint_queue_depth.state import DrawnBd, Handles, KnownValues, LintState, PoolKey

Hazards: TypeAlias = Iterator[Hazard[Operation]]
Effect: TypeAlias = "Callable[[LintContext, Any], Hazards | None]"
"""What an operation does; what can bring about no hazard gives none."""


class LintContext:
    """One sequence that is being followed: its state so far, and what names and values mean."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.reader = HazardReader[Operation](device.model)
        self.values, self.state = KnownValues(), LintState()
        self.contents: dict[SymbolRefAttr, list[int]] = {}
        """Of globals that block writes copy, as far as they have been read."""
        self._channels: dict[SymbolRefAttr, ChannelId | None] = {}

    def apply(self, op: Operation, effect: Effect) -> Hazards:
        """Do what an operation does. Gives the hazards that this brings about."""
        self.reader.state = self.state.in_flight
        yield from effect(self, op) or ()
        self.state.in_flight = self.reader.state

    def handles(self, value: SSAValue) -> Handles:
        """What a value stands for, or is computed from."""
        known = self.state.handles
        return Handles().union(*(known.get(source, ()) for source in self.values.sources(value)))

    def bds(self, value: SSAValue) -> frozenset[BdName]:
        """The descriptors whose number a value may be; none if that is not known."""
        number = constant_value(value)
        return frozenset(self.drawn(value)) if number is None else frozenset({number})

    def drawn(self, value: SSAValue) -> frozenset[DrawnBd]:
        return frozenset(handle for handle in self.handles(value) if isinstance(handle, DrawnBd))

    def write_drawn(self, op: Operation, value: SSAValue) -> Hazards:
        """Write to a descriptor at an address that is computed from its number."""
        for drawn in self.drawn(value):
            yield from self.reader.state.write(drawn.op.place, frozenset({drawn}), op)

    def channel(self, name: SymbolRefAttr) -> ChannelId | None:
        """The shim channel of a name."""
        if name not in self._channels:
            found = lookup_symbol(self.device, name)
            self._channels[name] = None
            if isinstance(found, ShimDmaAllocationOp):
                self._channels[name] = _dma_channel(tile_of(found.tile), found.direction, found.channel)
        return self._channels[name]

    def task(self, value: SSAValue) -> Operation | None:
        """An operation that configures the task that a value may be: all of them are for the same channel."""
        return next((handle for handle in self.handles(value) if not isinstance(handle, DrawnBd)), None)

    def task_channel(self, op: Operation | None) -> ChannelId | None:
        match op:
            case tasks.DmaConfigureTaskOp() | bd_chains.DmaStartBdChainOp():
                return _dma_channel(op.tile_like, op.dma_direction, op.channel.value.data)
            case tasks.DmaConfigureTaskForOp() | bd_chains.DmaStartBdChainForOp():
                return self.channel(op.alloc)
            case _:
                return None


def _dma_channel(tile: TileLike | None, direction: DmaDirection, channel: int) -> ChannelId | None:
    """None before placement: nothing is known then of what shares the queue."""
    if tile is None or tile.place is None or not tile.is_placed:
        return None
    return ChannelId(tile.place, direction, channel)


def _write(on: LintContext, op: instructions.NpuWrite32Op) -> Hazards:
    address, names = constant_value(op.address), frozenset[BdName](on.drawn(op.value))
    if address is None:
        yield from on.write_drawn(op, op.address)
    elif op.buffer is None:
        yield from on.reader.write(op, absolute_address(op, address), on.values.bits(op.value), names)


def _mask_write(on: LintContext, op: instructions.NpuMaskWrite32Op) -> Hazards:
    address, mask = constant_value(op.address), on.values.bits(op.mask)
    if address is None:
        yield from on.write_drawn(op, op.address)
    elif op.buffer is None:
        bits = on.values.bits(op.value)
        # Bits outside of the mask stay as they are, which is not known here.
        written = bits._replace(known=bits.known & mask.value & mask.known)
        yield from on.reader.write(op, absolute_address(op, address), written)


def _mask_poll(on: LintContext, op: instructions.NpuMaskPollOp) -> None:
    address, value, mask = map(constant_value, op.operands)
    if address is None or value is None or mask is None or op.buffer is not None:
        on.reader.state.pace(op)
    else:
        on.reader.poll(op, absolute_address(op, address), value & WORD_MASK, mask & WORD_MASK)


def _block_write(on: LintContext, op: instructions.NpuBlockWriteOp) -> Hazards:
    if op.buffer is None and isinstance(op.data.owner, GetGlobalOp):
        name = op.data.owner.name_
        if name not in on.contents:
            on.contents[name] = block_words(op)
        yield from on.reader.write_block(op, absolute_address(op, op.address.value.data), on.contents[name])


def _write_words(on: LintContext, op: instructions.NpuWriteWordsOp) -> Hazards:
    address = constant_value(op.address)
    if address is None:
        yield from on.write_drawn(op, op.address)
        return
    if op.buffer is not None:
        return
    address = absolute_address(op, address)
    for number, value in enumerate(op.values):
        names = frozenset[BdName](on.drawn(value))
        yield from on.reader.write(op, address + WORD_BYTES * number, on.values.bits(value), names)


def _patch(on: LintContext, op: queue.NpuAddressPatchOp) -> Hazards:
    if op.addr_val is not None and constant_value(op.addr_val) is None:
        yield from on.write_drawn(op, op.addr_val)
    else:
        address = None if op.addr_val is None else constant_value(op.addr_val)
        yield from on.reader.patch(op, op.addr.value.data if address is None else address)


def _update(on: LintContext, op: firmware.NpuUpdateFromScratchpadOp) -> Hazards:
    if op.buffer is None:
        yield from on.reader.patch(op, absolute_address(op, op.address.value.data))


def _sync(on: LintContext, op: instructions.NpuSyncOp) -> None:
    column, row, direction, channel, columns, rows = map(constant_value, op.operands)
    if column is None or row is None or direction is None or channel is None or columns is None or rows is None:
        # It waits for something, which makes overruns less likely, but not for what.
        on.reader.state.pace(op)
    else:
        on.reader.wait(op, column=column, row=row, direction=direction, channel=channel, columns=columns, rows=rows)


def _push(on: LintContext, op: queue.NpuPushQueueOp) -> Hazards:
    channels = list(op.channels(on.device.model))
    # Which queue it is for may be known only at run time: then nothing can be said of it.
    if len(channels) == 1 and op.known_number("issue_token") is not None:
        yield from on.reader.push(op, ChannelId(*channels[0]), on.bds(op.bd_id), bool(op.number("issue_token")))


def _write_bd(on: LintContext, op: write_bd.NpuWriteBdOp) -> Hazards:
    column, row, bd = (op.known_number(name) for name in ("column", "row", "bd_id"))
    if column is None or row is None or bd is None:
        return
    yield from on.reader.state.write(TileId(column, row), frozenset({bd}), op)
    following = op.known_number("next_bd") if op.known_number("use_next_bd") else None
    on.reader.state.link(TileId(column, row), bd, following)


def _memcpy(on: LintContext, op: memcpy.NpuDmaMemcpyNdOp) -> Hazards:
    if (channel := on.channel(op.metadata)) is None:
        return
    bd = op.id.value.data
    yield from on.reader.state.write(channel.tile, frozenset({bd}), op)
    on.reader.state.link(channel.tile, bd, None)
    # As the lowering of the transfer does.
    issues_token = op.issues_token or channel.direction is DmaDirection.S2MM
    yield from on.reader.push(op, channel, frozenset({bd}), issues_token)


def _dma_wait(on: LintContext, op: memcpy.NpuDmaWaitOp) -> None:
    if (channel := on.channel(op.symbol)) is not None:
        on.reader.state.wait(channel, op)


def _reset(on: LintContext, op: control.DmaChannelResetOp) -> None:
    tile = tile_of(op.tile)
    if tile is not None and tile.place is not None:
        on.reader.state.reset(ChannelId(tile.place, op.dma_direction, op.channel.value.data))


def _load(on: LintContext, op: Operation) -> None:
    # Loading a device resets its DMAs, with all queues and descriptors.
    on.reader.forget()


INSTRUCTIONS: Mapping[type[Operation], Effect] = {
    control.DmaChannelResetOp: _reset,
    firmware.NpuLoadPdiOp: _load,
    firmware.NpuUpdateFromScratchpadOp: _update,
    instructions.NpuBlockWriteOp: _block_write,
    instructions.NpuMaskPollOp: _mask_poll,
    instructions.NpuMaskWrite32Op: _mask_write,
    instructions.NpuSyncOp: _sync,
    instructions.NpuWriteWordsOp: _write_words,
    instructions.NpuWrite32Op: _write,
    memcpy.NpuDmaMemcpyNdOp: _memcpy,
    memcpy.NpuDmaWaitOp: _dma_wait,
    queue.NpuAddressPatchOp: _patch,
    queue.NpuPushQueueOp: _push,
    write_bd.NpuWriteBdOp: _write_bd,
}


Configured: TypeAlias = "tasks.DmaConfigureTaskOp | tasks.DmaConfigureTaskForOp"


def _configure(on: LintContext, op: Configured) -> Hazards:
    on.state.handles[op.result] = frozenset({op})
    if (channel := on.task_channel(op)) is None:
        return
    names = _descriptor_names(on, op)
    for bd in op.descriptors:
        yield from on.reader.state.write(channel.tile, names[bd], op)
        for name in names[bd]:
            on.reader.state.link(channel.tile, name, bd.next_bd_id.value.data if bd.next_bd_id is not None else None)


def _descriptor_names(on: LintContext, op: Configured) -> dict[DmaBdOp | None, frozenset[BdName]]:
    """What the descriptors of a task are called; nothing as long as they have no numbers."""
    values = op.runtime_ids if isinstance(op, tasks.DmaConfigureTaskOp) else {}
    numbers = {bd: bd.bd_id.value.data for bd in op.descriptors if bd.bd_id is not None}
    return {
        bd: on.bds(values[bd]) if bd in values else frozenset({numbers[bd]}) if bd in numbers else frozenset()
        for bd in op.descriptors
    }


def _start(on: LintContext, op: tasks.DmaStartTaskOp) -> Hazards:
    task = on.task(op.task)
    channel = on.task_channel(task)
    if channel is None or not isinstance(task, tasks.DmaConfigureTaskOp | tasks.DmaConfigureTaskForOp):
        return
    names = _descriptor_names(on, task)
    first = on.bds(op.bd_id) if op.bd_id is not None else names.get(task.first_descriptor, frozenset())
    # Numbers from a pool tell the first descriptor only; the chain behind it is linked at run time.
    others = frozenset[BdName]() if op.bd_id is not None else first.union(*names.values())
    yield from on.reader.push(op, channel, first, task.issues_token, others)


def _await(on: LintContext, op: tasks.DmaAwaitTaskOp) -> None:
    if (channel := on.task_channel(on.task(op.task))) is not None:
        on.reader.state.wait(channel, op)


def _start_chain(on: LintContext, op: bd_chains.DmaStartBdChainOp | bd_chains.DmaStartBdChainForOp) -> Hazards:
    on.state.handles[op.result] = frozenset({op})
    if (channel := on.task_channel(op)) is not None:
        yield from on.reader.push(op, channel, frozenset(), op.issues_token)


def _take(on: LintContext, op: tasks.DmaBdPoolPopOp) -> None:
    on.state.take(op, _pool(on, op))
    # Taking one renames those that are in flight.
    on.reader.state = on.state.in_flight


def _give_back(on: LintContext, op: tasks.DmaBdPoolPushOp) -> None:
    # one that others are taken before is not soon in use again
    if op.last is None:
        on.state.give_back(_pool(on, op), on.handles(op.bd_id))


def _pool(on: LintContext, op: tasks.PoolUser) -> PoolKey:
    return op.place, op.numbers(on.model)


TASKS: Mapping[type[Operation], Effect] = {
    bd_chains.DmaStartBdChainForOp: _start_chain,
    bd_chains.DmaStartBdChainOp: _start_chain,
    tasks.DmaAwaitTaskOp: _await,
    tasks.DmaBdPoolPopOp: _take,
    tasks.DmaBdPoolPushOp: _give_back,
    tasks.DmaConfigureTaskForOp: _configure,
    tasks.DmaConfigureTaskOp: _configure,
    tasks.DmaStartTaskOp: _start,
}
