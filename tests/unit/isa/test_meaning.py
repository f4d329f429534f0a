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
from tilewright.isa.product_modes import PRODUCTS, ProductMode
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


@given(st.integers(48, 63), VECTORS, VECTORS, st.integers(0, 1 << 20))
def test_modes_that_are_none_give_a_byte(mode: int, a: bytes, b: bytes, upper: int):
    made = meaning_of(("vshuffle",))({"a": a, "b": b, "m": mode | upper << 6})["d"]
    assert made == a[:1] + bytes(63)


@given(st.integers(0, len(SHUFFLES) - 1), VECTORS, WORDS)
def test_copies_are_shuffled_with_zeros(mode: int, a: bytes, word: int):
    copies = meaning_of(("vbcst", "32"))({"a": word})["d"]
    wanted = meaning_of(("vshuffle",))({"a": copies, "b": bytes(64), "m": mode})
    assert meaning_of(("vbcstshfl", "32"))({"a": word, "r29": mode}) == wanted


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


@pytest.mark.parametrize("key", [key for key, it in PRODUCTS.items() if not (it.is_sparse or it.is_complex)], ids=str)
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


def test_signs_of_products():
    """`neg` is the negative of the whole sum: -(e + a b), -(e - a b)."""
    a, b, e = np.full(64, 2, np.int8).tobytes(), np.full(64, 3, np.int8).tobytes(), np.full(32, 100, np.int32).tobytes()
    word = 0x308
    for name, wanted in (("mac", 148), ("msc", 52), ("negmac", -148), ("negmsc", -52)):
        made = meaning_of(("product", name, "dense"))({"a": a, "b": b, "c": word, "e": e})["d"]
        assert np.frombuffer(made, np.int32).tolist() == [wanted] * 32
    for name, wanted in (("addmac", 248), ("addmsc", 152), ("submac", 48), ("submsc", -48)):
        made = meaning_of(("product", name, "dense"))({"a": a, "b": b, "c": word, "e": e, "f": e})["e"]
        assert np.frombuffer(made, np.int32).tolist() == [wanted] * 32
    for bit, wanted in ((11, 52), (12, -52), (0, 48), (10, (100 << 16) + 48)):
        made = meaning_of(("product", "mac", "dense"))({"a": a, "b": b, "c": word | 1 << bit, "e": e})["d"]
        assert np.frombuffer(made, np.int32).tolist() == [wanted] * 32
    for name, wanted in (("add", 200), ("sub", 0), ("negadd", -200), ("negsub", 0), ("neg", -100)):
        values = {"e": e, "c": 0} | ({} if name == "neg" else {"f": e})
        assert np.frombuffer(meaning_of(("acc", name))(values)["d"], np.int32).tolist() == [wanted] * 32


BF16 = st.integers(0, 0xFFFF).filter(lambda bits: 0 < bits >> 7 & 0xFF < 255)
FLOATS = st.floats(-(2.0**100), 2.0**100, width=32).filter(lambda value: value == 0 or abs(value) > 1e-30)


def bf16_value(bits: int) -> Fraction:
    return Fraction(float(np.uint32(bits << 16).view(np.float32)))


def exponent(value: Fraction) -> int:
    """Of the power of 2 that is not larger."""
    found = value.numerator.bit_length() - value.denominator.bit_length()
    return found if Fraction(2) ** found <= abs(value) else found - 1


def to_float(value: Fraction) -> float:
    """The nearest float of 32 bits; 0 below the least exponent."""
    if value == 0 or exponent(value) < -126:
        return 0.0
    unit = Fraction(2) ** (exponent(value) - 23)
    return float(round(value / unit) * unit)


def float_sum(products: list[tuple[int, int]], others: list[float]) -> float:
    """The rule that results of a device follow: to 23 bits behind the largest exponent, then one exact sum."""
    terms = [(exponent(bf16_value(x)) + exponent(bf16_value(y)), bf16_value(x) * bf16_value(y)) for x, y in products]
    terms += [(exponent(Fraction(it)), Fraction(it)) for it in others if it]
    unit = Fraction(2) ** (max((place for place, _ in terms), default=0) - 23)
    return to_float(sum((round(value / unit) * unit for _, value in terms), Fraction(0)))


