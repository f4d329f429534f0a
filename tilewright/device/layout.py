"""Bit fields of registers as tables that encode, decode and read in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

WORD_BITS = 32
WORD_BYTES = WORD_BITS // 8
WORD_MASK = (1 << WORD_BITS) - 1


@dataclass(frozen=True)
class Field:
    """Bits hi..lo of one word. The register holds value - bias; a signed field is in two's complement."""

    word: int = 0
    hi: int = 0
    lo: int = 0
    bias: int = 0
    signed: bool = False
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)  # it is frozen

    @cached_property
    def width(self) -> int:
        return self.hi - self.lo + 1

    @cached_property
    def mask(self) -> int:
        """The field's bits, in place in its word."""
        return ((1 << self.width) - 1) << self.lo

    @cached_property
    def limits(self) -> range:
        """The values the field can hold, bias included."""
        low = -(1 << self.width - 1) if self.signed else 0
        return range(low + self.bias, low + self.bias + (1 << self.width))

    def place(self, value: int) -> int:
        """The bits of `value`, in place in its word."""
        if value not in self.limits:
            raise ValueError(f"{self.name} must be in [{self.limits[0]}, {self.limits[-1]}], got {value}")
        return (value - self.bias) << self.lo & self.mask

    def get(self, words: Sequence[int]) -> int:
        """The value held in the words of a layout."""
        raw = (words[self.word] & self.mask) >> self.lo
        if self.signed and raw >> self.width - 1:  # the sign bit
            raw -= 1 << self.width
        return raw + self.bias


def bit(number: int, word: int = 0) -> Field:
    """A field of one bit."""
    return Field(word, number, number)


class Layout:
    """A register or descriptor of one or more words; subclasses list its fields."""

    words: ClassVar[int]
    fields: ClassVar[Mapping[str, Field]]

    def __init_subclass__(cls, words: int = 1) -> None:
        cls.words = words
        cls.fields = {name: field for base in reversed(cls.__mro__) for name, field in _own_fields(base)}

    @classmethod
    def encode(cls, **values: int) -> list[int]:
        """The words with these values; a field left out holds 0 in the register, whatever its bias."""
        words = [0] * cls.words
        for name, value in values.items():
            field = cls.fields[name]
            words[field.word] |= field.place(value)
        return words

    @classmethod
    def decode(cls, words: Sequence[int]) -> dict[str, int]:
        return {name: field.get(words) for name, field in cls.fields.items()}

    @classmethod
    def pack(cls, **bits: int) -> list[int]:
        """The words with these register contents: no bias, and bits that do not fit are cut off."""
        words = [0] * cls.words
        for name, value in bits.items():
            field = cls.fields[name]
            words[field.word] |= value << field.lo & field.mask
        return words

    @classmethod
    def unpack(cls, words: Sequence[int]) -> dict[str, int]:
        return {name: (words[field.word] & field.mask) >> field.lo for name, field in cls.fields.items()}


def _own_fields(cls: type) -> list[tuple[str, Field]]:
    return [(name, value) for name, value in vars(cls).items() if isinstance(value, Field)]
