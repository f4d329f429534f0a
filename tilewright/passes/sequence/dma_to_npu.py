"""Lowers transfers, waits, queue pushes and descriptors to register writes, patches and waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from tilewright.device import DmaDirection, TileId
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects.aie.attributes import packet_violation
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.lookup import constant_values, lookup_symbol, parent_of_type, tile_of
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.blockwrite_data import DataGlobalRef, data_of_global, make_data_global, words_to_bytes
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits, pattern_violation
from tilewright.dialects.aiex.instructions import (
    NpuBlockWriteOp,
    NpuMaskPollOp,
    NpuMaskWrite32Op,
    NpuWrite32Op,
    NpuWriteRTPOp,
    NpuWriteWordsOp,
    Placed,
)
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp, NpuDmaWaitOp, size_violation
from tilewright.dialects.aiex.queue import TOO_LARGE_BD_ID, NpuAddressPatchOp, NpuPushQueueOp
from tilewright.dialects.aiex.resolution import TILE_OFFSET, absolute_address
from tilewright.dialects.aiex.runtime_fields import known_word
from tilewright.dialects.aiex.subview_trace import ArgumentPart, trace_to_argument
from tilewright.dialects.aiex.write_bd import PADDING, DescriptorWords, NpuWriteBdOp
from tilewright.dialects.arith import AndIOp
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.interned import array_numbers
from tilewright.ir.pass_manager import Pass
from tilewright.passes.sequence.descriptor_writes import (
    DescriptorWriter,
    RepeatedDescriptor,
    add_scratchpad_offset,
    address_register,
    check_argument_part,
    offset_in_bytes,
    wait_for_token,
)
from tilewright.passes.sequence.dma_transfer import DmaTransfer, KnownTransfers, transfer_of
from tilewright.passes.sequence.instruction_writes import PushWriter, write_descriptor
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.passes.sequence.upstream_descriptor_writes import (
    RuntimePattern,
    UpstreamDescriptorWriter,
    argument_offset,
)
from tilewright.rewrite.emitter import Emitter, Number, SharedConstants
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.rewrite.legalization import Repeatable, Selective, convert
from tilewright.rewrite.pass_bases import ops_of

GLOBAL_PREFIX = "blockwrite_data_"


class AllocatedChannel(NamedTuple):
    """A shim channel, and where its tile is, if that is known."""

    allocation: ShimDmaAllocationOp
    place: TileId | None


class ChannelAllocations:
    """The shim channels of a device by name, each looked up once."""

    def __init__(self, device: DeviceOp):
        self.device = device
        self._found: dict[SymbolRefAttr, AllocatedChannel | None] = {}

    def find(self, name: SymbolRefAttr) -> AllocatedChannel | None:
        if name not in self._found:
            allocation = lookup_symbol(self.device, name)
            self._found[name] = None
            if isinstance(allocation, ShimDmaAllocationOp):
                tile = tile_of(allocation.tile)
                place = tile.place if tile is not None and tile.is_placed else None
                self._found[name] = AllocatedChannel(allocation, place)
        return self._found[name]


class MemcpyToWriteBd(RewritePattern):
    """A transfer is a descriptor, the address of its buffer, and a push onto the channel's queue."""

    def __init__(self, channels: ChannelAllocations, guards: Guards, constants: SharedConstants | None):
        self.channels, self.guards, self.constants = channels, guards, constants
        self.known_transfers: KnownTransfers = {}
        self.repeated: dict[tuple[object, ...], _RepeatedMemcpy] = {}

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaMemcpyNdOp, rewriter: PatternRewriter) -> None:
        emit = Emitter(rewriter, constants=self.constants)
        # Others make constants of their own, or are not known.
        form = form_of(op) if self.constants is not None and len(op._operands) == 1 else None
        found = None if form is None else self.repeated.get(form)
        if found is not None:
            found.descriptor.write(emit, op, self.guards, array_numbers(op.static_offsets)[::-1])
            rewriter.replace(op, NpuPushQueueOp.create(operands=found.push_operands, properties=found.push_properties))
            return
        memcpy = _Memcpy(op, self.channels, emit, self.guards, self.known_transfers)
        allocation = memcpy.allocation
        # What is known is written in one way; only a runtime pattern has a form of upstream's.
        is_upstream = memcpy.pattern is None and self.guards is Guards.UPSTREAM
        repeat_count = memcpy.write_as_upstream() if is_upstream else memcpy.write()
        push = NpuPushQueueOp(
            *memcpy.place,
            allocation.direction,
            allocation.channel,
            repeat_count=emit.number(repeat_count),
            bd_id=emit.constant(op.id.value.data),
            # As upstream: a wait for data that arrives is possible without asking for a token.
            issue_token=op.issues_token or (allocation.direction is DmaDirection.S2MM and not op.is_continued),
        )
        if form is not None and memcpy.repeated is not None:
            named = op._operands, *op.properties.values()
            self.repeated[form] = _RepeatedMemcpy(memcpy.repeated, push._operands, push.properties, named)
        rewriter.replace(op, push)


