"""Designs inside of containers: what the simulator needs to run a package that has no machine code for its cores.

An xclbin has one section VENDER_METADATA called `tilewright` for each PDI that was made from a design, a full ELF has a
section `.tilewright`; XRT and its tools leave both alone. A header with length, digest and version, then packed JSON.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

from tilewright.containers.elf import ElfFile
from tilewright.containers.xclbin import SectionKind, Xclbin, XclbinSection
from tilewright.containers.xclbin_sections import VenderMetadata
from tilewright.support.structure import ContainerError, Record, Span, raw, reserved, u32

MAGIC = b"TWDESIGN"
VERSION = 1
SECTION = "tilewright"
ELF_SECTION = ".tilewright"
MOST_BYTES = 1 << 28
"""How large the text may be when it is unpacked; a few bytes can unpack to any number."""

Place = tuple[int, int]


@dataclass
class EmbeddedHeader(Record):
    """What stands before the compressed text."""

    magic: bytes = raw(8, MAGIC)
    version: int = u32(VERSION)
    packed_bytes: int = u32(note="of what follows the header")
    text_bytes: int = u32(note="of the JSON, unpacked")
    reserved_20: bytes = reserved(4)
    digest: bytes = raw(32, note="SHA-256 of the packed bytes")


@dataclass(frozen=True)
class KernelCode:
    """The C++ source of a function that cores call, with all that it includes, or an object file for this computer."""

    text: str = ""
    flags: tuple[str, ...] = ()
    symbol: str | None = None
    """What the function is called in the source, if cores call it otherwise."""
    object: bytes = b""


@dataclass(frozen=True)
class EmbeddedDesign:
    """A design in a container, as the simulator runs it."""

    design: str
    """The lowered design, with addresses: what `tilewright compile` calls design.mlir."""
    device: str = ""
    """Which device of the design the image configures: its symbol. Empty for the first one."""
    kernels: Mapping[str, KernelCode] = field(default_factory=lambda: MappingProxyType({}))
    """By the names that cores call."""
    cores: Sequence[Place] = ()
    """All cores of the device, (column, row)."""
    cores_with_code: Sequence[Place] = ()
    """Those that the image has machine code for."""
    pdi: UUID | None = None
    """The image of the partition that it belongs to; None where there is one."""
    name: str = "design.mlir"
    """What locations call the text."""
    seal: str = ""
    """Says who made it, to who can check that: it is made of `unsealed` and a secret."""

    @property
    def cores_without_code(self) -> list[Place]:
        return [place for place in self.cores if place not in self.cores_with_code]

    @property
    def is_for_simulator_alone(self) -> bool:
        """Whether an NPU would run cores that have no program."""
        return bool(self.cores_without_code)

    def unsealed(self) -> bytes:
        """Everything but the seal."""
        return _written(self._contents())

    def _contents(self) -> dict[str, Any]:
        return {
            "design": self.design,
            "device": self.device,
            "kernels": {name: _kernel_json(kernel) for name, kernel in sorted(self.kernels.items())},
            "cores": [list(place) for place in self.cores],
            "cores_with_code": [list(place) for place in self.cores_with_code],
            "pdi": None if self.pdi is None else str(self.pdi),
            "name": self.name,
        }

    def write(self) -> bytes:
        """The bytes of the section."""
        text = _written(self._contents() | {"seal": self.seal})
        if len(text) > MOST_BYTES:
            raise ContainerError(
                None, f"a design of {len(text)} bytes is too large for a package: {MOST_BYTES} at most"
            )
        packed = zlib.compress(text, 9)
        header = EmbeddedHeader(packed_bytes=len(packed), text_bytes=len(text), digest=sha256(packed).digest())
        return header.write() + packed

    @classmethod
    def read(cls, span: Span) -> EmbeddedDesign:
        """The design in a section's bytes; `ContainerError` with the offset if it is damaged, or of another version."""
        text = _unpacked(span)
        try:
            return cls._of(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            # the digest fits, so it was written like this
            raise span.error(
                EmbeddedHeader.size_bytes(), f"the embedded design is not as it should be: {error}"
            ) from None

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> EmbeddedDesign:
        pdi = found["pdi"]
        return cls(
            _text(found["design"]),
            _text(found["device"]),
            MappingProxyType({_text(name): _kernel(it) for name, it in found["kernels"].items()}),
            [_place(it) for it in found["cores"]],
            [_place(it) for it in found["cores_with_code"]],
            None if pdi is None else UUID(_text(pdi)),
            _text(found["name"]),
            _text(found["seal"]),
        )


def _written(contents: Mapping[str, Any]) -> bytes:
    # texts may hold bytes that are no UTF-8, which JSON's escapes keep
    return json.dumps(contents, ensure_ascii=True, separators=(",", ":")).encode()


def embed(
    design: str,
    kernels: Mapping[str, str | KernelCode] = MappingProxyType({}),
    options: Mapping[str, Any] = MappingProxyType({}),
) -> bytes:
    """The section's bytes for a lowered design and its C++ kernels; `options` are more fields of `EmbeddedDesign`."""
    codes = {name: it if isinstance(it, KernelCode) else KernelCode(it) for name, it in kernels.items()}
    return EmbeddedDesign(design, kernels=codes, **options).write()


def embedding(design: EmbeddedDesign) -> XclbinSection:
    """The section of an xclbin that holds a design."""
    return XclbinSection(SectionKind.VENDER_METADATA, SECTION, VenderMetadata(SECTION, design.write()))


def embedded_designs(container: Xclbin | ElfFile) -> list[EmbeddedDesign]:
    """All designs in a container, verified; none in those of others."""
    return [EmbeddedDesign.read(span) for span in _spans(container)]


def _spans(container: Xclbin | ElfFile) -> Iterator[Span]:
    """The bytes of all designs, with their places in the file."""
    if isinstance(container, ElfFile):
        for section in container.sections:
            if section.name == ELF_SECTION:
                yield Span(section.content.write(), section.header.offset)
        return
    for section in container.sections:
        if section.kind == SectionKind.VENDER_METADATA and section.name == SECTION:
            place = container.offset_of(section)
            if not isinstance(section.content, VenderMetadata):
                raise ContainerError(place, "the section with the embedded design is damaged")
            yield Span(section.content.image, place + len(section.content.write()) - len(section.content.image))


def read_embedded(container: Xclbin | ElfFile, pdi: UUID | None = None) -> EmbeddedDesign | None:
    """The design that an image was made from; without an image, that of the only or the first one."""
    designs = embedded_designs(container)
    if pdi is None:
        return next(iter(designs), None)
    return next((it for it in designs if it.pdi == pdi), next((it for it in designs if it.pdi is None), None))


def _unpacked(span: Span) -> bytes:
    header = EmbeddedHeader.read(span, 0, "the header of an embedded design")
    if header.magic != MAGIC:
        raise span.error(0, f"no embedded design: it does not begin with `{MAGIC.decode()}`")
    if header.version != VERSION:
        raise span.error(8, f"an embedded design of version {header.version}; this is for version {VERSION}")
    if header.text_bytes > MOST_BYTES:
        raise span.error(16, f"an embedded design of {header.text_bytes} bytes, {MOST_BYTES} at most")
    if any(header.reserved_20):
        raise span.error(20, "reserved bytes of an embedded design are not zero")
    start = EmbeddedHeader.size_bytes()
    if header.packed_bytes != len(span) - start:
        raise span.error(12, f"the header gives {header.packed_bytes} bytes, there are {len(span) - start}")
    if sha256(span.data[start:]).digest() != header.digest:
        raise span.error(24, "the embedded design is damaged: its digest is another one")
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(span.data[start:], header.text_bytes + 1)
    except zlib.error as error:
        raise span.error(start, f"the embedded design is damaged: {error}") from None
    if len(text) != header.text_bytes or not unpacker.eof or unpacker.unused_data:
        raise span.error(
            16, f"the embedded design does not unpack to the {header.text_bytes} bytes that it should have"
        )
    return text


def _kernel_json(kernel: KernelCode) -> dict[str, Any]:
    found: dict[str, Any] = {"text": kernel.text, "flags": list(kernel.flags), "symbol": kernel.symbol}
    return found | ({"object": kernel.object.hex()} if kernel.object else {})


def _kernel(found: Mapping[str, Any]) -> KernelCode:
    symbol = found["symbol"]
    return KernelCode(
        _text(found["text"]),
        tuple(_text(flag) for flag in found["flags"]),
        None if symbol is None else _text(symbol),
        bytes.fromhex(found.get("object", "")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, got {value!r:.40}")
    return value


def _place(value: object) -> Place:
    if (
        isinstance(value, list)
        and len(cast("list[object]", value)) == 2
        and all(type(it) is int for it in cast("list[object]", value))
    ):
        column, row = cast("list[int]", value)
        return column, row
    raise TypeError(f"a tile was expected, got {value!r:.40}")
