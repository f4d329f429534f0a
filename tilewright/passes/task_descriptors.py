"""The descriptors of a task as register writes."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.device import Arch, DmaDirection, LockAction, TileId
from tilewright.device.bd import CoreBd, MemTileBd
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.lookup import device_model
from tilewright.dialects.aiex.access_pattern import DIMENSIONS, ITERATION, AccessPattern, encode_integers
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits, pattern_violation, realizability_violation
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op, NpuWrite32Op
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.dialects.aiex.values import constant_values
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp, descriptor_words
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.argument_trace import trace_to_argument
from tilewright.passes.descriptor_lowering import (
    WORD_BYTES,
    RuntimePattern,
    ShimDescriptor,
    add_scratchpad_offset,
    address_register,
    argument_offset,
)
from tilewright.passes.emission import Emitter, Number, known


def write_descriptor(
    task: DmaConfigureTaskOp, bd: DmaBdOp, following: int | None, place: TileId, emit: Emitter
) -> None:
    fields = _template_fields(task, bd, following, place)
    is_known = (
        (bd.len is None or bd.constant_len is not None)
        and (bd.offset is None or bd.constant_offset is not None)
        and bd.constant_dimensions is not None
        and task.bd_id_val is None
    )
    if is_known:
        emit.emit(NpuWriteBdOp(**fields | _pattern_fields(task, bd, place)))
    else:
        _write_runtime_descriptor(task, bd, fields, place, emit)
    _write_address(task, bd, place, emit)


def _template_fields(task: DmaConfigureTaskOp, bd: DmaBdOp, following: int | None, place: TileId) -> dict[str, int]:
    """The fields of a descriptor that are always known."""
    fields = {"column": place.column, "row": place.row, "valid_bd": 1, "burst_length": bd.burst_length.value.data}
    if bd.bd_id is not None:
        fields["bd_id"] = bd.bd_id.value.data
    if following is not None:
        fields |= {"use_next_bd": 1, "next_bd": following}
    packet: PacketInfoAttr | None = bd.packet or task.packet
    if packet is not None:
        fields |= {"enable_packet": 1, "packet_type": packet.pkt_type.data, "packet_id": packet.pkt_id.data}
    return fields | _lock_fields(bd, place)


def _lock_fields(bd: DmaBdOp, place: TileId) -> dict[str, int]:
    uses = [op for op in bd.parent.ops if isinstance(op, UseLockOp)] if bd.parent is not None else []
    acquire = next((use for use in uses if use.is_acquire), None)
    release = next((use for use in uses if not use.is_acquire), None)
    if acquire is None or release is None or acquire.lock_op is None or release.lock_op is None:
        return {}
    base = _lock_base(acquire.lock_op, bd, place)
    fields: dict[str, int] = {}
    if acquire.lock_op.number is not None:
        value = _lock_value(acquire)
        waits_for_at_least = acquire.lock_action is LockAction.AcquireGreaterEqual
        fields |= {
            "lock_acq_enable": 1,
            "lock_acq_id": acquire.lock_op.number + base,
            "lock_acq_val": -value if waits_for_at_least else value,
        }
    if release.lock_op.number is not None:
        fields |= {"lock_rel_id": release.lock_op.number + base, "lock_rel_val": _lock_value(release)}
    return fields


def _lock_base(lock: LockOp, bd: DmaBdOp, place: TileId) -> int:
    """Number under which a mem tile's DMA knows lock 0 of the tile of `lock`; other DMAs know only their own locks."""
    model = device_model(bd)
    if lock.place is None or not model.is_mem_tile(*place):
        return 0
    return model.lock_base_index(*place, *lock.place) or 0


def _lock_value(use: UseLockOp) -> int:
    if use.constant is None:
        fail_op(use, "expected the lock value to be a compile-time constant (defined by an arith.constant).")
    return use.constant


