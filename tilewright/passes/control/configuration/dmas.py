"""The DMAs of tiles: their descriptors first, each written into its place, then the channels that run them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, NoReturn, TypeAlias

from xdsl.ir import Block

from tilewright.device import MAX_TASK_REPEAT, DeviceModel, DmaDirection, LockAction, TileId
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.layout import WORD_BYTES, WORD_MASK, Layout
from tilewright.dialects.aie.buffers import BufferOp, ExternalBufferOp
from tilewright.dialects.aie.dma import DmaBdPacketOp, DmaBody, DmaOp, DmaStartOp, reachable_blocks
from tilewright.dialects.aie.dma_bd import BdDimLayout, DmaBdOp, is_contiguous
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.passes.control.configuration.memory import buffer_address
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, placed, writer_for
from tilewright.rewrite.pass_bases import ops_of


class Refusal(NamedTuple):
    """How the driver refuses what a field cannot hold, and what a program can do instead."""

    call: str
    code: str
    remedy: str


_ADDRESS = Refusal("XAie_DmaSetAddrLen", "XAIE_INVALID_ADDRESS", "keep the buffer in memory that the tile reaches")
_PATTERN = Refusal("XAie_DmaSetMultiDimAddr", "XAIE_ERR", "split the dimension in two, or move less at once")
_PADDING = Refusal("XAie_DmaSetPadding", "XAIE_INVALID_ARGS", "pad less, and only the three innermost dimensions")
_ITERATION = Refusal("XAie_DmaSetBdIteration", "XAIE_ERR", "iterate in smaller or fewer steps")
_LOCK = Refusal("XAie_DmaSetLock", "XAIE_INVALID_LOCK_ID", "acquire or release less at once")
_REFUSALS: Mapping[str, Refusal] = {
    "address": _ADDRESS,
    "address_high": _ADDRESS,
    "buffer_length": _ADDRESS._replace(remedy="move the data with more than one descriptor"),
    "next_bd": Refusal("XAie_DmaSetNextBd", "XAIE_INVALID_BD_NUM", "name a descriptor of this tile"),
    "lock_acq_value": _LOCK,
    "lock_rel_value": _LOCK,
    "iteration_step": _ITERATION,
    "iteration_wrap": _ITERATION,
    **{f"d{number}_{part}": _PATTERN for number in range(4) for part in ("wrap", "step")},
    **{f"d{number}_zero_{side}": _PADDING for number in range(4) for side in ("before", "after")},
}
_OTHERS = Refusal("XAie_DmaWriteBd", "XAIE_INVALID_DMA_DESC", "choose a value that fits")


Slots: TypeAlias = "dict[tuple[TileId, int], DmaBdOp]"
"""Which descriptor has which place, by tile and number."""


def configured_descriptors(tile: TileWriter, blocks: Iterable[Block], slots: Slots) -> Iterator[Write]:
    """Write the descriptors in blocks into places that are free; blocks without one start channels."""
    layout = BD_LAYOUTS[tile.model.tile_type(*tile.place)]
    for block in blocks:
        bd = descriptor_in(block)
        if bd is not None:
            number = descriptor_number(bd)
            other = slots.setdefault((tile.place, number), bd)
            if other is not bd:
                remedy = (bd, "give one of them another bd_id, or leave the choice to --aie-assign-bd-ids")
                text = f"would overwrite descriptor {number} of its tile"
                fail_op(bd, text, (other, "this is the other one"), remedy)
            fields = DescriptorReader(tile.model, tile.place, layout, bd, block).fields()
            first = tile.model.registers(*tile.place).bds[number]
            yield replace(tile, location=bd.location).block_write(first, _encoded(bd, layout, fields))


def descriptor_in(block: Block) -> DmaBdOp | None:
    return next((op for op in block.ops if isinstance(op, DmaBdOp)), None)


def descriptor_number(bd: DmaBdOp) -> int:
    if bd.bd_id is None:
        remedy = (bd, "run --aie-assign-bd-ids first, or give the descriptor a bd_id")
        fail_op(bd, "DMABDOp must have assigned bd_id; did you forget to run aie-assign-bd-ids?", remedy)
    return bd.bd_id.value.data


def _encoded(bd: DmaBdOp, layout: type[Layout], fields: Fields) -> list[int]:
    for name, value in fields.items():
        field = layout.fields.get(name)
        if field is None or value not in field.limits:
            call, code, remedy = _REFUSALS.get(name, _OTHERS)
            held = "does not exist" if field is None else f"is in [{field.limits[0]}, {field.limits[-1]}]"
            why = f"{name} {held} in a descriptor of this tile, this one needs {value}"
            fail_as_driver(bd, call, code, (bd, why), (bd, remedy))
    return layout.encode(**fields)


Fields: TypeAlias = dict[str, int]
HOST_BYTES = 1 << 48
MEM_TILE_WINDOWS = 3  # its west neighbour's memory, its own, its east neighbour's


@dataclass(frozen=True)
class DescriptorReader:
    """Reads one descriptor of the DMA of a tile; fields that it leaves out are 0 in the register."""

    model: DeviceModel
    place: TileId
    layout: type[Layout]
    bd: DmaBdOp
    block: Block

    def fields(self) -> Fields:
        transfer = self._address() | self._pattern() | self._padding() | self._iteration()
        following = self.bd.next_bd_id
        chained = {} if following is None else {"use_next_bd": 1, "next_bd": following.value.data}
        return transfer | self._packet() | self._locks() | chained | {"valid_bd": 1}

    def _address(self) -> Fields:
        bd = self.bd
        if (bd.offset is not None and bd.constant_offset is None) or (bd.len is not None and bd.constant_len is None):
            self._refuse_runtime("offset/len")
        length = {"buffer_length": bd.len_bytes // WORD_BYTES}
        start = self._buffer_start() + bd.offset_bytes
        self._check_address(start)
        if not self.model.is_shim_noc(*self.place):
            return length | {"address": start // WORD_BYTES}
        return length | {
            "address_low": start & WORD_MASK,
            "address_high": start >> 32,
            "burst_length": self._burst_encoding(bd.burst_length.value.data),
        }

    def _check_address(self, start: int) -> None:
        end = start + self.bd.len_bytes
        if start % WORD_BYTES:
            why = f"descriptors begin at whole words of {WORD_BYTES} bytes, this one at {start:#x}"
        elif not self.bd.mixed_sizes and end > self._reach_bytes:
            why = f"it ends at {end:#x}, what the DMA of the tile reaches at {self._reach_bytes:#x}"
        else:
            return
        fail_as_driver(self.bd, "XAie_DmaSetAddrLen", "XAIE_INVALID_ADDRESS", (self.bd, why))

    @property
    def _reach_bytes(self) -> int:
        if self.model.is_shim_noc(*self.place):
            return HOST_BYTES
        own = self.model.tile_resources(*self.place).data_memory_bytes
        return MEM_TILE_WINDOWS * own if self._sees_windows else own

    def _refuse_runtime(self, what: str) -> NoReturn:
        text = f"runtime-valued BD {what} is not supported on the static XAIE lowering path"
        remedy = (self.bd, "descriptors with runtime values belong into a task of a runtime sequence")
        fail_op(self.bd, f"{text}; use compile-time constant sizes", remedy)

    def _burst_encoding(self, burst_bytes: int) -> int:
        if burst_bytes and burst_bytes not in self.model.burst_lengths:
            known = " ".join(map(str, self.model.burst_lengths))
            fail(self.bd, f"Requested burst length is not supported by the target. Supported burst lengths: {known}")
        return self.model.burst_encoding(burst_bytes)

    def _buffer_start(self) -> int:
        """Byte address of the buffer as the DMA of the tile sees it."""
        match self.bd.buffer.owner:
            case BufferOp() as buffer:
                owner = placed(buffer, buffer.tile_like)
                window = self.model.memory_base_address(*self.place, *owner) if self._sees_windows else 0
                return buffer_address(buffer) + (window or 0)
            case ExternalBufferOp() as buffer:  # without an address, the runtime sequence patches it
                return 0 if buffer.address is None else buffer.address.value.data
            case _:
                fail_op(self.bd, "BDs only support BufferOp or ExternalBufferOp operands.")

    @property
    def _sees_windows(self) -> bool:
        """A mem tile's DMA reaches its neighbours as well; others count from the start of their own tile."""
        return self.model.is_mem_tile(*self.place)

    def _pattern(self) -> Fields:
        dimensions = self.bd.constant_dimensions
        if dimensions is None:
            self._refuse_runtime("size/stride")
        inner_first = self._in_words(dimensions)
        fields: Fields = {}
        for number, (size, stride) in enumerate(inner_first):
            fields[f"d{number}_step"] = stride
            if f"d{number}_wrap" in self.layout.fields:  # the last one has none: it ends with the transfer
                fields[f"d{number}_wrap"] = size
        # Only what does not fit is written differently from the driver, which refuses it.
        fits = all(value in self.layout.fields[name].limits for name, value in fields.items())
        return fields if fits else self._simplified(fields, inner_first)

    def _simplified(self, fields: Fields, dimensions: Sequence[BdDimLayout]) -> Fields:
        """The same walk in fields that hold less, where the transfer ends with it.

        One through consecutive words needs no dimensions; the outermost dimension of others need not wrap, which is 0.
        """
        covered = prod(size for size, _ in dimensions) * WORD_BYTES
        if covered != self.bd.len_bytes or self.bd.pad_dimensions is not None:
            return fields
        if is_contiguous([*reversed(dimensions)]):
            return {}
        outermost = f"d{len(dimensions) - 1}_wrap"
        return fields | {outermost: 0} if outermost in fields else fields

    def _in_words(self, dimensions: Sequence[BdDimLayout]) -> list[BdDimLayout]:
        """Dimensions of elements as dimensions of words, innermost first."""
        inner_first, words = self._without_single_elements(dimensions), list[BdDimLayout]()
        for number, (size, stride) in enumerate(inner_first):
            if number == 0:  # its stride is one element, and so one word
                words.append(BdDimLayout(self._whole_words(size, number, "size"), max(stride, 1)))
            elif size == 1:  # its stride is never taken
                step = stride * self.bd.element_bytes // WORD_BYTES
                words.append(BdDimLayout(1, step if step in self.layout.fields[f"d{number}_step"].limits else 1))
            else:
                words.append(BdDimLayout(size, self._whole_words(stride, number, "stride")))
        return words

    def _without_single_elements(self, dimensions: Sequence[BdDimLayout]) -> list[BdDimLayout]:
        """Innermost first. Where elements are parts of words, runs of one are part of the runs around them."""
        inner_first = [*reversed(dimensions)]
        # The driver rounds a single element down to a dimension that never wraps: consecutive words.
        if self.bd.element_bytes < WORD_BYTES and all(size == 1 for size, _ in inner_first):
            return []
        # A run of one element smaller than a word cannot be counted in words.
        while self.bd.element_bytes < WORD_BYTES and len(inner_first) > 1 and inner_first[0].size == 1:
            del inner_first[0]
        if self.bd.element_bytes < WORD_BYTES and inner_first and inner_first[0].stride != 1:
            self._refuse_parts(f"the innermost stride is {inner_first[0].stride * self.bd.element_bytes} bytes")
        return inner_first

    def _whole_words(self, elements: int, dimension: int, what: str) -> int:
        size_bytes = elements * self.bd.element_bytes
        if size_bytes == 0 or size_bytes % WORD_BYTES:
            self._refuse_parts(f"the {what} of dimension {dimension} (0 is innermost) is {size_bytes} bytes")
        return size_bytes // WORD_BYTES

    def _refuse_parts(self, why: str) -> NoReturn:
        fail_op(self.bd, "moves parts of 32-bit words", (self.bd, f"{why}; a DMA counts whole words of 4 bytes"))

    def _padding(self) -> Fields:
        fields: Fields = {}
        for number, pad in enumerate(reversed([*(self.bd.pad_dimensions or ())])):
            amounts = {"before": pad.const_pad_before.data, "after": pad.const_pad_after.data}
            for side, amount in amounts.items():
                if number == 0:  # the others count whole runs of the dimension inside them
                    amount = amount * self.bd.element_bytes // WORD_BYTES
                if amount:
                    fields[f"d{number}_zero_{side}"] = amount
        return fields

    def _iteration(self) -> Fields:
        iteration = self.bd.iteration
        if iteration is None or iteration.size.data <= 1 or iteration.stride.data <= 0:
            return {}
        return {
            "iteration_wrap": iteration.size.data,
            "iteration_step": iteration.stride.data * self.bd.element_bytes // WORD_BYTES,
            "iteration_current": iteration.current.data,
        }

    def _packet(self) -> Fields:
        older = ops_of(self.block.ops, DmaBdPacketOp)
        if (info := self.bd.packet) is not None:
            kind, number = info.pkt_type.data, info.pkt_id.data
        elif older:
            kind, number = older[0].packet_type.value.data, older[0].packet_id.value.data
        else:
            return {}
        if self.bd.constant_len == 0:
            fail_op(
                self.bd,
                "For MM2S channels, if Buffer_Length=0 then Enable_Packet must be set to 0, otherwise behavior is "
                "undefined (3.7.8 arch spec)",
            )
        return {"enable_packet": 1, "packet_type": kind, "packet_id": number}

    def _locks(self) -> Fields:
        fields: Fields = {}
        for use in ops_of(self.block.ops, UseLockOp):
            number, value = self._lock_number(use), use.constant
            assert value is not None, "the verifier asks for constants in descriptors"
            if not use.is_acquire:
                fields |= {"lock_rel_id": number, "lock_rel_value": value}
                continue
            takes = use.lock_action is LockAction.AcquireGreaterEqual
            fields |= {"lock_acq_id": number, "lock_acq_value": -value if takes else value}
            fields["lock_acq_enable"] = int(bool(use.acq_en.value.data))
        return fields

    def _lock_number(self, use: UseLockOp) -> int:
        """The lock as the DMA of the tile counts them."""
        lock = use.lock_op
        if lock is None or lock.number is None:
            remedy = (use.lock, "run --aie-assign-lock-ids first, or give this lock an id")
            fail_op(use, "uses a lock that has no number", remedy)
        if not self._sees_windows:
            return lock.number
        return lock.number + (self.model.lock_base_index(*self.place, *placed(lock, lock.tile_like)) or 0)


