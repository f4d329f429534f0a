"""The sections of an xclbin that describe memories, kernels and what connects them.

Source: `xclbin.h` of XRT, and `SectionMemTopology.cxx`, `SectionIPLayout.cxx`, `SectionConnectivity.cxx`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

from tilewright.containers.documents import Pairs
from tilewright.device.layout import Field, Layout
from tilewright.support.structure import Json, Opaque, Record, Span, i32, reserved, text, u8, u32, u64

MEMORY_TYPES = ("MEM_DDR3", "MEM_DDR4", "MEM_DRAM", "MEM_STREAMING", "MEM_PREALLOCATED_GLOB", "MEM_ARE", "MEM_HBM",
                "MEM_BRAM", "MEM_URAM", "MEM_STREAMING_CONNECTION", "MEM_HOST", "MEM_PS_KERNEL")  # fmt: skip
IP_TYPES = ("IP_MB", "IP_KERNEL", "IP_DNASC", "IP_DDR4_CONTROLLER", "IP_MEM_DDR4", "IP_MEM_HBM", "IP_MEM_HBM_ECC",
            "IP_PS_KERNEL")  # fmt: skip
IP_KERNEL, IP_PS_KERNEL = IP_TYPES.index("IP_KERNEL"), IP_TYPES.index("IP_PS_KERNEL")
IP_CONTROLS = ("AP_CTRL_HS", "AP_CTRL_CHAIN", "AP_CTRL_NONE", "AP_CTRL_ME", "ACCEL_ADAPTER", "FAST_ADAPTER")
SUBTYPES, FUNCTIONALS = ("PS", "DPU"), ("DPU", "PrePost")
DPU = SUBTYPES.index("DPU")
UNUSED = (1 << 64) - 1


class KernelProperties(Layout):
    """The properties of a kernel that is logic."""

    interrupt_enable = Field(0, 0, 0)
    interrupt_id = Field(0, 7, 1)
    control = Field(0, 15, 8)


class PsKernelProperties(Layout):
    """The properties of a kernel that is code, for the array or for a processor."""

    subtype = Field(0, 1, 0)
    functional = Field(0, 5, 4)
    kernel_id = Field(0, 27, 16)


@dataclass
class MemoryBank(Record):
    """A memory that buffers can be in."""

    type: int = u8(MEMORY_TYPES.index("MEM_DRAM"), note="2 is DRAM")
    used: int = u8(1)
    reserved_2: bytes = reserved(6)
    size_kib: int = u64()
    base_address: int = u64()
    tag: str = text(16)

    def property_tree(self) -> Pairs:
        return Pairs(
            [
                ("m_type", _named(MEMORY_TYPES, self.type)),
                ("m_used", str(self.used)),
                ("m_sizeKB", f"{self.size_kib:#x}"),
                ("m_tag", self.tag),
                ("m_base_address", f"{self.base_address:#x}"),
            ]
        )


@dataclass
class Ip(Record):
    """A kernel, with the number by which its PDI is found."""

    type: int = u32(IP_PS_KERNEL, note="7 is code (`IP_PS_KERNEL`)")
    properties: int = u32(note="bits 1:0 subtype (1 DPU), 5:4 functional, 27:16 kernel id")
    base_address: int = u64(UNUSED)
    name: str = text(64, note="`KERNEL:INSTANCE`")

    def property_tree(self) -> Pairs:
        base = "not_used" if self.base_address == UNUSED else f"{self.base_address:#x}"
        return Pairs(
            [
                ("m_type", _named(IP_TYPES, self.type)),
                *self._properties(),
                ("m_base_address", base),
                ("m_name", self.name),
            ]
        )

    def _properties(self) -> list[tuple[str, str]]:
        if self.type == IP_KERNEL:
            fields = KernelProperties.decode([self.properties])
            return [
                ("m_int_enable", str(fields["interrupt_enable"])),
                ("m_interrupt_id", str(fields["interrupt_id"])),
                ("m_ip_control", _named(IP_CONTROLS, fields["control"])),
            ]
        fields = PsKernelProperties.decode([self.properties])
        if self.type == IP_PS_KERNEL and fields["subtype"] == DPU:
            return [
                ("m_subtype", SUBTYPES[DPU]),
                ("m_functional", _named(FUNCTIONALS, fields["functional"])),
                ("m_kernel_id", f"{fields['kernel_id']:#x}"),
            ]
        return [("properties", f"{self.properties:#x}")]


@dataclass
class Connection(Record):
    """A buffer argument of a kernel, and the memory that it is in."""

    argument: int = i32()
    ip: int = i32()
    memory: int = i32()

    def property_tree(self) -> Pairs:
        return Pairs(
            [
                ("arg_index", str(self.argument)),
                ("m_ip_layout_index", str(self.ip)),
                ("mem_data_index", str(self.memory)),
            ]
        )


R = TypeVar("R", MemoryBank, Ip, Connection)


@dataclass
class Entries(Generic[R]):
    """A section that is a number and as many entries."""

    entries: list[R]

    entry: ClassVar[type[Record]]
    name: ClassVar[str]
    list_name: ClassVar[str]
    start: ClassVar[int] = 8
    """Offset of the first entry: entries of 64-bit numbers are aligned."""

    @classmethod
    def read(cls, span: Span) -> Self:
        count, size = span.word(0, f"the number of entries of {cls.name}"), cls.entry.size_bytes()
        if cls.start + count * size != len(span):
            raise span.error(0, f"{cls.name} has {count} entries of {size} bytes, the section {len(span)} bytes")
        return cls([cls.entry.read(span, cls.start + size * index, "an entry") for index in range(count)])  # pyright: ignore

    def write(self) -> bytes:
        head = len(self.entries).to_bytes(4, "little").ljust(self.start, b"\0")
        return head + b"".join(entry.write() for entry in self.entries)

    def property_tree(self) -> Pairs:
        entries = [entry.property_tree() for entry in self.entries]
        return Pairs([(self.name, Pairs([("m_count", str(len(entries))), (self.list_name, entries)]))])

    def to_json(self) -> Json:
        return [entry.to_json() for entry in self.entries]

    def opaque(self) -> Iterator[Opaque]:
        for entry in self.entries:
            yield from entry.opaque()


class MemTopology(Entries[MemoryBank]):
    entry, name, list_name = MemoryBank, "mem_topology", "m_mem_data"


class GroupTopology(MemTopology):
    name = "group_topology"


class IpLayout(Entries[Ip]):
    entry, name, list_name = Ip, "ip_layout", "m_ip_data"


class Connectivity(Entries[Connection]):
    entry, name, list_name, start = Connection, "connectivity", "m_connection", 4


class GroupConnectivity(Connectivity):
    name = "group_connectivity"


@dataclass
class VenderRecord(Record):
    """The header of a section with a file of the vendor's."""

    name: int = u32(note="offset of the name")
    image: int = u32(note="offset of the file")
    image_bytes: int = u32()
    reserved_12: bytes = reserved(36)


@dataclass
class VenderMetadata:
    """A file that the vendor's own tools put into an xclbin."""

    name: str
    image: bytes

    @classmethod
    def read(cls, span: Span) -> VenderMetadata:
        record = VenderRecord.read(span, 0, "the vendor's metadata")
        return cls(
            span.name(record.name, "the name of the vendor's metadata"),
            span.bytes(record.image, record.image_bytes, "the vendor's metadata"),
        )

    def write(self) -> bytes:
        name = self.name.encode("latin-1") + b"\0"
        at = VenderRecord.size_bytes()
        return VenderRecord(at, at + len(name), len(self.image)).write() + name + self.image

    def to_json(self) -> Json:
        return {"name": self.name, "bytes": len(self.image)}

    def opaque(self) -> Iterator[Opaque]:
        yield Opaque("the vendor's metadata", len(self.image))


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else str(number)
