"""Meaning of products of bf16 and of sums of floats of 32 bits.

A device adds all products and accumulators of a lane at once: each is brought to the largest exponent among them, to 23
bits behind the point and to the nearest even; these are added exactly, and the sum is rounded once more. Numbers too
small for the least exponent count as 0. This gives all of 864 products of a device, which are published with
FIM43-Redeye/xdna-emu (`tools/golden/silicon_edge`); that accumulators are treated the same is not checked.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple

from tilewright.isa.meaning import Definition, Results, Values, define
from tilewright.isa.numbers import Data, Flag, Lanes, Numbers, UnknownMeaningError
from tilewright.isa.product_meaning import CONFIGURATION, ProductConfiguration, ProductMode, Signs, mode_number

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
    is_negative, exponent, digits = _fields(n, n.cast(n.lanes(data, FLOAT_BITS, False), 64, True), FLOAT_FRACTION)
    one = 1 << FLOAT_FRACTION
    is_highest = exponent == HIGHEST
    scaled = n.choose(digits == 0, 0, exponent + FLOAT_BIAS)
    return Term(digits, scaled, is_negative, is_highest & (digits != one), is_highest & (digits == one))


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


SHAPES = {(2, 3, 0): ProductMode(16, 16, 32, 4, 8, 4), (2, 3, 1): ProductMode(16, 16, 32, 1, 2, 1, 16)}
"""Of products of bf16, by amode, bmode and variant of the configuration."""


def _accumulators(n: Numbers, v: Values, what: ProductConfiguration, signs: Signs) -> list[Term]:
    """What is there before a product is added."""
    terms = list[Term]()
    if "e" in v:
        first = _float(n, n.choose(what.zeroes != 0, n.zeros(64), v["e"]))
        terms.append(_signed(n, first, (what.subtracts[1] ^ int(signs.first)) != 0))
    if "f" in v:
        terms.append(_signed(n, _float(n, v["f"]), (what.subtracts[2] ^ int(signs.second)) != 0))
    return terms


@define("float product")
def _float_product(name: str, kind: str) -> Definition:
    if kind != "dense":
        raise UnknownMeaningError("products with sparse operands are not known")
    signs = Signs.of(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        n.refuse_if((what.parts | what.shifts) != 0, CONFIGURATION, v["c"])
        flips = (what.subtracts[0] ^ int(signs.product)) != 0

        def sums(mode: ProductMode) -> Data:
            x, y = (n.cast(n.lanes(v[name], 16, False), 64, True) for name in ("a", "b"))
            pairs = ((n.pick(x, first), n.pick(y, other)) for first, other in mode.terms())
            products = [_signed(n, _product(n, *pair), flips) for pair in pairs]
            return total(n, products + _accumulators(n, v, what, signs))

        cases = {mode_number(key): partial(sums, mode) for key, mode in SHAPES.items()}
        return {"e" if "f" in v else "d": n.switch(what.mode, cases, CONFIGURATION, v["c"]), "srFPFlags": 0}

    return compute


@define("float acc")
def _float_sum(name: str) -> Definition:
    signs = Signs.of_sum(name)

    def compute(n: Numbers, v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        n.refuse_if(what.shifts != 0, CONFIGURATION, v["c"])
        return {"d": total(n, _accumulators(n, v, what, signs)), "srFPFlags": 0}

    return compute