def configured_dma(model: DeviceModel, dma: DmaBody, slots: Slots) -> Iterator[Write]:
    """Set up the DMA of a tile; the descriptors of the whole device are known by their places."""
    tile = writer_for(model, dma)
    regions = ops_of(dma.ops, DmaOp)
    if regions:
        yield from _configured_regions(tile, regions, slots)
        return
    blocks = reachable_blocks(dma.body.blocks[0])
    yield from configured_descriptors(tile, blocks, slots)
    for start in ops_of((block.last_op for block in blocks if block.last_op is not None), DmaStartOp):
        first = _first_descriptor(start, start.dest)
        yield from started_channel(replace(tile, location=first.location), start, first)


def _configured_regions(tile: TileWriter, dmas: Sequence[DmaOp], slots: Slots) -> Iterator[Write]:
    """The form in which each descriptor of a channel has a region."""
    yield from configured_descriptors(tile, [region.block for dma in dmas for region in dma.bds], slots)
    for dma in dmas:
        if not dma.bds:
            fail_op(dma, "starts a channel that has no descriptor")
        first = _first_descriptor(dma, dma.bds[0].block)
        yield from started_channel(replace(tile, location=dma.location), dma, first)


def _first_descriptor(channel: DmaStartOp | DmaOp, block: Block) -> DmaBdOp:
    bd = descriptor_in(block)
    if bd is None:
        remedy = (channel, "let the channel start at a block with an aie.dma_bd")
        fail_op(channel, "starts a channel that has no descriptor", remedy)
    return bd


