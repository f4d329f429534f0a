"""Lowers transfers, waits, queue pushes and descriptors to register writes, patches and waits."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from tilewright.device import MAX_PACKET_ID, DmaDirection, TileId
from tilewright.device.registers import ChannelControl, MemTileTaskQueue, TaskQueue
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.lookup import device_model, lookup_symbol, parent_of_type, tile_of
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.access_pattern import ITERATION, AccessPattern, encode_integers
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits, pattern_violation
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp, NpuMaskWrite32Op, NpuWrite32Op, NpuWriteRTPOp, Placed
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp, NpuDmaWaitOp
from tilewright.dialects.aiex.queue import NpuAddressPatchOp, NpuPushQueueOp
from tilewright.dialects.aiex.resolution import absolute_address
from tilewright.dialects.aiex.write_bd import PADDING, NpuWriteBdOp
from tilewright.dialects.memref.buffers import GetGlobalOp, GlobalOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.argument_trace import trace_to_argument
from tilewright.passes.descriptor_lowering import (
    WORD_BYTES,
    RuntimePattern,
    ShimDescriptor,
    add_scratchpad_offset,
    address_register,
    argument_offset,
    wait_for_token,
)
from tilewright.passes.device_tiles import tile_at
from tilewright.passes.emission import Emitter, known
from tilewright.passes.legalization import convert

WORD_BITS = 32
WORD_MASK = (1 << WORD_BITS) - 1
GLOBAL_PREFIX = "blockwrite_data_"


class MemcpyToWriteBd(RewritePattern):
    """A transfer is a descriptor, the address of its buffer, and a push onto the channel's queue."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaMemcpyNdOp, rewriter: PatternRewriter) -> None:
        allocation = op.allocation
        if allocation is None:
            fail_op(op, "couldn't find shim_dma_allocation op.")
        place = op.tile.place if op.tile is not None else None
        if place is None:
            fail_op(op, "shim_dma_allocation op must reference a valid TileOp.")
        emit = Emitter(rewriter)
        pattern = op.constant_pattern
        if pattern is None:
            repeat = write_runtime_descriptor(op, place, emit)
            patch_buffer(op, place, emit)
        else:
            repeat_count = write_descriptor(op, place, pattern, allocation, emit)
            patch_buffer(op, place, emit)
            repeat = emit.constant(repeat_count)
        push = NpuPushQueueOp(
            *place,
            allocation.direction,
            allocation.channel,
            bd_id=emit.constant(op.id.value.data),
            repeat_count=repeat,
            issue_token=op.issues_token or allocation.direction is DmaDirection.S2MM,
        )
        rewriter.replace(op, push)


def write_descriptor(
    op: NpuDmaMemcpyNdOp, place: TileId, pattern: AccessPattern, allocation: ShimDmaAllocationOp, emit: Emitter
) -> int:
    """Write a descriptor of which all is known. Returns the repeat count for its push."""
    model = device_model(op)
    text = pattern_violation(model, *place, op.element_bits, pattern)
    if text is not None:
        fail_op(op, text)
    if model.is_mem_tile(*place) and allocation.direction is DmaDirection.S2MM and op.is_padded:
        fail_op(op, "MemTile supports zero padding only on MM2S direction")
    hardware = encode_integers(pattern, op.element_bits, model.granule_bits)
    wraps, steps = hardware.sizes, hardware.strides
    fields = template_fields(op, place)
    fields["buffer_length"] = wraps[0] * pattern.sizes[1] * pattern.sizes[2]
    if not (pattern.is_linear or (model.is_shim_noc(*place) and pattern.is_contiguous)):
        fields |= {"d0_size": wraps[0], "d0_stride": steps[0], "d1_size": wraps[1], "d1_stride": steps[1]}
        fields["d2_stride"] = steps[2]
    if pattern.sizes[ITERATION] > 1 and pattern.strides[ITERATION] > 0:
        fields |= {"iteration_size": wraps[ITERATION], "iteration_stride": steps[ITERATION]}
    for name in PADDING:
        padding = op.properties.get(name)
        fields[name] = padding.value.data if isinstance(padding, IntegerAttr) else 0
    emit.emit(NpuWriteBdOp(**fields))
    return wraps[ITERATION]


