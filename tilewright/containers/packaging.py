"""An xclbin out of its parts: the JSON files that mlir-aie writes for xclbinutil, and PDIs.

Source: `XclBinClass.cxx`, `SectionAIEPartition.cxx` and `XclBinUtilities.cxx` of XRT. Sections are in the order in
which the tool is given files (memories, partition) and derives the rest from the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, TypeVar, cast
from uuid import UUID

from tilewright.containers.aie_partition import CDO_TYPES, AiePartition, CdoGroup, PartitionPdi
from tilewright.containers.documents import Document, Element, Writing, escaped_attribute
from tilewright.containers.pdi import Pdi
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
from tilewright.support.structure import ContainerError

LONGEST_LABEL = 15
SCALAR, GLOBAL = 0, 1
TYPE_BYTES = {
    **dict.fromkeys(("uint64_t", "int64_t", "double", "size_t"), 8),
    **dict.fromkeys(("uint32_t", "int32_t", "unsigned int", "int", "float"), 4),
    **dict.fromkeys(("uint16_t", "int16_t"), 2),
    **dict.fromkeys(("uint8_t", "int8_t", "char", "unsigned char"), 1),
}
POINTER_BYTES = 8
LEAST_BUFFERS, MOST_BUFFERS = 5, 16
"""Host buffers of a kernel: run lists need that many, and more than the second were never tried."""
C = TypeVar("C")


@dataclass(frozen=True)
class KernelNames:
    """How a host finds a kernel, as mlir-aie calls it unless told otherwise."""

    name: str = "MLIR_AIE"
    instance: str = "MLIRAIE"
    id: str = "0x901"


def memory_json() -> dict[str, Any]:
    """The memories of an NPU, as mlir-aie describes them for xclbinutil."""
    banks = [("0x10000", "HOST"), ("0xc000", "SRAM")]
    data = [
        {"m_type": "MEM_DRAM", "m_used": "1", "m_sizeKB": size, "m_tag": tag, "m_base_address": "0x4000000"}
        for size, tag in banks
    ]
    return {"mem_topology": {"m_count": str(len(data)), "m_mem_data": data}}


def kernels_json(kernel: KernelNames, buffers: int) -> dict[str, Any]:
    """A kernel that runs instructions on buffers of the host."""
    scalar, pointer = {"address-qualifier": "SCALAR"}, {"address-qualifier": "GLOBAL"}
    arguments = [
        {"name": "opcode", **scalar, "type": "uint64_t", "offset": "0x00"},
        {"name": "instr", "memory-connection": "SRAM", **pointer, "type": "char *", "offset": "0x08"},
        {"name": "ninstr", **scalar, "type": "uint32_t", "offset": "0x10"},
    ]
    for number in range(buffers):
        place = {"memory-connection": "HOST", **pointer, "type": "void*", "offset": f"0x{0x14 + 8 * number:X}"}
        arguments.append({"name": f"bo{number}", **place})
    extended = {"subtype": "DPU", "functional": "0", "dpu_kernel_id": kernel.id}
    made = {"name": kernel.name, "type": "dpu", "extended-data": extended, "arguments": arguments}
    return {"ps-kernels": {"kernels": [made | {"instances": [{"name": kernel.instance}]}]}}


def packet_buffers(argument: int, size: int) -> dict[str, Any]:
    """The buffer that control packets are sent from, as mlir-aie describes it for aiebu."""
    about = {"xrt_id": argument, "logical_id": -1, "size_in_bytes": size, "ctrl_pkt_buffer": 1}
    return {"external_buffers": {"buffer_ctrl": about | {"name": "runtime_control_packet"}}}


def partition_json(columns: int, array_columns: int, pdi: str, uuid: UUID, kernel: KernelNames) -> dict[str, Any]:
    """A partition with one PDI, wherever in the array there is room for its columns."""
    group = {"name": "DPU", "type": "PRIMARY", "pdi_id": "0x01", "dpu_kernel_ids": [kernel.id],
             "pre_cdo_groups": ["0xC1"]}  # fmt: skip
    place = {"column_width": columns, "start_columns": [*range(array_columns - columns + 1)]}
    numbers = {"operations_per_cycle": "2048", "inference_fingerprint": "23423", "pre_post_fingerprint": "12345"}
    pdis = [{"uuid": str(uuid), "file_name": pdi, "cdo_groups": [group]}]
    return {"aie_partition": {"name": "QoS", **numbers, "partition": place, "PDIs": pdis}}


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

    `labels` are the stems of the files with memories and partition, which become names of sections. Without a `uuid`
    it follows from the contents.
    """
    sections = [
        _section(SectionKind.MEM_TOPOLOGY, MemTopology([*_banks(memory)]), labels[0]),
        _section(SectionKind.AIE_PARTITION, _partition(partition, pdi), labels[1]),
    ]
    major, minor, patch = version
    made = Xclbin(AxlfHeader(version_major=major, version_minor=minor, version_patch=patch), sections)
    return _with_kernels(made, kernels, uuid, timestamp)


