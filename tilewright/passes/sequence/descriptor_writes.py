"""Descriptors as register writes, for transfers and tasks alike.

A descriptor with values that are only known at run time is a template, written with zeros for them, and a write of each
word that they are part of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.device import DeviceModel, TileId
from tilewright.device.layout import WORD_BYTES, Field
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes as buffer_element_bytes
from tilewright.dialects.aie.lookup import constant_values
from tilewright.dialects.aie.sequence import declared_elements
from tilewright.dialects.aiex.attributes import StateTableFunction
from tilewright.dialects.aiex.firmware import NpuUpdateFromScratchpadOp
from tilewright.dialects.aiex.instructions import NpuSyncOp, NpuWrite32Op
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.subview_trace import ArgumentPart
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp, descriptor_field, descriptor_words
from tilewright.ir.interned import i32_number
from tilewright.passes.sequence.dma_transfer import DmaTransfer
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.rewrite.emitter import Emitter, Number, known
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.txn.opcodes import largest_offset


@dataclass(frozen=True)
class DescriptorWriter:
    """A descriptor of a tile, whose number may be known at run time only."""

    model: DeviceModel
    place: TileId
    bd_id: Number
    displacement: SSAValue | None = None
    """What is to be added to its address, where the tile is known only at run time."""

    def base(self, emit: Emitter) -> SSAValue:
        """The address of its first word."""
        if self.displacement is not None:
            return emit.add(DescriptorWriter(self.model, self.place, self.bd_id).base(emit), self.displacement)
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

    def write(
        self, numbers: Numbers, checks: LimitChecks, fields: Mapping[str, Number], *, all_fields: bool = False
    ) -> NpuWriteBdOp | None:
        """Write all words, given the fields of `npu.writebd`; those left out are 0.

        Returns the operation that does so, where one does.
        """
        emit, constants = numbers.emit, dict[str, int]()
        unknown = list[tuple[Field, Number]]()
        for name, number in fields.items():
            if (value := known(number)) is not None:
                constants[name] = value
            else:
                field = descriptor_field(self.model, self.place, name)
                assert field is not None, "tiles have been checked for what their descriptors hold"
                unknown.append((field, number))
        checks.descriptor_fields(self.model, self.place, constants)
        # One block write for the template, then a write for each word that is not all known.
        bd_id = known(self.bd_id) if self.displacement is None else None
        if bd_id is not None:
            written = emit.insert(NpuWriteBdOp(**self.place._asdict(), bd_id=bd_id, **constants))
            if not unknown:
                return written
        words = descriptor_words(self.model, self.place._asdict() | constants, all_fields=all_fields)
        by_word = dict[int, list[tuple[Field, Number]]]()
        for field, number in sorted(unknown, key=lambda part: (part[0].word, part[0].lo)):
            by_word.setdefault(field.word, []).append((field, number))
            words[field.word] &= ~field.mask  # a field that is left out need not be 0 there
        base = self.base(emit)
        for word, known_bits in enumerate(words):
            if word in by_word:
                self.write_word(emit, base, word, numbers.word(known_bits, by_word[word]))
            # No block write can have an address that is not known, so every word is a write of its own.
            elif bd_id is None:
                self.write_word(emit, base, word, emit.constant(known_bits))
        return None


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
    check_offset(checks, offset_bytes, *_offset_limits(part, element_bytes))
    check_bounds(checks, part.argument, offset_bytes, transfer, element_bytes)


def _offset_limits(part: ArgumentPart, element_bytes: int) -> tuple[int, int]:
    return largest_offset(part.argument.index), gcd(element_bytes, part.offset_bytes)


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
    if (size := _declared_bytes(buffer)) is not None and checks.enabled:
        end = checks.numbers.add(offset_bytes, _moved_bytes(checks.numbers, transfer, element_bytes))
        checks.bounds(end, size, is_exact=isinstance(buffer.owner, BufferOp))


def _declared_bytes(buffer: SSAValue) -> int | None:
    elements = declared_elements(buffer)
    return None if elements is None else elements * buffer_element_bytes(buffer.type)


def _moved_bytes(numbers: Numbers, transfer: DmaTransfer, element_bytes: int) -> Number:
    return numbers.multiply(numbers.add(transfer.reach(numbers), 1), element_bytes)


def address_register(model: DeviceModel, place: TileId, bd_id: int) -> int:
    """The register that holds the address in a descriptor, its low part in a shim tile's."""
    return model.bd_address(*place, bd_id) + WORD_BYTES * model.registers(*place).bd_address_word


@dataclass(frozen=True)
class RepeatedDescriptor:
    """A descriptor that was written for a part of an argument, and is written again for others.

    All of it is known, and all but where the part starts has been found to be right.
    """

    descriptor: Mapping[str, Attribute]
    patch: Mapping[str, Attribute]
    strides: Sequence[int]
    element_bytes: int
    base_bytes: int
    offset_limits: tuple[int, int]
    moved_bytes: int
    buffer_bytes: int | None
    repeats: int
    """What its push has to do for each time that the program asks for, or how often it repeats."""

    @classmethod
    def of(
        cls,
        written: NpuWriteBdOp | None,
        patch: NpuAddressPatchOp,
        part: ArgumentPart,
        transfer: DmaTransfer,
        strides: Sequence[Number],
        element_bytes: int,
        repeats: Number,
    ) -> RepeatedDescriptor | None:
        """None if there is something that is not known."""
        moved, steps = transfer.known_reach, constant_values(strides)
        if written is None or moved is None or None in steps or not isinstance(repeats, int):
            return None
        return cls(
            written.properties,
            patch.properties,
            cast("list[int]", steps),
            element_bytes,
            part.offset_bytes,
            _offset_limits(part, element_bytes),
            (moved + 1) * element_bytes,
            _declared_bytes(part.argument),
            repeats,
        )

    def write(self, emit: Emitter, op: Operation, guards: Guards, offsets: Sequence[int], **fields: int) -> None:
        """Write it for another part, with some fields that it has otherwise."""
        checks = LimitChecks(op, Numbers(emit), guards)
        properties = {**self.descriptor, **{name: i32_number(number) for name, number in fields.items()}}
        emit.insert(NpuWriteBdOp.create(properties=properties))
        offset_bytes = offset_in_bytes(
            checks.numbers, checks, offsets, self.strides, self.element_bytes, self.base_bytes
        )
        check_offset(checks, offset_bytes, *self.offset_limits)
        checks.bounds(checks.numbers.add(offset_bytes, self.moved_bytes), self.buffer_bytes, is_exact=False)
        emit.insert(NpuAddressPatchOp.create(operands=[emit.number(offset_bytes)], properties=self.patch))


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
