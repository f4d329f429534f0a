"""Descriptors with runtime values as mlir-aie writes them, operation by operation.

It checks fewer limits than `DmaTransfer` does and cuts what does not fit; `opt` shows this form, `compile` the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.device.bd import AX_CACHE, ShimBd
from tilewright.dialects.aiex.access_pattern import ITERATION, HardwarePattern, encode
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.guards import NpuAssertBdDivisibleOp, NpuAssertBdFieldOp
from tilewright.passes.sequence.descriptor_writes import DescriptorWriter
from tilewright.rewrite.emitter import Emitter, Number, known

# Length, d0 and iteration are left to the pattern. As in mlir-aie, d0 stays as it was where that is linear.
TEMPLATE_WORDS = (ShimBd.address_low, ShimBd.packet_id, ShimBd.burst_length, ShimBd.ax_cache, ShimBd.valid_bd)


@dataclass(frozen=True)
class RuntimePattern:
    """An access pattern of which some numbers are not known, innermost first; dimensions left out run once."""

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
class UpstreamDescriptorWriter(DescriptorWriter):
    """A descriptor of a shim tile."""

    def write_template(self, emit: Emitter, words: Sequence[int]) -> None:
        """Write the words that are known, where the address is not: a block write would need it."""
        base = self.base(emit)
        for field in TEMPLATE_WORDS:
            self.write_word(emit, base, field.word, emit.constant(words[field.word]))

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
        self.write_word(emit, base, ShimBd.buffer_length.word, length)
        if not is_linear:
            self._write_dimensions(emit, base, hardware, burst_bytes)
        # A repeat without a stride is left to the queue; the descriptor then must not iterate.
        iterations = emit.select_greater(strides[ITERATION], 0, hardware.sizes[ITERATION], emit.constant(0))
        fields = [(ShimBd.iteration_wrap, iterations), (ShimBd.iteration_step, hardware.strides[ITERATION])]
        self.write_word(emit, base, ShimBd.iteration_wrap.word, emit.word(fields))
        outermost = known(pattern.sizes[ITERATION])
        return hardware.sizes[ITERATION] if outermost is None else emit.constant(max(outermost - 1, 0))

    def _write_dimensions(
        self, emit: Emitter, base: SSAValue, hardware: HardwarePattern[SSAValue], burst_bytes: int
    ) -> None:
        wraps, steps = hardware.sizes, hardware.strides
        # The words of d1 and d2 also hold burst length and AxCache, which a plain write would set to 0.
        known_words = ShimBd.pack(burst_length=self.model.burst_encoding(burst_bytes), ax_cache=AX_CACHE)
        for fields in (
            [(ShimBd.d0_wrap, wraps[0]), (ShimBd.d0_step, steps[0])],
            [(ShimBd.d1_wrap, wraps[1]), (ShimBd.d1_step, steps[1])],
            [(ShimBd.d2_step, steps[2])],
        ):
            word = fields[0][0].word
            self.write_word(emit, base, word, emit.word(fields, known_words[word]))


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
            emit.insert(NpuAssertBdFieldOp(hardware.sizes[dimension], limit))


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
        emit.insert(NpuAssertBdDivisibleOp(sizes[0], divisor))
    for dimension, (number, value) in enumerate(zip(pattern.strides, strides, strict=True)):
        if known(number) is None:
            emit.insert(NpuAssertBdDivisibleOp(value, divisor, allow_unit=dimension == 0))


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