class _RepeatedMemcpy(NamedTuple):
    """What became of a transfer, for those that differ only in their offsets."""

    descriptor: RepeatedDescriptor
    push_operands: Sequence[SSAValue]
    push_properties: Mapping[str, Attribute]
    named: Sequence[object]
    """What its form names by identity, kept lest something else comes to lie in its place."""


def form_of(op: NpuDmaMemcpyNdOp) -> tuple[object, ...]:
    """All that becomes of a transfer depends on, but for its offsets, if it has no values but its memory."""
    properties = dict(op.properties)
    properties.pop("static_offsets", None)
    # by identity: numbers and names are one object each, and hashing them takes long
    return id(op._operands[0]), op.is_continued, *properties, *map(id, properties.values())


class _Memcpy:
    """A transfer on its way to being a descriptor."""

    def __init__(
        self,
        op: NpuDmaMemcpyNdOp,
        channels: ChannelAllocations,
        emit: Emitter,
        guards: Guards,
        known_transfers: KnownTransfers,
    ):
        self.op, self.emit, self.known_transfers = op, emit, known_transfers
        self.repeated: RepeatedDescriptor | None = None
        """What has been written, if it can be written again for another part of the buffer."""
        channel = channels.find(op.metadata)
        if channel is None:
            fail_op(op, "couldn't find shim_dma_allocation op.")
        if channel.place is None:
            fail_op(op, "shim_dma_allocation op must reference a valid TileOp.")
        self.allocation, self.place, self.model = channel.allocation, channel.place, channels.device.model
        self.pattern = op.constant_pattern
        self.bd_id, self.element_bits = op.id.value.data, op.element_bits
        self.numbers = Numbers(emit)
        self.checks = LimitChecks(op, self.numbers, guards)
        if not self.checks.enabled and not 0 <= self.bd_id <= self.model.num_bds(*self.place):
            fail_op(op, TOO_LARGE_BD_ID)

    def write(self) -> Number:
        """Write the descriptor. Returns the repeat count for its push."""
        offsets, sizes, strides = self._numbers()
        transfer = self._checked_transfer(sizes, strides)
        if self.pattern is None:
            made = transfer.fields(self.numbers, self.checks)
        else:
            key = self.place, self.element_bits, transfer.keeps_loops, *sizes, *strides
            if key not in self.known_transfers:
                self.known_transfers[key] = transfer, transfer.fields(self.numbers, self.checks)
            transfer, made = self.known_transfers[key]
        attrs = ((name, self.op.properties.get(name)) for name in PADDING)
        padding = {name: attr.value.data for name, attr in attrs if isinstance(attr, IntegerAttr)}
        fields = self._template() | made.fields | padding
        written = DescriptorWriter(self.model, self.place, self.bd_id).write(self.numbers, self.checks, fields)
        part = self._argument()
        offset = offset_in_bytes(self.numbers, self.checks, offsets, strides, self.element_bytes, part.offset_bytes)
        check_argument_part(self.checks, part, offset, transfer, self.element_bytes)
        patch = self._patch(part, self.emit.number(offset))
        if self.op.offset_state_table_idx is None:
            self.repeated = RepeatedDescriptor.of(
                written, patch, part, transfer, strides, self.element_bytes, made.repeat_count
            )
        return made.repeat_count

    def write_as_upstream(self) -> SSAValue:
        """Write a template, then the words that runtime values are part of, in the form that mlir-aie gives them."""
        self.emit.insert(NpuWriteBdOp(**self._template(), **self.place._asdict(), bd_id=self.bd_id))
        limits = DescriptorLimits.of_tile(self.model, *self.place, self.element_bits)
        assert limits is not None, "the verifier refuses runtime patterns on other tiles"
        offsets, sizes, strides = self._numbers()
        if text := size_violation(limits, constant_values(sizes)):
            fail_op(self.op, text)
        descriptor = UpstreamDescriptorWriter(self.model, self.place, self.bd_id)
        burst_bytes = self.op.burst_length.value.data
        repeat = descriptor.write_pattern(self.emit, RuntimePattern(sizes, strides), limits, burst_bytes)
        part = self._argument()
        self._patch(part, argument_offset(self.emit, offsets, strides, self.element_bytes, part.offset_bytes))
        return repeat

    @property
    def element_bytes(self) -> int:
        return self.element_bits // 8

    def _numbers(self) -> tuple[Sequence[Number], Sequence[Number], Sequence[Number]]:
        """Offsets, sizes and strides, innermost first."""
        if self.pattern is not None:
            return self.pattern.offsets, self.pattern.sizes, self.pattern.strides
        return self.op.mixed_offsets[::-1], self.op.mixed_sizes[::-1], self.op.mixed_strides[::-1]

    def _checked_transfer(self, sizes: Sequence[Number], strides: Sequence[Number]) -> DmaTransfer:
        """The transfer. What is known is refused in mlir-aie's words, where neither that nor a split can do it."""
        op, place = self.op, self.place
        limits, text = DescriptorLimits.of_tile(self.model, *place, self.element_bits), None
        if self.pattern is not None:
            text = pattern_violation(self.model, *place, self.element_bits, self.pattern)
        if limits is None:
            fail_op(op, text or "is for a tile without a DMA")
        # `opt` shows what mlir-aie does, which is to leave loops as they are
        keeps_loops = op.is_padded or not self.checks.enabled
        transfer = transfer_of(self.model, place, limits, sizes, strides, keeps_loops=keeps_loops)
        if text is not None and transfer.walk(self.numbers).is_split is not True:
            fail_op(op, text)
        if self.model.is_mem_tile(*place) and self.allocation.direction is DmaDirection.S2MM and op.is_padded:
            fail_op(op, "MemTile supports zero padding only on MM2S direction")
        if self.checks.enabled and op.packet is not None and (text := packet_violation(op.packet)):
            fail_op(op, text)
        self.checks.descriptor_number(self.bd_id, range(self.model.num_bds(*place)))
        return transfer

    def _template(self) -> dict[str, int]:
        """The fields that do not depend on the pattern."""
        op = self.op
        fields = {"valid_bd": 1, "burst_length": op.burst_length.value.data}
        if op.packet is not None:
            fields |= {"enable_packet": 1, "packet_type": op.packet.pkt_type.data, "packet_id": op.packet.pkt_id.data}
        return fields

    def _argument(self) -> ArgumentPart:
        """Which part of which argument of the sequence the memory is."""
        sequence = parent_of_type(self.op, RuntimeSequenceOp)
        if sequence is None:
            fail_op(self.op, "NpuDmaMemcpyNdOps must have RuntimeSequenceOp parent at time of lowering.")
        part = trace_to_argument(self.op.memref)
        if part is None or part.argument.block is not sequence.body.first_block:
            fail_op(
                self.op,
                "memref must be a block argument or subview/cast/reinterpret_cast of a block argument with static "
                "offsets, sizes, and strides",
            )
        return part

    def _patch(self, part: ArgumentPart, offset_bytes: SSAValue) -> NpuAddressPatchOp:
        """Put the address of the host's buffer into the descriptor."""
        register = address_register(self.model, self.place, self.bd_id)
        patch = self.emit.insert(NpuAddressPatchOp(register, part.argument.index, offset_bytes))
        add_scratchpad_offset(self.emit, self.op.offset_state_table_idx, self.element_bytes, register)
        return patch


