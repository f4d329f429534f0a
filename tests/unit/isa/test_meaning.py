"""Meanings of instructions against models of their own, written from documents: NumPy, fractions and plain loops."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.isa import instruction_set
from tilewright.isa.meaning import meaning_of
from tilewright.isa.numbers import UnknownMeaningError
from tilewright.isa.product_meaning import PRODUCTS, ProductMode
from tilewright.isa.vector_meaning import SHUFFLES

ISA = instruction_set()
WORDS = st.integers(0, (1 << 32) - 1) | st.sampled_from([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
VECTORS = st.binary(min_size=64, max_size=64)
SATURATIONS = st.sampled_from([0, 1, 3])


def i32(value: int) -> int:
    return int(np.uint32(value).view(np.int32))


def shifted(value: int, amount: int) -> int:
    return value * 2**amount if amount >= 0 else floor(Fraction(value, 2**-amount))


SCALAR = {
    "and": lambda a, b: np.bitwise_and(a, b),
    "or": lambda a, b: np.bitwise_or(a, b),
    "xor": lambda a, b: np.bitwise_xor(a, b),
    "mul": lambda a, b: a * b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: i32(a) < i32(b),
    "ge": lambda a, b: i32(a) >= i32(b),
    "ltu": lambda a, b: a < b,
    "geu": lambda a, b: a >= b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
}


@pytest.mark.parametrize("name", SCALAR)
@given(WORDS, WORDS)
def test_scalar_arithmetic(name: str, a: int, b: int):
    assert meaning_of((name,))({"a": a, "b": b})["d"] == int(SCALAR[name](a, b)) % 2**32


@given(WORDS, st.integers(-31, 31) | st.integers(-(1 << 31), (1 << 31) - 1))
def test_shifts_go_both_ways(a: int, amount: int):
    """Of the amount five bits count, and the sign."""
    values, steps = {"a": a, "b": amount % 2**32}, amount % 32 if amount >= 0 else -(-amount % 32)
    assert meaning_of(("ashl",))(values)["d"] == shifted(i32(a), steps) % 2**32
    assert meaning_of(("lshl",))(values)["d"] == shifted(a, steps) % 2**32


@given(WORDS, WORDS)
def test_sums_of_64_bits_are_two_of_32(a: int, b: int):
    low = meaning_of(("add",))({"a": a, "b": b})
    high = meaning_of(("adc",))({"a": b, "b": a, "srCarry": low["srCarry"]})
    total = (b << 32 | a) + (a << 32 | b)
    assert high["d"] << 32 | low["d"] == total % 2**64


@given(WORDS, st.integers(1, (1 << 31) - 1))
def test_32_steps_divide(a: int, b: int):
    step, quotient, rest = meaning_of(("divs",)), a, 0
    for _ in range(32):
        made = step({"r31": quotient, "a": rest, "b": b})
        quotient, rest = made["r31"], made["d"]
    assert (quotient, rest) == divmod(a, b)


@given(WORDS)
def test_leading_bits(a: int):
    text = f"{a:032b}"
    assert meaning_of(("clz",))({"a": a})["d"] == len(text) - len(text.lstrip("0"))
    assert meaning_of(("clb",))({"a": a})["d"] == len(text) - len(text.lstrip(text[0]))


@given(WORDS, WORDS, st.sampled_from([0, 1, 2]))
def test_selections(a: int, b: int, condition: int):
    values = {"a": a, "b": b, "r27": condition}
    assert meaning_of(("sel", "eqz"))(values)["d"] == (a if condition == 0 else b)
    assert meaning_of(("sel", "nez"))(values)["d"] == (a if condition else b)


TYPES = {"8": np.uint8, "16": np.uint16, "32": np.uint32}
SIGNED = {"s8": np.int8, "s16": np.int16, "s32": np.int32, "d8": np.uint8, "d16": np.uint16, "d32": np.uint32}


@pytest.mark.parametrize("bits", TYPES)
@given(VECTORS, VECTORS)
def test_lanes_are_added_and_subtracted(bits: str, a: bytes, b: bytes):
    first, other = np.frombuffer(a, TYPES[bits]), np.frombuffer(b, TYPES[bits])
    assert meaning_of(("vadd", bits))({"a": a, "b": b})["d"] == (first + other).tobytes()
    assert meaning_of(("vsub", bits))({"a": a, "b": b})["d"] == (first - other).tobytes()


def mask_of(flags: np.ndarray) -> int:
    return sum(1 << lane for lane, flag in enumerate(flags.tolist()) if flag)


@pytest.mark.parametrize("kind", SIGNED)
@given(VECTORS, VECTORS)
def test_comparisons_give_a_bit_for_each_lane(kind: str, a: bytes, b: bytes):
    """`d` types take their sign from a control register: here it says that there is none."""
    first, other = np.frombuffer(a, SIGNED[kind]), np.frombuffer(b, SIGNED[kind])
    values = {"a": a, "b": b, "crVaddSign": 0}
    assert meaning_of(("vlt", kind))(values) == {"c": mask_of(first < other)}
    assert meaning_of(("vge", kind))(values) == {"c": mask_of(first >= other)}
    largest = {"c": mask_of(first < other), "d": np.where(first < other, other, first).tobytes()}
    assert meaning_of(("vmax_lt", kind))(values) == largest
    smallest = {"c": mask_of(first >= other), "d": np.where(first < other, first, other).tobytes()}
    assert meaning_of(("vmin_ge", kind))(values) == smallest
    chosen = meaning_of(("vsel", kind[1:]))({"a": a, "b": b, "s": mask_of(first < other)})
    assert chosen["d"] == largest["d"]


@given(VECTORS, VECTORS, st.integers(0, 63), WORDS)
def test_elements_are_put_and_taken(a: bytes, b: bytes, index: int, value: int):
    lanes = np.frombuffer(a, np.uint16).copy()
    assert meaning_of(("vextract", "s16"))({"a": a, "n": index})["d"] == int(lanes[index % 32].view(np.int16)) % 2**32
    assert meaning_of(("vextract", "d16"))({"a": a, "n": index, "crVaddSign": 0})["d"] == lanes[index % 32]
    assert meaning_of(("vextbcst", "16"))({"a": a, "n": index})["d"] == np.repeat(lanes[index % 32], 32).tobytes()
    assert meaning_of(("vbcst", "32"))({"a": value})["d"] == np.full(16, value, np.uint32).tobytes()
    low = np.concatenate([[value % 65536], lanes[:-1]]).astype(np.uint16)
    assert meaning_of(("vpush", "lo", "16"))({"a": value, "b": a})["d"] == low.tobytes()
    assert (
        meaning_of(("vshift",))({"a": a, "b": b, "s": index})["d"]
        == np.roll(np.frombuffer(a + b, "u1"), -index)[:64].tobytes()
    )
    assert meaning_of(("vshift",))({"a": a, "b": b, "s": index + 64})["d"] == (b + bytes(64))[index : index + 64]
    assert meaning_of(("vshift",))({"a": a, "b": b, "s": max(value, 128)})["d"] == bytes(64)
    lanes[index % 32] = value % 65536
    assert meaning_of(("vinsert", "16"))({"a": a, "r29": index, "b": value})["d"] == lanes.tobytes()


@given(st.integers(0, len(SHUFFLES) - 1).filter(lambda mode: mode != 38), VECTORS, VECTORS)
def test_shuffles_are_transposes(mode: int, a: bytes, b: bytes):
    shape = SHUFFLES[mode]
    matrices = np.frombuffer(a + b, np.uint8).reshape(-1, shape.rows, shape.columns, shape.size)
    turned = matrices.transpose(0, 2, 1, 3).reshape(-1)
    assert meaning_of(("vshuffle",))({"a": a, "b": b, "m": mode})["d"] == turned[64 * shape.half :][:64].tobytes()


def test_one_shuffle_swaps_neighbours():
    lanes = np.arange(32, dtype=np.uint16)
    made = meaning_of(("vshuffle",))({"a": lanes.tobytes(), "b": bytes(64), "m": 38})["d"]
    assert np.frombuffer(made, np.uint16).tolist() == [lane ^ 1 for lane in range(32)]


def nearest(value: Fraction, tie: object) -> int:
    below = floor(value)
    rest = value - below
    if rest == Fraction(1, 2):
        return tie(below)  # type: ignore[operator]
    return below + (rest > Fraction(1, 2))


ROUNDED = {
    0: floor,
    1: ceil,
    2: lambda value: int(value),
    3: lambda value: ceil(value) if value > 0 else floor(value),
    8: lambda value: nearest(value, lambda below: below),
    9: lambda value: nearest(value, lambda below: below + 1),
    10: lambda value: nearest(value, lambda below: below if value > 0 else below + 1),
    11: lambda value: nearest(value, lambda below: below + 1 if value > 0 else below),
    12: lambda value: nearest(value, lambda below: below + below % 2),
    13: lambda value: nearest(value, lambda below: below + 1 - below % 2),
}


@pytest.mark.parametrize("rounding", ROUNDED)
@given(
    st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=16, max_size=16),
    st.integers(0, 20),
    st.sampled_from([0, 1, 3]),
)
def test_shift_round_saturate(rounding: int, values: list[int], shift: int, saturation: int):
    made = meaning_of(("vsrs", "s16", "s32"))(
        {"a": np.array(values, np.int32).tobytes(), "s": shift, "crRnd": rounding, "crSat": saturation}
    )["d"]
    exact = [ROUNDED[rounding](Fraction(value, 1 << shift)) for value in values]
    lowest = {0: None, 1: -32768, 3: -32767}[saturation]
    wanted = exact if lowest is None else [min(max(value, lowest), 32767) for value in exact]
    assert made == np.array([value % 65536 for value in wanted], np.uint16).tobytes()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 12), st.sampled_from([0, 1]))
def test_widening(data: bytes, shift: int, sign: int):
    lanes = np.frombuffer(data, np.int8 if sign else np.uint8).astype(np.int32)
    made = meaning_of(("vups", "s32", "d8"))({"a": data, "s": shift, "crSat": 0, "crUPSSign": sign})["d"]
    assert made == (lanes << shift).tobytes()
    unpacked = meaning_of(("vunpack", "d16", "d8"))({"a": data, "crUnpackSign": sign})["d"]
    assert unpacked == lanes.astype(np.int16).tobytes()
    packed = meaning_of(("vpack", "d8", "d16"))({"a": unpacked, "crSat": 1, "crPackSign": sign})["d"]
    assert packed == data


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=16, max_size=16))
def test_floats_are_rounded_to_the_nearest_even(values: list[float]):
    exact = np.array(values, np.float32)
    made = meaning_of(("vconv", "bf16", "fp32"))({"a": exact.tobytes(), "crRnd": 12})["d"]
    widened = meaning_of(("vconv", "fp32", "bf16"))({"a": made})["d"]
    found = np.frombuffer(widened, np.float32).astype(np.float64)
    # neighbours of 8 bits: nothing is nearer
    spacing = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact.astype(np.float64)), 2.0**-126))) - 7)
    assert (np.abs(found - exact) <= spacing / 2)[np.isfinite(found)].all()
    for mode, test in ((0, np.less_equal), (1, np.greater_equal)):
        rounded = meaning_of(("vconv", "bf16", "fp32"))({"a": exact.tobytes(), "crRnd": mode})["d"]
        assert test(np.frombuffer(meaning_of(("vconv", "fp32", "bf16"))({"a": rounded})["d"], np.float32), exact).all()


def elements(data: bytes, bits: int, is_signed: bool) -> list[int]:
    whole = int.from_bytes(data, "little")
    found = [whole >> at & ((1 << bits) - 1) for at in range(0, 8 * len(data), bits)]
    return [it - (1 << bits) if is_signed and it >> (bits - 1) else it for it in found]


def products(mode: ProductMode, x: list[int], y: list[int]) -> list[int]:
    """Lane by lane, as the guide has it: c[r][j] of each channel is the sum of a[r][i] b[i][j]."""
    sums = list[int]()
    for row in range(mode.rows):
        for column in range(mode.columns):
            for channel in range(mode.channels):
                at = row if mode.is_convolution else row * mode.inner
                sums.append(
                    sum(
                        x[(at + inner) * mode.channels + channel]
                        * y[(inner * mode.columns + column) * mode.channels + channel]
                        for inner in range(mode.inner)
                    )
                )
    return sums


@pytest.mark.parametrize("key", PRODUCTS, ids=str)
@given(VECTORS, VECTORS, st.binary(min_size=128, max_size=128), st.integers(0, 3), st.booleans())
def test_products(key: tuple[int, int, int], a: bytes, b: bytes, total: bytes, signs: int, zeroes: bool):
    mode = PRODUCTS[key]
    word = zeroes | key[0] << 1 | key[1] << 3 | key[2] << 5 | signs << 8
    x, y = elements(a, mode.bits_x, bool(signs >> 1)), elements(b, mode.bits_y, bool(signs & 1))
    sums = products(mode, x, y)
    before = [0] * len(sums) if zeroes else elements(total, mode.bits_sum, True)[: len(sums)]
    values = {"a": a, "b": b, "c": word, "e": total}
    for name, sign in (("mac", 1), ("msc", -1)):
        made = meaning_of(("product", name, "dense"))(values)["d"]
        wanted = [(old + sign * new) % 2**mode.bits_sum for old, new in zip(before, sums, strict=True)]
        assert elements(made, mode.bits_sum, False) == wanted
    made = meaning_of(("product", "mul", "dense"))({"a": a, "b": b, "c": word})["d"]
    assert elements(made, mode.bits_sum, False) == [it % 2**mode.bits_sum for it in sums]


def test_meanings_that_are_missing_are_named():
    """All rows are known, or say that they are not; the share that is known only grows."""
    known = 0
    for row in ISA.rows:
        try:
            meaning_of(row.meaning)
            known += 1
        except UnknownMeaningError as error:
            assert "not known" in str(error)
    assert known >= 460
