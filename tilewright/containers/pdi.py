"""PDI files of NPUs: partial ones, with one image and one partition, which is a CDO.

Sources: the header structures of bootgen (`bootheader-versal.h`, `imageheadertable-versal.h`,
`partitionheadertable-versal.h`), and aie-pdi-transform for the shorter form that firmware reads faster. That form keeps
the headers as they were, gathers commands of one kind, and has the data of blocks behind all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

from tilewright.containers.cdo import (
    FIELDS,
    HEADER_WORDS,
    Cdo,
    CdoHeader,
    CdoOpcode,
    Command,
    read_header,
    reencoded,
)
from tilewright.device.layout import WORD_BYTES
from tilewright.support.structure import (
    Json,
    Opaque,
    Record,
    Span,
    bytes_of,
    checksum,
    padded,
    raw,
    reserved,
    text,
    u32,
    words_of,
)

BUS_WIDTH = bytes_of([0xDD, 0x11223344, 0x55667788, 0x99AABBCC])
BOOT_MARK = bytes_of([0xAA995566])
PARTIAL = int.from_bytes(b"IDPP", "little")
IMAGE_ALIGNMENT = 16
CDO_HEADER_BYTES = HEADER_WORDS * WORD_BYTES
TABLE_AT, IMAGE_AT, PARTITION_AT, DATA_AT = 0x10, 0x90, 0xD0, 0x150


@dataclass
class ImageHeaderTable(Record):
    """The first header; offsets and sizes in it count words."""

    version: int = u32(0x40000)
    images: int = u32(1)
    image_headers: int = u32(IMAGE_AT // WORD_BYTES, note="word offset of the first image header")
    partitions: int = u32(1)
    partition_headers: int = u32(PARTITION_AT // WORD_BYTES, note="word offset of the first partition header")
    reserved_5: bytes = reserved(4)
    id_code: int = u32(0x14CA8093, note="of the device, from the BIF file")
    reserved_7: bytes = reserved(12)
    identification: int = u32(PARTIAL, note="`PPDI`")
    header_words: int = u32(0x00201020, note="sizes of the three kinds of headers, a byte each")
    following_words: int = u32(0x30, note="of the headers behind this one")
    reserved_13: bytes = reserved(16)
    extended_id_code: int = u32(1)
    reserved_18: bytes = reserved(52)
    checksum: int = u32(note="NOT of the sum of the other words")


@dataclass
class ImageHeader(Record):
    partition_headers: int = u32(PARTITION_AT // WORD_BYTES, note="word offset of the first partition header")
    partitions: int = u32(1)
    reserved_2: bytes = reserved(8)
    name: str = text(16, "aie_image")
    image_id: int = u32(0x1C000000)
    reserved_9: bytes = reserved(20)
    measurement_register: int = u32(note="0; all ones in files of newer tools")
    checksum: int = u32()


@dataclass
class PartitionHeader(Record):
    padded_words: int = u32(note="length of the data with its padding")
    words: int = u32(note="length of the data")
    total_words: int = u32(note="as `padded_words`")
    reserved_3: bytes = reserved(12)
    load_address: bytes = raw(8, b"\xff" * 8, note="none")
    data: int = u32(DATA_AT // WORD_BYTES, note="word offset of the data")
    attributes: int = u32(0x02000006, note="a CDO, exception level 3")
    sections: int = u32(1)
    reserved_11: bytes = reserved(68)
    is_transformed: int = u32(note="1 in transformed files")
    command_bytes: int = u32(note="of a transformed file's commands")
    transform_mark: int = u32(note="0x8966 | `command_bytes`, halves swapped, in transformed files")
    checksum: int = u32(note="transformed files keep that of the file before")


H = TypeVar("H", ImageHeaderTable, ImageHeader, PartitionHeader)


def summed(header: H) -> H:
    """A header with the checksum that belongs to it."""
    words = words_of(header.write())
    header.checksum = checksum(words[:-1])
    return header


def transform_mark(command_bytes: int) -> int:
    """The word that tells a transformed file."""
    swapped = (command_bytes << 16 | command_bytes >> 16) & 0xFFFFFFFF
    return 0x8866 | 0x100 | swapped


ZEROS = 1 << 16
"""Of the length of a block in a transformed file: all of its words are zero, and go into data memory."""
CLEARED = range(1, 1 << 16)
"""Offsets in a tile of blocks that may have that mark; the transformer leaves out the very first one."""
TILE_OFFSET = (1 << 20) - 1
CUT_BYTES = CDO_HEADER_BYTES
"""The transformer counts its output without the CDO header, so that the last bytes of the data are missing."""


@dataclass
class Transformed:
    """What a transformed file has of the file that it was made from, which its commands no longer give."""

    partition: PartitionHeader
    cdo: CdoHeader


@dataclass
class Pdi:
    """An image for the array: headers, and the commands that load it."""

    cdo: Cdo
    table: ImageHeaderTable = field(default_factory=ImageHeaderTable)
    image: ImageHeader = field(default_factory=ImageHeader)
    partition: PartitionHeader = field(default_factory=PartitionHeader)
    transformed: Transformed | None = None

    @classmethod
    def read(cls, span: Span) -> Pdi:
        """A whole file; `ContainerError` with the offset if it is none, or damaged."""
        if not is_pdi(span.data):
            raise span.error(0, "no PDI: it does not begin with the bus-width words")
        if span.data[TABLE_AT : TABLE_AT + 4] == BOOT_MARK:
            raise span.error(
                TABLE_AT, "a PDI with a boot header, which starts a whole Versal device; NPUs have partial ones"
            )
        table = _checked(span, TABLE_AT, ImageHeaderTable.read(span, TABLE_AT, "the image header table"))
        _expect(span, TABLE_AT, table, ImageHeaderTable(), "images", "image_headers", "partitions",
                "partition_headers", "identification", "header_words", "following_words")  # fmt: skip
        image = _checked(span, IMAGE_AT, ImageHeader.read(span, IMAGE_AT, "the image header"))
        _expect(span, IMAGE_AT, image, ImageHeader(), "partition_headers", "partitions")
        partition = PartitionHeader.read(span, PARTITION_AT, "the partition header")
        _expect(span, PARTITION_AT, partition, PartitionHeader(), "data", "sections")
        if partition.is_transformed:
            return _read_transformed(span, table, image, partition)
        _checked(span, PARTITION_AT, partition)
        data = span.part(DATA_AT, partition.padded_words * WORD_BYTES, "the partition")
        if len(span) != DATA_AT + len(data):
            raise span.error(DATA_AT + len(data), "the file goes on behind its partition")
        cdo = Cdo.read(data.part(0, partition.words * WORD_BYTES, "the CDO"))
        made = cls(cdo, table, image, partition)
        for at, (before, after) in enumerate(
            zip(words_of(partition.write()), words_of(made._partition().write()), strict=True)
        ):
            if before != after:
                raise span.error(PARTITION_AT + at * WORD_BYTES, f"{before} instead of the {after} that the data gives")
        if any(data.data[partition.words * WORD_BYTES :]):
            raise data.error(partition.words * WORD_BYTES, "the padding behind the CDO is not zero")
        return made

    def _partition(self) -> PartitionHeader:
        size = len(self.cdo.write())
        words = size // WORD_BYTES
        with_padding = -(-size // IMAGE_ALIGNMENT) * IMAGE_ALIGNMENT // WORD_BYTES
        return summed(replace(self.partition, padded_words=with_padding, words=words, total_words=with_padding))

    def write(self) -> bytes:
        head = BUS_WIDTH + summed(self.table).write() + summed(self.image).write()
        if self.transformed is not None:
            return head + _write_transformed(self.cdo, self.transformed)
        return head + self._partition().write() + padded(self.cdo.write(), IMAGE_ALIGNMENT)

    def to_json(self) -> dict[str, Json]:
        transformed = self.transformed is not None
        headers = {"table": self.table, "image": self.image, "partition": self.partition}
        found: dict[str, Json] = {"kind": "pdi", "transformed": transformed}
        found |= {name: header.to_json() for name, header in headers.items()}
        cdo = self.cdo.to_json()
        return found | {name: cdo[name] for name in ("commands", "cores")}

    def opaque(self) -> Iterator[Opaque]:
        for header in (self.table, self.image, self.partition):
            yield from header.opaque()
        yield from self.cdo.opaque()


def is_pdi(data: bytes) -> bool:
    return data.startswith(BUS_WIDTH)


def _checked(span: Span, at: int, header: H) -> H:
    wanted = checksum(words_of(header.write())[:-1])
    if header.checksum != wanted:
        text = f"the checksum of the {type(header).__name__} is {header.checksum:#010x}, its words give {wanted:#010x}"
        raise span.error(at + header.size_bytes() - WORD_BYTES, text)
    return header


def _expect(span: Span, at: int, found: Record, wanted: Record, *names: str) -> None:
    """Refuse what is laid out in another way than the PDIs of NPUs are."""
    places = {name: offset for offset, _, name, _ in found.table()}
    for name in names:
        value, usual = getattr(found, name), getattr(wanted, name)
        if value != usual:
            raise span.error(at + places[name], f"{name} is {value:#x}; in a PDI of a NPU it is {usual:#x}")


def _read_transformed(span: Span, table: ImageHeaderTable, image: ImageHeader, partition: PartitionHeader) -> Pdi:
    if partition.transform_mark != transform_mark(partition.command_bytes):
        raise span.error(PARTITION_AT + 30 * WORD_BYTES, "the mark of a transformed PDI does not fit its command bytes")
    before = replace(partition, is_transformed=0, command_bytes=0, transform_mark=0)
    _checked(span, PARTITION_AT, before)
    header = read_header(span.part(DATA_AT, CDO_HEADER_BYTES, "the CDO header"))
    zone = span.part(DATA_AT + CDO_HEADER_BYTES, partition.command_bytes, "the commands")
    data_at = DATA_AT + CDO_HEADER_BYTES + partition.command_bytes
    data = span.part(data_at, len(span) - data_at, "the data")
    commands = list[Command]()
    at = 0
    while at < len(zone):
        opcode, count = 0x100 | zone.word(at, "a group of commands"), zone.word(at + 4, "a group of commands")
        if opcode not in _ENTRY_WORDS:
            raise zone.error(at, f"a group of commands {opcode & 0xFF}, which transformed PDIs do not have")
        size = _ENTRY_WORDS[opcode] * WORD_BYTES
        entries = zone.part(at + 8, count * size, f"a group of {count} commands")
        for place in range(0, len(entries), size):
            commands.append(_transformed_command(opcode, entries.part(place, size, "a command"), data))
        at += 8 + len(entries)
    made = Pdi(Cdo(commands, header.identification, header.version), table, image, before,
               Transformed(before, header))  # fmt: skip
    if (wrong := _first_difference(made.write(), span.data)) is not None:
        raise span.error(wrong, "a transformed PDI that is laid out in a way of its own")
    return made


_ENTRY_WORDS: dict[int, int] = {
    CdoOpcode.WRITE: 2,
    CdoOpcode.MASK_WRITE: 3,
    CdoOpcode.WRITE_64: 3,
    CdoOpcode.MASK_WRITE_64: 4,
    CdoOpcode.DMA_WRITE: 4,
}


def _transformed_command(opcode: int, entry: Span, data: Span) -> Command:
    words, names = words_of(entry.data), FIELDS[opcode]
    fields = dict(zip(names, words, strict=False))
    if opcode != CdoOpcode.DMA_WRITE:
        return Command(opcode, fields, at=entry.start)
    offset, length = words[2], words[3]
    size = (length & ~ZEROS) * WORD_BYTES
    if offset + size > len(data) + CUT_BYTES:
        raise entry.error(8, f"a block of {size} bytes at {offset:#x} of the data, which has {len(data)}")
    found = data.data[offset : offset + size]
    return Command(opcode, fields, found + bytes(size - len(found)), at=entry.start)


def _first_difference(a: bytes, b: bytes) -> int | None:
    if a == b:
        return None
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _write_transformed(cdo: Cdo, transformed: Transformed) -> bytes:
    zone, data = bytearray(), bytearray()
    for opcode, commands in _runs(cdo.commands):
        zone += bytes_of([opcode & 0xFF, len(commands)])
        for command in commands:
            zone += bytes_of([command.fields[name] for name in FIELDS[opcode]])
            if opcode == CdoOpcode.DMA_WRITE:
                words = len(command.data) // WORD_BYTES
                zone += bytes_of([len(data), words | (ZEROS if _is_cleared(command) else 0)])
                data += command.data
    # with the checksum of the file before, as the transformer leaves it
    before = summed(transformed.partition)
    header = replace(before, is_transformed=1, command_bytes=len(zone), transform_mark=transform_mark(len(zone)))
    whole = header.write() + transformed.cdo.summed().write() + bytes(zone) + bytes(data)
    return whole[:-CUT_BYTES] if data else whole


def _is_cleared(command: Command) -> bool:
    return command.fields["address"] & TILE_OFFSET in CLEARED and not any(command.data)


def _runs(commands: Sequence[Command]) -> Iterator[tuple[int, list[Command]]]:
    """Commands of one kind that stand together."""
    for opcode, run in groupby((command for command in commands if not command.is_nop), key=lambda it: it.opcode):
        yield opcode, [*run]


def pdi_from_cdos(cdos: Sequence[Cdo]) -> Pdi:
    """The PDI that bootgen makes of CDO files: each re-encoded on its own, one after the other under one header."""
    return Pdi(Cdo([command for cdo in cdos for command in reencoded(cdo)]))
