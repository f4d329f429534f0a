"""The descriptors of a task as register writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tilewright.device import Arch, DeviceModel, DmaDirection, LockAction, TileId
from tilewright.device.bd import CoreBd, MemTileBd
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.attributes import PacketInfoAttr, packet_violation
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.dma_bd import BdDimLayout, DmaBdOp, known_dimensions
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.lookup import constant_values, device_model
from tilewright.dialects.aiex.access_pattern import DIMENSIONS, ITERATION, AccessPattern, encode_integers
from tilewright.dialects.aiex.descriptor_checks import (
    DescriptorLimits,
    pattern_violation,
    realizability_violation,
)
from tilewright.dialects.aiex.guards import range_requirement
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op, NpuWrite32Op
from tilewright.dialects.aiex.queue import TOO_LARGE_BD_ID, NpuAddressPatchOp
from tilewright.dialects.aiex.subview_trace import ArgumentPart, trace_to_argument
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp, descriptor_words
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.passes.sequence.descriptor_writes import (
    DescriptorWriter,
    RepeatedDescriptor,
    add_scratchpad_offset,
    address_register,
    check_argument_part,
    check_bounds,
    check_offset,
    offset_in_bytes,
)
from tilewright.passes.sequence.dma_transfer import DmaTransfer, KnownTransfers, TransferFields, padded, transfer_of
from tilewright.passes.sequence.limit_checks import MAX_COUNT, Guards, LimitChecks
from tilewright.passes.sequence.upstream_descriptor_writes import (
    RuntimePattern,
    UpstreamDescriptorWriter,
    argument_offset,
)
from tilewright.rewrite.emitter import Emitter, Number, known
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.rewrite.pass_bases import ops_of


class TaskDescriptor:
    """One descriptor of a task on its way to being register writes."""

    def __init__(
        self,
        task: DmaConfigureTaskOp,
        bd: DmaBdOp,
        place: TileId,
        emit: Emitter,
        guards: Guards,
        known_transfers: KnownTransfers,
        *,
        can_repeat: bool = False,
    ):
        self.task, self.bd, self.place, self.emit, self.can_repeat = task, bd, place, emit, can_repeat
        self.known_transfers = known_transfers
        self.repeated: RepeatedDescriptor | None = None
        """What has been written, if it can be written again for another part of the buffer."""
        self.model, self.element_bytes = device_model(bd), bd.element_bytes
        self.bd_id = number_of(task, bd)
        self.numbers = Numbers(emit)
        self.checks = LimitChecks(bd, self.numbers, guards)
        self.sizes, self.strides = bd.mixed_sizes, bd.mixed_strides
        self.length = bd.len if bd.has_values and bd.len is not None else bd.constant_len
        self.offset: Number = (bd.offset if bd.has_values else None) or bd.constant_offset or 0
        self.dimensions = known_dimensions(self.sizes, self.strides)
        self.is_known = (
            (self.length is None or known(self.length) is not None)
            and known(self.offset) is not None
            and self.dimensions is not None
        )

    def write(self, following: Number | None) -> Number:
        """Write all of it; `following` is the number of the one that the DMA goes on to.

        Returns how often its push has to run it for each time that the program asks for.
        """
        if self.checks.enabled:
            _check_acquire(self.bd, self.model.max_lock_value)
        elif not 0 <= (known(self.bd_id) or 0) <= self.model.num_bds(*self.place):
            fail_op(self.bd, TOO_LARGE_BD_ID)
        fields = _template_fields(self.task, self.bd, following, self.place)
        # Known descriptors are the same words in both modes; upstream's runtime form is another sequence of writes.
        if self.checks.enabled or (self.is_known and known(self.bd_id) is not None):
            written, transfer, runs = self._write_fields(fields)
            patched = self._write_address(transfer)
            if patched is not None and self.is_known and self.bd.offset_state_table_idx is None:
                self.repeated = RepeatedDescriptor.of(written, *patched, transfer, [1], self.element_bytes, runs)
            return runs
        self._write_as_upstream({name: value for name, value in fields.items() if isinstance(value, int)})
        self._write_address(None)
        return 1

    def _write_fields(self, fields: dict[str, Number]) -> tuple[NpuWriteBdOp | None, DmaTransfer, Number]:
        task, bd, place = self.task, self.bd, self.place
        if self.checks.enabled:
            reached = self.model.accessible_bds(*place, task.channel.value.data)
            self.checks.descriptor_number(self.bd_id, reached)
            self.checks.descriptor_number(fields.get("next_bd", self.bd_id), reached, "number of the next descriptor")
            packet: PacketInfoAttr | None = bd.packet or task.packet
            if packet is not None and (text := packet_violation(packet)):
                fail_op(bd, text)
        if self.is_known:
            transfer, made = self._known_transfer(fields)
        else:
            transfer = self._transfer(*self._checked_pattern(), self._explicit_length())
            fields |= _padding_fields(self.task, bd, place, len(self.sizes))
            made = transfer.fields(self.numbers, self.checks)
        writer = DescriptorWriter(self.model, place, self.bd_id)
        return writer.write(self.numbers, self.checks, fields | made.fields), transfer, made.runs

    def _known_transfer(self, fields: dict[str, Number]) -> tuple[DmaTransfer, TransferFields]:
        """Refuses what mlir-aie refuses, in its words. Adds the fields that only a known pattern has."""
        bd, granule_bytes, length_bytes = self.bd, self.model.granule_bits // 8, self.bd.len_bytes
        offset_bytes = (known(self.offset) or 0) * self.element_bytes
        check_alignment(bd, offset_bytes, self.model)
        if length_bytes < granule_bytes:
            fail_op(
                bd,
                f"Transfer size of {length_bytes} bytes falls below minimum hardware transfer unit of {granule_bytes} "
                "bytes.",
            )
        dimensions = self.dimensions or []
        if len(dimensions) > DIMENSIONS:
            fail_op(bd, "At most four data layout transformation dimensions may be provided.")
        fields |= {"buffer_offset": offset_bytes} | _shape_fields(self.task, bd, self.place, dimensions)
        if self.checks.enabled:
            fields.pop("d2_size", None)  # upstream's is the size of another dimension, and goes nowhere
        is_padded = bd.pad_dimensions is not None
        of_tile = self.place, self.element_bytes, self.can_repeat, is_padded
        key = *of_tile, self.length, length_bytes, *self.sizes, *self.strides
        if (found := self.known_transfers.get(key)) is None:
            transfer = self._checked_transfer(dimensions, length_bytes)
            found = self.known_transfers[key] = transfer, transfer.fields(self.numbers, self.checks)
        return found

    def _checked_transfer(self, dimensions: Sequence[BdDimLayout], length_bytes: int) -> DmaTransfer:
        """A transfer of which all is known, and that one descriptor can do."""
        sizes, strides = [d.size for d in dimensions], [d.stride for d in dimensions]
        length = length_bytes // self.element_bytes
        if self.checks.enabled:
            # as they are written: upstream cuts them to 32 bits
            length = length if self.length is None else self.length
            transfer = self._transfer(self.sizes[::-1], self.strides[::-1], length)
            # what mlir-aie cannot do is not refused in its words
            if (walk := transfer.walk(self.numbers)).is_whole is True or walk.is_split is True:
                return transfer
        else:
            transfer = self._transfer(sizes[::-1], strides[::-1], length)
        if dimensions:
            pattern = AccessPattern.from_outermost(sizes, strides)
            granules = length_bytes * 8 // self.model.granule_bits
            _check_pattern(self.bd, self.model, self.place, pattern, granules)
        return transfer

    def _transfer(self, sizes: Sequence[Number], strides: Sequence[Number], length: Number) -> DmaTransfer:
        # `opt` shows what mlir-aie does, which is to leave loops as they are
        keeps_loops = self.bd.pad_dimensions is not None or not self.checks.enabled
        return transfer_of(
            self.model,
            self.place,
            self._limits(),
            sizes,
            strides,
            length,
            keeps_loops=keeps_loops,
            can_repeat=self.can_repeat,
        )

    def _limits(self) -> DescriptorLimits:
        limits = DescriptorLimits.of_tile(self.model, *self.place, self.element_bytes * 8)
        if limits is None:
            fail_op(
                self.bd,
                "Unsupported tile type at ({}, {}) Must be ShimNOC, Mem or Core.".format(*self.place),
            )
        return limits

    def _checked_pattern(self) -> tuple[list[Number], list[Number]]:
        """Sizes and strides, innermost first, of which some are not known."""
        bd = self.bd
        if bd.pad_dimensions is not None and not self.checks.enabled:
            fail_op(bd, "zero padding is not supported with runtime sizes/strides/len.")
        sizes, strides = self.sizes[::-1], self.strides[::-1]
        text = realizability_violation(self._limits(), constant_values(sizes), constant_values(strides))
        if text is not None:
            fail_op(bd, text)
        if len(sizes) > DIMENSIONS:
            fail_op(bd, "At most four data layout transformation dimensions may be provided.")
        return sizes, strides

    def _explicit_length(self) -> Number:
        if self.length is None:
            fail_op(
                self.bd,
                "runtime-valued BD requires an explicit transfer length; provide a `len` for this buffer descriptor.",
            )
        return self.length

    def _write_as_upstream(self, fields: Mapping[str, int]) -> None:
        """Write a template, then the words that runtime values are part of, in the form that mlir-aie gives them."""
        emit, bd = self.emit, self.bd
        if not self.model.is_shim_noc(*self.place):
            fail_op(
                bd,
                "runtime-valued BD size/stride/len/bd_id is only supported on shim NOC tiles; use compile-time "
                "constants on other tiles.",
            )
        sizes, strides = self._checked_pattern()
        limits = self._limits()
        descriptor = UpstreamDescriptorWriter(self.model, self.place, self.bd_id)
        place = self.place._asdict()
        if (bd_id := known(self.bd_id)) is not None:
            emit.insert(NpuWriteBdOp(**fields, **place, bd_id=bd_id))
        else:
            descriptor.write_template(emit, descriptor_words(self.model, {**fields, **place}))
        length = emit.number(self._explicit_length())
        granules = emit.divide(emit.multiply(length, limits.element_bits), limits.granule_bits)
        pattern = RuntimePattern(*padded(sizes, strides))
        descriptor.write_pattern(emit, pattern, limits, bd.burst_length.value.data, granules)

    def _write_address(self, transfer: DmaTransfer | None) -> tuple[NpuAddressPatchOp, ArgumentPart] | None:
        """Have the descriptor point to its buffer: an argument of the sequence, or one in the array."""
        bd, memory, patched = self.bd, self.bd.operands[0], None
        part = trace_to_argument(memory)
        register = address_register(self.model, self.place, known(self.bd_id) or 0)
        if part is not None:
            patched = self._patch_argument(part, register, transfer), part
        elif isinstance(buffer := memory.owner, BufferOp):
            self._write_buffer_address(buffer, register, transfer)
        else:
            fail_op(
                bd,
                "Buffer argument must be a constant aie.buffer, a runtime sequence input argument, or a supported "
                "chain of memref.subview, memref.view, memref.cast, or memref.reinterpret_cast operations rooted at a "
                "block argument. Subviews must be static and contiguous; views must have a constant byte shift and no "
                "dynamic result sizes.",
            )
        if self.checks.enabled and known(self.bd_id) is None and bd.offset_state_table_idx is not None:
            fail_op(bd, "has an offset from the scratchpad, which needs a descriptor whose number is known")
        add_scratchpad_offset(self.emit, bd.offset_state_table_idx, self.element_bytes, register)
        return patched

    def _offset_bytes(self, base_bytes: int) -> Number:
        return offset_in_bytes(self.numbers, self.checks, [self.offset], [1], self.element_bytes, base_bytes)

    def _patch_argument(self, part: ArgumentPart, register: int, transfer: DmaTransfer | None) -> NpuAddressPatchOp:
        emit, bd = self.emit, self.bd
        if not self.model.is_shim_noc(*self.place):
            fail_op(bd, "DDR memory (runtime input arguments) can only be referred to on shim tiles.")
        runtime_register = self._runtime_register()
        if transfer is None:
            offset = argument_offset(emit, [self.offset], [1], self.element_bytes, part.offset_bytes)
        else:
            offset_bytes = self._offset_bytes(part.offset_bytes)
            check_argument_part(self.checks, part, offset_bytes, transfer, self.element_bytes)
            offset = emit.number(offset_bytes)
        return emit.insert(NpuAddressPatchOp(register, part.argument.index, offset, runtime_register))

    def _runtime_register(self) -> SSAValue | None:
        """The register with the address, where the number of the descriptor is not known."""
        if known(self.bd_id) is not None:
            return None
        base = DescriptorWriter(self.model, self.place, self.bd_id).base(self.emit)
        return self.emit.add(base, self.emit.constant(WORD_BYTES * self.model.registers(*self.place).bd_address_word))

    def _write_buffer_address(self, buffer: BufferOp, register: int, transfer: DmaTransfer | None) -> None:
        emit, bd = self.emit, self.bd
        if buffer.address_bytes is None:
            fail_op(
                bd,
                "Cannot lower buffer without associated address. Run pass --aie-assign-buffer-addresses first or "
                "manually assign an address.",
            )
        runtime_register = self._runtime_register()
        target = emit.constant(register) if runtime_register is None else runtime_register
        offset_bytes: Number = bd.offset_bytes if transfer is None else self._checked_buffer_offset(transfer)
        address = self.numbers.add(buffer.address_bytes + self._window(buffer), offset_bytes)
        if self.model.is_shim_noc(*self.place):
            emit.insert(NpuWrite32Op(target, emit.number(address)))
            return
        field = CoreBd.address if self.model.is_core_tile(*self.place) else MemTileBd.address
        self.checks.within(address, 0, WORD_BYTES * field.limits[-1], "address of the transfer")
        # The field counts words; in a core tile's descriptor it does not begin at bit 0.
        words = self.numbers.multiply(self.numbers.divide(address, WORD_BYTES), 1 << field.lo)
        emit.insert(NpuMaskWrite32Op(target, emit.number(words), emit.constant(field.mask)))

    def _checked_buffer_offset(self, transfer: DmaTransfer) -> Number:
        offset_bytes = self._offset_bytes(0)
        check_offset(self.checks, offset_bytes, MAX_COUNT, self.element_bytes)
        check_bounds(self.checks, self.bd.buffer, offset_bytes, transfer, self.element_bytes)
        return offset_bytes

    def _window(self, buffer: BufferOp) -> int:
        """Where a mem tile's DMA sees the memory of a tile.

        The register counts from the memory of the west neighbour. Upstream does so on AIE2p only.
        """
        is_counted = self.checks.enabled or self.model.arch is Arch.AIE2p
        if not self.model.is_mem_tile(*self.place) or not is_counted or buffer.place is None:
            return 0
        return self.model.memory_base_address(*self.place, *buffer.place) or 0


def check_alignment(bd: DmaBdOp, offset_bytes: int, model: DeviceModel) -> None:
    """Refuse an offset that an address cannot have: it is counted in granules."""
    granule_bytes = model.granule_bits // 8
    if offset_bytes % granule_bytes != 0:
        fail_op(bd, f"Offset must be aligned to {granule_bytes} byte boundary.")


def number_of(task: DmaConfigureTaskOp, bd: DmaBdOp) -> Number:
    """The number of a descriptor."""
    runtime_id = task.runtime_ids.get(bd)
    if runtime_id is not None:
        return runtime_id
    assert bd.bd_id is not None, "descriptors are checked before they are written"
    return bd.bd_id.value.data


def _template_fields(
    task: DmaConfigureTaskOp, bd: DmaBdOp, following: Number | None, place: TileId
) -> dict[str, Number]:
    """The fields of a descriptor that are no part of its pattern; all are known but the number of the next one."""
    fields: dict[str, Number] = {"valid_bd": 1, "burst_length": bd.burst_length.value.data}
    if following is not None:
        fields |= {"use_next_bd": 1, "next_bd": following}
    packet: PacketInfoAttr | None = bd.packet or task.packet
    if packet is not None:
        fields |= {"enable_packet": 1, "packet_type": packet.pkt_type.data, "packet_id": packet.pkt_id.data}
    return fields | _lock_fields(bd, place)


def _lock_fields(bd: DmaBdOp, place: TileId) -> dict[str, int]:
    uses = _lock_uses(bd)
    if not uses:
        return {}
    acquire = next((use for use in uses if use.is_acquire), None)
    release = next((use for use in uses if not use.is_acquire), None)
    # As upstream: two that both wait, or both tell, are left out.
    if len(uses) == 2 and (acquire is None or release is None):
        return {}
    fields: dict[str, int] = {}
    if acquire is not None and (number := _lock_number(acquire, bd, place)) is not None:
        value = _lock_value(acquire)
        # The sign of the register's value tells the two ways of waiting apart.
        waits_for_at_least = acquire.lock_action is LockAction.AcquireGreaterEqual
        fields |= {"lock_acq_enable": 1, "lock_acq_id": number, "lock_acq_val": -value if waits_for_at_least else value}
    if release is not None and (number := _lock_number(release, bd, place)) is not None:
        fields |= {"lock_rel_id": number, "lock_rel_val": _lock_value(release)}
    return fields


def _lock_uses(bd: DmaBdOp) -> list[UseLockOp]:
    return [] if bd.parent is None else ops_of(all_operations(bd.parent), UseLockOp)


def _check_acquire(bd: DmaBdOp, largest: int) -> None:
    """Waiting for a negative number is something else in the register; what a lock cannot hold never comes."""
    for use in _lock_uses(bd):
        if use.is_acquire and not 0 <= (value := _lock_value(use)) <= largest:
            fail_op(use, f"lock value is {value} but {range_requirement(0, largest)}")


def _lock_number(use: UseLockOp, bd: DmaBdOp, place: TileId) -> int | None:
    """Number under which the DMA of a tile knows a lock: mem tiles reach those of their neighbours, too."""
    lock, model = use.lock_op, device_model(bd)
    if lock is None or lock.number is None:
        return None
    if lock.place is None or not model.is_mem_tile(*place):
        return lock.number
    return lock.number + (model.lock_base_index(*place, *lock.place) or 0)


def _lock_value(use: UseLockOp) -> int:
    if use.constant is None:
        fail_op(use, "expected the lock value to be a compile-time constant (defined by an arith.constant).")
    return use.constant


def _check_pattern(
    bd: DmaBdOp, model: DeviceModel, place: TileId, pattern: AccessPattern, length_granules: int
) -> None:
    element_bits = bd.element_bytes * 8
    text = pattern_violation(model, *place, element_bits, pattern)
    if text is not None:
        fail_op(bd, text)
    wraps = encode_integers(pattern, element_bits, model.granule_bits).sizes
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


def _shape_fields(
    task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId, dimensions: Sequence[BdDimLayout]
) -> dict[str, Number]:
    """Fields that only a pattern of which all is known has."""
    if not dimensions:
        _refuse_padding(task, bd, place)
        return {}
    fields: dict[str, Number] = {}
    if device_model(bd).is_mem_tile(*place) and len(dimensions) > 2:
        fields["d2_size"] = dimensions[2].size
    return fields | _padding_fields(task, bd, place, len(dimensions))


def _refuse_padding(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId) -> None:
    if bd.pad_dimensions is None:
        return
    if device_model(bd).is_mem_tile(*place) and task.dma_direction is DmaDirection.MM2S:
        fail_op(bd, "Padding requires n-d data layouts expressed as wrap(s) and stride(s).")
    fail_op(bd, "        Padding is supported only on MemTiles.")


def _padding_fields(task: DmaConfigureTaskOp, bd: DmaBdOp, place: TileId, dimensions: int) -> dict[str, Number]:
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
    fields: dict[str, Number] = {}
    for dimension, pad in enumerate(reversed(list(padding))):
        # The iteration has no fields for zeros.
        if dimension < ITERATION:
            fields[f"d{dimension}_zero_before"] = pad.const_pad_before.data
            fields[f"d{dimension}_zero_after"] = pad.const_pad_after.data
    return fields
