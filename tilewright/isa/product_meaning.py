"""Meaning of products of vectors of whole numbers, and of sums of accumulators. Their modes are in `product_modes`."""

from __future__ import annotations

from functools import partial

from tilewright.isa.meaning import Definition, Results, Values, define, definition_of
from tilewright.isa.numbers import Data, Lanes, Numbers, Word
from tilewright.isa.product_modes import (
    CONFIGURATION,
    NamedMode,
    Operands,
    ProductConfiguration,
    ProductMode,
    Signs,
    factors,
    named_modes,
    negated,
    switch_mode,
)
from tilewright.isa.vector_meaning import REGISTER, with_sign


@define("product")
def _product(name: str, kind: str, number: str = "") -> Definition:
    if number:
        return definition_of(("float product", name, kind))
    signs = Signs.of(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])

        def sums(named: NamedMode) -> Data:
            bits, shape = named.bits_sum, named.shape
            total = n.lanes(n.zeros(2 * REGISTER), bits, True)
            if shape is not None:
                what.refuse_parts(n, shape, v["c"])
                make = _fractions if named.is_float else _integers
                found = make(n, Operands.of(n, v, kind, shape), shape, what)
                total = negated(n, found, signs.product, what.subtracts[0])
            if "e" in v:
                total = total + what.before(n, n.lanes(v["e"], bits, True), signs.first)
            if "f" in v:
                total = total + negated(n, n.lanes(v["f"], bits, True), signs.second, what.subtracts[2])
            return n.data(total)

        return {"e" if "f" in v else "d": switch_mode(n, what, v["c"], named_modes(kind), sums)}

    return compute


def _integers(n: Numbers, operands: Operands, mode: ProductMode, what: ProductConfiguration) -> Lanes:
    """Sums of products of whole numbers."""
    x = _wide(n, operands.x, mode.bits_x, what.is_x_signed)
    y = _wide(n, operands.y, mode.bits_y, what.is_y_signed)

    def in_parts() -> Lanes:
        total: Lanes = 0
        for term, (a, b) in enumerate(factors(n, mode, x, y, operands.mask)):
            product = n.cast(a, mode.bits_sum, True) * n.cast(b, mode.bits_sum, True)
            if mode.part is not None:
                product = n.choose(what.subtracted(n, mode, term), 0 - product, product)
            total = product + total
        return total

    if mode.is_sparse or mode.is_complex:
        return in_parts()
    whole = partial(n.product_sum, x, y, mode.terms(), mode.bits_sum)
    if mode.part is None:
        return whole()
    return n.switch(n.choose(what.parts != 0, 1, 0), {0: whole, 1: in_parts}, CONFIGURATION)


def _wide(n: Numbers, data: Data, bits: int, is_signed: Word) -> Lanes:
    """Elements in lanes of twice their bits."""
    return with_sign(n, n.cast(n.lanes(data, bits, False), 2 * max(bits, 8), True), bits, is_signed)


LOW_BYTE = 0xFF
FRACTION_BITS = 14
"""Of a product of two fractions of bf16."""


def _fractions(n: Numbers, operands: Operands, mode: ProductMode, what: ProductConfiguration) -> Lanes:
    """bf16 in an instruction for integers: 14 bits with a sign of products of the lowest bytes, in the lower lanes."""
    x, y = (n.cast(n.lanes(data, 16, False), 32, True) & LOW_BYTE for data in (operands.x, operands.y))
    total: Lanes = 0
    for term, (a, b) in enumerate(factors(n, mode, x, y, operands.mask)):
        sign = 1 << (FRACTION_BITS - 1)
        product = (((a * b) & (2 * sign - 1)) ^ sign) - sign
        total = n.choose(what.subtracted(n, mode, term), 0 - product, product) + total
    return n.lanes(n.join(n.data(total), n.zeros(REGISTER)), 32, True)


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
LOOKUP_BYTES = 8
"""That a lookup fills. What is behind the entry in them is not documented, and 0 here."""
LOOKUP_ROW = 0x20
"""A table has each 128 bits twice in a row (UG1603); of four lookups the second and the fourth take the other copy."""


def lookup_addresses(n: Numbers, bits: int, half: str, pointers: Data) -> list[Word]:
    """Addresses of the entries that four lookups find: pointers count each twice, as rows have them."""
    first = 4 * LOOKUPS * (half == "hi")
    found = [n.word(n.part(pointers, first + 4 * number, 4)) for number in range(LOOKUPS)]
    inside = [(it & (LOOKUP_ROW - 1)) >> 1 & -(bits // 8) for it in found]
    return [
        it & -LOOKUP_ROW | at | (LOOKUP_ROW // 2 if number % 2 else 0)
        for number, (it, at) in enumerate(zip(found, inside, strict=True))
    ]
