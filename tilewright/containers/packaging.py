"""An xclbin out of its parts: the JSON files that mlir-aie writes for xclbinutil, and PDIs.

Source: `XclBinClass.cxx`, `SectionAIEPartition.cxx` and `XclBinUtilities.cxx` of XRT. Sections are in the order in
which the tool is given files (memories, partition) and derives the rest from the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast
from uuid import UUID, uuid4

from tilewright.containers.aie_partition import CDO_TYPES, AiePartition, CdoGroup, PartitionPdi
from tilewright.containers.documents import Document, Element, Writing, escaped_attribute
from tilewright.containers.pdi import Pdi
from tilewright.containers.structure import ContainerError
from tilewright.containers.xclbin import AxlfHeader, SectionKind, Xclbin, XclbinSection
from tilewright.containers.xclbin_sections import (
    DPU,
    FUNCTIONALS,
    MEMORY_TYPES,
    SUBTYPES,
    Connection,
    Connectivity,
    GroupConnectivity,
    GroupTopology,
    Ip,
    IpLayout,
    MemoryBank,
    MemTopology,
    PsKernelProperties,
)

LONGEST_LABEL = 15
SCALAR, GLOBAL = 0, 1
TYPE_BYTES = {
    **dict.fromkeys(("uint64_t", "int64_t", "double", "size_t"), 8),
    **dict.fromkeys(("uint32_t", "int32_t", "unsigned int", "int", "float"), 4),
    **dict.fromkeys(("uint16_t", "int16_t"), 2),
    **dict.fromkeys(("uint8_t", "int8_t", "char", "unsigned char"), 1),
}
POINTER_BYTES = 8


def xclbin_from_parts(
    partition: Mapping[str, Any],
    kernels: Mapping[str, Any],
    memory: Mapping[str, Any],
    pdi: Callable[[str], Pdi],
    *,
    uuid: UUID | None = None,
    timestamp: int = 0,
    version: tuple[int, int, int] = (2, 20, 0),
    labels: tuple[str, str] = ("mem_topology", "aie_partition"),
) -> Xclbin:
    """The file that xclbinutil makes of three JSON files; `pdi` gives the PDI of each `file_name` in the first.

    `labels` are the stems of the files with memories and partition, which become names of sections.
    """
    banks = MemTopology([*_banks(memory)])
    made = [_Kernel(it) for it in listed(get(kernels, "ps-kernels", "kernels"), "kernels")]
    ips = [Ip(properties=it.properties, name=f"{it.name}:{instance}") for it in made for instance in it.instances]
    connections = [*_connections(made, banks)]
    sections: list[tuple[SectionKind, str, Any]] = [
        (SectionKind.MEM_TOPOLOGY, labels[0], banks),
        (SectionKind.AIE_PARTITION, labels[1], _partition(partition, pdi)),
        (SectionKind.EMBEDDED_METADATA, "", _metadata(made)),
        (SectionKind.IP_LAYOUT, "", IpLayout(ips)),
        (SectionKind.CONNECTIVITY, "", Connectivity(connections)),
        # each connection once more for the group of memories that it is in, which here is that memory alone
        (SectionKind.GROUP_CONNECTIVITY, "", GroupConnectivity([*connections, *connections])),
        (SectionKind.GROUP_TOPOLOGY, "", GroupTopology(banks.entries)),
    ]
    header = AxlfHeader(
        unique_id=timestamp,
        timestamp=timestamp,
        version_major=version[0],
        version_minor=version[1],
        version_patch=version[2],
        uuid=(uuid or uuid4()).bytes,
    )
    return Xclbin(header, [XclbinSection(kind, name[:LONGEST_LABEL], content) for kind, name, content in sections])


class _Kernel:
    """A kernel as the JSON has it."""

    def __init__(self, source: Mapping[str, Any]):
        self.name, self.type = text_in(source, "name"), text_in(source, "type", "dpu")
        extended = cast("Mapping[str, Any]", source.get("extended-data", {}))
        self.subtype = _named(SUBTYPES, extended.get("subtype", SUBTYPES[DPU]), "subtype")
        self.functional = _named(FUNCTIONALS, extended.get("functional", 0), "functional")
        self.kernel_id = number(extended.get("dpu_kernel_id", 0), "dpu_kernel_id")
        self.arguments = [_Argument(it) for it in listed(source.get("arguments", []), "arguments")]
        self.instances = [text_in(it, "name") for it in listed(source.get("instances", []), "instances")]

    @property
    def properties(self) -> int:
        try:
            (word,) = PsKernelProperties.encode(
                subtype=self.subtype, functional=self.functional, kernel_id=self.kernel_id
            )
        except ValueError as error:
            raise ContainerError(None, f"kernel {self.name!r}: {error}") from None
        return word


class _Argument:
    def __init__(self, source: Mapping[str, Any]):
        self.name, self.type = text_in(source, "name"), text_in(source, "type")
        self.memory = text_in(source, "memory-connection", "")
        self.is_global = text_in(source, "address-qualifier", "SCALAR") == "GLOBAL"
        self.offset = text_in(source, "offset", "0x0")

    @property
    def size(self) -> int:
        if self.type.rstrip().endswith("*"):
            return POINTER_BYTES
        if self.type not in TYPE_BYTES:
            raise ContainerError(None, f"argument {self.name!r} has the type {self.type!r}, whose size is not known")
        return TYPE_BYTES[self.type]


def _banks(memory: Mapping[str, Any]) -> Iterator[MemoryBank]:
    for bank in listed(get(memory, "mem_topology", "m_mem_data"), "m_mem_data"):
        yield MemoryBank(
            type=_named(MEMORY_TYPES, bank.get("m_type", "MEM_DRAM"), "m_type"),
            used=number(bank.get("m_used", 1), "m_used"),
            size_kib=number(bank.get("m_sizeKB", 0), "m_sizeKB"),
            base_address=number(bank.get("m_base_address", 0), "m_base_address"),
            tag=text_in(bank, "m_tag"),
        )


def _partition(source: Mapping[str, Any], pdi: Callable[[str], Pdi]) -> AiePartition:
    body = cast("Mapping[str, Any]", get(source, "aie_partition"))
    place = cast("Mapping[str, Any]", get(body, "partition"))
    return AiePartition(
        number(place.get("column_width", 0), "column_width"),
        [number(it, "start_columns") for it in cast("list[Any]", place.get("start_columns", []))],
        [
            PartitionPdi(
                UUID(text_in(it, "uuid")),
                pdi(text_in(it, "file_name")),
                [_group(group) for group in listed(it.get("cdo_groups", []), "cdo_groups")],
            )
            for it in listed(get(body, "PDIs"), "PDIs")
        ],
        operations_per_cycle=number(body.get("operations_per_cycle", 0), "operations_per_cycle"),
        inference_fingerprint=number(body.get("inference_fingerprint", 0), "inference_fingerprint"),
        pre_post_fingerprint=number(body.get("pre_post_fingerprint", 0), "pre_post_fingerprint"),
    )


def _group(source: Mapping[str, Any]) -> CdoGroup:
    return CdoGroup(
        text_in(source, "name"),
        _named(CDO_TYPES, source.get("type", "PRIMARY"), "type"),
        number(source.get("pdi_id", 0), "pdi_id"),
        [number(it, "dpu_kernel_ids") for it in cast("list[Any]", source.get("dpu_kernel_ids", []))],
        [number(it, "pre_cdo_groups") for it in cast("list[Any]", source.get("pre_cdo_groups", []))],
    )


def _connections(kernels: list[_Kernel], banks: MemTopology) -> Iterator[Connection]:
    """The buffers of each instance of each kernel, with their memories."""
    tags, ip = [bank.tag for bank in banks.entries], 0
    for kernel in kernels:
        for _ in kernel.instances:
            for index, argument in enumerate(kernel.arguments):
                if not argument.memory:
                    continue
                if argument.memory not in tags:
                    known = ", ".join(tags) or "none"
                    text = f"argument {argument.name!r} is in the memory {argument.memory!r}; there is {known}"
                    raise ContainerError(None, text)
                yield Connection(index, ip, tags.index(argument.memory))
            ip += 1


def _metadata(kernels: list[_Kernel]) -> Document:
    core = Element("core", children=[_kernel_element(kernel) for kernel in kernels])
    device = Element("device", children=[core])
    return Document(Writing.XML, Element("project", children=[Element("platform", children=[device])]))


def _kernel_element(kernel: _Kernel) -> Element:
    extended = {
        "subtype": str(kernel.subtype),
        "functional": str(kernel.functional),
        "dpu_kernel_id": f"{kernel.kernel_id:#x}",
    }
    arguments = [
        _element(
            "arg",
            name=argument.name,
            addressQualifier=str(GLOBAL if argument.is_global else SCALAR),
            id=str(index),
            size=f"{argument.size:#x}",
            offset=argument.offset,
            hostOffset="0x0",
            hostSize=f"{argument.size:#x}",
            type=argument.type,
        )
        for index, argument in enumerate(kernel.arguments)
    ]
    instances = [_element("instance", name=name) for name in kernel.instances]
    made = _element("kernel", name=kernel.name, language="c", type=kernel.type)
    made.children = [_element("extended-data", **extended), *arguments, *instances]
    return made


def _element(name_: str, **attributes: str) -> Element:
    return Element(name_, {key: escaped_attribute(value) for key, value in attributes.items()})


def number(value: Any, what: str) -> int:
    """A number of a JSON file, which may be a text in decimal or hexadecimal."""
    try:
        return value if isinstance(value, int) else int(str(value), 0)
    except ValueError:
        raise ContainerError(None, f"{what} is {value!r:.60}, which is no number") from None


def _named(names: tuple[str, ...], value: Any, what: str) -> int:
    return names.index(value) if value in names else number(value, what)


def get(source: Any, *path: str) -> Any:
    for name in path:
        if not isinstance(source, Mapping) or name not in source:
            raise ContainerError(None, f"there is no {'/'.join(path)}")
        source = cast("Mapping[str, Any]", source)[name]
    return source


def text_in(source: Any, name: str, default: str | None = None) -> str:
    value = get(source, name) if default is None else source.get(name, default)
    if not isinstance(value, str):
        raise ContainerError(None, f"{name} is {value!r:.60}, which is no text")
    return value


def listed(value: Any, what: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(it, Mapping) for it in cast("list[Any]", value)):
        raise ContainerError(None, f"{what} is no list of objects")
    return cast("list[Mapping[str, Any]]", value)
