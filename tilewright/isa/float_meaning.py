"""Meaning of products of bf16 and of sums of floats of 32 bits.

A device adds all products and accumulators of a lane at once: each is brought to the largest exponent among them, to 23
bits behind the point and to the nearest even; these are added exactly, and the sum is rounded once more. bf16 too small
for the least exponent count as 0, and so do sums; accumulators count as they are. The rule follows from published
results of a device: 864 products (FIM43-Redeye/xdna-emu, `tools/golden/silicon_edge`), and the lowest 16 bits of those
with accumulators (its `tests/isa-hw-baseline-20260324`). docs/isa.md says which part of it rests on how many of them.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from tilewright.isa.meaning import Definition, Results, Values, define
from tilewright.isa.numbers import Data, Flag, Lanes, Numbers
from tilewright.isa.product_modes import (
    CONFIGURATION,
    NamedMode,
    Operands,
    ProductConfiguration,
    Signs,
    factors,
    named_modes,
    switch_mode,
)
from tilewright.isa.vector_meaning import REGISTER

FLOAT_BITS, FLOAT_BIAS, FLOAT_FRACTION = 32, 127, 23
BF16_FRACTION = 7
HIGHEST = 255
"""The exponent of infinities and of what is no number."""
INFINITY = HIGHEST << FLOAT_FRACTION
SIGN = 1 << 31
FURTHEST = 40
"""Bits that nothing is left behind of."""


class Term(NamedTuple):
    """A number for each lane: magnitude * 2 ** (exponent - 277), and what it is if it is none."""

    magnitude: Lanes
    exponent: Lanes
    is_negative: Flag
    is_nan: Flag
    is_infinite: Flag


def _fields(n: Numbers, bits: Lanes, fraction: int) -> tuple[Flag, Lanes, Lanes]:
    """The sign, the exponent, and the digits with the one before the point."""
    exponent = (bits >> fraction) & HIGHEST
    digits = (bits & ((1 << fraction) - 1)) | (1 << fraction)
    is_negative = ((bits >> (fraction + 8)) & 1) == 1
    return is_negative, exponent, n.choose(exponent == 0, 0, digits)


def _product(n: Numbers, x: Lanes, y: Lanes) -> Term:
    """Of two bf16, in lanes of 64 bits."""
    x_negative, x_exponent, x_digits = _fields(n, x, BF16_FRACTION)
    y_negative, y_exponent, y_digits = _fields(n, y, BF16_FRACTION)
    one = 1 << BF16_FRACTION
    x_infinite, y_infinite = ((e == HIGHEST) & (m == one) for e, m in ((x_exponent, x_digits), (y_exponent, y_digits)))
    x_nan, y_nan = ((e == HIGHEST) & (m != one) for e, m in ((x_exponent, x_digits), (y_exponent, y_digits)))
    magnitude = x_digits * y_digits
    is_undefined = (x_infinite | y_infinite) & (magnitude == 0)
    return Term(
        magnitude << 9,
        n.choose(magnitude == 0, 0, x_exponent + y_exponent),
        x_negative ^ y_negative,
        x_nan | y_nan | is_undefined,
        x_infinite | y_infinite,
    )


def _float(n: Numbers, data: Data) -> Term:
    """The lanes of an accumulator."""
    bits = n.cast(n.lanes(data, FLOAT_BITS, False), 64, True)
    exponent, fraction = (bits >> FLOAT_FRACTION) & HIGHEST, bits & ((1 << FLOAT_FRACTION) - 1)
    # one below the least exponent has that exponent
    digits = n.choose(exponent == 0, fraction, fraction | (1 << FLOAT_FRACTION))
    scaled = n.choose(digits == 0, 0, n.choose(exponent == 0, 1, exponent) + FLOAT_BIAS)
    is_highest = exponent == HIGHEST
    return Term(digits, scaled, (bits & SIGN) != 0, is_highest & (fraction != 0), is_highest & (fraction == 0))


def _signed(n: Numbers, term: Term, flips: Flag) -> Term:
    return term._replace(is_negative=n.choose(flips, ~term.is_negative, term.is_negative))


def _aligned(n: Numbers, term: Term, largest: Lanes) -> Lanes:
    """A term as a multiple of the unit of the largest exponent, to the nearest even."""
    distance = largest - term.exponent
    shift = n.choose(distance < FURTHEST, distance, FURTHEST)
    ones = (term.magnitude - term.magnitude) + 1
    floor, unit = term.magnitude >> shift, ones << shift
    rest = term.magnitude & (unit - 1)
    half = unit >> 1
    up = (rest > 0) & ((rest > half) | ((rest == half) & ((floor & 1) == 1)))
    rounded = n.choose(up, floor + 1, floor)
    return n.choose(term.is_negative, 0 - rounded, rounded)


def total(n: Numbers, terms: list[Term]) -> Data:
    """The sum of all terms, as floats."""
    largest = reduce(lambda a, b: n.choose(a < b, b, a), (it.exponent for it in terms))
    exact = reduce(lambda a, b: a + b, (_aligned(n, it, largest) for it in terms))
    is_nan = reduce(lambda a, b: a | b, (it.is_nan for it in terms))
    above = reduce(lambda a, b: a | b, (it.is_infinite & ~it.is_negative for it in terms))
    below = reduce(lambda a, b: a | b, (it.is_infinite & it.is_negative for it in terms))
    is_nan = is_nan | (above & below)
    bits = n.cast(n.float_bits(n.cast(exact, 32, True)), 64, True)
    magnitude = (bits & (SIGN - 1)) + ((largest - 277) << FLOAT_FRACTION)
    exponent = magnitude >> FLOAT_FRACTION
    is_large, is_small = exponent >= HIGHEST, (exponent <= 0) | (exact == 0)
    sign = n.choose(exact < 0, SIGN, 0)
    finite = n.choose(is_small, 0, n.choose(is_large, INFINITY, magnitude))
    # what is no number keeps the digits that the sum would have
    digits = n.choose(is_small | is_large | above | below, 0, magnitude & ((1 << FLOAT_FRACTION) - 1))
    made = n.choose(is_nan, INFINITY | digits | 1, n.choose(above | below, INFINITY, finite))
    sign = n.choose(is_nan | ~(above | below), sign, n.choose(below, SIGN, 0))
    return n.data(n.cast(made | sign, FLOAT_BITS, False))


def _accumulators(n: Numbers, v: Values, what: ProductConfiguration, signs: Signs) -> list[Term]:
    """What is there before a product is added."""
    flips = (what.subtracts[1] ^ int(signs.first), what.subtracts[2] ^ int(signs.second))
    # in lanes of 64 bits the shift or the sign of a float shows in its neighbour, by a rule that is not known
    changes = (what.zeroes ^ 1) & (what.shifts | flips[0]) if "e" in v else 0
    changes = changes | flips[1] if "f" in v else changes
    n.refuse_if(((what.mode & 3) == 1) & (changes != 0), CONFIGURATION, v["c"])
    terms = list[Term]()
    if "e" in v:
        bits = n.lanes(v["e"], FLOAT_BITS, False)
        shifted = n.data(n.choose(what.shifts != 0, bits << 16, bits))
        first = _float(n, n.choose(what.zeroes != 0, n.zeros(REGISTER), shifted))
        terms.append(_signed(n, first, flips[0] != 0))
    if "f" in v:
        terms.append(_signed(n, _float(n, v["f"]), flips[1] != 0))
    return terms


@define("float product")
def _float_product(name: str, kind: str) -> Definition:
    signs = Signs.of(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        flips = (what.subtracts[0] ^ int(signs.product)) != 0
        before = _accumulators(n, v, what, signs)

        def sums(named: NamedMode) -> Data:
            shape = named.shape
            if shape is None:
                return total(n, before or [_float(n, n.zeros(REGISTER))])
            operands = Operands.of(n, v, kind, shape)
            x, y = (n.cast(n.lanes(data, 16, False), 64, True) for data in (operands.x, operands.y))
            products = [
                _signed(n, _product(n, a, b), what.subtracted(n, shape, term) ^ flips)
                for term, (a, b) in enumerate(factors(n, shape, x, y, operands.mask))
            ]
            return total(n, products + before)

        # what products of whole numbers give as floats is not known
        modes = {it: numbers for it, numbers in named_modes(kind).items() if it.is_float or it.shape is None}
        return {"e" if "f" in v else "d": switch_mode(n, what, v["c"], modes, sums), "srFPFlags": 0}

    return compute


@define("float acc")
def _float_sum(name: str) -> Definition:
    signs = Signs.of_sum(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        return {"d": total(n, _accumulators(n, v, what, signs)), "srFPFlags": 0}

    return compute
