"""Lines of the source that code of an ELF file was compiled from: the line tables of DWARF 2 to 5.

Source: DWARF Debugging Information Format 5, section 6.2, of the DWARF Committee; tables of 32 bits, as cores have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tilewright.support.structure import ContainerError

LINES, LINE_STRINGS, STRINGS = ".debug_line", ".debug_line_str", ".debug_str"
VERSIONS = range(2, 6)
LONG_FORMAT = 0xFFFFFFF0
"""Lengths from here on announce tables of 64 bits."""


class StandardOpcode(IntEnum):
    """DW_LNS."""

    EXTENDED = 0
    COPY = 1
    ADVANCE_PC = 2
    ADVANCE_LINE = 3
    SET_FILE = 4
    SET_COLUMN = 5
    CONST_ADD_PC = 8
    FIXED_ADVANCE_PC = 9


class ExtendedOpcode(IntEnum):
    """DW_LNE."""

    END_SEQUENCE = 1
    SET_ADDRESS = 2
    DEFINE_FILE = 3


class Form(IntEnum):
    """DW_FORM: how an entry of a table of files is written."""

    BLOCK2 = 0x03
    BLOCK4 = 0x04
    DATA2 = 0x05
    DATA4 = 0x06
    DATA8 = 0x07
    STRING = 0x08
    BLOCK = 0x09
    BLOCK1 = 0x0A
    DATA1 = 0x0B
    STRP = 0x0E
    UDATA = 0x0F
    DATA16 = 0x1E
    LINE_STRP = 0x1F


PATH, DIRECTORY_INDEX = 1, 2
"""DW_LNCT of what is read here."""
FIXED_FORMS = {Form.DATA1: 1, Form.DATA2: 2, Form.DATA4: 4, Form.DATA8: 8, Form.DATA16: 16}
BLOCK_FORMS = {Form.BLOCK1: 1, Form.BLOCK2: 2, Form.BLOCK4: 4}


class DwarfLine(NamedTuple):
    """From this address on code is of a line of a file; line 0 ends what came before."""

    address: int
    file: str
    line: int
    column: int


class _Bytes:
    """Bytes that are read one behind the other."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None):
        self.data, self.at = data, at
        self.end = len(data) if end is None else end
        if self.end > len(data):
            raise ContainerError(None, f"the line table at {at:#x} of {LINES} ends behind its section")

    def fixed(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def take(self, size: int) -> bytes:
        if self.at + size > self.end:
            raise ContainerError(None, f"a line table of {LINES} ends too early, at {self.at:#x}")
        self.at += size
        return self.data[self.at - size : self.at]

    def leb(self, *, signed: bool = False) -> int:
        """A number in pieces of seven bits."""
        value = shift = 0
        while True:
            byte = self.fixed(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise ContainerError(None, f"a name in {LINES} does not end")
        found, self.at = self.data[self.at : end], end + 1
        return found.decode(errors="replace")


@dataclass
class _State:
    """The registers that rows are made of."""

    address: int = 0
    file: int = 1
    line: int = 1
    column: int = 0


def dwarf_lines(sections: Mapping[str, bytes]) -> list[DwarfLine]:
    """All rows of the line tables among the sections of a linked file, by address; none where there are no tables."""
    data, at, rows = sections.get(LINES, b""), 0, list[DwarfLine]()
    while at < len(data):
        length = _Bytes(data, at).fixed(4)
        if length >= LONG_FORMAT:
            raise ContainerError(None, f"the line table at {at:#x} of {LINES} is one of 64 bits")
        end = at + 4 + length
        rows += _Table(_Bytes(data, at + 4, end), sections).rows()
        at = end
    return sorted(rows)


class _Table:
    """The header of a table, and the program that makes its rows."""

    def __init__(self, data: _Bytes, sections: Mapping[str, bytes]):
        self.data, self.sections = data, sections
        self.version = data.fixed(2)
        if self.version not in VERSIONS:
            raise ContainerError(None, f"{LINES} has a table of version {self.version}; known are 2 to 5")
        if self.version >= 5:
            data.take(2)  # bytes of an address, which the operations say too, and of a segment
        header_bytes = data.fixed(4)
        program = data.at + header_bytes
        self.smallest = data.fixed(1)
        if self.version >= 4:
            data.take(1)  # operations of an instruction: rows that differ in them alone have the same address
        data.take(1)
        self.line_base, self.line_range = data.fixed(1, signed=True), data.fixed(1)
        self.opcode_base = data.fixed(1)
        self.lengths = [data.fixed(1) for _ in range(self.opcode_base - 1)]
        self.files = self._entries_of_5() if self.version >= 5 else self._entries()
        data.at = program

    def _entries(self) -> list[str]:
        """Names by number; the first is 1."""
        folders = [""]
        while name := self.data.text():
            folders.append(name)
        files = [""]
        while name := self.data.text():
            folder = self.data.leb()
            for _ in ("time", "size"):
                self.data.leb()
            files.append(_joined(folders[folder] if folder < len(folders) else "", name))
        return files

    def _entries_of_5(self) -> list[str]:
        folders = [name for name, _ in self._listed()]
        return [_joined(folders[at] if 0 < at < len(folders) else "", name) for name, at in self._listed()]

    def _listed(self) -> Iterator[tuple[str, int]]:
        formats = [(self.data.leb(), self.data.leb()) for _ in range(self.data.fixed(1))]
        for _ in range(self.data.leb()):
            found = {kind: self._value(form) for kind, form in formats}
            name, folder = found.get(PATH, ""), found.get(DIRECTORY_INDEX, 0)
            yield str(name), folder if isinstance(folder, int) else 0

    def _value(self, form: int) -> str | int:
        data = self.data
        if form in FIXED_FORMS:
            return data.fixed(FIXED_FORMS[Form(form)])
        if form in (Form.LINE_STRP, Form.STRP):
            table = self.sections.get(LINE_STRINGS if form == Form.LINE_STRP else STRINGS, b"")
            return _Bytes(table, data.fixed(4)).text()
        if form == Form.STRING:
            return data.text()
        if form == Form.UDATA:
            return data.leb()
        if form in BLOCK_FORMS or form == Form.BLOCK:
            size = data.leb() if form == Form.BLOCK else data.fixed(BLOCK_FORMS[Form(form)])
            data.take(size)
            return 0
        raise ContainerError(None, f"{LINES} has an entry of form {form:#x}, which is not known")

    def rows(self) -> Iterator[DwarfLine]:
        """Carry out the program."""
        data, state = self.data, _State()
        while data.at < data.end:
            opcode = data.fixed(1)
            if opcode >= self.opcode_base:
                self._advance(state, opcode)
                yield self._row(state)
            elif opcode == StandardOpcode.COPY:
                yield self._row(state)
            elif opcode == StandardOpcode.EXTENDED:
                size = data.leb()
                start, kind = data.at, data.fixed(1)
                if kind == ExtendedOpcode.SET_ADDRESS:
                    state.address = data.fixed(size - 1)
                elif kind == ExtendedOpcode.END_SEQUENCE:
                    yield DwarfLine(state.address, "", 0, 0)
                    state = _State()
                elif kind == ExtendedOpcode.DEFINE_FILE:
                    self.files.append(data.text())
                data.at = start + size
            else:
                self._change(state, opcode)

    def _advance(self, state: _State, opcode: int) -> None:
        steps, line = divmod(opcode - self.opcode_base, max(self.line_range, 1))
        state.address += steps * self.smallest
        state.line += self.line_base + line

    def _change(self, state: _State, opcode: int) -> None:
        data = self.data
        if opcode == StandardOpcode.ADVANCE_PC:
            state.address += data.leb() * self.smallest
        elif opcode == StandardOpcode.ADVANCE_LINE:
            state.line += data.leb(signed=True)
        elif opcode == StandardOpcode.SET_FILE:
            state.file = data.leb()
        elif opcode == StandardOpcode.SET_COLUMN:
            state.column = data.leb()
        elif opcode == StandardOpcode.CONST_ADD_PC:
            state.address += (255 - self.opcode_base) // max(self.line_range, 1) * self.smallest
        elif opcode == StandardOpcode.FIXED_ADVANCE_PC:
            state.address += data.fixed(2)
        else:
            # opcodes of no consequence here, and those that are not known, say how many numbers follow them
            for _ in range(self.lengths[opcode - 1]):
                data.leb()

    def _row(self, state: _State) -> DwarfLine:
        name = self.files[state.file] if 0 <= state.file < len(self.files) else ""
        return DwarfLine(state.address, name, state.line, state.column)


def _joined(folder: str, name: str) -> str:
    return name if not folder or name.startswith("/") else f"{folder}/{name}"
