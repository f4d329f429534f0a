"""Bundles: the bytes of program memory as instructions in slots, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tilewright.errors import Error
from tilewright.isa.registers import CoreRegister, RegisterClass
from tilewright.isa.tables import (
    BundleFormat,
    ImmediateKind,
    InstructionRow,
    InstructionSet,
    instruction_set,
    placeholders,
)


class DecodeError(Error, ValueError):
    """Bytes that are no bundle; `address` is where."""

    def __init__(self, address: int, reason: str):
        self.address, self.reason = address, reason
        super().__init__(f"{address:#x}: {reason}")


@dataclass(frozen=True)
class CoreInstruction:
    """An instruction with its operands."""

    row: InstructionRow
    operands: Mapping[str, CoreRegister | int] = field(hash=False)

    def __str__(self) -> str:
        text = ""
        for before, letter in placeholders(self.row.syntax):
            value = self.operands[letter] if letter else ""
            text += f"{before}#{value}" if isinstance(value, int) else f"{before}{value}"
        return text

    def encode(self) -> int:
        """The bits of its slot."""
        code = self.row.fixed
        for letter, kind in self.row.coded.items():
            value = operand_code(kind, self.operands[letter])
            assert value is not None, (self.row.record, letter)
            for number, at in enumerate(self.row.fields[letter]):
                code |= (value >> number & 1) << at
        return code


@dataclass(frozen=True)
class CoreBundle:
    """Instructions that are issued together."""

    format: BundleFormat
    instructions: tuple[CoreInstruction, ...]
    """In the order of slots in listings: lda, ldb, st, alu or lng, mv, vec."""

    @property
    def size(self) -> int:
        return self.format.size

    def __str__(self) -> str:
        return "; ".join(map(str, self.instructions))

    def encode(self) -> bytes:
        code = self.format.fixed
        for it in self.instructions:
            bits = it.encode()
            for number, at in enumerate(self.format.slots[it.row.slot]):
                code |= (bits >> number & 1) << at
        return code.to_bytes(self.size, "little")


def operand_code(kind: RegisterClass | ImmediateKind, value: CoreRegister | int) -> int | None:
    """The code of an operand; None if it cannot be one."""
    if isinstance(kind, ImmediateKind):
        return kind.code(value) if isinstance(value, int) else None
    return kind.code_by_name.get(value.name) if isinstance(value, CoreRegister) else None


def bundle_size(first_byte: int, isa: InstructionSet | None = None) -> int:
    """How many bytes a bundle has that begins so."""
    return (isa or instruction_set()).bundle_size(first_byte)


def decode_bundle(
    data: bytes, at: int = 0, isa: InstructionSet | None = None, *, address: int | None = None
) -> CoreBundle:
    """The bundle that begins at a byte; `address` is where errors say that it is."""
    isa = isa or instruction_set()
    address = at if address is None else address
    if not 0 <= at < len(data):
        raise DecodeError(address, "a bundle begins behind the end of the program")
    size = isa.bundle_size(data[at])
    if at + size > len(data):
        raise DecodeError(address, f"a bundle of {size} bytes, of which {len(data) - at} are there")
    code = int.from_bytes(data[at : at + size], "little")
    for form in isa.formats:
        if form.size == size and code & form.mask == form.fixed:
            found = [
                _decode_slot(isa, slot, code, form.slots[slot]) for slot in isa.slots.values() if slot in form.slots
            ]
            if None not in found:
                return CoreBundle(form, tuple(it for it in found if it is not None))
    raise DecodeError(address, f"no instructions: {data[at : at + size].hex(' ')}")


def decode(data: bytes, isa: InstructionSet | None = None, *, address: int = 0) -> Iterator[tuple[int, CoreBundle]]:
    """Bundles one behind the other, each with its address; the first is at `address`."""
    at = 0
    while at < len(data):
        bundle = decode_bundle(data, at, isa, address=address + at)
        yield address + at, bundle
        at += bundle.size


def _decode_slot(isa: InstructionSet, slot: str, code: int, places: tuple[int, ...]) -> CoreInstruction | None:
    bits = 0
    for number, at in enumerate(places):
        bits |= (code >> at & 1) << number
    return _find(isa, slot, bits)


@lru_cache(1 << 14)
def _find(isa: InstructionSet, slot: str, bits: int) -> CoreInstruction | None:
    """The instruction with the most fixed bits among those that fit, whose registers there are."""
    for row in isa.by_slot[slot]:
        if bits & row.mask == row.fixed:
            operands = _operands(row, bits)
            if operands is not None:
                return CoreInstruction(row, operands)
    return None


def _operands(row: InstructionRow, bits: int) -> dict[str, CoreRegister | int] | None:
    found = dict[str, CoreRegister | int]()
    for letter, kind in row.coded.items():
        code = sum((bits >> at & 1) << number for number, at in enumerate(row.fields[letter]))
        if isinstance(kind, ImmediateKind):
            found[letter] = kind.value(code)
        elif code in kind.by_code:
            found[letter] = kind.by_code[code]
        else:
            return None
    return found
