"""Meaning of products of vectors and of sums of accumulators.

Sources: the AI Engine-ML intrinsics guide (UG1583); the layout of a product's configuration and which shapes there are
is that of `aiev2_vmult.h` in llvm-aie.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tilewright.isa.meaning import Definition, Results, Values, define, definition_of
from tilewright.isa.numbers import Data, Lanes, Numbers, Terms, UnknownMeaningError, Word
from tilewright.isa.vector_meaning import with_sign


class ProductMode(NamedTuple):
    """A shape of a product: bits of elements and of sums; in each channel rows x inner times inner x columns."""

    bits_x: int
    bits_y: int
    bits_sum: int
    rows: int
    inner: int
    columns: int
    channels: int = 1
    is_convolution: bool = False
    """Row r takes elements r to r + inner - 1 of the first operand."""

    def terms(self) -> Terms:
        """The elements that are multiplied; channels lie closest together."""
        return [self._term(at) for at in range(self.inner)]

    def _term(self, at: int) -> tuple[list[int], list[int]]:
        c, step = self.channels, 1 if self.is_convolution else self.inner
        lanes = [(r, j, k) for r in range(self.rows) for j in range(self.columns) for k in range(c)]
        return (
            [(r * step + at) * c + k for r, _, k in lanes],
            [(at * self.columns + j) * c + k for _, j, k in lanes],
        )


PRODUCTS: dict[tuple[int, int, int], ProductMode] = {
    (0, 0, 0): ProductMode(8, 4, 32, 4, 16, 8),
    (0, 1, 0): ProductMode(8, 8, 32, 4, 8, 8),
    (0, 1, 1): ProductMode(8, 8, 32, 1, 2, 1, 32),
    (0, 1, 2): ProductMode(8, 8, 32, 4, 4, 1, 8, True),
    (0, 1, 3): ProductMode(8, 8, 32, 8, 8, 1, 4, True),
    (0, 1, 4): ProductMode(8, 8, 32, 32, 8, 1, 1, True),
    (0, 2, 0): ProductMode(16, 8, 32, 4, 4, 8),
    (0, 2, 1): ProductMode(16, 8, 32, 4, 4, 4, 2),
    (0, 3, 0): ProductMode(16, 16, 32, 4, 2, 8),
    (0, 3, 1): ProductMode(16, 16, 32, 1, 1, 1, 32),
    (1, 0, 0): ProductMode(32, 16, 64, 4, 2, 4),
    (1, 2, 0): ProductMode(16, 8, 64, 2, 8, 8),
    (1, 2, 1): ProductMode(16, 8, 64, 4, 8, 4),
    (1, 3, 0): ProductMode(16, 16, 64, 2, 4, 8),
    (1, 3, 1): ProductMode(16, 16, 64, 4, 4, 4),
    (1, 3, 2): ProductMode(16, 16, 64, 1, 2, 1, 16),
    (1, 3, 3): ProductMode(16, 16, 64, 16, 4, 1, 1, True),
}
"""By amode, bmode and variant of the configuration."""
MODE_BITS = 7
"""Of amode, bmode and variant together, as they lie in the configuration."""


CONFIGURATION = "a product or sum with the configuration"


def mode_number(mode: tuple[int, int, int]) -> int:
    amode, bmode, variant = mode
    return amode | bmode << 2 | variant << 4


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


def negated(n: Numbers, lanes: Lanes, always: bool, also: Word) -> Lanes:
    """Lanes with the other sign, if an instruction or else its configuration says so."""
    return n.choose((also ^ int(always)) != 0, 0 - lanes, lanes)


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


@define("product")
def _product(name: str, kind: str, number: str = "") -> Definition:
    if number:
        return definition_of(("float product", name, kind))
    if kind != "dense":
        raise UnknownMeaningError("products with sparse operands are not known")
    signs = Signs.of(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        n.refuse_if(what.parts != 0, CONFIGURATION, v["c"])

        def sums(mode: ProductMode) -> Data:
            x = _wide(n, v["a"], mode.bits_x, what.is_x_signed)
            y = _wide(n, v["b"], mode.bits_y, what.is_y_signed)
            total = negated(n, n.product_sum(x, y, mode.terms(), mode.bits_sum), signs.product, what.subtracts[0])
            if "e" in v:
                total = total + what.before(n, n.lanes(v["e"], mode.bits_sum, True), signs.first)
            if "f" in v:
                total = total + negated(n, n.lanes(v["f"], mode.bits_sum, True), signs.second, what.subtracts[2])
            return n.data(total)

        cases = {mode_number(key): partial(sums, mode) for key, mode in PRODUCTS.items()}
        return {"e" if "f" in v else "d": n.switch(what.mode, cases, CONFIGURATION, v["c"])}

    return compute


def _wide(n: Numbers, data: Data, bits: int, is_signed: Word) -> Lanes:
    """Elements in lanes of twice their bits."""
    return with_sign(n, n.cast(n.lanes(data, bits, False), 2 * max(bits, 8), True), bits, is_signed)


@define("acc")
def _accumulators(name: str, number: str = "") -> Definition:
    if number:
        return definition_of(("float acc", name))
    signs = Signs.of_sum(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])

        def total(bits: int) -> Data:
            total = what.before(n, n.lanes(v["e"], bits, True), signs.first)
            if "f" in v:
                total = total + negated(n, n.lanes(v["f"], bits, True), signs.second, what.subtracts[2])
            return n.data(total)

        return {"d": n.choose((what.mode & 3) == 1, total(64), total(32))}

    return compute


@define("load4")
def _load4(*_: str) -> Definition:
    return lambda n, v: {"d": v["memory"]}


LOOKUPS = 4
ODD_BANK = 0x10
"""Of four lookups the second and the fourth go to the other half of a row of 256 bits."""


def lookup_addresses(n: Numbers, bits: int, half: str, pointers: Data) -> list[Word]:
    """Where four lookups read 64 bits each; an entry is aligned to twice its size."""
    first = 4 * LOOKUPS * (half == "hi")
    found = [n.word(n.part(pointers, first + 4 * number, 4)) for number in range(LOOKUPS)]
    return [it & ~(bits // 4 - 1) | (ODD_BANK if number % 2 else 0) for number, it in enumerate(found)]