# There is no bit that enables a channel. The driver still writes this, under a mask without bits: a PDI changes
# nothing with it, in a transaction it is a plain write. Source: `.Enable = {0U}` in xaiemlgbl_reginit.c of aie-rt.
ENABLE, ENABLE_MASK = 1, 0


def started_channel(tile: TileWriter, op: DmaStartOp | DmaOp, bd: DmaBdOp) -> Iterator[Write]:
    """Push the chain that begins with `bd`, to run once and `repeat_count` times more."""
    channel, pad_value = op.channel, op.pad_value.value.data
    count = tile.model.num_dma_channels(*tile.place, channel.direction)
    if channel.number >= count:
        why = f"the tile has {channel.direction} channels 0 to {count - 1}, this is channel {channel.number}"
        fail_as_driver(op, "XAie_DmaChannelSetStartQueue", "XAIE_INVALID_CHANNEL_NUM", (op, why))
    registers = tile.model.registers(*tile.place)
    if pad_value:
        assert registers.mm2s_pad_value is not None, "the verifier allows pad values on mem tiles only"
        yield tile.write(registers.mm2s_pad_value[channel.number], pad_value & WORD_MASK)
    yield tile.write(registers.task_queue(channel.direction)[channel.number], _task(tile, op, bd))
    yield tile.mask_write(registers.control(channel.direction)[channel.number], ENABLE, ENABLE_MASK)


