"""The AIE partition of an xclbin: how many columns, where they may begin, and the PDIs with the kernels that need them.

Source: `xclbin.h` and `SectionAIEPartition.cxx` of XRT. Behind the header lies a heap of names, numbers and images,
each padded to 8 bytes, in the order in which they are written; offsets count from the start of the section.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError
from uuid import UUID

from tilewright.containers.pdi import Pdi
from tilewright.support.structure import (
    ContainerError,
    Json,
    Opaque,
    Record,
    Span,
    latin_1,
    padded,
    raw,
    reserved,
    u8,
    u16,
    u32,
    u64,
)

ALIGNMENT = 8
MOST_ENTRIES = 1 << 16
CDO_TYPES = ("UNKNOWN", "PRIMARY", "LITE", "PRE_POST")


@dataclass
class PartitionRecord(Record):
    """The header of the section."""

    schema_version: int = u8()
    reserved_1: bytes = reserved(3)
    name: int = u32(note="offset of an empty name")
    operations_per_cycle: int = u32(2048)
    reserved_12: bytes = reserved(4)
    inference_fingerprint: int = u64(23423)
    pre_post_fingerprint: int = u64(12345)
    column_width: int = u16()
    reserved_34: bytes = reserved(6)
    start_column_count: int = u32()
    start_columns: int = u32(note="offset of u16 each")
    reserved_48: bytes = reserved(72)
    pdi_count: int = u32()
    pdis: int = u32(note="offset of the PDI records")
    commit_id: int = u32(note="offset of a name; 0 in older files")
    reserved_132: bytes = reserved(52)


@dataclass
class PdiRecord(Record):
    uuid: bytes = raw(16)
    image_bytes: int = u32()
    image: int = u32(note="offset of the PDI")
    group_count: int = u32()
    groups: int = u32(note="offset of the CDO groups")
    reserved_32: bytes = reserved(64)


@dataclass
class CdoGroupRecord(Record):
    name: int = u32(note="offset of the name")
    type: int = u8(1, note="0 unknown, 1 PRIMARY, 2 LITE, 3 PRE_POST")
    reserved_5: bytes = reserved(3)
    pdi_id: int = u64()
    kernel_id_count: int = u32()
    kernel_ids: int = u32(note="offset of u64 each")
    pre_group_count: int = u32()
    pre_groups: int = u32(note="offset of u64 each")
    reserved_32: bytes = reserved(64)


@dataclass
class CdoGroup:
    """Which kernels a PDI is loaded for."""

    name: str
    type: int
    pdi_id: int
    kernel_ids: list[int]
    pre_groups: list[int]

    def to_json(self) -> dict[str, Json]:
        known = CDO_TYPES[self.type] if self.type < len(CDO_TYPES) else self.type
        return vars(self) | {"type": known}


@dataclass
class PartitionPdi:
    """A PDI of the partition."""

    uuid: UUID
    image: Pdi
    groups: list[CdoGroup]


@dataclass
class AiePartition:
    """The partition; numbers that are offsets or counts in the file follow from what is here."""

    column_width: int
    start_columns: list[int]
    pdis: list[PartitionPdi]
    name: str = ""
    commit_id: str | None = ""
    operations_per_cycle: int = 2048
    inference_fingerprint: int = 23423
    pre_post_fingerprint: int = 12345
    schema_version: int = field(default=0)

    @classmethod
    def read(cls, span: Span) -> AiePartition:
        header = PartitionRecord.read(span, 0, "the AIE partition")
        columns = _array(span, header.start_columns, header.start_column_count, "H", "the start columns")
        _check_count(span, 0x78, header.pdi_count)
        return cls(
            header.column_width,
            columns,
            [_read_pdi(span, header.pdis + PdiRecord.size_bytes() * index) for index in range(header.pdi_count)],
            span.name(header.name, "the name of the partition"),
            span.name(header.commit_id, "the commit id") if header.commit_id else None,
            header.operations_per_cycle,
            header.inference_fingerprint,
            header.pre_post_fingerprint,
            header.schema_version,
        )

    def write(self) -> bytes:
        heap = PartitionHeap(PartitionRecord.size_bytes())
        record = PartitionRecord(
            schema_version=self.schema_version,
            name=heap.name(self.name),
            operations_per_cycle=self.operations_per_cycle,
            inference_fingerprint=self.inference_fingerprint,
            pre_post_fingerprint=self.pre_post_fingerprint,
            column_width=self.column_width,
            start_column_count=len(self.start_columns),
            pdi_count=len(self.pdis),
        )
        if self.commit_id is not None:
            record.commit_id = heap.name(self.commit_id)
        record.start_columns = heap.numbers(self.start_columns, "H")
        pdis = [_write_pdi(pdi, heap) for pdi in self.pdis]
        record.pdis = heap.add(b"".join(pdi.write() for pdi in pdis))
        return record.write() + bytes(heap.data)

    def to_json(self) -> dict[str, Json]:
        return vars(self) | {"pdis": [f"{pdi.uuid}" for pdi in self.pdis]}

    def opaque(self) -> Iterator[Opaque]:
        for pdi in self.pdis:
            yield from pdi.image.opaque()


class PartitionHeap:
    """What lies behind the header, with offsets from the start of the section."""

    def __init__(self, start: int):
        self.start, self.data = start, bytearray()

    def add(self, data: bytes) -> int:
        at = self.start + len(self.data)
        self.data += padded(data, ALIGNMENT)
        return at

    def name(self, text: str) -> int:
        return self.add(latin_1(text) + b"\0")

    def numbers(self, values: list[int], code: str) -> int:
        try:
            return self.add(Struct(f"<{len(values)}{code}").pack(*values))
        except StructError:
            bits = 8 * Struct(f"<{code}").size
            raise ContainerError(None, f"of the numbers {values!r:.80} not all have {bits} bits") from None


def _read_pdi(span: Span, at: int) -> PartitionPdi:
    record = PdiRecord.read(span, at, "a PDI record")
    _check_count(span, at + 24, record.group_count)
    image = Pdi.read(span.part(record.image, record.image_bytes, "a PDI"))
    groups = [
        _read_group(span, record.groups + CdoGroupRecord.size_bytes() * index) for index in range(record.group_count)
    ]
    return PartitionPdi(UUID(bytes=record.uuid), image, groups)


def _write_pdi(pdi: PartitionPdi, heap: PartitionHeap) -> PdiRecord:
    image = pdi.image.write()
    at = heap.add(image)
    groups = b"".join(_write_group(group, heap).write() for group in pdi.groups)
    return PdiRecord(pdi.uuid.bytes, len(image), at, len(pdi.groups), heap.add(groups))


def _read_group(span: Span, at: int) -> CdoGroup:
    record = CdoGroupRecord.read(span, at, "a CDO group")
    return CdoGroup(
        span.name(record.name, "the name of a CDO group"),
        record.type,
        record.pdi_id,
        _array(span, record.kernel_ids, record.kernel_id_count, "Q", "kernel ids"),
        _array(span, record.pre_groups, record.pre_group_count, "Q", "groups that come before"),
    )


def _write_group(group: CdoGroup, heap: PartitionHeap) -> CdoGroupRecord:
    record = CdoGroupRecord(heap.name(group.name), group.type, pdi_id=group.pdi_id)
    record.kernel_id_count, record.pre_group_count = len(group.kernel_ids), len(group.pre_groups)
    record.kernel_ids = heap.numbers(group.kernel_ids, "Q") if group.kernel_ids else 0
    record.pre_groups = heap.numbers(group.pre_groups, "Q") if group.pre_groups else 0
    return record


def _array(span: Span, at: int, count: int, code: str, what: str) -> list[int]:
    layout = Struct(f"<{code}")
    data = span.bytes(at, count * layout.size, f"a list of {count} {what}") if count else b""
    return [number for (number,) in layout.iter_unpack(data)]


def _check_count(span: Span, at: int, count: int) -> None:
    if count > MOST_ENTRIES:
        raise span.error(at, f"a list of {count} entries")
