"""Copies as the first version of this lowering wrote them, for comparison word by word.

It is right for one run of 32-bit elements: locks start at 0 and are tested for equality, channels and descriptors are
always the same ones, lengths and offsets are not scaled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DmaDirection, TileId, WireBundle
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.dma import MemOp
from tilewright.dialects.aie.flows import FlowOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.access_pattern import AccessPattern
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp, NpuDmaWaitOp
from tilewright.dialects.aiex.queue import NpuPushQueueOp
from tilewright.dialects.aiex.token_memcpy import CopyEnd, MemcpyOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.lower_memcpy.copies import tile_of_end
from tilewright.passes.design.lower_memcpy.cores import use_lock
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import append_to

CHANNEL = 0
# The first version never used another channel, nor other descriptors.
INPUT_BD, OUTPUT_BD = 0, 1


def lower_as_first_version(device: DeviceOp, copies: Sequence[MemcpyOp]) -> None:
    for op in copies:
        _check_form(op)
    locks = _make_locks(device, copies)
    for use in [op for op in device.walk() if isinstance(op, UseTokenOp)]:
        if (lock := locks.get(use.token_name.root_reference.data)) is not None:
            use_lock(use, lock)
    _add_flows(device, copies)
    programmed = {op.place for op in device.body.ops if isinstance(op, MemOp)}
    for op in copies:
        _FirstVersion(device, op, locks[op.token_name.root_reference.data], programmed).lower()
        Rewriter.erase_op(op)


def _check_form(op: MemcpyOp) -> None:
    if len(op.token_uses) > 1 or len(op.ends) > 2 or op.numbers or any(end.sizes for end in op.ends):
        fail_op(
            op,
            "has a form that the first version of this lowering did not know",
            (op, "leave out the option compat of this pass"),
        )


def _make_locks(device: DeviceOp, copies: Sequence[MemcpyOp]) -> dict[str, LockOp]:
    locks, numbers = dict[str, LockOp](), Counter[TileId]()
    for op in copies:
        name, (source, destination) = op.token_name.root_reference.data, (tile_of_end(op, end) for end in op.ends)
        tile = destination if source.is_shim else source
        if name not in locks:
            locks[name] = LockOp(tile.result, numbers[tile.place], 0, f"{name}_lock")
            numbers[tile.place] += 1
            Emitter(InsertPoint.after(tile), device.location).insert(locks[name])
    return locks


def _add_flows(device: DeviceOp, copies: Sequence[MemcpyOp]) -> None:
    arrivals = Counter[TileId]()
    for op in copies:
        source, destination = (tile_of_end(op, end) for end in op.ends)
        ports = (Port(WireBundle.DMA, number) for number in (CHANNEL, arrivals[destination.place]))
        arrivals[destination.place] += 1
        flow = FlowOp(source.result, next(ports), destination.result, next(ports))
        append_to(device.body, flow, op.location)


class _FirstVersion:
    """One copy: a descriptor on the tile, a transfer on the host's side."""

    def __init__(self, device: DeviceOp, op: MemcpyOp, lock: LockOp, programmed: set[TileId | None]):
        self.device, self.op, self.lock, self.build = device, op, lock, Emitter.before(op)
        self.source, self.destination = op.ends
        self.tiles = tile_of_end(op, self.source), tile_of_end(op, self.destination)
        self.is_programmed = all(tile.place in programmed for tile in self.tiles)

    def lower(self) -> None:
        source, destination = self.tiles
        if self.is_programmed:
            is_input = source.is_shim
            self._start_tile(is_input, d0_stride=1, d2_size=0, waits=True)
            return
        # One end has to be the host's; the words are the first version's.
        if source.is_shim == destination.is_shim:
            text = "non-shim tile paired with shim endpoint" if source.is_shim else "shim tile endpoint"
            fail_op(self.op, f"expected {text}")
        self._start_tile(source.is_shim, d0_stride=0, d2_size=1, waits=destination.is_shim)
        self._start_host(source.is_shim)

    def _start_tile(self, is_input: bool, *, d0_stride: int, d2_size: int, waits: bool) -> None:
        end, tile = (self.destination, self.tiles[1]) if is_input else (self.source, self.tiles[0])
        place, bd_id = tile.place._asdict(), INPUT_BD if is_input else OUTPUT_BD
        lock = self.lock.number or 0
        taken = {"lock_acq_enable": 1, "lock_acq_val": self.op.acquire_value.value.data, "lock_acq_id": lock}
        self.build.insert(
            NpuWriteBdOp(
                **place,
                bd_id=bd_id,
                buffer_length=_constant(end.length),
                buffer_offset=_address(end) + _constant(end.offset),
                d0_size=_constant(end.length),
                d0_stride=d0_stride,
                d1_size=1,
                d2_size=d2_size,
                valid_bd=1,
                lock_rel_val=self.op.release_value.value.data,
                lock_rel_id=lock,
                **(taken if waits else {}),
            )
        )
        direction = DmaDirection.S2MM if is_input else DmaDirection.MM2S
        _push(self.build, tile, direction, bd_id, issue_token=is_input)

    def _start_host(self, is_input: bool) -> None:
        end, tile = (self.source, self.tiles[0]) if is_input else (self.destination, self.tiles[1])
        name = self._allocation(tile, DmaDirection.MM2S if is_input else DmaDirection.S2MM)
        pattern = AccessPattern.from_outermost(
            [1, 1, 1, _constant(end.length)], [0, 0, 0, 1], [0, 0, 0, _address(end) + _constant(end.offset)]
        )
        bd_id = INPUT_BD if is_input else OUTPUT_BD
        self.build.insert(NpuDmaMemcpyNdOp(end.buffer, pattern, name, bd_id, issue_token=not is_input))
        if not is_input:
            self.build.insert(NpuDmaWaitOp.create(properties={"symbol": SymbolRefAttr(name)}))

    def _allocation(self, tile: TileOp, direction: DmaDirection) -> str:
        (column, row), token = tile.place, self.op.token_name.root_reference.data
        name = f"shim_dma_{token}_{column}_{row}_{CHANNEL}"
        if self.device.lookup(name) is None:
            allocation = ShimDmaAllocationOp(name, tile.result, direction, CHANNEL)
            Emitter(InsertPoint.after(tile), self.op.location).insert(allocation)
        return name


def _push(build: Emitter, tile: TileOp, direction: DmaDirection, bd_id: int, *, issue_token: bool) -> None:
    number, repeats = (build.constant(value) for value in (bd_id, 0))
    build.insert(
        NpuPushQueueOp(*tile.place, direction, CHANNEL, bd_id=number, repeat_count=repeats, issue_token=issue_token)
    )


def _constant(number: object) -> int:
    assert isinstance(number, int), "the form has been checked"
    return number


def _address(end: CopyEnd) -> int:
    buffer = end.buffer.owner
    return (buffer.address_bytes or 0) if isinstance(buffer, BufferOp) else 0
