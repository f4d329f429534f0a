"""The instruction set as its tables say: a row for each instruction, the formats of bundles, and the registers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from tilewright.errors import UnknownNameError
from tilewright.isa.registers import CoreRegister, RegisterClass, RegisterTable, read_registers

ARCHITECTURES = ("aie2", "aie2p")
_IMMEDIATE = re.compile(r"(?P<kind>[sun])(?P<bits>\d+)(?:x(?P<step>\d+))?$")
_OPERAND = re.compile(
    r"(?P<letter>[a-z]?)(?P<io>[<>=]+)(?P<kind>\w+)(?:@(?P<cycle>\d+))?(?:~(?P<bypass>\w+)(?::(?P<only>\w+))?)?$"
)
_WORD = re.compile(r"(?<![\w.])[a-z](?!\w)")
MEMORY = "memory@"
SIZE_BITS = 4
"""So many of the lowest bits of a bundle say how long it is."""
UNKNOWN_CYCLE = 0
"""Of operands in tables that give no cycles; those that are given begin with 1."""


@dataclass(frozen=True)
class ImmediateKind:
    """A number in an instruction: its bits, the step that it counts in, and its sign."""

    name: str
    bits: int
    step: int
    is_signed: bool
    is_negative: bool
    """Always: the bits lack the sign, which is 1."""

    def value(self, code: int) -> int:
        if self.is_negative or (self.is_signed and code >> (self.bits - 1)):
            code -= 1 << self.bits
        return code * self.step

    def code(self, value: int) -> int | None:
        """None for a value that does not fit."""
        code, rest = divmod(value, self.step)
        code &= (1 << self.bits) - 1
        return code if not rest and self.value(code) == value else None


@dataclass(frozen=True)
class OperandRow:
    """An operand, or (without a letter) a register that an instruction always uses: when it is read and written."""

    letter: str
    kind: RegisterClass | ImmediateKind | CoreRegister
    read: int | None
    written: int | None
    bypass: str | None = None
    bypassed_file: str | None = None
    """The bypass is for registers of this file alone."""

    def bypass_of(self, register: CoreRegister) -> str | None:
        return self.bypass if self.bypassed_file in (None, register.file) else None


@dataclass(frozen=True)
class InstructionRow:
    """One instruction of the table."""

    slot: str
    record: str
    bits: str
    syntax: str
    operands: tuple[OperandRow, ...]
    meaning: tuple[str, ...]
    memory: tuple[int, ...]
    """The cycles in which data memory is read or written."""
    mask: int = field(repr=False)
    fixed: int = field(repr=False)
    fields: dict[str, tuple[int, ...]] = field(repr=False, hash=False)
    """Bits of each operand in the slot, lowest first."""

    @property
    def mnemonic(self) -> str:
        return self.syntax.partition(" ")[0]

    @property
    def coded(self) -> dict[str, RegisterClass | ImmediateKind]:
        """What each operand with a letter may be."""
        return {it.letter: it.kind for it in self.operands if not isinstance(it.kind, CoreRegister)}


@dataclass(frozen=True)
class BundleFormat:
    """A layout of slots in a bundle."""

    size: int
    """In bytes."""
    name: str
    mask: int
    fixed: int
    slots: dict[str, tuple[int, ...]] = field(hash=False)
    """Bits of each slot in the bundle, lowest first."""


class InstructionSet:
    """The instructions, formats and registers of one architecture."""

    def __init__(self, name: str):
        self.name = name
        self.registers: RegisterTable = read_registers(_lines(name, "registers"))
        self.rows = [self._row(line) for line in _lines(name, "instructions")]
        self.by_record = {row.record: row for row in self.rows}
        self.slots = dict[str, str]()
        self.formats = [*self._formats()]
        self.by_slot: dict[str, list[InstructionRow]] = {
            slot: sorted((row for row in self.rows if row.slot == slot), key=lambda row: -row.mask.bit_count())
            for slot in self.slots.values()
        }
        self.by_mnemonic = dict[str, list[InstructionRow]]()
        for row in self.rows:
            self.by_mnemonic.setdefault(row.mnemonic, []).append(row)
        self.nops = {row.slot: row for row in self.rows if row.meaning == ("nop",)}
        self.has_cycles = all(UNKNOWN_CYCLE not in (it.read, it.written) for row in self.rows for it in row.operands)
        """Whether the tables say when registers are read and written, without which code can be listed, not run."""
        self._sizes = {
            code: form.size
            for form in self.formats
            for code in range(1 << SIZE_BITS)
            if not (code ^ form.fixed) & form.mask & (1 << SIZE_BITS) - 1
        }

    def bundle_size(self, first_byte: int) -> int:
        """How many bytes a bundle has that begins so."""
        return self._sizes[first_byte & (1 << SIZE_BITS) - 1]

    def _row(self, line: str) -> InstructionRow:
        slot, record, bits, syntax, operands, meaning = re.split(r"  +", line)
        words = [] if operands == "-" else operands.split(" ")
        memory = tuple(int(it) for word in words if word.startswith(MEMORY) for it in word[len(MEMORY) :].split("-"))
        rows = tuple(self._operand(word) for word in words if not word.startswith(MEMORY))
        mask, fixed, fields = _pattern(bits)
        return InstructionRow(slot, record, bits, syntax, rows, tuple(meaning.split(" ")), memory, mask, fixed, fields)

    def _operand(self, word: str) -> OperandRow:
        found = _OPERAND.match(word)
        assert found is not None, word
        io, kind = found["io"], found["kind"]
        if io == "=":
            return OperandRow(found["letter"], _immediate(kind), None, None)
        cycle = int(found["cycle"] or UNKNOWN_CYCLE)
        is_register = not found["letter"]
        return OperandRow(
            found["letter"],
            self.registers.named(kind) if is_register else self.registers.classes[kind],
            cycle if "<" in io else None,
            cycle if ">" in io else None,
            found["bypass"],
            found["only"],
        )

    def _formats(self) -> Iterator[BundleFormat]:
        for line in _lines(self.name, "formats"):
            first, name, bits = line.split()
            if first == "slot":
                self.slots[name] = bits
                continue
            mask, fixed, fields = _pattern(bits)
            yield BundleFormat(int(first), name, mask, fixed, {self.slots[it]: at for it, at in fields.items()})


@cache
def instruction_set(name: str = "aie2") -> InstructionSet:
    """The tables of an architecture."""
    if name not in ARCHITECTURES:
        raise UnknownNameError(f"no instructions of {name!r} are known; there are those of {', '.join(ARCHITECTURES)}")
    return InstructionSet(name)


def _lines(architecture: str, table: str) -> Iterable[str]:
    text = files("tilewright.isa").joinpath(architecture, f"{table}.txt").read_text(encoding="utf-8")
    return (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _pattern(bits: str) -> tuple[int, int, dict[str, tuple[int, ...]]]:
    """Which bits are fixed, to what, and those of each letter, lowest first."""
    mask = int("".join("1" if bit in "01" else "0" for bit in bits), 2)
    fixed = int("".join("1" if bit == "1" else "0" for bit in bits), 2)
    fields = dict[str, list[int]]()
    for at, bit in enumerate(reversed(bits)):
        if bit not in "01.":
            fields.setdefault(bit, []).append(at)
    return mask, fixed, {letter: tuple(at) for letter, at in fields.items()}


def _immediate(name: str) -> ImmediateKind:
    found = _IMMEDIATE.match(name)
    assert found is not None, name
    return ImmediateKind(name, int(found["bits"]), int(found["step"] or 1), found["kind"] == "s", found["kind"] == "n")


def placeholders(syntax: str) -> Iterator[tuple[str, str]]:
    """A syntax in pieces: each text as it is written, and the letter of the operand behind it (none at the end)."""
    end = 0
    for found in _WORD.finditer(syntax, len(syntax.partition(" ")[0])):
        yield syntax[end : found.start()], found[0]
        end = found.end()
    yield syntax[end:], ""
