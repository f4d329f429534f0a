"""Random numbers of kernels: each is computed from a seed and its own number, by Philox4x32-10, as Triton's are.

J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from typing import Any

from tilewright.air.dtypes import f32, ui32, ui64
from tilewright.air.tiles import combine
from tilewright.iron import math
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue, constant
from tilewright.iron.builders.types import convert_type, is_float_type, is_integer

ROUNDS = 10
FACTORS = 0xD2511F53, 0xCD9E8D57
STEPS = 0x9E3779B9, 0xBB67AE85
"""What the two parts of the key grow by in each round."""
LOW = (1 << 32) - 1


def rand(seed: Any, number: Any) -> Any:
    """A random f32 from 0 to below 1, which a `seed` and a whole `number` decide; of tiles element by element."""

    def draw(at: ScalarValue) -> ScalarValue:
        return _fraction(_philox(seed, at)[0])

    return combine(draw, _whole(number))


def randint(seed: Any, number: Any) -> Any:
    """A random ui32, which a `seed` and a whole `number` decide; of tiles element by element."""

    def draw(at: ScalarValue) -> ScalarValue:
        return _philox(seed, at)[0]

    return combine(draw, _whole(number))


def randn(seed: Any, number: Any) -> Any:
    """A normally distributed f32, which a `seed` and a whole `number` decide; of tiles element by element."""

    def draw(at: ScalarValue) -> ScalarValue:
        first, second = (_fraction(bits) for bits in _philox(seed, at)[:2])
        # Box and Muller; the logarithm of 1 minus the fraction is of no 0
        return math.sqrt(math.log(1.0 - first) * -2.0) * math.cos(second * 6.283185307179586)

    return combine(draw, _whole(number))


def _whole(number: Any) -> Any:
    return constant(int(number), convert_type(ui64)) if is_integer(number) else number


def _fraction(bits: ScalarValue) -> ScalarValue:
    """The 24 upper bits, as many as f32 has."""
    return (bits >> 8).astype(f32) * 2.0**-24


def _halves(given: Any) -> tuple[ScalarValue, ScalarValue]:
    """The lower and the upper 32 bits of a whole number."""
    if is_integer(given):
        wide = constant(int(given) & LOW << 32 | int(given) & LOW, convert_type(ui64))
    elif isinstance(given, ScalarValue) and not is_float_type(given.type):
        wide = given.astype(ui64)
    else:
        refuse(f"random numbers are of a whole seed and a whole number, not of {given!r}")
    return wide.astype(ui32), (wide >> 32).astype(ui32)


def _philox(seed: Any, number: Any) -> list[ScalarValue]:
    """Four random words."""
    keys, zero = list(_halves(seed)), constant(0, convert_type(ui32))
    words = [*_halves(number), zero, zero]
    for _ in range(ROUNDS):
        first, second = (words[place].astype(ui64) * factor for place, factor in zip((0, 2), FACTORS, strict=True))
        words = [
            (second >> 32).astype(ui32) ^ words[1] ^ keys[0],
            second.astype(ui32),
            (first >> 32).astype(ui32) ^ words[3] ^ keys[1],
            first.astype(ui32),
        ]
        keys = [key + step for key, step in zip(keys, STEPS, strict=True)]
    return words