def write_runtime_descriptor(op: NpuDmaMemcpyNdOp, place: TileId, emit: Emitter) -> SSAValue:
    """Write a template, then the words that runtime values are part of. Returns the repeat count for its push."""
    model = device_model(op)
    emit.emit(NpuWriteBdOp(**template_fields(op, place)))
    limits = DescriptorLimits.of_tile(model, *place, op.element_bits)
    assert limits is not None, "the verifier refuses runtime patterns on other tiles"
    pattern = RuntimePattern(op.mixed_sizes[::-1], op.mixed_strides[::-1])
    descriptor = ShimDescriptor(model, place, op.id.value.data)
    return descriptor.write_pattern(emit, pattern, limits, op.burst_length.value.data)


def template_fields(op: NpuDmaMemcpyNdOp, place: TileId) -> dict[str, int]:
    """The fields of a descriptor that do not depend on the pattern."""
    fields = {"column": place.column, "row": place.row, "bd_id": op.id.value.data, "valid_bd": 1}
    fields["burst_length"] = op.burst_length.value.data
    if op.packet is not None:
        fields |= {"enable_packet": 1, "packet_type": op.packet.pkt_type.data, "packet_id": op.packet.pkt_id.data}
    return fields


def patch_buffer(op: NpuDmaMemcpyNdOp, place: TileId, emit: Emitter) -> None:
    """Put the address of the host's buffer into the descriptor."""
    sequence = parent_of_type(op, RuntimeSequenceOp)
    if sequence is None:
        fail_op(op, "NpuDmaMemcpyNdOps must have RuntimeSequenceOp parent at time of lowering.")
    part = trace_to_argument(op.memref)
    if part is None or part.argument.block is not sequence.body.first_block:
        fail_op(
            op,
            "memref must be a block argument or subview/cast/reinterpret_cast of a block argument with static offsets, "
            "sizes, and strides",
        )
    element_bytes = op.element_bits // 8
    register = address_register(device_model(op), place, op.id.value.data)
    offset = argument_offset(emit, op.mixed_offsets[::-1], op.mixed_strides[::-1], element_bytes, part.offset_bytes)
    emit.emit(NpuAddressPatchOp(register, part.argument.index, offset))
    add_scratchpad_offset(emit, op.offset_state_table_idx, element_bytes, register)


class DmaWaitToSync(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaWaitOp, rewriter: PatternRewriter) -> None:
        device = parent_of_type(op, Target)
        if device is None:
            fail(op, "couldn't find parent of type DeviceOp")
        allocation = lookup_symbol(device, op.symbol)
        if not isinstance(allocation, ShimDmaAllocationOp):
            fail(op, "couldn't find shim_dma_allocation op")
        tile = tile_of(allocation.tile)
        if tile is None or not tile.is_placed or tile.place is None:
            fail(op, "shim_dma_allocation op must reference a valid TileOp")
        rewriter.replace(op, wait_for_token(Emitter(rewriter), tile.place, allocation.direction, allocation.channel))


class PushQueueToWrite32(RewritePattern):
    """A push is a write to the queue register. Tokens carry the tile's controller id, which is set before."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuPushQueueOp, rewriter: PatternRewriter) -> None:
        emit, model, place = Emitter(rewriter), device_model(op), op.place
        direction, channel = op.dma_direction, op.channel.value.data
        if op.issue_token:
            set_controller_id(op, place, model.channel_control_address(*place, direction, channel), emit)
        queue = MemTileTaskQueue if model.is_mem_tile(*place) else TaskQueue
        (token,) = queue.pack(enable_token_issue=1 if op.issue_token else 0)
        bd_id, repeat_count = known(op.bd_id), known(op.repeat_count)
        if bd_id is not None and repeat_count is not None:
            (word,) = queue.pack(start_bd_id=bd_id, repeat_count=repeat_count)
            value = emit.constant(word | token)
        else:
            fields = [(queue.start_bd_id, emit.number(op.bd_id)), (queue.repeat_count, op.repeat_count)]
            value = emit.word(fields, token)
        register = emit.constant(model.task_queue_address(*place, direction, channel))
        rewriter.replace(op, NpuWrite32Op(register, value))


def set_controller_id(op: NpuPushQueueOp, place: TileId, control: int, emit: Emitter) -> None:
    """Have a channel's tokens carry the packet id of its tile, if that has one."""
    device = parent_of_type(op, DeviceOp)
    controller_id = tile_at(device, *place).controller_id if device is not None else None
    if controller_id is not None:
        (value,) = ChannelControl.pack(controller_id=controller_id.pkt_id.data)
        (mask,) = ChannelControl.pack(controller_id=MAX_PACKET_ID)
        emit.emit(NpuMaskWrite32Op(emit.constant(control), emit.constant(value), emit.constant(mask)))


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