@given(
    st.lists(BF16, min_size=32, max_size=32), st.lists(BF16, min_size=32, max_size=32),
    st.lists(FLOATS, min_size=16, max_size=16),
)  # fmt: skip
def test_products_of_floats(a: list[int], b: list[int], e: list[float]):
    before = np.array(e, np.float32)
    values = {"a": np.array(a, np.uint16).tobytes(), "b": np.array(b, np.uint16).tobytes(), "e": before.tobytes()}
    made = np.frombuffer(meaning_of(("product", "mac", "dense", "f"))({**values, "c": 0x1C})["d"], np.float32)
    for row in range(4):
        for column in range(4):
            pairs = [(a[8 * row + at], b[4 * at + column]) for at in range(8)]
            wanted = float_sum(pairs, [float(before[4 * row + column])])
            assert float(made[4 * row + column]) == wanted or abs(wanted) >= 2.0**128
    made = np.frombuffer(meaning_of(("product", "msc", "dense", "f"))({**values, "c": 0x3C})["d"], np.float32)
    for lane in range(16):
        pairs = [(a[lane] ^ 0x8000, b[lane]), (a[16 + lane] ^ 0x8000, b[16 + lane])]
        wanted = float_sum(pairs, [float(before[lane])])
        assert float(made[lane]) == wanted or abs(wanted) >= 2.0**128


@given(st.lists(FLOATS, min_size=16, max_size=16), st.lists(FLOATS, min_size=16, max_size=16))
def test_sums_of_floats(e: list[float], f: list[float]):
    first, second = np.array(e, np.float32), np.array(f, np.float32)
    values = {"e": first.tobytes(), "f": second.tobytes(), "c": 0x1C}
    signs = {"add": (1, 1), "sub": (1, -1), "negadd": (-1, -1), "negsub": (-1, 1)}
    for name, (a, b) in signs.items():
        made = np.frombuffer(meaning_of(("acc", name, "f"))(values)["d"], np.float32)
        wanted = [float_sum([], [a * float(x), b * float(y)]) for x, y in zip(first, second, strict=True)]
        assert made.tolist() == np.array(wanted, np.float32).tolist()


@given(
    st.lists(st.integers(0, 0xFFFF).filter(lambda bits: bits >> 7 & 0xFF < 255), min_size=16, max_size=16),
    st.integers(0, 31),
)
def test_floors(a: list[int], shift: int):
    made = meaning_of(("vfloor", "s32", "bf16"))({"a": np.array(a, np.uint16).tobytes(), "s": shift})["d"]
    exact = [floor(bf16_value(bits) * 2**shift) for bits in a]
    assert np.frombuffer(made, np.int32).tolist() == [min(max(it, -(1 << 31)), (1 << 31) - 1) for it in exact]


INFINITE, NAN = 0x7F80, 0x7FC0


@pytest.mark.parametrize(
    "x, y, bits",
    [
        pytest.param([INFINITE], [0x3F80], 0x7F800000, id="infinity"),
        pytest.param([INFINITE], [0xBF80], 0xFF800000, id="infinity below zero"),
        pytest.param([INFINITE, INFINITE | 0x8000], [0x3F80, 0x3F80], 0x7F800001, id="infinities of both signs"),
        pytest.param([INFINITE], [0], 0x7F800001, id="infinity times zero"),
        pytest.param([NAN], [0x3F80], 0x7F800001, id="no number"),
        pytest.param([0x7F7F], [0x7F7F], 0x7F800000, id="too large"),
        pytest.param([0x0080], [0x0080], 0, id="too small"),
        pytest.param([0x0001], [0x7F00], 0, id="less than the least exponent"),
    ],
)
def test_floats_at_the_edges(x: list[int], y: list[int], bits: int):
    a, b = np.zeros(32, np.uint16), np.zeros(32, np.uint16)
    a[: len(x)] = x
    b[: 4 * len(y) : 4] = y
    made = meaning_of(("product", "mul", "dense", "f"))({"a": a.tobytes(), "b": b.tobytes(), "c": 0x1C})["d"]
    found = int(np.frombuffer(made, np.uint32)[0])
    assert found == bits


def test_meanings_that_are_missing_are_named():
    """All rows are known, or say that they are not; the share that is known only grows."""
    known = 0
    for row in ISA.rows:
        try:
            meaning_of(row.meaning)
            known += 1
        except UnknownMeaningError as error:
            assert "not known" in str(error)
    assert known >= 530
