"""Meaning of instructions that change the width of lanes: shifts with rounding and saturation, packing, floats.

Source: the AI Engine-ML intrinsics guide (UG1583).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tilewright.isa.meaning import Definition, Results, Values, define
from tilewright.isa.numbers import Data, Flag, Lanes, Numbers, Word
from tilewright.isa.vector_meaning import LaneType, as_data

SATURATE, SYMMETRIC = 1, 3
LARGEST = (1 << 63) - 1

# Whether a value whose bits behind the point are `rest` (of `half` * 2) and not 0 is rounded up from its floor.
ROUNDINGS: dict[int, Callable[[Lanes, Lanes, Word], Flag]] = {
    0: lambda floor, rest, half: rest < 0,
    1: lambda floor, rest, half: rest > 0,
    2: lambda floor, rest, half: floor < 0,
    3: lambda floor, rest, half: floor >= 0,
    8: lambda floor, rest, half: rest > half,
    9: lambda floor, rest, half: rest >= half,
    10: lambda floor, rest, half: (rest > half) | ((rest == half) & (floor < 0)),
    11: lambda floor, rest, half: (rest > half) | ((rest == half) & (floor >= 0)),
    12: lambda floor, rest, half: (rest > half) | ((rest == half) & ((floor & 1) == 1)),
    13: lambda floor, rest, half: (rest > half) | ((rest == half) & ((floor & 1) == 0)),
}
"""By crRnd: floor, ceiling, towards zero, away from zero, and to the nearest with ties to minus infinity, plus
infinity, zero, away from zero, even, odd."""


def rounded_shift(n: Numbers, values: Lanes, shift: Word, rounding: Word) -> Lanes:
    """Lanes of 64 bits, divided by a power of 2."""
    floor, rest, half = values >> shift, values & ((1 << shift) - 1), (1 << shift) >> 1

    def rounded(up: Callable[[Lanes, Lanes, Word], Flag]) -> Lanes:
        return n.choose(up(floor, rest, half) & (rest > 0), floor + 1, floor)

    return n.switch(rounding, {mode: partial(rounded, up) for mode, up in ROUNDINGS.items()}, "rounding mode")


def narrowed(n: Numbers, values: Lanes, to: LaneType, saturation: Word, is_signed: Word) -> Data:
    """Lanes of 64 bits or 32 as elements of a type, saturated if the control register says so."""
    top = (1 << (to.bits - 1)) - 1
    high = n.choose(is_signed != 0, top, 2 * top + 1)
    low = n.choose(is_signed != 0, n.choose(saturation == SYMMETRIC, -top, -top - 1), 0)
    within = n.choose(values < low, low, n.choose(values > high, high, values))
    return as_data(n, n.choose((saturation & SATURATE) != 0, within, values), to.bits)


@define("vsrs", "vsrsm")
def _vsrs(narrow: str, wide: str) -> Definition:
    to, element = LaneType.of(narrow), LaneType.of(wide)

    def compute(n: Numbers, v: Values) -> Results:
        # of six bits, -4 to 59
        shift = (((v["s"] & 63) + 4) & 63) - 4
        left, right = n.choose(shift < 0, 0 - shift, 0), n.choose(shift > 0, shift, 0)
        values = n.cast(n.lanes(v["a"], element.bits, True), 64, True)
        scaled = values << left
        if element.bits == 64:
            is_lost = (scaled >> left) != values
            extreme = n.choose(values < 0, -LARGEST - 1, LARGEST)
            scaled = n.choose((v["crSat"] & SATURATE) != 0, n.choose(is_lost, extreme, scaled), scaled)
        rounded = rounded_shift(n, scaled, right, v["crRnd"])
        is_signed = v.get("crSRSSign", 1) if to.sign == "d" else 1
        return {"d": narrowed(n, rounded, to, v["crSat"], is_signed), "srSRS_of": 0}

    return compute


@define("vups")
def _vups(wide: str, narrow: str) -> Definition:
    to, element = LaneType.of(wide), LaneType.of(narrow)
    top = (1 << (to.bits - 1)) - 1

    def compute(n: Numbers, v: Values) -> Results:
        shift = v["s"] & 63
        values = element.read(n, v["a"], v.get("crUPSSign", 1), wide=64)
        is_symmetric = v["crSat"] == SYMMETRIC
        # what is larger or smaller than these does not fit any more once it is shifted
        high = top >> shift
        low = 0 - high - n.choose(is_symmetric, 0, n.choose(shift < to.bits, 1, 0))
        lowest = n.choose(is_symmetric, -top, -top - 1)
        shifted = values << shift
        within = n.choose(values < low, lowest, n.choose(values > high, top, shifted))
        made = n.choose((v["crSat"] & SATURATE) != 0, within, shifted)
        return {"d": as_data(n, made, to.bits), "srUPS_of": 0}

    return compute


@define("vunpack")
def _vunpack(wide: str, narrow: str) -> Definition:
    to, element = LaneType.of(wide), LaneType.of(narrow)
    return lambda n, v: {"d": as_data(n, element.read(n, v["a"], v.get("crUnpackSign", 1)), to.bits)}


@define("vpack")
def _vpack(narrow: str, wide: str) -> Definition:
    to, element = LaneType.of(narrow), LaneType.of(wide)

    def compute(n: Numbers, v: Values) -> Results:
        is_signed = v.get("crPackSign", 1) if to.sign == "d" else 1
        values = n.cast(n.lanes(v["a"], element.bits, True), 32, True)
        return {"d": narrowed(n, values, to, v["crSat"], is_signed)}

    return compute


# ---- floats -------------------------------------------------------------------------------------------------------


# Whether a number of 32 bits whose lowest 16 are `rest` is rounded away from zero on its way to bf16.
_HALF = 1 << 15
FLOAT_ROUNDINGS: dict[int, Callable[[Lanes, Flag, Flag], Flag]] = {
    0: lambda rest, is_negative, is_odd: (rest > 0) & is_negative,
    1: lambda rest, is_negative, is_odd: (rest > 0) & ~is_negative,
    2: lambda rest, is_negative, is_odd: rest < 0,
    3: lambda rest, is_negative, is_odd: rest > 0,
    8: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & is_negative),
    9: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & ~is_negative),
    10: lambda rest, is_negative, is_odd: rest > _HALF,
    11: lambda rest, is_negative, is_odd: rest >= _HALF,
    12: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & is_odd),
    13: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & ~is_odd),
}
"""By crRnd, as `ROUNDINGS`."""
INFINITY = 0x7F800000


@define("vconv")
def _vconv(to: str, of: str) -> Definition:
    if to == "fp32":
        return lambda n, v: {"d": n.data(n.cast(n.lanes(v["a"], 16, False), 32, False) << 16)}
    return _to_bf16


def _to_bf16(n: Numbers, v: Values) -> Results:
    bits = n.lanes(v["a"], 32, False)
    kept, rest = bits >> 16, bits & 0xFFFF
    is_negative, is_odd = (bits >> 31) == 1, (kept & 1) == 1

    def rounded(away: Callable[[Lanes, Flag, Flag], Flag]) -> Lanes:
        return n.choose(away(rest, is_negative, is_odd), kept + 1, kept)

    cases = {mode: partial(rounded, away) for mode, away in FLOAT_ROUNDINGS.items()}
    made = n.switch(v["crRnd"], cases, "rounding mode")
    is_nan = (bits & 0x7FFFFFFF) > INFINITY
    # a NaN whose upper bits are those of an infinity gets one more
    nan = n.choose((kept & 0x7F) == 0, kept | 1, kept)
    return {"d": as_data(n, n.choose(is_nan, nan, made), 16), "srF2FFlags": 0}


BF16_FRACTION, BF16_BIAS = 7, 127
LARGEST_SHIFT = 31
FURTHEST = 40
"""Bits that nothing is left behind of."""


@define("vfloor")
def _vfloor(to: str, of: str) -> Definition:
    """Whole numbers of 32 bits that are not larger than bf16 times a power of 2; what is too large is the largest.

    Numbers below the least exponent count, as on a device: -2 ** -130 gives -1.
    """

    def compute(n: Numbers, v: Values) -> Results:
        n.refuse_if(v["s"] > LARGEST_SHIFT, "a floor with the shift", v["s"])
        bits = n.cast(n.lanes(v["a"], 16, False), 64, True)
        exponent, digits = (bits >> BF16_FRACTION) & 0xFF, bits & ((1 << BF16_FRACTION) - 1)
        digits = n.choose(exponent == 0, digits, digits | (1 << BF16_FRACTION))
        signed_digits = n.choose(bits > 0x7FFF, 0 - digits, digits)
        # a number below the least exponent has that exponent
        place = n.choose(exponent == 0, 1, exponent) - (BF16_BIAS + BF16_FRACTION) + v["s"]
        left, right = n.choose(place > 0, place, 0), n.choose(place < 0, 0 - place, 0)
        furthest = 40
        shifted = (
            signed_digits << n.choose(left < furthest, left, furthest) >> n.choose(right < furthest, right, furthest)
        )
        within = n.choose(shifted < -(1 << 31), -(1 << 31), n.choose(shifted > (1 << 31) - 1, (1 << 31) - 1, shifted))
        return {"d": as_data(n, within, 32), "srF2IFlags": 0}

    return compute
