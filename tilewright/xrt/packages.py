"""Packages as programs for XRT see them: kernels with their arguments and memories, and the image that each needs.

Source: `xclbin_parser.cpp` and `xrt_elf.cpp` of XRT, `hwctx.cpp` of the driver. A kernel's name leads to an entry of
IP_LAYOUT, its number to a group of a PDI: that PDI is loaded when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast
from uuid import UUID

from tilewright import containers
from tilewright.containers import ContainerError, ElfFile, Pdi, Xclbin
from tilewright.containers.aie_partition import PartitionPdi
from tilewright.containers.documents import Document, Element, Writing
from tilewright.containers.elf import FUNCTION, OBJECT, Notes, PdiContent, WordContent
from tilewright.containers.embedded_design import EmbeddedDesign, embedded_designs
from tilewright.containers.xclbin import SectionKind
from tilewright.containers.xclbin_sections import (
    IP_PS_KERNEL,
    Connectivity,
    GroupConnectivity,
    IpLayout,
    MemoryBank,
    MemTopology,
    PsKernelProperties,
)
from tilewright.errors import Error
from tilewright.txn.containers import ControlCode, read_container
from tilewright.txn.elf import TXN_ABI
from tilewright.txn.stream import TxnError

OPCODE, INSTRUCTIONS, COUNT, FIRST_BUFFER = 0, 1, 2, 3
"""The arguments of mlir-aie's kernels: what to do, the instructions, how many, then buffers."""
GLOBAL = "1"
CONFIGURATION_NOTE = ".note.xrt.configuration"
PDI_SECTION = ".pdi."
CONTROL_TEXT = ".ctrltext"


class XrtError(Error, RuntimeError):
    """What XRT would refuse, or what it would do and the simulator cannot."""


@dataclass(frozen=True)
class KernelArgument:
    index: int
    name: str
    is_buffer: bool
    size: int
    banks: Sequence[int] = ()
    """Memories that it can be in."""

    @property
    def bank(self) -> int | None:
        """The one that buffers for it should be in: XRT takes the last."""
        return max(self.banks, default=None)


@dataclass(frozen=True)
class PackagedKernel:
    """A kernel of a package."""

    name: str
    arguments: Sequence[KernelArgument]
    instances: Sequence[str] = ()
    pdi: PartitionPdi | None = None
    codes: Mapping[str, ControlCode] = field(default_factory=dict[str, ControlCode])
    """Its instructions, by instance, where the package brings them."""
    first_buffer: int = FIRST_BUFFER
    """Which argument is the first that instructions can refer to."""

    @property
    def is_numbered_as_buffers(self) -> bool:
        """Whether arguments are buffers from the first on, since the package has the instructions."""
        return self.first_buffer == 0

    @cached_property
    def instructions(self) -> int:
        """The argument for instructions: the first that is a buffer."""
        return next((it.index for it in self.arguments if it.is_buffer), INSTRUCTIONS)

    def argument(self, index: int) -> KernelArgument | None:
        return next((it for it in self.arguments if it.index == index), None)


@dataclass(frozen=True)
class XclbinPackage:
    """An xclbin, opened."""

    file: str
    content: Xclbin

    @staticmethod
    def read(data: bytes, file: str) -> XclbinPackage:
        found = _opened(data, file)
        if not isinstance(found, Xclbin):
            raise XrtError(f"{file}: no xclbin: it does not begin with `xclbin2`")
        return XclbinPackage(file, found)

    @property
    def uuid(self) -> UUID:
        return UUID(bytes=self.content.header.uuid)

    @property
    def banks(self) -> list[MemoryBank]:
        found = self.content.content(SectionKind.MEM_TOPOLOGY, MemTopology)
        return found.entries if found is not None else []

    @cached_property
    def designs(self) -> list[EmbeddedDesign]:
        with naming(self.file):
            return embedded_designs(self.content)

    def design(self, pdi: PartitionPdi | None) -> EmbeddedDesign | None:
        """The design that an image was made from, if the package has it."""
        own = [it for it in self.designs if pdi is not None and it.pdi == pdi.uuid]
        return next(iter([*own, *(it for it in self.designs if it.pdi is None)]), None)

    @cached_property
    def kernels(self) -> list[PackagedKernel]:
        """Kernels in the order of the metadata, else of IP_LAYOUT."""
        layout = self.content.content(SectionKind.IP_LAYOUT, IpLayout)
        ips = [(number, ip) for number, ip in enumerate(layout.entries if layout else ()) if ip.type == IP_PS_KERNEL]
        names = dict.fromkeys(ip.name.partition(":")[0] for _, ip in ips)
        described = _described(self.content)
        found = list[PackagedKernel]()
        for name in sorted(names, key=lambda name: [*described, *names].index(name)):
            own = [(number, ip) for number, ip in ips if ip.name.partition(":")[0] == name]
            numbers = {PsKernelProperties.decode([ip.properties])["kernel_id"] for _, ip in own}
            connections = self._connections({number for number, _ in own})
            arguments = [
                KernelArgument(it.index, it.name, it.is_buffer, it.size, sorted(connections.get(it.index, ())))
                for it in described.get(name, ())
            ]
            found.append(PackagedKernel(name, arguments, [ip.name for _, ip in own], self._pdi(numbers)))
        return found

    def _connections(self, ips: set[int]) -> dict[int, set[int]]:
        # groups come with the memories that they are made of, so that one list has all there is
        sections = (
            self.content.content(SectionKind.GROUP_CONNECTIVITY, GroupConnectivity),
            self.content.content(SectionKind.CONNECTIVITY, Connectivity),
        )
        found = dict[int, set[int]]()
        for section in sections:
            for it in section.entries if section is not None else ():
                if it.ip in ips:
                    found.setdefault(it.argument, set()).add(it.memory)
        return found

    def _pdi(self, numbers: set[int]) -> PartitionPdi | None:
        partition = self.content.partition
        pdis = partition.pdis if partition is not None else []
        return next((it for it in pdis if any(numbers & {*group.kernel_ids} for group in it.groups)), None)


