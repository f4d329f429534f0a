"""Descriptors as register writes, for transfers and tasks alike.

A descriptor with values that are only known at run time is a template, written with zeros for them, and a write of each
word that they are part of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tilewright.device import DeviceModel, TileId
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.layout import WORD_BYTES, Field
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes as buffer_element_bytes
from tilewright.dialects.aie.sequence import declared_elements
from tilewright.dialects.aiex.attributes import StateTableFunction
from tilewright.dialects.aiex.firmware import NpuUpdateFromScratchpadOp
from tilewright.dialects.aiex.instructions import NpuSyncOp, NpuWrite32Op
from tilewright.dialects.aiex.subview_trace import ArgumentPart
from tilewright.dialects.aiex.write_bd import FOURTH_DIMENSION, REGISTER_FIELDS, NpuWriteBdOp, descriptor_words
from tilewright.passes.sequence.dma_transfer import DmaTransfer
from tilewright.passes.sequence.limit_checks import LimitChecks
from tilewright.rewrite.emitter import Emitter, Number, known
from tilewright.rewrite.exact_arithmetic import Numbers
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