def extended_xclbin(
    base: Xclbin,
    partition: Mapping[str, Any],
    kernels: Mapping[str, Any],
    pdi: Callable[[str], Pdi],
    *,
    uuid: UUID | None = None,
    timestamp: int = 0,
    label: str = "merged_aie_partition",
) -> Xclbin:
    """A file with one more PDI, the first of a partition, and more kernels: what mlir-aie does with `--xclbin-input`.

    As xclbinutil leaves them, the partition comes behind the other sections, and the groups of memories behind it.
    """
    before = base.partition
    if before is None:
        raise ContainerError(None, "the xclbin to be extended has no AIE partition")
    after = _partition(partition, pdi)
    if not after.pdis:
        raise ContainerError(None, "the partition has no PDI that could be added")
    if taken := {*_kernel_ids(before.pdis)} & {*_kernel_ids(after.pdis[:1])}:
        ids = ", ".join(f"{number:#x}" for number in sorted(taken))
        raise ContainerError(None, f"the kernel id {ids} is taken in the xclbin to be extended: choose another one")
    if before.column_width < after.column_width:
        columns = f"{before.column_width} columns wide, the design needs {after.column_width}"
        raise ContainerError(None, f"the partition of the xclbin to be extended is {columns}")
    merged = replace(before, pdis=[*before.pdis, after.pdis[0]])
    derived = (SectionKind.AIE_PARTITION, SectionKind.GROUP_CONNECTIVITY, SectionKind.GROUP_TOPOLOGY)
    kept = [deepcopy(section) for section in base.sections if section.kind not in derived]
    made = Xclbin(replace(base.header), [*kept, _section(SectionKind.AIE_PARTITION, merged, label)])
    return _with_kernels(made, kernels, uuid, timestamp)


def _kernel_ids(pdis: Iterable[PartitionPdi]) -> Iterator[int]:
    return (number for pdi in pdis for group in pdi.groups for number in group.kernel_ids)


def _section(kind: SectionKind, content: Any, label: str = "") -> XclbinSection:
    return XclbinSection(kind, label[:LONGEST_LABEL], content)


def _with_kernels(made: Xclbin, kernels: Mapping[str, Any], uuid: UUID | None, timestamp: int) -> Xclbin:
    """Add kernels to what describes those that are there, and groups of memories behind everything else."""
    banks = made.content(SectionKind.MEM_TOPOLOGY, MemTopology)
    if banks is None:
        raise ContainerError(None, "the xclbin to be extended has no memories")
    added = [_Kernel(it) for it in listed(get(kernels, "ps-kernels", "kernels"), "kernels")]
    metadata = _content(made, SectionKind.EMBEDDED_METADATA, Document, _metadata)
    ips = _content(made, SectionKind.IP_LAYOUT, IpLayout, lambda: IpLayout([]))
    connections = _content(made, SectionKind.CONNECTIVITY, Connectivity, lambda: Connectivity([]))
    connections.entries += _connections(added, banks, len(ips.entries))
    names = {ip.name for ip in ips.entries}
    for kernel in added:
        for instance in kernel.instances:
            ip = Ip(properties=kernel.properties, name=f"{kernel.name}:{instance}")
            if ip.name in names:
                raise ContainerError(None, f"there is a kernel {ip.name!r} already: choose another name or instance")
            names.add(ip.name)
            ips.entries.append(ip)
    _core(metadata).children += [_kernel_element(kernel) for kernel in added]
    made.sections += [
        # each connection once more for the group of memories that it is in, which here is that memory alone
        _section(SectionKind.GROUP_CONNECTIVITY, GroupConnectivity([*connections.entries, *connections.entries])),
        _section(SectionKind.GROUP_TOPOLOGY, GroupTopology(banks.entries)),
    ]
    header = made.header
    header.unique_id = header.timestamp = timestamp
    header.uuid = (uuid or content_uuid(section.content.write() for section in made.sections)).bytes
    return made


