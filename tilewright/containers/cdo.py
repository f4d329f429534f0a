"""CDO files: commands that set registers and memories of the array, as a device loads them.

Sources: `cdo-binary.c` and `cdo-driver/cdo_driver.c` of bootgen; for what a NPU's firmware reads, `cdo_cmd.c` of
aie-pdi-transform. Addresses are those of the array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from tilewright import txn
from tilewright.containers.effects import MEMORY, PROGRAM, area_of, model_of, uses
from tilewright.device import DeviceModel
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_names import name_address
from tilewright.support.structure import (
    Json,
    Opaque,
    Record,
    Span,
    bytes_of,
    checksum,
    u32,
    words_of,
)

IDENTIFICATION, OLD_IDENTIFICATION = 0x004F4443, 0x584C4E58
"""`CDO` and, in files of older tools, `XLNX`."""
WORDS_BEFORE_CHECKSUM = 4
HEADER_WORDS = 5
LONG = 255
"""The length of a command that stands in a word of its own."""
SHOWN_WORDS = 64
"""Of a block, in JSON: of longer ones there is the digest, and the bytes themselves come with `--extract`."""


class CdoOpcode(IntEnum):
    """The commands that occur in files for NPUs, and the polls, which only the format knows."""

    MASK_POLL = 0x101
    MASK_WRITE = 0x102
    WRITE = 0x103
    DMA_WRITE = 0x105
    MASK_POLL_64 = 0x106
    MASK_WRITE_64 = 0x107
    WRITE_64 = 0x108
    NOP = 0x111


FIELDS: dict[int, tuple[str, ...]] = {
    CdoOpcode.MASK_POLL: ("address", "mask", "value", "timeout"),
    CdoOpcode.MASK_WRITE: ("address", "mask", "value"),
    CdoOpcode.WRITE: ("address", "value"),
    CdoOpcode.DMA_WRITE: ("address_high", "address"),
    CdoOpcode.MASK_POLL_64: ("address_high", "address", "mask", "value", "timeout"),
    CdoOpcode.MASK_WRITE_64: ("address_high", "address", "mask", "value"),
    CdoOpcode.WRITE_64: ("address_high", "address", "value"),
    CdoOpcode.NOP: (),
}
"""The words of each command, in order; behind them a block write has its data and a NOP words without a meaning."""
WITH_DATA = (CdoOpcode.DMA_WRITE, CdoOpcode.NOP)
SHORT_FORMS = {CdoOpcode.WRITE_64: CdoOpcode.WRITE, CdoOpcode.MASK_WRITE_64: CdoOpcode.MASK_WRITE}
"""What commands with a high address word of 0 become in a PDI."""


@dataclass
class Command:
    """One command: its fields by name, and its data."""

    opcode: int
    fields: dict[str, int]
    data: bytes = b""
    has_long_length: bool = False
    """Its length stands in a word of its own, though it would fit into the first one."""
    at: int | None = field(default=None, compare=False)
    """Where in the file it was."""

    @property
    def name(self) -> str:
        return CdoOpcode(self.opcode).name

    @property
    def address(self) -> int:
        return self.fields.get("address_high", 0) << 32 | self.fields["address"]

    @property
    def is_nop(self) -> bool:
        return self.opcode == CdoOpcode.NOP

    @property
    def payload_words(self) -> int:
        return len(FIELDS[self.opcode]) + len(self.data) // WORD_BYTES

    @property
    def words(self) -> int:
        """All words that it takes in a file."""
        return self.payload_words + (2 if self.has_long_length or self.payload_words >= LONG else 1)

    def write(self) -> bytes:
        length = self.payload_words
        is_long = self.has_long_length or length >= LONG
        head = [(LONG if is_long else length) << 16 | self.opcode, *([length] if is_long else [])]
        return bytes_of([*head, *(self.fields[name] for name in FIELDS[self.opcode])]) + self.data

    def operation(self) -> txn.Operation | None:
        """The operation of a TXN stream that does the same; None for what no stream has."""
        fields = self.fields
        match self.opcode:
            case CdoOpcode.WRITE | CdoOpcode.WRITE_64:
                return txn.write(fields["address"], fields["value"])
            case CdoOpcode.MASK_WRITE | CdoOpcode.MASK_WRITE_64:
                return txn.mask_write(fields["address"], fields["value"], fields["mask"])
            case CdoOpcode.DMA_WRITE:
                return txn.block_write(fields["address"], np.frombuffer(self.data, dtype="<u4").astype(np.uint32))
            case CdoOpcode.MASK_POLL | CdoOpcode.MASK_POLL_64:
                return txn.Operation(
                    txn.Opcode.MASKPOLL, address=fields["address"], value=fields["value"], mask=fields["mask"]
                )
            case _:
                return None

    def to_json(self) -> dict[str, Json]:
        from hashlib import sha256

        found: dict[str, Json] = {"command": self.name.lower(), **self.fields}
        if self.opcode == CdoOpcode.DMA_WRITE:
            found["words"] = len(self.data) // WORD_BYTES
            if found["words"] <= SHOWN_WORDS:
                found["data"] = words_of(self.data)
            else:
                found["sha256"] = sha256(self.data).hexdigest()
        return found


@dataclass
class CdoHeader(Record):
    """The five words before the commands."""

    words_before_checksum: int = u32(WORDS_BEFORE_CHECKSUM)
    identification: int = u32(IDENTIFICATION, note="`CDO`; `XLNX` in older files")
    version: int = u32(0x200)
    body_words: int = u32(note="all commands")
    checksum: int = u32(note="NOT of the sum of the four words before")

    def summed(self) -> CdoHeader:
        """The header with the checksum that belongs to it."""
        return replace(self, checksum=checksum(words_of(self.write())[:WORDS_BEFORE_CHECKSUM]))


@dataclass
class Cdo:
    """The commands of a file, in order."""

    commands: list[Command]
    identification: int = IDENTIFICATION
    version: int = 0x200

    @classmethod
    def read(cls, span: Span) -> Cdo:
        """A whole file; `ContainerError` with the offset if it is none, or damaged."""
        header = read_header(span)
        body = span.part(header_bytes := HEADER_WORDS * WORD_BYTES, header.body_words * WORD_BYTES, "the CDO's body")
        if len(span) != header_bytes + len(body):
            raise span.error(header_bytes + len(body), f"{len(span) - header_bytes - len(body)} bytes follow the CDO")
        return cls([*read_commands(body)], header.identification, header.version)

    def header(self) -> CdoHeader:
        words = sum(command.words for command in self.commands)
        return CdoHeader(WORDS_BEFORE_CHECKSUM, self.identification, self.version, words).summed()

    def write(self, *, is_big_endian: bool = False) -> bytes:
        data = self.header().write() + b"".join(command.write() for command in self.commands)
        return np.frombuffer(data, dtype="<u4").astype(">u4").tobytes() if is_big_endian else data

    @property
    def effective(self) -> list[Command]:
        """All commands that do something."""
        return [command for command in self.commands if not command.is_nop]

    def operations(self) -> list[txn.Operation]:
        """The operations of a TXN stream that do the same."""
        return [op for command in self.commands if (op := command.operation()) is not None]

    def to_json(self) -> dict[str, Json]:
        model = model_of(self.operations())
        commands = [command.to_json() | _place(command, model) for command in self.effective]
        return {
            "kind": "cdo",
            "identification": self.identification,
            "version": self.version,
            "commands": commands,
            "cores": self.cores(),
        }

    def cores(self) -> list[dict[str, int]]:
        """The cores that get a program."""
        operations = self.operations()
        return [
            {"column": tile.column, "row": tile.row, "program_bytes": use.program_bytes}
            for tile, use in uses(operations, model_of(operations)).items()
            if use.program
        ]

    def opaque(self) -> Iterator[Opaque]:
        """Programs and contents of memories; registers are told by name."""
        model = model_of(self.operations())
        for command in self.commands:
            if command.is_nop and any(command.data):
                yield Opaque("words of NOPs", len(command.data))
            if command.opcode == CdoOpcode.DMA_WRITE and (area := area_of(model, command.fields["address"])):
                yield Opaque(_AREAS[area], len(command.data))


_AREAS = {PROGRAM: "programs of cores", MEMORY: "contents of memories"}


def _place(command: Command, model: DeviceModel) -> dict[str, Json]:
    """Where a command goes, by name."""
    name = name_address(model, command.fields["address"])
    if name is None or command.fields.get("address_high"):
        return {}
    tile, _ = model.locate(command.fields["address"])
    return {"tile": [*tile], "register": name.partition(" ")[2]}


def is_cdo(data: bytes) -> bool:
    head = words_of(data[:8]) if len(data) >= 8 else []
    return len(head) == 2 and head[0] == WORDS_BEFORE_CHECKSUM and head[1] in (IDENTIFICATION, OLD_IDENTIFICATION)


def read_header(span: Span) -> CdoHeader:
    """The header of a CDO, checked."""
    header = CdoHeader.read(span, 0, "the CDO header")
    if header.words_before_checksum != WORDS_BEFORE_CHECKSUM:
        raise span.error(0, f"a CDO header of {header.words_before_checksum} words and a checksum, not 4")
    if header.identification not in (IDENTIFICATION, OLD_IDENTIFICATION):
        raise span.error(4, f"{header.identification:#010x} instead of the mark of a CDO")
    if (wanted := header.summed().checksum) != header.checksum:
        raise span.error(
            16, f"the checksum of the CDO header is {header.checksum:#010x}, its words give {wanted:#010x}"
        )
    return header


def read_commands(span: Span) -> Iterator[Command]:
    """The commands that fill a span."""
    at = 0
    while at < len(span):
        command = _read_command(span, at)
        yield command
        at += command.words * WORD_BYTES


def _read_command(span: Span, at: int) -> Command:
    first = span.word(at, "a command")
    opcode, length, head = first & 0xFFFF, first >> 16, WORD_BYTES
    if opcode not in FIELDS:
        raise span.error(at, f"command {opcode:#x} is none that is known")
    if length > LONG:
        raise span.error(at, f"a command of {length} words: lengths over 254 stand in a word of their own")
    is_long = length == LONG
    if is_long:
        length, head = span.word(at + head, f"the length of a {CdoOpcode(opcode).name}"), 2 * WORD_BYTES
    names, what = FIELDS[opcode], f"a {CdoOpcode(opcode).name} of {length} words"
    if length < len(names) or (length > len(names) and opcode not in WITH_DATA):
        raise span.error(at, f"{what}, which takes {len(names)}{' or more' if opcode in WITH_DATA else ''}")
    payload = span.part(at + head, length * WORD_BYTES, what)
    values = words_of(payload.data[: len(names) * WORD_BYTES])
    return Command(
        opcode,
        dict(zip(names, values, strict=True)),
        payload.data[len(names) * WORD_BYTES :],
        is_long and length < LONG,
        payload.start - head,
    )


def command_of(op: txn.Operation) -> Command:
    """The command that does what an operation of a TXN stream does; ValueError if there is none."""
    place = {"address_high": 0, "address": op.fields.get("address", 0)}
    match op.opcode:
        case txn.Opcode.WRITE:
            return Command(CdoOpcode.WRITE_64, place | {"value": op.value})
        case txn.Opcode.MASKWRITE:
            return Command(CdoOpcode.MASK_WRITE_64, place | {"mask": op.mask, "value": op.value})
        case txn.Opcode.BLOCKWRITE:
            return Command(CdoOpcode.DMA_WRITE, place, op.payload.astype("<u4").tobytes())
        case _:
            raise ValueError(f"{op.name} is not an operation on registers")


def nop(words: int = 0) -> Command:
    return Command(CdoOpcode.NOP, {}, bytes(words * WORD_BYTES))


def cdo_file(commands: Iterable[Command]) -> Cdo:
    """A file as aie-rt's CDO back end writes it: a NOP at the start, and one before each block write.

    The NOP is so long that the data of the block begins at a multiple of 16 bytes of the file. The driver counts the
    word for a long length only from 256 words on, though it writes it from 255 on.
    """
    found, at = [nop()], HEADER_WORDS + 1
    for command in commands:
        if command.opcode == CdoOpcode.DMA_WRITE:
            head = len(FIELDS[command.opcode]) + (2 if command.payload_words > LONG else 1)
            if gap := -(at + head) % 4:
                found.append(nop(gap - 1))
                at += gap
        found.append(command)
        at += command.words
    return Cdo(found)


def cdo_of(operations: Iterable[txn.Operation]) -> Cdo:
    """The file with the commands that do what operations do."""
    return cdo_file(map(command_of, operations))


def listing(cdo: Cdo) -> Iterator[str]:
    """A line of text for each command and each word of a block, as the CDO driver prints them."""
    at = HEADER_WORDS
    for command in cdo.commands:
        at += command.words
        fields = command.fields
        match command.opcode:
            case CdoOpcode.NOP:
                yield f"(NOP Command): Payload Length: {command.payload_words} "
            case CdoOpcode.WRITE_64:
                yield f"(Write64): Address:  0x{command.address:016X} Data:  0x{fields['value']:08X}  "
            case CdoOpcode.MASK_WRITE_64:
                masked = f"Mask: 0x{fields['mask']:08X}  Data: 0x{fields['value']:08X} "
                yield f"(MaskWrite64): Address: 0x{command.address:016X}  {masked}"
            case _:
                words = words_of(command.data)
                yield f"(BlockWrite-DMAWriteCmd): Start Address: 0x{command.address:016X}  Size: {len(words)}"
                first = (at - len(words)) * WORD_BYTES
                for offset in range(0, len(command.data), WORD_BYTES):
                    place = f"Data@ 0x{first + offset:x} is: 0x{words[offset // WORD_BYTES]:08X} "
                    yield f"    Address: 0x{command.address + offset:016X}  {place}"
                yield ""


def reencoded(cdo: Cdo) -> list[Command]:
    """The commands of one file as bootgen writes them into a PDI.

    Its rules (`cdo-binary.c: encode_v2_cmd`): short forms for addresses of 32 bits, a write for a block of one word,
    and before a block a NOP so that its data, counted in its own file, lies as its destination does modulo 16 bytes.
    """
    found, at = list[Command](), HEADER_WORDS
    for command in map(_shortened, cdo.commands):
        if command.opcode == CdoOpcode.DMA_WRITE:
            head = command.words - len(command.data) // WORD_BYTES
            if gap := (command.fields["address"] // WORD_BYTES - at - head) % 4:
                found.append(nop(gap - 1))
                at += gap
        found.append(command)
        at += command.words
    return found


def _shortened(command: Command) -> Command:
    fields = dict(command.fields)
    opcode, data = command.opcode, command.data
    if opcode == CdoOpcode.DMA_WRITE and len(data) == WORD_BYTES:
        opcode, fields["value"], data = CdoOpcode.WRITE_64, words_of(data)[0], b""
    if opcode in SHORT_FORMS and not fields["address_high"]:
        opcode = SHORT_FORMS[CdoOpcode(opcode)]
        del fields["address_high"]
    return Command(opcode, fields, data)
