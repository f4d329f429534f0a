"""Structures of binary files as tables: a dataclass whose fields say how they lie in bytes.

Reader, writer, JSON and the tables in the documentation all follow from the fields:

    @dataclass
    class Entry(Record):
        name: str = text(16)
        size: int = u32(note="in bytes")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

from tilewright.errors import Error

Json: TypeAlias = Any
WORD = Struct("<I")


class ContainerError(Error, ValueError):
    """A file that is nothing of the kind, or a damaged one; `offset` is the byte of the file at which that shows."""

    def __init__(self, offset: int | None, reason: str, file: str | None = None):
        self.offset, self.reason, self.file = offset, reason, file
        place = "" if offset is None else f", at offset {offset:#x}"
        super().__init__(f"{file}: error: {reason}{place}" if file else f"{reason}{place}")

    def with_file(self, file: str) -> ContainerError:
        return ContainerError(self.offset, self.reason, file)


@dataclass(frozen=True)
class Span:
    """Some bytes of a file, and where in the file they begin: places in them are told as places in the file."""

    data: bytes
    start: int = 0

    def __len__(self) -> int:
        return len(self.data)

    def error(self, at: int, reason: str) -> ContainerError:
        return ContainerError(self.start + at, reason)

    def part(self, at: int, size: int, what: str) -> Span:
        """A part that has to be there whole."""
        if at < 0 or size < 0 or at + size > len(self.data):
            end = self.start + len(self.data)
            raise self.error(
                min(max(at, 0), len(self.data)), f"{what} takes {size} bytes, the end of its room is at {end:#x}"
            )
        return Span(self.data[at : at + size], self.start + at)

    def bytes(self, at: int, size: int, what: str) -> bytes:
        return self.part(at, size, what).data

    def word(self, at: int, what: str) -> int:
        return WORD.unpack(self.bytes(at, WORD.size, what))[0]

    def name(self, at: int, what: str) -> str:
        """The text from a place to the next NUL."""
        end = self.data.find(b"\0", max(at, 0))
        if at < 0 or end < 0:
            raise self.error(min(max(at, 0), len(self.data)), f"{what} begins or ends outside of its room")
        return self.data[at:end].decode("latin-1")


class FieldForm(NamedTuple):
    """How a field lies in bytes: its code for `struct`, its type in words, and what turns it into a value and back."""

    code: str
    type: str
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value
    is_reserved: bool = False


def _field(form: FieldForm, default: Any, note: str) -> Any:
    return field(default=default, metadata={"form": form, "note": note})


def _number(code: str, type: str) -> Callable[..., Any]:
    def declare(default: int = 0, *, note: str = "") -> Any:
        return _field(FieldForm(code, type), default, note)

    return declare


u8, u16, u32, u64 = _number("B", "u8"), _number("H", "u16"), _number("I", "u32"), _number("Q", "u64")
i32 = _number("i", "i32")


def _characters(data: bytes) -> str:
    return data.decode("latin-1").rstrip("\0")


def latin_1(text: str) -> bytes:
    """A name as files have it, a byte for each character; `ContainerError` for one with other characters."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise ContainerError(None, f"the name {text!r:.80} has characters that a file has no bytes for") from None


def text(size: int, default: str = "", *, note: str = "") -> Any:
    """Characters up to the first NUL of a fixed room; what follows it is kept, should it not be NUL."""

    def write(value: str) -> bytes:
        data = value.encode("latin-1")
        if len(data) > size:
            raise StructError(f"{value!r:.80} takes {len(data)} bytes, there is room for {size}")
        return data

    return _field(FieldForm(f"{size}s", f"char[{size}]", _characters, write), default, note)


def raw(size: int, default: bytes | None = None, *, note: str = "") -> Any:
    """Bytes as they are."""
    return _field(FieldForm(f"{size}s", f"{size} bytes"), bytes(size) if default is None else default, note)


def reserved(size: int) -> Any:
    """Bytes without a meaning, zero in what we write."""
    return _field(FieldForm(f"{size}s", f"{size} bytes", is_reserved=True), bytes(size), "reserved")


class Record:
    """A structure of fixed size; subclasses list its fields in order, without gaps."""

    @classmethod
    def read(cls, span: Span, at: int, what: str) -> Self:
        """The structure at a place; `ContainerError` if it is not there whole."""
        layout, forms = _layout(cls)
        values = layout.unpack(span.bytes(at, layout.size, what))
        return cls(**{name: form.read(value) for (name, form), value in zip(forms, values, strict=True)})

    def write(self) -> bytes:
        layout, forms = _layout(type(self))
        try:
            return layout.pack(*(form.write(getattr(self, name)) for name, form in forms))
        except (StructError, UnicodeEncodeError) as error:
            raise ContainerError(None, f"{type(self).__name__}: {error}") from None

    @classmethod
    def size_bytes(cls) -> int:
        return _layout(cls)[0].size

    def to_json(self) -> dict[str, Json]:
        """Its fields by name; reserved ones only where they are not zero."""
        found = dict[str, Json]()
        for name, form in _layout(type(self))[1]:
            value = getattr(self, name)
            if not form.is_reserved or any(value):
                found[name] = value.hex() if isinstance(value, bytes) else value
        return found

    def opaque(self) -> Iterator[Opaque]:
        """Reserved bytes that hold something."""
        for name, form in _layout(type(self))[1]:
            if form.is_reserved and any(getattr(self, name)):
                yield Opaque("reserved bytes", len(getattr(self, name)))

    @classmethod
    def table(cls) -> Iterator[tuple[int, str, str, str]]:
        """Its fields for a document: offset, type, name, note."""
        at = 0
        for it in fields(cls):  # pyright: ignore[reportArgumentType], subclasses are dataclasses
            form: FieldForm = it.metadata["form"]
            yield at, form.type, it.name, it.metadata["note"]
            at += Struct("<" + form.code).size


class Opaque(NamedTuple):
    """Bytes that are kept as they are: what they are, and how many."""

    kind: str
    size: int


class Content(Protocol):
    """What is in a section."""

    def write(self) -> bytes: ...
    def to_json(self) -> Json: ...
    def opaque(self) -> Iterator[Opaque]: ...


@dataclass
class RawContent:
    """Bytes that are not read further."""

    data: bytes
    kind: str

    def write(self) -> bytes:
        return self.data

    def to_json(self) -> Json:
        return {"bytes": len(self.data)}

    def opaque(self) -> Iterator[Opaque]:
        if self.data:
            yield Opaque(self.kind, len(self.data))


@cache
def _layout(cls: type[Record]) -> tuple[Struct, list[tuple[str, FieldForm]]]:
    forms = [(it.name, it.metadata["form"]) for it in fields(cls)]  # pyright: ignore[reportArgumentType], see `table`
    return Struct("<" + "".join(form.code for _, form in forms)), forms


def round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def padded(data: bytes, multiple: int) -> bytes:
    """Bytes with zeros behind them, up to a multiple of a size."""
    return data + bytes(-len(data) % multiple)


def words_of(data: bytes) -> list[int]:
    return [word for (word,) in WORD.iter_unpack(data)]


def bytes_of(words: list[int] | tuple[int, ...]) -> bytes:
    return Struct(f"<{len(words)}I").pack(*words)


def checksum(words: list[int]) -> int:
    """The sum that headers of PDI and CDO files carry: all bits of the words' sum inverted."""
    return ~sum(words) & 0xFFFFFFFF