def _task(tile: TileWriter, op: DmaStartOp | DmaOp, bd: DmaBdOp) -> int:
    channel, number, runs = op.channel, descriptor_number(bd), op.repeat_count.value.data + 1
    if not 1 <= runs <= MAX_TASK_REPEAT:
        why = f"a channel runs a task 1 to {MAX_TASK_REPEAT} times, this one {runs} times"
        remedy = f"use a repeat_count of 0 to {MAX_TASK_REPEAT - 1}, or let the last descriptor lead to the first"
        fail_as_driver(op, "XAie_DmaChannelSetStartQueue", "XAIE_INVALID_ARGS", (op, why), (op, remedy))
    if not tile.model.is_bd_channel_accessible(*tile.place, number, channel.number):
        why = f"channel {channel.number} of this tile does not reach descriptor {number}"
        remedy = "let --aie-assign-bd-ids choose the descriptor, or use another channel"
        fail_as_driver(op, "XAie_DmaChannelSetStartQueue", "XAIE_INVALID_BD_NUM", (op, why), (bd, remedy))
    # As mlir-aie: only receiving channels of the shim give tokens here.
    gives_token = tile.model.is_shim_tile(*tile.place) and channel.direction is DmaDirection.S2MM
    queue = tile.model.registers(*tile.place).queue
    return queue.encode(start_bd_id=number, repeat_count=runs, enable_token_issue=int(gives_token))[0]