class DmaWaitToSync(RewritePattern):
    def __init__(self, channels: ChannelAllocations, constants: SharedConstants | None):
        self.channels, self.constants = channels, constants

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaWaitOp, rewriter: PatternRewriter) -> None:
        channel = self.channels.find(op.symbol)
        if channel is None:
            fail(op, "couldn't find shim_dma_allocation op")
        if channel.place is None:
            fail(op, "shim_dma_allocation op must reference a valid TileOp")
        allocation, emit = channel.allocation, Emitter(rewriter, constants=self.constants)
        rewriter.replace(op, wait_for_token(emit, channel.place, allocation.direction, allocation.channel))


class PushQueueToWrite32(Repeatable):
    """A push is a write to the queue register."""

    def __init__(self, device: DeviceOp, guards: Guards, constants: SharedConstants | None):
        self.writer, self.constants = PushWriter(device, guards), constants

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuPushQueueOp, rewriter: PatternRewriter) -> None:
        self.writer.write(op, Emitter(rewriter, op.location, constants=self.constants))
        rewriter.erase(op)


class RtpWriteToWrite32(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuWriteRTPOp, rewriter: PatternRewriter) -> None:
        device, name = parent_of_type(op, Target), op.buffer.root_reference.data
        buffer = lookup_symbol(device, name) if device is not None else None
        if not isinstance(buffer, BufferOp) or buffer.place is None:
            fail(op, f"buffer '{name}' not found in device")
        if buffer.address_bytes is None:
            fail(op, "buffer must have address assigned")
        address = Emitter(rewriter).constant(buffer.address_bytes + WORD_BYTES * op.index.value.data)
        rewriter.replace(op, NpuWrite32Op(address, op.value, *buffer.place))


