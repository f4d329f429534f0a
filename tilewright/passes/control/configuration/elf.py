"""What an ELF file says to load: segments of bytes at addresses as the core sees them.

Only what program headers say is read; the machine code in the segments is somebody else's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tilewright.errors import Error

HEADER = struct.Struct("<4sBBB9xHHIIIIIHHHHHH")
PROGRAM_HEADER = struct.Struct("<8I")
MAGIC, CLASS_32, LITTLE_ENDIAN = b"\x7fELF", 1, 1
PT_LOAD = 1


class ElfError(Error, ValueError):
    """The bytes are not an ELF file of a core."""


class Segment(NamedTuple):
    """Bytes to load, zeros at the end included."""

    address: int
    data: bytes


def read_segments(elf: bytes) -> Iterator[Segment]:
    """The loadable segments, in order."""
    start, size, count = _program_headers(elf)
    for offset in range(start, start + size * count, size):
        kind, at, _, address, file_bytes, memory_bytes, _, _ = _unpack(PROGRAM_HEADER, elf, offset)
        if kind != PT_LOAD or memory_bytes == 0:
            continue
        data = elf[at : at + min(file_bytes, memory_bytes)]
        if len(data) < min(file_bytes, memory_bytes):
            raise ElfError(f"the segment at {address:#x} ends after the file does")
        yield Segment(address, data.ljust(memory_bytes, b"\0"))


def _program_headers(elf: bytes) -> tuple[int, int, int]:
    """Where the program headers begin, the size of one, and their number."""
    magic, bits, order, *_, start, _, _, _, size, count, _, _, _ = _unpack(HEADER, elf, 0)
    if (magic, bits, order) != (MAGIC, CLASS_32, LITTLE_ENDIAN):
        raise ElfError("it is not a 32-bit little-endian ELF file")
    if count and size < PROGRAM_HEADER.size:
        raise ElfError(f"its program headers have {size} bytes, not {PROGRAM_HEADER.size}")
    return start, size, count


def _unpack(layout: struct.Struct, elf: bytes, offset: int) -> tuple[int, ...]:
    if offset + layout.size > len(elf):
        raise ElfError("it ends in the middle of a header")
    return layout.unpack_from(elf, offset)
