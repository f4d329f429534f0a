"""What linking writes into code and data, by machine: the position-independent relocations that LLVM uses.

Types and formulas: "System V ABI, AMD64 Architecture Processor Supplement", table 4.9, and "ELF for the Arm 64-bit
Architecture", section 5.7. S is the symbol's address, A the addend, P the place's address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.native.elf import EM_AARCH64, EM_X86_64, LinkError

PAGE_MASK = ~0xFFF


@dataclass(frozen=True)
class Relocator:
    """Computes a number from S + A and P, and puts its bits into the little-endian word at the place."""

    number: Callable[[int, int], int]
    insert: Callable[[int, int], int]
    word_bytes: int = 4
    limit_bits: int | None = None
    """The number has to fit this many bits with sign; None where only low bits of an address are meant."""

    def apply(self, data: bytearray, offset: int, target: int, place: int) -> None:
        number = self.number(target, place)
        if self.limit_bits is not None and not -(1 << self.limit_bits - 1) <= number < 1 << self.limit_bits - 1:
            raise LinkError(f"the distance {number} between code and data is too large for the machine's instructions")
        spot = slice(offset, offset + self.word_bytes)
        word = self.insert(int.from_bytes(data[spot], "little"), number)
        data[spot] = word.to_bytes(self.word_bytes, "little")


def _distance(target: int, place: int) -> int:
    return target - place


def _page_distance(target: int, place: int) -> int:
    return (target & PAGE_MASK) - (place & PAGE_MASK) >> 12


def _instructions(target: int, place: int) -> int:
    return target - place >> 2


def _in_page(scale: int) -> Callable[[int, int], int]:
    return lambda target, place: (target & ~PAGE_MASK) >> scale


def _bits(low: int, count: int) -> Callable[[int, int], int]:
    """Replaces some bits of a word."""
    mask = (1 << count) - 1 << low
    return lambda word, number: word & ~mask | number << low & mask


def _adr(word: int, number: int) -> int:
    """The two lowest bits of the number stand apart in ADR and ADRP."""
    return _bits(5, 19)(_bits(29, 2)(word, number), number >> 2)


_X86_64 = {
    2: Relocator(_distance, _bits(0, 32), limit_bits=32),  # R_X86_64_PC32
    4: Relocator(_distance, _bits(0, 32), limit_bits=32),  # R_X86_64_PLT32: nothing here needs a PLT
    24: Relocator(_distance, _bits(0, 64), word_bytes=8),  # R_X86_64_PC64
}
_AARCH64 = {
    260: Relocator(_distance, _bits(0, 64), word_bytes=8),  # R_AARCH64_PREL64
    261: Relocator(_distance, _bits(0, 32), limit_bits=32),  # R_AARCH64_PREL32
    274: Relocator(_distance, _adr, limit_bits=21),  # R_AARCH64_ADR_PREL_LO21
    275: Relocator(_page_distance, _adr, limit_bits=21),  # R_AARCH64_ADR_PREL_PG_HI21
    277: Relocator(_in_page(0), _bits(10, 12)),  # R_AARCH64_ADD_ABS_LO12_NC
    278: Relocator(_in_page(0), _bits(10, 12)),  # R_AARCH64_LDST8_ABS_LO12_NC
    282: Relocator(_instructions, _bits(0, 26), limit_bits=26),  # R_AARCH64_JUMP26
    283: Relocator(_instructions, _bits(0, 26), limit_bits=26),  # R_AARCH64_CALL26
    284: Relocator(_in_page(1), _bits(10, 12)),  # R_AARCH64_LDST16_ABS_LO12_NC
    285: Relocator(_in_page(2), _bits(10, 12)),  # R_AARCH64_LDST32_ABS_LO12_NC
    286: Relocator(_in_page(3), _bits(10, 12)),  # R_AARCH64_LDST64_ABS_LO12_NC
    299: Relocator(_in_page(4), _bits(10, 12)),  # R_AARCH64_LDST128_ABS_LO12_NC
}
RELOCATORS: Mapping[int, Mapping[int, Relocator]] = {EM_X86_64: _X86_64, EM_AARCH64: _AARCH64}