def _content(made: Xclbin, kind: SectionKind, type: type[C], new: Callable[[], C]) -> C:
    """What is in a section, which is added where there is none."""
    found = made.content(kind, type)
    if found is not None:
        return found
    if any(section.kind == kind for section in made.sections):
        raise ContainerError(None, f"section {kind.name} of the xclbin to be extended is in a form that is not known")
    content = new()
    made.sections.append(_section(kind, content))
    return content


def content_uuid(parts: Iterable[bytes]) -> UUID:
    """A uuid that follows from bytes: what is made twice of the same parts is the same."""
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return UUID(bytes=digest.digest()[:16], version=4)


class _Kernel:
    """A kernel as the JSON has it."""

    def __init__(self, source: Mapping[str, Any]):
        self.name, self.type = name_in(source, "name"), name_in(source, "type", "dpu")
        extended = mapping(source.get("extended-data", {}), "extended-data")
        self.subtype = _named(SUBTYPES, extended.get("subtype", SUBTYPES[DPU]), "subtype")
        self.functional = _named(FUNCTIONALS, extended.get("functional", 0), "functional")
        self.kernel_id = number(extended.get("dpu_kernel_id", 0), "dpu_kernel_id")
        self.arguments = [_Argument(it) for it in listed(source.get("arguments", []), "arguments")]
        self.instances = [name_in(it, "name") for it in listed(source.get("instances", []), "instances")]

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
        self.name, self.type = name_in(source, "name"), name_in(source, "type")
        self.memory = name_in(source, "memory-connection", "")
        self.is_global = text_in(source, "address-qualifier", "SCALAR") == "GLOBAL"
        self.offset = name_in(source, "offset", "0x0")

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
            tag=name_in(bank, "m_tag"),
        )


def _partition(source: Mapping[str, Any], pdi: Callable[[str], Pdi]) -> AiePartition:
    body = mapping(get(source, "aie_partition"), "aie_partition")
    place = mapping(get(body, "partition"), "partition")
    return AiePartition(
        number(place.get("column_width", 0), "column_width"),
        _numbers(place, "start_columns"),
        [
            PartitionPdi(
                _uuid(text_in(it, "uuid")),
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
        name_in(source, "name"),
        _named(CDO_TYPES, source.get("type", "PRIMARY"), "type"),
        number(source.get("pdi_id", 0), "pdi_id"),
        _numbers(source, "dpu_kernel_ids"),
        _numbers(source, "pre_cdo_groups"),
    )


def _connections(kernels: list[_Kernel], banks: MemTopology, ip: int) -> Iterator[Connection]:
    """The buffers of each instance of each kernel, with their memories; `ip` is the first one's number."""
    tags = [bank.tag for bank in banks.entries]
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


def _metadata() -> Document:
    device = Element("device", children=[Element("core")])
    return Document(Writing.XML, Element("project", children=[Element("platform", children=[device])]))


def _core(metadata: Document) -> Element:
    """The element that kernels are in."""
    found = metadata.tree if isinstance(metadata.tree, Element) else None
    for name in ("platform", "device", "core"):
        found = next((it for it in found.children if it.name == name), None) if found is not None else None
    if found is None:
        raise ContainerError(None, "the metadata of the xclbin to be extended has no place for kernels")
    return found


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


def _numbers(source: Mapping[str, Any], name: str) -> list[int]:
    found = source.get(name, [])
    if not isinstance(found, list):
        raise ContainerError(None, f"{name} is no list of numbers")
    return [number(it, name) for it in cast("list[Any]", found)]


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ContainerError(None, f"{text!r:.60} is no uuid") from None


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ContainerError(None, f"{what} is no object")
    return cast("Mapping[str, Any]", value)


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


def name_in(source: Any, name: str, default: str | None = None) -> str:
    """A text that files have as it is in JSON: a character for each byte of its UTF-8."""
    return text_in(source, name, default).encode("utf-8", "surrogatepass").decode("latin-1")


def listed(value: Any, what: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(it, Mapping) for it in cast("list[Any]", value)):
        raise ContainerError(None, f"{what} is no list of objects")
    return cast("list[Mapping[str, Any]]", value)
