"""Descriptors as register writes, for transfers and tasks alike.

A descriptor with values that are only known at run time is a template, written with zeros for them, and a write of each
word that they are part of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tilewright.device import DeviceModel, TileId
from tilewright.device.bd import AX_CACHE, ShimBd
from tilewright.device.layout import Field
from tilewright.dialects.aiex.access_pattern import ITERATION, HardwarePattern, encode
from tilewright.dialects.aiex.attributes import StateTableFunction
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.firmware import NpuUpdateFromScratchpadOp
from tilewright.dialects.aiex.guards import NpuAssertBdDivisibleOp, NpuAssertBdFieldOp
from tilewright.dialects.aiex.instructions import NpuSyncOp, NpuWrite32Op
from tilewright.passes.emission import Emitter, Number, known

WORD_BYTES = 4


@dataclass(frozen=True)
class RuntimePattern:
    """An access pattern of which some numbers are not known, innermost first."""

    sizes: Sequence[Number]
    strides: Sequence[Number]

    @property
    def is_known_contiguous(self) -> bool:
        """Whether the known numbers suffice to see that a run is one row-major scan."""
        size0, size1, size2, _ = map(known, self.sizes)
        stride0, stride1, stride2, _ = map(known, self.strides)
        if stride0 != 1:
            return False
        if size1 != 1 and (size0 is None or stride1 != size0):
            return False
        return size2 == 1 or (size0 is not None and size1 is not None and stride2 == size0 * size1)


@dataclass(frozen=True)
class ShimDescriptor:
    """A descriptor of a shim tile, whose number may be known at run time only."""

    model: DeviceModel
    place: TileId
    bd_id: Number

    def base(self, emit: Emitter) -> SSAValue:
        """The address of its first word."""
        bd_id = known(self.bd_id)
        if bd_id is not None:
            return emit.constant(self.model.bd_address(*self.place, bd_id))
        first, second = (self.model.bd_address(*self.place, number) for number in (0, 1))
        return emit.add(emit.constant(first), emit.multiply(emit.number(self.bd_id), second - first))

    def write(self, emit: Emitter, base: SSAValue, field: Field, value: SSAValue) -> None:
        """Write the word that a field is in."""
        offset, address = WORD_BYTES * field.word, known(base)
        target = emit.add(base, emit.constant(offset)) if address is None else emit.constant(address + offset)
        emit.emit(NpuWrite32Op(target, value))

    def write_template(self, emit: Emitter, words: Sequence[int]) -> None:
        """Write the words that are known, where the address is not: a block write would need it."""
        base = self.base(emit)
        for field in (ShimBd.address_low, ShimBd.packet_id, ShimBd.burst_length, ShimBd.ax_cache, ShimBd.valid_bd):
            self.write(emit, base, field, emit.constant(words[field.word]))

    def write_pattern(
        self,
        emit: Emitter,
        pattern: RuntimePattern,
        limits: DescriptorLimits,
        burst_bytes: int,
        length: SSAValue | None = None,
    ) -> SSAValue:
        """Write the words that sizes, strides and length are part of. Returns the repeat count of the outermost size.

        The length is in granules; without one, it is that of the pattern.
        """
        sizes, strides = ([emit.number(n) for n in numbers] for numbers in (pattern.sizes, pattern.strides))
        hardware = encode(sizes, strides, limits.element_bits, limits.granule_bits, emit)
        if length is None:
            length = emit.product(emit.product(hardware.sizes[0], sizes[1]), sizes[2])
        is_linear = pattern.is_known_contiguous
        _guard_fields(emit, pattern, hardware, limits, is_linear)
        _guard_granules(emit, pattern, sizes, strides, limits)
        base = self.base(emit)
        self.write(emit, base, ShimBd.buffer_length, length)
        if not is_linear:
            self._write_dimensions(emit, base, hardware, burst_bytes)
        # A repeat without a stride is left to the queue; the descriptor then must not iterate.
        iterations = emit.select_greater(strides[ITERATION], 0, hardware.sizes[ITERATION], emit.constant(0))
        fields = [(ShimBd.iteration_wrap, iterations), (ShimBd.iteration_step, hardware.strides[ITERATION])]
        self.write(emit, base, ShimBd.iteration_wrap, emit.word(fields))
        outermost = known(pattern.sizes[ITERATION])
        return hardware.sizes[ITERATION] if outermost is None else emit.constant(max(outermost - 1, 0))

    def _write_dimensions(
        self, emit: Emitter, base: SSAValue, hardware: HardwarePattern[SSAValue], burst_bytes: int
    ) -> None:
        wraps, steps = hardware.sizes, hardware.strides
        d0 = emit.word([(ShimBd.d0_wrap, wraps[0]), (ShimBd.d0_step, steps[0])])
        self.write(emit, base, ShimBd.d0_wrap, d0)
        known_words = ShimBd.pack(burst_length=self.model.burst_encoding(burst_bytes), ax_cache=AX_CACHE)
        d1 = [(ShimBd.d1_wrap, wraps[1]), (ShimBd.d1_step, steps[1])]
        self.write(emit, base, ShimBd.d1_wrap, emit.word(d1, known_words[ShimBd.d1_wrap.word]))
        d2 = [(ShimBd.d2_step, steps[2])]
        self.write(emit, base, ShimBd.d2_step, emit.word(d2, known_words[ShimBd.d2_step.word]))


def _guard_fields(
    emit: Emitter,
    pattern: RuntimePattern,
    hardware: HardwarePattern[SSAValue],
    limits: DescriptorLimits,
    is_linear: bool,
) -> None:
    """Have the generated code check that sizes fit their fields. A linear transfer leaves the wraps unused."""
    wraps = () if is_linear else ((0, limits.max_wrap), (1, limits.max_wrap))
    for dimension, limit in (*wraps, (ITERATION, limits.max_iterations - 1)):
        if known(pattern.sizes[dimension]) is None:
            emit.emit(NpuAssertBdFieldOp(hardware.sizes[dimension], limit))


def _guard_granules(
    emit: Emitter,
    pattern: RuntimePattern,
    sizes: Sequence[SSAValue],
    strides: Sequence[SSAValue],
    limits: DescriptorLimits,
) -> None:
    """Have the generated code check that the innermost size and the strides are whole granules."""
    divisor = limits.elements_per_granule
    if divisor == 1:
        return
    if known(pattern.sizes[0]) is None:
        emit.emit(NpuAssertBdDivisibleOp(sizes[0], divisor))
    for dimension, (number, value) in enumerate(zip(pattern.strides, strides, strict=True)):
        if known(number) is None:
            emit.emit(NpuAssertBdDivisibleOp(value, divisor, allow_unit=dimension == 0))


def argument_offset(
    emit: Emitter, offsets: Sequence[Number], strides: Sequence[Number], element_bytes: int, base_bytes: int
) -> SSAValue:
    """How many bytes into its argument a transfer starts: sum of offset * stride, and a base."""
    pairs = list(zip(offsets, strides, strict=True))
    products = [None if (o := known(a)) is None or (s := known(b)) is None else o * s for a, b in pairs]
    if None not in products:
        return emit.constant(base_bytes + element_bytes * sum(product for product in products if product is not None))
    total = emit.constant(0)
    for offset, stride in pairs:
        total = emit.add(total, emit.product(emit.number(offset), emit.number(stride)))
    total = emit.multiply(total, element_bytes)
    return total if base_bytes == 0 else emit.add(total, emit.constant(base_bytes))


def address_register(model: DeviceModel, place: TileId, bd_id: int) -> int:
    """The register that holds the address in a descriptor, its low part in a shim tile's."""
    return model.bd_address(*place, bd_id) + WORD_BYTES * model.registers(*place).bd_address_word


def add_scratchpad_offset(emit: Emitter, index: IntegerAttr | None, element_bytes: int, register: int) -> None:
    """Move a descriptor by as many elements as the scratchpad entry `index` says."""
    if index is not None:
        emit.emit(
            NpuUpdateFromScratchpadOp(
                StateTableFunction.mul, element_bytes, state_table_idx=index.value.data, address=register
            )
        )


def wait_for_token(emit: Emitter, place: TileId, direction: int, channel: int) -> NpuSyncOp:
    return NpuSyncOp(emit.constants(place.column, place.row, direction, channel, 1, 1))
