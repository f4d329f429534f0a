"""Registers as their table says: files with their parts, and classes of operands with their codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

NUMBER_BITS = "abcde"
"""Bit 0 and up of a register's number, in the bits of a class."""
_PART = re.compile(r"(?P<file>[a-z]\w*?)(?:\*(?P<step>\d+))?(?:\+(?P<offset>\d+))?$")
_ENCODING = re.compile(r"(?P<bits>[01.a-e]+)=(?P<file>\w+?)(?:\+(?P<offset>\d+))?$")


@dataclass(frozen=True)
class CoreRegister:
    """A register: how listings name it, and the units of storage that it is made of, lowest bits first."""

    file: str
    number: int
    name: str
    bits: int
    units: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RegisterClass:
    """Registers that an operand may be, by their code in the instruction."""

    name: str
    bits: int
    by_code: dict[int, CoreRegister] = field(repr=False, hash=False)
    code_by_name: dict[str, int] = field(repr=False, hash=False)


@dataclass
class RegisterTable:
    """All registers: by file and number, units with their widths, and classes."""

    files: dict[str, list[CoreRegister]] = field(default_factory=dict[str, list[CoreRegister]])
    units: dict[str, int] = field(default_factory=dict[str, int])
    """Bits of each unit of storage; every register is made of such."""
    classes: dict[str, RegisterClass] = field(default_factory=dict[str, RegisterClass])

    def named(self, name: str) -> CoreRegister:
        """A register by the name that tables and listings have for it."""
        return self._by_name[name]

    def __post_init__(self) -> None:
        self._by_name = dict[str, CoreRegister]()

    def add(self, register: CoreRegister) -> None:
        self.files.setdefault(register.file, []).append(register)
        self._by_name.setdefault(register.name, register)
        if register.units == (register.name,) or len(register.units) == 1:
            self.units[register.units[0]] = register.bits


def read_registers(lines: Iterable[str]) -> RegisterTable:
    """The table that `registers.txt` describes."""
    table = RegisterTable()
    for line in lines:
        kind, name, *words = line.split()
        match kind:
            case "file":
                for register in _file(table, name, words):
                    table.add(register)
            case "one":
                bits, *shown = words
                table.add(CoreRegister(name, 0, shown[-1] if shown else name, int(bits), (name,)))
            case "named":
                bits, *names = words
                for number, each in enumerate(names):
                    each, _, own = each.partition(":")
                    table.add(CoreRegister(name, number, each, int(own or bits), (each,)))
            case "class":
                table.classes[name] = _class(table, name, words)
            case _:
                raise ValueError(f"a line of registers that begins with {kind!r}")
    return table


def _file(table: RegisterTable, name: str, words: list[str]) -> Iterator[CoreRegister]:
    count, bits, *rest = words
    shown = rest.pop() if "as" in rest else ""
    parts = [_PART.match(word) for word in rest if word not in ("of", "as")]
    for number in range(int(count)):
        made = [
            table.files[part["file"]][number * int(part["step"] or 1) + int(part["offset"] or 0)]
            for part in parts
            if part is not None
        ]
        text = ":".join(str(it) for it in reversed(made)) if shown == "parts" else f"{shown or name}{number}"
        units = tuple(unit for it in made for unit in it.units) or (f"{name}{number}",)
        yield CoreRegister(name, number, text, int(bits), units)


def _class(table: RegisterTable, name: str, words: list[str]) -> RegisterClass:
    by_code = dict[int, CoreRegister]()
    code_by_name = dict[str, int]()
    width = 0
    for word in words:
        encoding = _ENCODING.match(word)
        assert encoding is not None, word
        bits, registers = encoding["bits"], table.files[encoding["file"]]
        width = len(bits)
        for code, number, is_written in _codes(bits):
            number += int(encoding["offset"] or 0)
            if number < len(registers):
                by_code.setdefault(code, registers[number])
                if is_written:
                    code_by_name.setdefault(registers[number].name, code)
    return RegisterClass(name, width, by_code, code_by_name)


def _codes(bits: str) -> Iterator[tuple[int, int, bool]]:
    """Every code that a pattern has, the number in it, and whether its ignored bits are 0."""
    free = [at for at, bit in enumerate(reversed(bits)) if bit not in "01"]
    fixed = int("".join("1" if bit == "1" else "0" for bit in bits), 2)
    low_first = bits[::-1]
    for chosen in product((0, 1), repeat=len(free)):
        code, number, is_written = fixed, 0, True
        for at, value in zip(free, chosen, strict=True):
            code |= value << at
            if low_first[at] == ".":
                is_written &= not value
            else:
                number |= value << NUMBER_BITS.index(low_first[at])
        yield code, number, is_written
