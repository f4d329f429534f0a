"""xclbin files (axlf): a header, sections, and the same once more as text at the end.

Source: `xclbin.h` (`axlf`, `axlf_header`, `axlf_section_header`) and `XclBinClass.cxx` of XRT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar, cast
from uuid import UUID

from tilewright.containers.aie_partition import AiePartition, PartitionPdi
from tilewright.containers.documents import Document, Pairs, property_text
from tilewright.containers.pdi import Pdi
from tilewright.containers.xclbin_sections import (
    Connectivity,
    GroupConnectivity,
    GroupTopology,
    IpLayout,
    MemTopology,
    VenderMetadata,
)
from tilewright.support.structure import (
    Content,
    Json,
    Opaque,
    RawContent,
    Record,
    Span,
    i32,
    raw,
    reserved,
    round_up,
    text,
    u8,
    u16,
    u32,
    u64,
)

MAGIC = b"xclbin2\0"
ALIGNMENT = 8
MOST_SECTIONS = 256
INTERFACE_UUID_KEYS = ("InterfaceUUID", "FeatureRomUUID")
"""What newer and older files call the same field in their text."""
MIRROR_START, MIRROR_END = b"XCLBIN_MIRROR_DATA_START", b"XCLBIN_MIRROR_DATA_END"


class SectionKind(IntEnum):
    """Kinds of sections, by the names of xclbinutil."""

    BITSTREAM = 0
    CLEARING_BITSTREAM = 1
    EMBEDDED_METADATA = 2
    FIRMWARE = 3
    DEBUG_DATA = 4
    SCHED_FIRMWARE = 5
    MEM_TOPOLOGY = 6
    CONNECTIVITY = 7
    IP_LAYOUT = 8
    DEBUG_IP_LAYOUT = 9
    DESIGN_CHECK_POINT = 10
    CLOCK_FREQ_TOPOLOGY = 11
    MCS = 12
    BMC = 13
    BUILD_METADATA = 14
    KEYVALUE_METADATA = 15
    USER_METADATA = 16
    DNA_CERTIFICATE = 17
    PDI = 18
    BITSTREAM_PARTIAL_PDI = 19
    PARTITION_METADATA = 20
    EMULATION_DATA = 21
    SYSTEM_METADATA = 22
    SOFT_KERNEL = 23
    ASK_FLASH = 24
    AIE_METADATA = 25
    GROUP_TOPOLOGY = 26
    GROUP_CONNECTIVITY = 27
    SMARTNIC = 28
    AIE_RESOURCES = 29
    OVERLAY = 30
    VENDER_METADATA = 31
    AIE_PARTITION = 32
    IP_METADATA = 33
    AIE_RESOURCES_BIN = 34
    AIE_TRACE_METADATA = 35


@dataclass
class AxlfHeader(Record):
    """The header; section headers follow it."""

    magic: bytes = raw(8, MAGIC)
    signature_length: int = i32(-1, note="none")
    reserved_12: bytes = raw(28, b"\xff" * 28)
    key_block: bytes = raw(256, b"\xff" * 256)
    unique_id: int = u64(note="the creation time again")
    length: int = u64(note="of the file")
    timestamp: int = u64(note="creation time, in seconds")
    feature_rom_timestamp: int = u64()
    version_patch: int = u16(note="the version of XRT")
    version_major: int = u8(2)
    version_minor: int = u8(20)
    mode: int = u16()
    action_mask: int = u16()
    interface_uuid: bytes = raw(16)
    platform: str = text(64)
    uuid: bytes = raw(16, note="random at each writing")
    debug_bin: str = text(16)
    sections: int = u32()
    reserved_452: bytes = reserved(4)


@dataclass
class XclbinSectionHeader(Record):
    kind: int = u32()
    name: str = text(16, note="the stem of the file that it was made from")
    reserved_20: bytes = reserved(4)
    offset: int = u64()
    size: int = u64(note="without padding")


READERS = {
    SectionKind.MEM_TOPOLOGY: MemTopology.read,
    SectionKind.CONNECTIVITY: Connectivity.read,
    SectionKind.IP_LAYOUT: IpLayout.read,
    SectionKind.GROUP_TOPOLOGY: GroupTopology.read,
    SectionKind.GROUP_CONNECTIVITY: GroupConnectivity.read,
    SectionKind.AIE_PARTITION: AiePartition.read,
    SectionKind.PDI: Pdi.read,
    SectionKind.EMBEDDED_METADATA: Document.read,
    SectionKind.BUILD_METADATA: Document.read,
    SectionKind.SYSTEM_METADATA: Document.read,
    SectionKind.AIE_METADATA: Document.read,
    SectionKind.VENDER_METADATA: VenderMetadata.read,
}
IN_MIRROR = (MemTopology, Connectivity, IpLayout)
DOCUMENTS_IN_MIRROR = (SectionKind.BUILD_METADATA, SectionKind.AIE_METADATA)
C = TypeVar("C")


@dataclass
class XclbinSection:
    kind: int
    name: str
    content: Content

    @property
    def kind_name(self) -> str:
        return kind_name(self.kind)


def kind_name(kind: int) -> str:
    return SectionKind(kind).name if kind in SectionKind._value2member_map_ else f"KIND_{kind}"


@dataclass
class Mirror:
    """How the text at the end is written; it repeats header and sections."""

    interface_uuid_key: str = INTERFACE_UUID_KEYS[0]
    is_indented: bool = False
    ending: bytes = b"\n"
    text: bytes | None = None
    """The text itself, where it is none that follows from the rest."""


@dataclass
class Xclbin:
    """A file: its header, and its sections in order."""

    header: AxlfHeader
    sections: list[XclbinSection]
    mirror: Mirror | None = field(default_factory=Mirror)

    @classmethod
    def read(cls, span: Span) -> Xclbin:
        """A whole file; `ContainerError` with the offset if it is none, or damaged."""
        header = AxlfHeader.read(span, 0, "the header of an xclbin")
        if header.magic != MAGIC:
            raise span.error(0, "no xclbin: it does not begin with `xclbin2`")
        if header.length != len(span):
            raise span.error(0x130, f"the header gives {header.length} bytes, the file has {len(span)}")
        if header.sections > MOST_SECTIONS:
            raise span.error(0x1C0, f"{header.sections} sections")
        heads = [
            XclbinSectionHeader.read(
                span, header.size_bytes() + XclbinSectionHeader.size_bytes() * index, f"the header of section {index}"
            )
            for index in range(header.sections)
        ]
        parts = [span.part(head.offset, head.size, f"section {kind_name(head.kind)}") for head in heads]
        _check_layout(span, heads)
        sections = [
            XclbinSection(head.kind, head.name, _read_content(head.kind, part))
            for head, part in zip(heads, parts, strict=True)
        ]
        made = cls(header, sections)
        end = heads[-1].offset + heads[-1].size if heads else header.size_bytes()
        made.mirror = made._read_mirror(span.part(end, len(span) - end, "the text at the end"), heads)
        return made

    def _laid_out(self) -> tuple[list[XclbinSectionHeader], list[bytes]]:
        """The headers of all sections, and their bytes."""
        contents = [section.content.write() for section in self.sections]
        places = _places([len(content) for content in contents])
        heads = [
            XclbinSectionHeader(section.kind, section.name, offset=place, size=len(content))
            for section, place, content in zip(self.sections, places, contents, strict=True)
        ]
        return heads, contents

    def write(self) -> bytes:
        heads, contents = self._laid_out()
        made = bytearray(AxlfHeader.size_bytes()) + b"".join(head.write() for head in heads)
        for head, content in zip(heads, contents, strict=True):
            made += bytes(head.offset - len(made)) + content
        if self.mirror is not None:
            made += self._mirror_text(self.mirror, heads)
        self.header.length, self.header.sections = len(made), len(self.sections)
        made[: AxlfHeader.size_bytes()] = self.header.write()
        return bytes(made)

    def _read_mirror(self, span: Span, heads: list[XclbinSectionHeader]) -> Mirror | None:
        if not len(span):
            return None
        if not span.data.startswith(MIRROR_START) or not span.data.endswith(MIRROR_END):
            raise span.error(0, "bytes behind the last section that are no mirrored text")
        key = next((key for key in INTERFACE_UUID_KEYS if f'"{key}"'.encode() in span.data), INTERFACE_UUID_KEYS[0])
        ending = b"\n" if span.data.endswith(b"\n" + MIRROR_END) else b""
        for mirror in (Mirror(key, is_indented, ending) for is_indented in (False, True)):
            if self._mirror_text(mirror, heads) == span.data:
                return mirror
        return Mirror(text=span.data)

    def _mirror_text(self, mirror: Mirror, heads: list[XclbinSectionHeader]) -> bytes:
        if mirror.text is not None:
            return mirror.text
        header = self.header
        tree = Pairs(
            [
                ("schema_version", Pairs([("major", "1"), ("minor", "0"), ("patch", "0")])),
                (
                    "header",
                    Pairs(
                        [
                            ("Magic", header.magic.rstrip(b"\0").decode("latin-1")),
                            ("SignatureLength", f"{header.signature_length & 0xFFFFFFFF:x}"),
                            ("KeyBlock", header.key_block.hex()),
                            ("UniqueID", header.unique_id.to_bytes(8, "little").hex()),
                            ("TimeStamp", str(header.timestamp)),
                            ("FeatureRomTimeStamp", str(header.feature_rom_timestamp)),
                            # the numbers as characters: the writer takes bytes for those
                            (
                                "Version",
                                f"{chr(header.version_major)}.{chr(header.version_minor)}.{header.version_patch}",
                            ),
                            ("Mode", str(header.mode)),
                            (mirror.interface_uuid_key, header.interface_uuid.hex()),
                            ("PlatformVBNV", header.platform),
                            ("XclBinUUID", header.uuid.hex()),
                            ("DebugBin", header.debug_bin),
                        ]
                    ),
                ),
                *(
                    ("section_header", self._mirrored(section, head))
                    for section, head in zip(self.sections, heads, strict=True)
                ),
            ]
        )
        body = property_text(tree, is_indented=mirror.is_indented)
        return MIRROR_START + body.encode("latin-1") + mirror.ending + MIRROR_END

    def _mirrored(self, section: XclbinSection, head: XclbinSectionHeader) -> Pairs:
        found = Pairs(
            [
                ("Kind", str(head.kind)),
                ("Name", head.name),
                ("Offset", f"{head.offset:#x}"),
                ("Size", f"{head.size:#x}"),
            ]
        )
        if isinstance(section.content, IN_MIRROR):
            found.append(("payload", section.content.property_tree()))
        elif isinstance(section.content, Document) and section.kind in DOCUMENTS_IN_MIRROR:
            tree = section.content.tree
            if isinstance(tree, Pairs):
                found.append(("payload", Pairs([(key, value) for key, value in tree if key != "schema_version"])))
        return found

    def content(self, kind: SectionKind, type: type[C]) -> C | None:
        """What is in the first section of a kind."""
        found = (it.content for it in self.sections if it.kind == kind and isinstance(it.content, type))
        return cast("C | None", next(found, None))

    def offset_of(self, section: XclbinSection) -> int:
        """Where a section begins in the file."""
        return next(head.offset for it, head in zip(self.sections, self._laid_out()[0], strict=True) if it is section)

    @property
    def partition(self) -> AiePartition | None:
        return self.content(SectionKind.AIE_PARTITION, AiePartition)

    def kernels_of(self, pdi: PartitionPdi) -> list[str]:
        """The kernels, `KERNEL:INSTANCE`, that a PDI is loaded for."""
        from tilewright.containers.xclbin_sections import IP_PS_KERNEL, PsKernelProperties

        wanted = {number for group in pdi.groups for number in group.kernel_ids}
        layout = self.content(SectionKind.IP_LAYOUT, IpLayout)
        return [
            ip.name
            for ip in (layout.entries if layout else ())
            if ip.type == IP_PS_KERNEL and PsKernelProperties.decode([ip.properties])["kernel_id"] in wanted
        ]

    def to_json(self) -> dict[str, Json]:
        sections = [
            {"kind": head.kind, "name": section.kind_name, "label": head.name, "offset": head.offset, "size": head.size}
            | ({} if isinstance(section.content, Pdi | AiePartition) else {"content": section.content.to_json()})
            for section, head in zip(self.sections, self._laid_out()[0], strict=True)
        ]
        found: dict[str, Json] = {"kind": "xclbin", "uuid": str(UUID(bytes=self.header.uuid)),
                                  "header": self.header.to_json(), "sections": sections}  # fmt: skip
        if partition := self.partition:
            found |= {"columns": partition.column_width, "start_columns": partition.start_columns}
            found["pdis"] = [
                pdi.image.to_json()
                | {
                    "uuid": str(pdi.uuid),
                    "kernels": self.kernels_of(pdi),
                    "groups": [group.to_json() for group in pdi.groups],
                }
                for pdi in partition.pdis
            ]
        return found

    def opaque(self) -> Iterator[Opaque]:
        yield from self.header.opaque()
        for section in self.sections:
            yield from section.content.opaque()
        if self.mirror is not None and self.mirror.text is not None:
            yield Opaque("mirrored text", len(self.mirror.text))


def _places(sizes: Iterable[int]) -> list[int]:
    """Where sections of these sizes begin."""
    sizes = [*sizes]
    at, found = AxlfHeader.size_bytes() + XclbinSectionHeader.size_bytes() * len(sizes), list[int]()
    for size in sizes:
        at = round_up(at, ALIGNMENT)
        found.append(at)
        at += size
    return found


def _check_layout(span: Span, heads: list[XclbinSectionHeader]) -> None:
    """Refuse sections that do not lie one behind the other with zeros between them."""
    end = AxlfHeader.size_bytes() + XclbinSectionHeader.size_bytes() * len(heads)
    for number, (head, place) in enumerate(zip(heads, _places([head.size for head in heads]), strict=True)):
        at = AxlfHeader.size_bytes() + XclbinSectionHeader.size_bytes() * number
        if head.offset != place:
            text = f"section {number} is at {head.offset:#x}; behind the one before it is {place:#x}"
            raise span.error(at + 24, text)
        if any(head.reserved_20):
            raise span.error(at + 20, f"reserved bytes of the header of section {number} are not zero")
        if any(span.data[end:place]):
            raise span.error(end, f"the padding before section {number} is not zero")
        end = place + head.size


def is_xclbin(data: bytes) -> bool:
    return data.startswith(MAGIC)


def _read_content(kind: int, span: Span) -> Content:
    rest = RawContent(span.data, f"section {kind_name(kind)}")
    if kind not in READERS or not len(span):
        return rest
    made: Content = READERS[SectionKind(kind)](span)
    # written by a tool with rules of its own: the bytes stay as they are
    return made if made.write() == span.data else rest
