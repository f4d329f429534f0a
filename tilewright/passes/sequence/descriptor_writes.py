"""Descriptors as register writes, for transfers and tasks alike.

A descriptor with values that are only known at run time is a template, written with zeros for them, and a write of each
word that they are part of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tilewright.device import DeviceModel, TileId
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.layout import WORD_BYTES, Field
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes as buffer_element_bytes
from tilewright.dialects.aie.sequence import declared_elements
from tilewright.dialects.aiex.access_pattern import DIMENSIONS, ITERATION, encode
from tilewright.dialects.aiex.attributes import StateTableFunction
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.firmware import NpuUpdateFromScratchpadOp
from tilewright.dialects.aiex.instructions import NpuSyncOp, NpuWrite32Op
from tilewright.dialects.aiex.subview_trace import ArgumentPart
from tilewright.dialects.aiex.write_bd import FOURTH_DIMENSION, REGISTER_FIELDS, NpuWriteBdOp, descriptor_words
from tilewright.passes.sequence.limit_checks import MAX_COUNT, MAX_ROW, LimitChecks, upper_bound
from tilewright.rewrite.emitter import Emitter, Number, known
from tilewright.rewrite.exact_arithmetic import Condition, Numbers
from tilewright.txn.opcodes import largest_offset

FIELDS = REGISTER_FIELDS | FOURTH_DIMENSION


@dataclass(frozen=True)
class DescriptorWriter:
    """A descriptor of a tile, whose number may be known at run time only."""

    model: DeviceModel
    place: TileId
    bd_id: Number

    def base(self, emit: Emitter) -> SSAValue:
        """The address of its first word."""
        bd_id = known(self.bd_id)
        if bd_id is not None:
            return emit.constant(self.model.bd_address(*self.place, bd_id))
        # Descriptors of a tile are equally far apart, so a runtime number is a multiple of that distance.
        first, second = (self.model.bd_address(*self.place, number) for number in (0, 1))
        return emit.add(emit.constant(first), emit.multiply(emit.number(self.bd_id), second - first))

    def write_word(self, emit: Emitter, base: SSAValue, word: int, value: SSAValue) -> None:
        offset, address = WORD_BYTES * word, known(base)
        target = emit.add(base, emit.constant(offset)) if address is None else emit.constant(address + offset)
        emit.insert(NpuWrite32Op(target, value))

    def write(self, numbers: Numbers, checks: LimitChecks, fields: Mapping[str, Number]) -> None:
        """Write all words, given the fields of `npu.writebd`; those left out are 0."""
        emit, constants = numbers.emit, dict[str, int]()
        unknown = list[tuple[Field, Number]]()
        layout = BD_LAYOUTS[self.model.tile_type(*self.place)]
        for name, number in fields.items():
            if (value := known(number)) is not None:
                constants[name] = value
            else:
                unknown.append((layout.fields[FIELDS[name]], number))
        checks.descriptor_fields(self.model, self.place, constants)
        # One block write for the template, then a write for each word that is not all known.
        if (bd_id := known(self.bd_id)) is not None:
            emit.insert(NpuWriteBdOp(**self.place._asdict(), bd_id=bd_id, **constants))
            if not unknown:
                return
        words = descriptor_words(self.model, self.place._asdict() | constants)
        by_word = dict[int, list[tuple[Field, Number]]]()
        for field, number in sorted(unknown, key=lambda part: (part[0].word, part[0].lo)):
            by_word.setdefault(field.word, []).append((field, number))
        base = self.base(emit)
        for word, known_bits in enumerate(words):
            if word in by_word:
                self.write_word(emit, base, word, numbers.word(known_bits, by_word[word]))
            # No block write can have an address that is not known, so every word is a write of its own.
            elif bd_id is None:
                self.write_word(emit, base, word, emit.constant(known_bits))


def transfer_of(
    model: DeviceModel,
    place: TileId,
    limits: DescriptorLimits,
    sizes: Sequence[Number],
    strides: Sequence[Number],
    length: Number | None = None,
    *,
    is_four_dimensional: bool = False,
) -> DmaTransfer:
    """A walk, innermost first, by the DMA of a tile."""
    longest = BD_LAYOUTS[model.tile_type(*place)].fields["buffer_length"].limits[-1]
    return DmaTransfer(sizes, strides, limits, model.is_shim_noc(*place), longest, length, is_four_dimensional)


def offset_in_bytes(
    numbers: Numbers,
    checks: LimitChecks,
    offsets: Sequence[Number],
    strides: Sequence[Number],
    element_bytes: int,
    base_bytes: int,
) -> Number:
    """How far into its buffer a transfer starts: sum of offset * stride, and a base."""
    checks.offset_terms(offsets, strides)
    elements: Number = 0
    for offset, stride in zip(offsets, strides, strict=True):
        elements = numbers.add(elements, numbers.multiply(offset, stride))
    return numbers.add(numbers.multiply(elements, element_bytes), base_bytes)


def check_argument_part(
    checks: LimitChecks, part: ArgumentPart, offset_bytes: Number, transfer: DmaTransfer, element_bytes: int
) -> None:
    """Check that a transfer from an argument of the sequence starts at a word, and ends in the argument."""
    check_offset(checks, offset_bytes, largest_offset(part.argument.index), gcd(element_bytes, part.offset_bytes))
    check_bounds(checks, part.argument, offset_bytes, transfer, element_bytes)


def check_offset(checks: LimitChecks, offset_bytes: Number, largest: int, unit_bytes: int) -> None:
    """Check that a transfer starts at a word; its offset is a multiple of some bytes anyway."""
    checks.within(offset_bytes, 0, largest, "offset in bytes")
    # A multiple of whole words needs no check at run time.
    if unit_bytes % WORD_BYTES != 0:
        checks.divisible(offset_bytes, WORD_BYTES, "offset in bytes")


def check_bounds(
    checks: LimitChecks, buffer: SSAValue, offset_bytes: Number, transfer: DmaTransfer, element_bytes: int
) -> None:
    """Check that a transfer ends in its buffer, where the size of that is known."""
    if (elements := declared_elements(buffer)) is not None and checks.enabled:
        numbers = checks.numbers
        moved = numbers.multiply(numbers.add(transfer.reach(numbers), 1), element_bytes)
        end, size = numbers.add(offset_bytes, moved), elements * buffer_element_bytes(buffer.type)
        checks.bounds(end, size, is_exact=isinstance(buffer.owner, BufferOp))


def address_register(model: DeviceModel, place: TileId, bd_id: int) -> int:
    """The register that holds the address in a descriptor, its low part in a shim tile's."""
    return model.bd_address(*place, bd_id) + WORD_BYTES * model.registers(*place).bd_address_word


