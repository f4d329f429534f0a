"""Numbers that meanings are written in: those of Python and NumPy here, LLVM's in `native_numbers`.

A meaning is one function of a system of numbers and the values of operands. It uses Python's operators on *words*
(whole numbers) and *lanes* (vectors of numbers of so many bits, with or without a sign, that wrap around), and what a
system has beside them. *Data* are the bytes of a register. Comparisons give *flags*, of one bit or of one for each
lane. What is known when a program is translated (constants of instructions, types) is Python's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from tilewright.errors import Error

Word: TypeAlias = Any
Flag: TypeAlias = Any
Lanes: TypeAlias = Any
Data: TypeAlias = Any
Terms: TypeAlias = Sequence[tuple[Sequence[int], Sequence[int]]]
"""Of sums of products: for each of them the numbers of the lanes that are multiplied, for all sums."""


class UnknownMeaningError(Error):
    """An instruction that can be decoded, and whose meaning is not known here."""


def refusal(what: str, named: int) -> UnknownMeaningError:
    """Something that a register asks for is not known."""
    return UnknownMeaningError(f"{what} {named:#x} is not known")


class Numbers(Protocol):
    """A system of numbers."""

    def choose(self, flag: Flag, yes: Any, no: Any) -> Any:
        """One of two values of a kind, or of each two lanes."""
        ...

    def switch(self, word: Word, cases: Mapping[int, Callable[[], Any]], what: str, named: Word = None) -> Any:
        """What the case of a word gives; a word without one is refused, by what it is and the number that names it."""
        ...

    def refuse_if(self, flag: Flag, what: str, named: Word) -> None:
        """Stop the core where the flag is set: this is not known, with the number that names it."""
        ...

    def leading_zeros(self, word: Word) -> Word:
        """Of 32 bits."""
        ...

    def lanes(self, data: Data, bits: int, is_signed: bool) -> Lanes:
        """The elements of a register; those of 4 bits as 8."""
        ...

    def data(self, lanes: Lanes) -> Data: ...

    def nibbles(self, lanes: Lanes) -> Data:
        """The lowest 4 bits of each lane of 8."""
        ...

    def cast(self, lanes: Lanes, bits: int, is_signed: bool) -> Lanes:
        """Each lane with more bits, the sign kept, or with the lowest of them."""
        ...

    def pick(self, lanes: Lanes, order: Sequence[int]) -> Lanes:
        """Lanes by their numbers."""
        ...

    def fill(self, word: Word, bits: int, count: int) -> Lanes:
        """Copies of a word's lowest bits, without a sign."""
        ...

    def flags(self, word: Word, count: int) -> Flag:
        """A flag for each lane: the word's bits, lowest first."""
        ...

    def mask(self, flags: Flag) -> Word:
        """The word of which flags are the bits."""
        ...

    def zeros(self, size: int) -> Data: ...

    def join(self, *parts: Data) -> Data: ...

    def part(self, data: Data, start: int, size: int) -> Data: ...

    def window(self, data: Data, start: Word, size: int) -> Data:
        """Bytes from a place on that only the running program knows."""
        ...

    def replaced(self, data: Data, start: Word, part: Data) -> Data:
        """The data with other bytes from a place on."""
        ...

    def arranged(self, data: Data, orders: Sequence[Sequence[int]], number: Word) -> Data:
        """The bytes in one of several orders."""
        ...

    def word(self, data: Data) -> Word:
        """The number that up to 8 bytes are, lowest first."""
        ...

    def word_data(self, word: Word, size: int) -> Data:
        """The lowest bytes of a word."""
        ...

    def float_bits(self, lanes: Lanes) -> Lanes:
        """The bits of the float that is nearest to each lane of 32 bits with a sign, the even one of two."""
        ...

    def product_sum(self, a: Lanes, b: Lanes, terms: Terms, bits: int) -> Lanes:
        """Lanes of a, times lanes of b, added up in lanes of so many bits with a sign."""
        ...


class PlainNumbers:
    """Python's whole numbers as words, NumPy's arrays as lanes, bytes as data."""

    def choose(self, flag: Flag, yes: Any, no: Any) -> Any:
        if isinstance(flag, bool):
            return yes if flag else no
        return cast(Any, np.where(flag, yes, no))

    def switch(self, word: int, cases: Mapping[int, Callable[[], Any]], what: str, named: int | None = None) -> Any:
        self.refuse_if(word not in cases, what, word if named is None else named)
        return cases[word]()

    def refuse_if(self, flag: bool, what: str, named: int) -> None:
        if flag:
            raise refusal(what, named)

    def leading_zeros(self, word: int) -> int:
        return 32 - word.bit_length()

    def lanes(self, data: bytes, bits: int, is_signed: bool) -> Lanes:
        if bits == 4:
            pairs = np.frombuffer(data, np.uint8)
            low = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(-1)
            return ((low ^ 8) - 8).astype(np.int8) if is_signed else low
        return np.frombuffer(data, _dtype(bits, is_signed))

    def data(self, lanes: Lanes) -> bytes:
        return lanes.tobytes()

    def nibbles(self, lanes: Lanes) -> bytes:
        halves = (lanes.astype(np.uint8) & 15).reshape(-1, 2)
        return (halves[:, 0] | halves[:, 1] << 4).astype(np.uint8).tobytes()

    def cast(self, lanes: Lanes, bits: int, is_signed: bool) -> Lanes:
        return lanes.astype(_dtype(bits, is_signed))

    def pick(self, lanes: Lanes, order: Sequence[int]) -> Lanes:
        return lanes[list(order)]

    def fill(self, word: int, bits: int, count: int) -> Lanes:
        return np.full(count, word & ((1 << bits) - 1), _dtype(bits, False))

    def flags(self, word: int, count: int) -> Lanes:
        data = np.frombuffer(word.to_bytes(8, "little"), np.uint8)
        return np.unpackbits(data, bitorder="little")[:count].astype(bool)

    def mask(self, flags: Lanes) -> int:
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")

    def zeros(self, size: int) -> bytes:
        return bytes(size)

    def join(self, *parts: bytes) -> bytes:
        return b"".join(parts)

    def part(self, data: bytes, start: int, size: int) -> bytes:
        return data[start : start + size]

    def window(self, data: bytes, start: int, size: int) -> bytes:
        return data[start : start + size]

    def replaced(self, data: bytes, start: int, part: bytes) -> bytes:
        return data[:start] + part + data[start + len(part) :]

    def arranged(self, data: bytes, orders: Sequence[Sequence[int]], number: int) -> bytes:
        return bytes(data[at] for at in orders[number])

    def word(self, data: bytes) -> int:
        return int.from_bytes(data, "little")

    def word_data(self, word: int, size: int) -> bytes:
        return (word & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def float_bits(self, lanes: Lanes) -> Lanes:
        return lanes.astype(np.float32).view(np.int32)

    def product_sum(self, a: Lanes, b: Lanes, terms: Terms, bits: int) -> Lanes:
        first, other = np.array(terms).transpose(1, 0, 2)
        wide = _dtype(bits, True)
        return (a.astype(wide)[first] * b.astype(wide)[other]).sum(axis=0, dtype=wide)


PLAIN = PlainNumbers()


def _dtype(bits: int, is_signed: bool) -> np.dtype[Any]:
    return np.dtype(f"<{'i' if is_signed else 'u'}{bits // 8}")


def signed(word: Word, bits: int = 32) -> Word:
    """The number with a sign that the lowest bits of a word are."""
    sign = 1 << (bits - 1)
    return ((word & (2 * sign - 1)) ^ sign) - sign