class BufferToAddress(Selective):
    """Writes that are relative to a buffer become absolute."""

    def concerns(self, op: Operation) -> bool:
        return "buffer" in op.properties

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match op:
            case NpuBlockWriteOp(buffer=SymbolRefAttr()):
                address = absolute_address(op, op.address.value.data)
                rewriter.replace(op, NpuBlockWriteOp(op.data, address))
            case NpuWrite32Op(buffer=SymbolRefAttr()):
                rewriter.replace(op, NpuWrite32Op(_absolute_operand(op, op.address, rewriter), op.value))
            case NpuMaskWrite32Op(buffer=SymbolRefAttr()) | NpuMaskPollOp(buffer=SymbolRefAttr()):
                address = _absolute_operand(op, op.address, rewriter)
                rewriter.replace(op, type(op)(address, op.value, op.mask))
            case NpuWriteWordsOp(buffer=SymbolRefAttr()):
                rewriter.replace(op, NpuWriteWordsOp(_absolute_operand(op, op.address, rewriter), op.values))
            case _:
                pass


def _absolute_operand(op: Placed, address: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    emit, offset = Emitter(rewriter), known_word(address)
    if offset is not None:
        return emit.constant(absolute_address(op, offset & WORD_MASK))
    first = absolute_address(op, 0)
    in_tile = emit.add(emit.multiply(emit.number(address), WORD_BYTES), emit.constant(first & TILE_OFFSET))
    # as with a number that is known: what is beyond the end of the tile's memory starts over
    cut = emit.value(AndIOp(in_tile, emit.constant(TILE_OFFSET)))
    return emit.add(cut, emit.constant(first & ~TILE_OFFSET))


class WriteBdToBlockWrite(RewritePattern):
    """A descriptor is a block write of its words, which are a global. Equal words share one."""

    def __init__(self, device: DeviceOp, guards: Guards, constants: SharedConstants | None):
        self.guards, self.constants = guards, constants
        self.words = DescriptorWords(device.model, all_fields=guards is Guards.FULL)
        self.model = device.model
        globals = ops_of(device.body.ops, GlobalOp)
        contents = ((data_of_global(op), op) for op in reversed(globals))  # the first of equal ones is kept
        self.names = {data: DataGlobalRef.of(op) for data, op in contents if data is not None}
        numbers = (op.sym_name.data.removeprefix(GLOBAL_PREFIX) for op in globals)
        # Behind all that a program or an earlier run of the pass has, so that names stay free without a lookup.
        self.next_number = max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuWriteBdOp, rewriter: PatternRewriter) -> None:
        if op.has_values:
            write_descriptor(op, self.model, Emitter(rewriter, op.location, constants=self.constants), self.guards)
            rewriter.erase(op)
            return
        address, words = self.words.of(op)
        data = words_to_bytes(words)
        if data not in self.names:
            self.names[data] = DataGlobalRef.of(self.make_global(op, data, rewriter))
        source = self.names[data].read()
        rewriter.replace(op, [source, NpuBlockWriteOp(source.results[0], address)], [])

    def make_global(self, op: NpuWriteBdOp, data: bytes, rewriter: PatternRewriter) -> GlobalOp:
        sequence = parent_of_type(op, RuntimeSequenceOp)
        created = make_data_global(f"{GLOBAL_PREFIX}{self.next_number}", data)
        # Globals stand in the device, before the sequence that reads them.
        rewriter.insert(created, InsertPoint.before(op if sequence is None else sequence))
        self.next_number += 1
        return created


@dataclass(frozen=True)
class DmaToNpuPass(Pass):
    name = "aie-dma-to-npu"
    anchor = "aie.device"

    guards: Guards = field(default=Guards.UPSTREAM, metadata={"help": "which limits of the hardware are checked"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        # One pattern for all of them: it only makes addresses absolute.
        relative, channels = BufferToAddress(), ChannelAllocations(op)
        # Upstream makes a constant wherever one is used; `opt` shows its form.
        constants = SharedConstants() if self.guards is Guards.FULL else None
        convert(
            op,
            {
                NpuDmaMemcpyNdOp: MemcpyToWriteBd(channels, self.guards, constants),
                NpuDmaWaitOp: DmaWaitToSync(channels, constants),
                NpuPushQueueOp: PushQueueToWrite32(op, self.guards, constants),
                NpuWriteRTPOp: RtpWriteToWrite32(),
                NpuWriteBdOp: WriteBdToBlockWrite(op, self.guards, constants),
                NpuBlockWriteOp: relative,
                NpuWrite32Op: relative,
                NpuMaskWrite32Op: relative,
                NpuWriteWordsOp: relative,
                NpuMaskPollOp: relative,
            },
        )
