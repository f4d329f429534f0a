"""Modes of products: shapes, the configuration that names them, and the factors of each term of their sums.

Sources: the AI Engine-ML intrinsics guide (UG1583); the layout of a product's configuration and which shapes there are
is that of `aiev2_vmult.h` in llvm-aie. From results of a device that are published with FIM43-Redeye/xdna-emu
(`tests/isa-hw-baseline-20260324`) follow: which terms a bit of the configuration subtracts, where sparse elements lie,
and modes that no intrinsic has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from tilewright.isa.meaning import Values
from tilewright.isa.numbers import Data, Flag, Lanes, Numbers, Terms, Word
from tilewright.isa.vector_meaning import REGISTER

Part: TypeAlias = Callable[[int, int], int]
"""Of a lane and a term of its sum: the bit of the configuration that subtracts it."""


def _of_two_lanes(terms: int) -> Part:
    """Four bits for each of two lanes, in turn; so many terms that follow each other have one."""
    return lambda lane, term: 4 * (lane % 2) + term // terms % 4


def _of_four_lanes(terms: int) -> Part:
    return lambda lane, term: 2 * (lane % 4) + term // terms


def _of_bytes(lane: int, term: int) -> int:
    return 4 * (lane % 2) + 2 * (term % 2) + term // 4


class ProductMode(NamedTuple):
    """A shape of a product: bits of elements and of sums; in each channel rows x inner times inner x columns."""

    bits_x: int
    bits_y: int
    bits_sum: int
    rows: int
    inner: int
    columns: int
    channels: int = 1
    part: Part | None = None
    """None where it is not known which terms the bits of the configuration subtract."""
    is_convolution: bool = False
    """Row r takes elements r to r + inner - 1 of the first operand."""
    is_complex: bool = False
    """Channels are real and imaginary parts; of the terms of a sum each two are a product of complex numbers."""
    is_sparse: bool = False
    """Of each four elements of the second operand's columns two at most are there."""

    @property
    def lanes(self) -> int:
        return self.rows * self.columns * self.channels

    def terms(self) -> Terms:
        """The elements that are multiplied; channels lie closest together."""
        return [self._complex_term(at) if self.is_complex else self._term(at) for at in range(self.inner)]

    def _term(self, at: int) -> tuple[list[int], list[int]]:
        c, step = self.channels, 1 if self.is_convolution else self.inner
        lanes = [(r, j, k) for r in range(self.rows) for j in range(self.columns) for k in range(c)]
        return (
            [(r * step + at) * c + k for r, _, k in lanes],
            [(at * self.columns + j) * c + k for _, j, k in lanes],
        )

    def _complex_term(self, at: int) -> tuple[list[int], list[int]]:
        first, part = at // 2 * self.channels, at % 2
        return (
            [first + lane // 2 * 2 + part for lane in range(self.channels)],
            [first + lane // 2 * 2 + (part ^ lane % 2) for lane in range(self.channels)],
        )


PRODUCTS: dict[tuple[int, int, int], ProductMode] = {
    (0, 0, 0): ProductMode(8, 4, 32, 4, 16, 8),
    (0, 1, 0): ProductMode(8, 8, 32, 4, 8, 8, part=_of_bytes),
    (0, 1, 1): ProductMode(8, 8, 32, 1, 2, 1, 32, part=_of_two_lanes(2)),
    (0, 1, 2): ProductMode(8, 8, 32, 4, 4, 1, 8, is_convolution=True),
    (0, 1, 3): ProductMode(8, 8, 32, 8, 8, 1, 4, part=_of_bytes, is_convolution=True),
    (0, 1, 4): ProductMode(8, 8, 32, 32, 8, 1, 1, is_convolution=True),
    (0, 1, 5): ProductMode(8, 8, 32, 4, 16, 8, is_sparse=True),
    (0, 2, 0): ProductMode(16, 8, 32, 4, 4, 8, part=_of_four_lanes(2)),
    (0, 2, 1): ProductMode(16, 8, 32, 4, 4, 4, 2, part=_of_four_lanes(2)),
    (0, 3, 0): ProductMode(16, 16, 32, 4, 2, 8, part=_of_four_lanes(1)),
    (0, 3, 1): ProductMode(16, 16, 32, 1, 1, 1, 32),
    (1, 0, 0): ProductMode(32, 16, 64, 4, 2, 4, part=_of_two_lanes(1)),
    (1, 0, 1): ProductMode(32, 16, 64, 1, 2, 1, 16, part=_of_two_lanes(1), is_complex=True),
    (1, 2, 0): ProductMode(16, 8, 64, 2, 8, 8, part=_of_two_lanes(2)),
    (1, 2, 1): ProductMode(16, 8, 64, 4, 8, 4, part=_of_two_lanes(2)),
    (1, 2, 2): ProductMode(16, 8, 64, 2, 16, 8, part=_of_two_lanes(2), is_sparse=True),
    (1, 3, 0): ProductMode(16, 16, 64, 2, 4, 8, part=_of_two_lanes(1)),
    (1, 3, 1): ProductMode(16, 16, 64, 4, 4, 4, part=_of_two_lanes(1)),
    (1, 3, 2): ProductMode(16, 16, 64, 1, 2, 1, 16, part=_of_two_lanes(1)),
    (1, 3, 3): ProductMode(16, 16, 64, 16, 4, 1, 1, part=_of_two_lanes(1), is_convolution=True),
    (1, 3, 4): ProductMode(16, 16, 64, 1, 4, 1, 16, part=_of_two_lanes(1), is_complex=True),
    (1, 3, 5): ProductMode(16, 16, 64, 2, 8, 8, part=_of_two_lanes(1), is_sparse=True),
}
"""By amode, bmode and variant of the configuration."""
FLOAT_PRODUCTS: dict[int, ProductMode] = {
    0: ProductMode(16, 16, 32, 4, 8, 4, part=_of_two_lanes(1)),
    1: ProductMode(16, 16, 32, 1, 2, 1, 16, part=_of_two_lanes(1)),
    2: ProductMode(16, 16, 32, 4, 16, 4, part=_of_two_lanes(1), is_sparse=True),
}
"""Of bf16: amode is 2 or 3, bmode does not count. By variant."""
MODE_BITS = 7
"""Of amode, bmode and variant together, as they lie in the configuration."""
UNKNOWN_MODE = (0, 0, 1)
"""Sparse elements of 4 bits: which of them a bit of the mask stands for is not known."""
CONFIGURATION = "a product or sum with the configuration"
PARTS = 16
"""Bits of the configuration for single terms."""


class NamedMode(NamedTuple):
    """What a configuration may ask for."""

    bits_sum: int
    is_float: bool
    """Elements are bf16."""
    shape: ProductMode | None
    """None for a product that is 0 in all lanes."""


@lru_cache(None)
def named_modes(kind: str) -> dict[NamedMode, list[int]]:
    """All modes of instructions with dense operands, or with sparse ones, and the numbers that stand for each."""
    found = dict[NamedMode, list[int]]()
    for number in range(1 << MODE_BITS):
        amode, bmode, variant = number & 3, number >> 2 & 3, number >> 4
        is_float = amode >= 2
        # elements of 8 bits for lanes of 64 are taken as 16
        key = (amode, 3 if (amode, bmode) == (1, 1) else bmode, variant)
        shape = FLOAT_PRODUCTS.get(variant) if is_float else PRODUCTS.get(key)
        if kind == "dense" and shape is not None and shape.is_sparse:
            shape = None
        if kind == "dense" or key != UNKNOWN_MODE:
            found.setdefault(NamedMode(64 if amode == 1 else 32, is_float, shape), []).append(number)
    return found


class ProductConfiguration(NamedTuple):
    """The fields of the register that says what a product is."""

    zeroes: Word
    mode: Word
    is_y_signed: Word
    is_x_signed: Word
    shifts: Word
    """The first accumulator goes 16 bits to the left."""
    subtracts: tuple[Word, Word, Word]
    """The product, the first accumulator, the second."""
    parts: Word
    """Which products of a sum are subtracted."""

    @classmethod
    def of(cls, word: Word) -> ProductConfiguration:
        mode = (word >> 1) & ((1 << MODE_BITS) - 1)
        subtracts = ((word >> 11) & 1, (word >> 12) & 1, (word >> 13) & 1)
        return cls(word & 1, mode, (word >> 8) & 1, (word >> 9) & 1, (word >> 10) & 1, subtracts, (word >> 16) & 0xFFFF)

    def before(self, n: Numbers, accumulator: Lanes, is_negative: bool) -> Lanes:
        """What is there before a product is added: the first accumulator, shifted, with its sign, or nothing."""
        shifted = n.choose(self.shifts != 0, accumulator << 16, accumulator)
        return n.choose(self.zeroes != 0, shifted - shifted, negated(n, shifted, is_negative, self.subtracts[1]))

    def subtracted(self, n: Numbers, mode: ProductMode, term: int) -> Flag:
        """The lanes from whose sum a term is subtracted."""
        assert mode.part is not None
        return n.pick(n.flags(self.parts, PARTS), [mode.part(lane, term) for lane in range(mode.lanes)])

    def refuse_parts(self, n: Numbers, mode: ProductMode, word: Word) -> None:
        """Stop where it is not known what the bits for single terms subtract."""
        if mode.part is None:
            n.refuse_if(self.parts != 0, CONFIGURATION, word)
        elif mode.bits_x == 32:
            # such a product is made of two halves, whose bits intrinsics always set together
            n.refuse_if(((self.parts ^ (self.parts >> 2)) & 0x33) != 0, CONFIGURATION, word)


def negated(n: Numbers, lanes: Lanes, always: bool, also: Word) -> Lanes:
    """Lanes with the other sign, if an instruction or else its configuration says so."""
    return n.choose((also ^ int(always)) != 0, 0 - lanes, lanes)


def switch_mode(
    n: Numbers,
    what: ProductConfiguration,
    word: Word,
    modes: Mapping[NamedMode, list[int]],
    make: Callable[[NamedMode], Data],
) -> Data:
    """What is made in the mode of a configuration."""
    cases = dict[int, Callable[[], Data]]()
    for mode, numbers in modes.items():
        cases |= dict.fromkeys(numbers, partial(make, mode))
    return n.switch(what.mode, cases, CONFIGURATION, word)


class Signs(NamedTuple):
    """What an instruction subtracts."""

    first: bool
    second: bool
    product: bool

    @classmethod
    def of(cls, name: str) -> Signs:
        # the negative of a sum: that of the accumulator, and that of the product
        if name.startswith("neg"):
            return cls(True, False, name != "negmsc")
        return cls(False, name.startswith("sub"), name.endswith("msc"))

    @classmethod
    def of_sum(cls, name: str) -> Signs:
        is_negative = name.startswith("neg")
        return cls(is_negative, name.endswith("sub") != (is_negative and name != "neg"), False)


# ---- factors ------------------------------------------------------------------------------------------------------


class Operands(NamedTuple):
    """The data of both operands of a product, and the mask of a sparse one."""

    x: Data
    y: Data
    mask: Data

    @classmethod
    def of(cls, n: Numbers, v: Values, kind: str, mode: ProductMode) -> Operands:
        size = mode.rows * mode.inner * mode.bits_x // 8 if mode.is_sparse else REGISTER
        x = v["a"]
        if kind != "wide" and size > REGISTER:
            x = n.join(x, n.zeros(size - REGISTER))
        elif kind == "wide":
            x = n.part(x, 0, size)
        if kind == "dense":
            return cls(x, v["b"], n.zeros(MASK_BYTES))
        return cls(x, n.part(v["b"], 0, REGISTER), n.part(v["b"], REGISTER, MASK_BYTES))


MASK_BYTES = 16
GROUP, SLOTS = 4, 2
"""Elements of a column that follow each other, and how many of them are there."""


def factors(n: Numbers, mode: ProductMode, x: Lanes, y: Lanes, mask: Data) -> Iterator[tuple[Lanes, Lanes]]:
    """What is multiplied in each lane, term by term."""
    if not mode.is_sparse:
        for first, other in mode.terms():
            yield n.pick(x, first), n.pick(y, other)
        return
    column = [lane % mode.columns for lane in range(mode.lanes)]
    rows = [lane // mode.columns * mode.inner for lane in range(mode.lanes)]
    for number, takes in enumerate(_slots(n, mode, mask)):
        chosen: Lanes = 0
        for at, flag in enumerate(takes):
            element = n.pick(x, [row + number // SLOTS * GROUP + at for row in rows])
            chosen = n.choose(n.pick(flag, column), element, chosen)
        yield chosen, n.pick(y, [number * mode.columns + at for at in column])


def _slots(n: Numbers, mode: ProductMode, mask: Data) -> Iterator[list[Flag]]:
    """For each element that is stored of a column: flags, one for each column, of the four that it may be.

    Each byte of the whole operand has a bit in the mask; an element of two is there if one of them is set. Two of a
    group are stored in their order; one alone lies first if it is one of the first two. More than two are none.
    """
    bits = 8 * MASK_BYTES // mode.columns
    size = bits // mode.inner
    columns = n.lanes(mask, bits, False)
    for group in range(0, mode.inner, GROUP):
        there = [((columns >> (size * (group + at))) & ((1 << size) - 1)) != 0 for at in range(GROUP)]
        ones = [n.choose(flag, 1, 0) for flag in there]
        total = ones[0] + ones[1] + ones[2] + ones[3]
        earlier = [ones[0] - ones[0], ones[0], ones[0] + ones[1], total - ones[3]]
        for slot in range(SLOTS):
            takes = list[Flag]()
            for at in range(GROUP):
                is_one = (total == 2) & (earlier[at] == slot)
                takes.append(there[at] & (is_one | (total == 1) if at // SLOTS == slot else is_one))
            yield takes