def _described(content: Xclbin) -> dict[str, list[KernelArgument]]:
    """The arguments of kernels as the metadata has them."""
    document = content.content(SectionKind.EMBEDDED_METADATA, Document)
    if document is None or document.writing is not Writing.XML:
        return {}
    found = dict[str, list[KernelArgument]]()
    for element in cast("Element", document.tree).named("kernel"):
        attributes = dict(element.attributes)
        arguments = [dict(it.attributes) for it in element.children if it.name == "arg"]
        found[attributes.get("name", "")] = [
            KernelArgument(
                _number(it.get("id"), index),
                it.get("name", ""),
                it.get("addressQualifier") == GLOBAL,
                _number(it.get("size"), 0),
            )
            for index, it in enumerate(arguments)
        ]
    return found


def _number(text: str | None, other: int) -> int:
    try:
        return int(text or "", 0)
    except ValueError:
        return other


@dataclass(frozen=True)
class ElfPackage:
    """An ELF file with control code: for a kernel of an xclbin, or with images and kernels of its own."""

    file: str
    content: ElfFile
    data: bytes

    @staticmethod
    def read(data: bytes, file: str) -> ElfPackage:
        found = _opened(data, file)
        if not isinstance(found, ElfFile) or found.header.os_abi != TXN_ABI:
            raise XrtError(f"{file}: no ELF file with control code for an NPU")
        return ElfPackage(file, found, data)

    @property
    def is_full(self) -> bool:
        """Whether it brings images, so that no xclbin is needed."""
        return self.content.kind == "config-elf"

    @cached_property
    def codes(self) -> Mapping[str, ControlCode]:
        try:
            return read_container(self.data).codes
        except TxnError as error:
            raise error.with_file(self.file) from None

    @cached_property
    def code(self) -> ControlCode:
        """The only code of a file for a kernel of an xclbin."""
        try:
            return read_container(self.data).code()
        except TxnError as error:
            raise error.with_file(self.file) from None

    @cached_property
    def designs(self) -> list[EmbeddedDesign]:
        with naming(self.file):
            return embedded_designs(self.content)

    @property
    def columns(self) -> int | None:
        """How many columns its configuration wants."""
        notes = next((it.content for it in self.content.sections if it.name == CONFIGURATION_NOTE), None)
        words = [it.description for it in notes.notes] if isinstance(notes, Notes) else []
        return int.from_bytes(words[0][:4], "little") if words and len(words[0]) >= 4 else None

    @cached_property
    def images(self) -> dict[int, Pdi]:
        """Its PDIs by number."""
        return {
            int(it.name.removeprefix(PDI_SECTION)): it.content.pdi
            for it in self.content.sections
            if isinstance(it.content, PdiContent) and it.name.removeprefix(PDI_SECTION).isdecimal()
        }

    @cached_property
    def kernels(self) -> list[PackagedKernel]:
        """Its kernels: a function for each, an object for each instance, whose group names the code."""
        symbols = [(name, it) for section, name, it in self.content.symbols() if section.name == ".symtab"]
        groups = {
            section.header.info: section.content.words[1:]
            for section in self.content.sections
            if section.name.startswith(".group.") and isinstance(section.content, WordContent)
        }
        found = list[PackagedKernel]()
        described = {str(it["symbol"]): str(it["name"]) for it in self.content.kernels()}
        for number, (symbol, it) in enumerate(symbols):
            if it.info & 0xF != FUNCTION:
                continue
            codes = dict[str, ControlCode]()
            for place, (instance, other) in enumerate(symbols):
                if other.info & 0xF == OBJECT and other.section == number:
                    codes |= self._code_of(instance, groups.get(place, ()))
            count = symbol.count("Pc") + symbol.count("Pv")
            arguments = [KernelArgument(index, str(index), True, 8) for index in range(count)]
            found.append(PackagedKernel(described.get(symbol, symbol), arguments, [*codes], None, codes, 0))
        return found

    def _code_of(self, instance: str, members: Sequence[int]) -> dict[str, ControlCode]:
        names = [self.content.sections[it].name for it in members if it < len(self.content.sections)]
        code = next((self.codes[name] for name in names if name.startswith(CONTROL_TEXT) and name in self.codes), None)
        return {} if code is None else {instance: code}


Package = XclbinPackage | ElfPackage


class naming:
    """Lets errors about a container name its file."""

    def __init__(self, file: str):
        self.file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ContainerError) and error.file is None:
            raise error.with_file(self.file) from None


def _opened(data: bytes, file: str) -> containers.Container:
    with naming(file):
        return containers.read(data)


def read_package(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise XrtError(f"{file} cannot be read: {error.strerror}") from error