class BufferToAddress(RewritePattern):
    """Writes that are relative to a buffer become absolute."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match op:
            case NpuBlockWriteOp(buffer=SymbolRefAttr()):
                address = absolute_address(op, op.address.value.data)
                rewriter.replace(op, NpuBlockWriteOp(op.data, address))
            case NpuWrite32Op(buffer=SymbolRefAttr()):
                rewriter.replace(op, NpuWrite32Op(_absolute_operand(op, op.address, rewriter), op.value))
            case NpuMaskWrite32Op(buffer=SymbolRefAttr()):
                address = _absolute_operand(op, op.address, rewriter)
                rewriter.replace(op, NpuMaskWrite32Op(address, op.value, op.mask))
            case _:
                pass


def _absolute_operand(op: Placed, address: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    offset = known(address)
    if offset is None:
        fail(op, "an address relative to a buffer must be a constant")
    return Emitter(rewriter).constant(absolute_address(op, offset & WORD_MASK))


class WriteBdToBlockWrite(RewritePattern):
    """A descriptor is a block write of its words, which are a global. Equal words share one."""

    def __init__(self, device: DeviceOp):
        globals = [op for op in device.body.ops if isinstance(op, GlobalOp)]
        self.by_value = {op.initial_value: op for op in reversed(globals) if op.initial_value is not None}
        numbers = (op.sym_name.data.removeprefix(GLOBAL_PREFIX) for op in globals)
        self.next_number = max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuWriteBdOp, rewriter: PatternRewriter) -> None:
        model, column, row = device_model(op), op.field("column"), op.field("row")
        words = [word - (1 << WORD_BITS) if word >> WORD_BITS - 1 else word for word in op.words()]
        data = self.global_of(op, words, rewriter)
        source = rewriter.insert(GetGlobalOp(data.sym_name.data, data.type))
        rewriter.replace(op, NpuBlockWriteOp(source.results[0], model.bd_address(column, row, op.field("bd_id"))))

    def global_of(self, op: NpuWriteBdOp, words: list[int], rewriter: PatternRewriter) -> GlobalOp:
        value = DenseIntOrFPElementsAttr.from_list(TensorType(i32, [len(words)]), words)
        type = MemRefType(i32, [len(words)])
        existing = self.by_value.get(value)
        if existing is not None and existing.type == type:
            return existing
        sequence = parent_of_type(op, RuntimeSequenceOp)
        name = f"{GLOBAL_PREFIX}{self.next_number}"
        created = GlobalOp.build(
            properties={
                "sym_name": StringAttr(name),
                "sym_visibility": StringAttr("private"),
                "type": type,
                "initial_value": value,
                "constant": UnitAttr(),
            }
        )
        rewriter.insert(created, InsertPoint.before(op if sequence is None else sequence))
        self.next_number += 1
        self.by_value[value] = created
        return created


class DmaToNpuPass(Pass):
    name = "aie-dma-to-npu"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        relative = BufferToAddress()
        convert(
            op,
            {
                NpuDmaMemcpyNdOp: MemcpyToWriteBd(),
                NpuDmaWaitOp: DmaWaitToSync(),
                NpuPushQueueOp: PushQueueToWrite32(),
                NpuWriteRTPOp: RtpWriteToWrite32(),
                NpuWriteBdOp: WriteBdToBlockWrite(op),
                NpuBlockWriteOp: relative,
                NpuWrite32Op: relative,
                NpuMaskWrite32Op: relative,
            },
        )