def _pattern_fields(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId) -> dict[str, int]:
    """The fields of a descriptor of which all is known."""
    granule_bytes = device_model(bd).granule_bits // 8
    length, offset = bd.len_bytes, bd.offset_bytes
    if offset % granule_bytes != 0:
        fail_op(bd, f"Offset must be aligned to {granule_bytes} byte boundary.")
    if length < granule_bytes:
        fail_op(
            bd,
            f"Transfer size of {length} bytes falls below minimum hardware transfer unit of {granule_bytes} bytes.",
        )
    fields = {"buffer_length": length // granule_bytes, "buffer_offset": offset}
    dimensions = bd.constant_dimensions or []
    if not dimensions:
        _refuse_padding(task, bd, place)
        return fields
    if len(dimensions) > DIMENSIONS:
        fail_op(bd, "At most four data layout transformation dimensions may be provided.")
    if device_model(bd).is_mem_tile(*place) and len(dimensions) > 2:
        fields["d2_size"] = dimensions[2].size
    fields |= _padding_fields(task, bd, place, len(dimensions))
    pattern = AccessPattern.from_outermost([d.size for d in dimensions], [d.stride for d in dimensions])
    return fields | _dimension_fields(bd, place, pattern, fields["buffer_length"])


def _dimension_fields(bd: DmaBdOp, place: TileId, pattern: AccessPattern, length_granules: int) -> dict[str, int]:
    model, element_bits = device_model(bd), bd.element_bytes * 8
    text = pattern_violation(model, *place, element_bits, pattern)
    if text is not None:
        fail_op(bd, text)
    hardware = encode_integers(pattern, element_bits, model.granule_bits)
    wraps, steps = hardware.sizes, hardware.strides
    granule_bytes = model.granule_bits // 8
    if wraps[0] * wraps[1] * wraps[2] != length_granules:
        fail_op(
            bd,
            "Buffer descriptor length does not match length of transfer expressed by lowest three dimensions of data "
            f"layout transformation strides/wraps. BD length is {length_granules * granule_bytes} bytes. Lowest three "
            "dimensions of data layout transformation would result in transfer of "
            f"{wraps[0] * wraps[1] * wraps[2] * granule_bytes} bytes. ",
            (bd, "Do not include the highest dimension size in transfer length, as this is the BD repeat count."),
        )
    fields: dict[str, int] = {}
    if not (pattern.is_linear or (model.is_shim_noc(*place) and pattern.is_contiguous)):
        fields |= {"d0_size": wraps[0], "d0_stride": steps[0], "d1_size": wraps[1], "d1_stride": steps[1]}
        fields["d2_stride"] = steps[2]
    if pattern.strides[ITERATION] != 0:  # a repeat without a stride is left to the queue
        fields |= {"iteration_size": wraps[ITERATION], "iteration_stride": steps[ITERATION]}
    return fields


def _refuse_padding(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId) -> None:
    if bd.pad_dimensions is None:
        return
    if device_model(bd).is_mem_tile(*place) and task.dma_direction is DmaDirection.MM2S:
        fail_op(bd, "Padding requires n-d data layouts expressed as wrap(s) and stride(s).")
    fail_op(bd, "        Padding is supported only on MemTiles.")


def _padding_fields(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId, dimensions: int) -> dict[str, int]:
    """Zeros around each dimension; the list ends with the innermost one."""
    padding = bd.pad_dimensions
    if padding is None:
        return {}
    if not device_model(bd).is_mem_tile(*place):
        fail_op(bd, "Padding is only supported by memtile dma bds.")
    if len(padding) > dimensions:
        fail_op(bd, "Mismatch number of dimensions between padding(s) and wrap(s) and stride(s).")
    if task.dma_direction is not DmaDirection.MM2S:
        fail_op(bd, "supports padding only for MM2S direction on MemTiles.")
    fields: dict[str, int] = {}
    for dimension, pad in enumerate(reversed(list(padding))):
        if dimension < ITERATION:
            fields[f"d{dimension}_zero_before"] = pad.const_pad_before.data
            fields[f"d{dimension}_zero_after"] = pad.const_pad_after.data
    return fields


def _write_runtime_descriptor(
    task: DmaConfigureTaskOp, bd: DmaBdOp, fields: dict[str, int], place: TileId, emit: Emitter
) -> None:
    """Write a template, then the words that runtime values are part of."""
    model, element_bits = device_model(bd), bd.element_bytes * 8
    limits = DescriptorLimits.of_tile(model, *place, element_bits)
    if limits is None or not model.is_shim_noc(*place):
        fail_op(
            bd,
            "runtime-valued BD size/stride/len/bd_id is only supported on shim NOC tiles; use compile-time constants "
            "on other tiles.",
        )
    if bd.pad_dimensions is not None:
        fail_op(bd, "zero padding is not supported with runtime sizes/strides/len.")
    sizes, strides = bd.mixed_sizes[::-1], bd.mixed_strides[::-1]
    text = realizability_violation(limits, constant_values(sizes), constant_values(strides))
    if text is not None:
        fail_op(bd, text)
    if len(sizes) > DIMENSIONS:
        fail_op(bd, "At most four data layout transformation dimensions may be provided.")
    descriptor = ShimDescriptor(model, place, _number_of(task, bd))
    if task.bd_id_val is None:
        emit.emit(NpuWriteBdOp(**fields))
    else:
        descriptor.write_template(emit, descriptor_words(model, fields))
    length: Number | None = bd.constant_len if bd.len is None else bd.len
    if length is None:
        fail_op(
            bd,
            "runtime-valued BD requires an explicit transfer length; provide a `len` for this buffer descriptor.",
        )
    granules = emit.divide(emit.multiply(emit.number(length), element_bits), limits.granule_bits)
    missing = DIMENSIONS - len(sizes)
    pattern = RuntimePattern([*sizes, *[1] * missing], [*strides, *[0] * missing])
    descriptor.write_pattern(emit, pattern, limits, bd.burst_length.value.data, granules)


def _number_of(task: DmaConfigureTaskOp, bd: DmaBdOp) -> Number:
    if task.bd_id_val is not None:
        return task.bd_id_val
    assert bd.bd_id is not None, "descriptors are checked before they are written"
    return bd.bd_id.value.data


def _write_address(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId, emit: Emitter) -> None:
    """Have the descriptor point to its buffer: an argument of the sequence, or one in the array."""
    model = device_model(bd)
    number = known(_number_of(task, bd))
    register = address_register(model, place, number or 0)
    part = trace_to_argument(bd.buffer)
    if part is not None:
        if not model.is_shim_noc(*place):
            fail_op(bd, "DDR memory (runtime input arguments) can only be referred to on shim tiles.")
        runtime_register = _runtime_register(task, bd, place, emit) if number is None else None
        offset = bd.offset if bd.offset is not None else bd.constant_offset or 0
        offset_bytes = argument_offset(emit, [offset], [1], bd.element_bytes, part.offset_bytes)
        emit.emit(NpuAddressPatchOp(register, part.argument.index, offset_bytes, runtime_register))
    elif isinstance(buffer := bd.buffer.owner, BufferOp):
        _write_buffer_address(bd, buffer, place, register, emit)
    else:
        fail_op(
            bd,
            "Buffer argument must be a constant aie.buffer, a runtime sequence input argument, or a supported chain of "
            "memref.subview, memref.view, memref.cast, or memref.reinterpret_cast operations rooted at a block "
            "argument. Subviews must be static and contiguous; views must have a constant byte shift and no dynamic "
            "result sizes.",
        )
    add_scratchpad_offset(emit, bd.offset_state_table_idx, bd.element_bytes, register)


def _runtime_register(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId, emit: Emitter) -> SSAValue:
    model = device_model(bd)
    base = ShimDescriptor(model, place, _number_of(task, bd)).base(emit)
    return emit.add(base, emit.constant(WORD_BYTES * model.registers(*place).bd_address_word))


def _write_buffer_address(bd: DmaBdOp, buffer: BufferOp, place: TileId, register: int, emit: Emitter) -> None:
    model = device_model(bd)
    if buffer.address_bytes is None:
        fail_op(
            bd,
            "Cannot lower buffer without associated address. Run pass --aie-assign-buffer-addresses first or manually "
            "assign an address.",
        )
    address = buffer.address_bytes + bd.offset_bytes
    if model.is_core_tile(*place):
        field = CoreBd.address
    elif model.is_mem_tile(*place):
        field = MemTileBd.address
        # Upstream counts from the start of the tile's own memory on AIE2, from that of its west neighbour on AIE2p.
        if model.arch is Arch.AIE2p and buffer.place is not None:
            address += model.memory_base_address(*place, *buffer.place) or 0
    else:
        emit.emit(NpuWrite32Op(emit.constant(register), emit.constant(address)))
        return
    value = address // WORD_BYTES << field.lo
    emit.emit(NpuMaskWrite32Op(emit.constant(register), emit.constant(value), emit.constant(field.mask)))