def add_scratchpad_offset(emit: Emitter, index: IntegerAttr | None, element_bytes: int, register: int) -> None:
    """Move a descriptor by as many elements as the scratchpad entry `index` says."""
    if index is not None:
        emit.insert(
            NpuUpdateFromScratchpadOp(
                StateTableFunction.mul, element_bytes, state_table_idx=index.value.data, address=register
            )
        )


def wait_for_token(emit: Emitter, place: TileId, direction: int, channel: int) -> NpuSyncOp:
    return NpuSyncOp(emit.constants(place.column, place.row, direction, channel, 1, 1))


MAX_VALUE = (1 << 63) - 1


@dataclass(frozen=True)
class DmaTransfer:
    """One walk over a buffer: sizes and strides are in elements, innermost first. Without any it is a plain run."""

    sizes: Sequence[Number]
    strides: Sequence[Number]
    limits: DescriptorLimits
    is_shim: bool
    max_length: int
    """What the length field of the descriptor holds, in granules."""
    length: Number | None = None
    """Elements of one run of the descriptor; if none, as many as the sizes say."""
    is_four_dimensional: bool = False
    """Whether one run walks the outermost dimension, too, as mem tiles can. Else it is for repetitions of the run."""

    def fields(self, numbers: Numbers, checks: LimitChecks) -> TransferFields:
        sizes, strides = self._padded()
        is_linear = self._is_linear(numbers, sizes, strides)
        if self.sizes:
            # The iteration field does not count then, so its limit on the outermost size does not hold.
            repeats = [*sizes[:ITERATION], 1] if self.is_four_dimensional else sizes
            checks.pattern(repeats, strides, self.limits, is_linear)
        length = self._checked_length(numbers, checks, sizes)
        hardware = encode(sizes, strides, self.limits.element_bits, self.limits.granule_bits, numbers)
        fields: dict[str, Number] = {"buffer_length": length}
        # A linear run has a length and no loops.
        if is_linear is not True:
            wraps, steps = hardware.sizes, hardware.strides
            loops = {
                "d0_size": wraps[0],
                "d0_stride": steps[0],
                "d1_size": wraps[1],
                "d1_stride": steps[1],
                "d2_stride": steps[2],
            }
            fields |= {name: numbers.select(is_linear, 0, number) for name, number in loops.items()}
        if self.is_four_dimensional:
            checks.within(sizes[2], 1, self.limits.max_wrap, "d2 size")
            step = numbers.select_greater(sizes[ITERATION], 1, strides[ITERATION], 1)
            checks.within(step, 1, self.limits.largest_stride(ITERATION), "d3 stride")
            return TransferFields(fields | {"d2_size": sizes[2], "d3_stride": hardware.strides[ITERATION]}, 0)
        # A repeat without a stride is left to the queue; the descriptor then must not iterate.
        fields["iteration_size"] = numbers.select_greater(strides[ITERATION], 0, hardware.sizes[ITERATION], 0)
        fields["iteration_stride"] = hardware.strides[ITERATION]
        return TransferFields(fields, hardware.sizes[ITERATION])

    def reach(self, numbers: Numbers) -> Number:
        """How many elements lie between the first and the last that are moved."""
        total: Number = 0
        for size, stride in zip(*self._padded(), strict=True):
            total = numbers.add(total, numbers.multiply(numbers.subtract(size, 1), stride))
        return total

    def _padded(self) -> tuple[list[Number], list[Number]]:
        """The sizes and strides of all dimensions, those left out run once."""
        if not self.sizes:
            assert self.length is not None, "a plain run has a length"
            return [self.length, 1, 1, 1], [1, 0, 0, 0]
        return padded(self.sizes, self.strides)

    def _is_linear(self, numbers: Numbers, sizes: Sequence[Number], strides: Sequence[Number]) -> Condition:
        """Whether a run visits consecutive elements, as `AccessPattern` tells for constants."""
        (size0, size1, size2, _), (stride0, stride1, stride2, _) = sizes, strides
        if self.is_four_dimensional:
            return False
        if not self.is_shim:
            pairs = ((size1, 1), (size2, 1), (stride0, 1), (stride1, 0), (stride2, 0))
            if any(dict(pairs)[number] != wanted for number, wanted in pairs):
                return False  # the same number cannot be both; compilers warn of code that asks
            return numbers.all_of(*(numbers.equal(number, wanted) for number, wanted in pairs))
        if (starts := numbers.equal(stride0, 1)) is False:
            return False
        # A dimension that runs once takes no step, so its stride does not matter.
        rows = numbers.any_of(numbers.at_most(size1, 1), numbers.equal(stride1, size0))
        plane = numbers.multiply(size0, size1)
        planes = numbers.any_of(numbers.at_most(size2, 1), numbers.equal(stride2, plane))
        return numbers.all_of(starts, rows, planes)

    def _checked_length(self, numbers: Numbers, checks: LimitChecks, sizes: Sequence[Number]) -> Number:
        """Granules moved by one run."""
        length, bound = self.length, MAX_COUNT
        if self.sizes:
            bound = prod(upper_bound(size) for size in (sizes if self.is_four_dimensional else sizes[:ITERATION]))
            row = numbers.multiply(sizes[0], sizes[1])
            # Only then can the product of three sizes leave 64 bits; the row alone never does.
            if bound > MAX_VALUE:
                checks.within(row, 1, MAX_ROW, "product of d0 and d1 size")
            product = numbers.multiply(row, sizes[2])
            if self.is_four_dimensional:
                product = numbers.multiply(product, sizes[ITERATION])
            if length is not None:
                excess = numbers.subtract(length, product)
                checks.within(excess, 0, 0, "length less the product of d0, d1 and d2 size")
            length = product
        assert length is not None
        most = self.max_length * self.limits.granule_bits // self.limits.element_bits
        if bound > most or not self.sizes:
            checks.within(length, 1, most, "length")
        checks.divisible(length, self.limits.elements_per_granule, "length")
        return numbers.scale(length, self.limits.element_bits, self.limits.granule_bits)


def padded(sizes: Sequence[Number], strides: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """Sizes and strides of all dimensions, innermost first; those left out run once."""
    missing = DIMENSIONS - len(sizes)
    return [*sizes, *[1] * missing], [*strides, *[0] * missing]


@dataclass(frozen=True)
class TransferFields:
    """Fields of a descriptor, named as those of `npu.writebd`, and the repeat count that goes to the queue."""

    fields: dict[str, Number]
    repeat_count: Number
