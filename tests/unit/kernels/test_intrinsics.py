"""The compiler's intrinsics: single elements, parts, shuffles, products, conversions, tables, the core's ports."""

# ruff: noqa: E501 -- rows of a table

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.unit.kernels.cpp_cases import (
    CONV_EVEN,
    DTYPES,
    SATURATE,
    SYMMETRIC_INF,
    Case,
    cases_source,
    check,
    compile_source,
    core_of,
    typed,
)

REGISTERS = {"int8": 64, "uint8": 64, "int16": 32, "uint16": 32, "int32": 16, "uint32": 16, "bfloat16": 32, "float": 16}
PAIRS = ["8_64x2", "8_2x64", "16_32x2", "16_2x32", "32_16x2", "32_2x16", "64_8x2", "64_2x8", "128_4x2", "128_2x4"]
PAIRS += ["256_2x2", "512_1x2", "16_16x4", "16_4x16", "32_8x4", "32_4x8"]
SINGLES = ["16_8x4", "16_4x8", "32_4x4", "8_8x8", "8_16x4", "8_4x16", "16_16x2", "16_2x16"]
BLOCKS = ["16_4x4", "16_4x2", "16_2x4", "16_8x2", "16_2x8", "8_8x4", "8_4x8"]


def f32(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32)


def transposed(mode: str, data: np.ndarray) -> np.ndarray:
    """The bytes of matrices in a row, each with its elements turned."""
    bits, _, shape = mode.partition("_")
    rows, columns = map(int, shape.split("x"))
    return data.view(np.uint8).reshape(-1, rows, columns, int(bits) // 8).swapaxes(1, 2).reshape(-1)


def elements_and_parts() -> list[Case]:
    cases: list[Case] = []
    for element, size in REGISTERS.items():
        whole, half, dtype = f"{element}x{size}", f"{element}x{size // 2}", DTYPES[element]
        names = f"v{size}{element}", f"v{size // 2}{element}"
        cases += [
            Case("ext_elem", f"ext_elem(a, {size - 3})", (whole,), element, lambda x: x[-3]),
            Case("extract_elem", "extract_elem(a, 1)", (whole,), element, lambda x: x[1]),
            Case("upd_elem", "upd_elem(a, 5, b)", (whole, element), whole, lambda x, y: np.r_[x[:5], y, x[6:]]),
            Case("insert", "insert(a, 1, b)", (whole, half), whole, lambda x, y: np.r_[x[: y.size], y]),
            Case("extract", f"extract_{names[1]}(a, 1)", (whole,), half, lambda x: x[x.size // 2 :]),
            Case("set", f"extract_{names[1]}(set_{names[0]}(1, a), 1)", (half,), half, lambda x: x),
            Case("concat", "concat(a, b)", (half, half), whole, lambda x, y: np.r_[x, y]),
            Case("broadcast", f"broadcast_to_{names[0]}(a)", (element,), whole, lambda x, n=size: np.repeat(x, n)),
            Case("broadcast part", f"broadcast_to_{names[0]}(a)", (half,), whole, lambda x: np.r_[x, x]),
            Case("one", f"broadcast_one_to_{names[0]}()", (), whole, lambda n=size, d=dtype: np.ones(n, d)),
            Case("zero", f"broadcast_zero_to_{names[0]}()", (), whole, lambda n=size, d=dtype: np.zeros(n, d)),
            Case("broadcast_elem", "broadcast_elem(a, 2)", (whole,), whole, lambda x: np.repeat(x[2], x.size)),
            Case("sel", "sel(a, b, 0x5aa5u)", (whole, whole), whole, chosen),
            Case("sel mask", "sel(a, b, lt(a, b))", (whole, whole), whole, lambda x, y: np.where(x < y, y, x)),
            Case("shift", "shift(a, b, 3)", (whole, whole), whole, lambda x, y: np.r_[x[3:], y[:3]]),
            Case("shift_bytes", "shift_bytes(a, b, 20)", (whole, whole), whole, lambda x, y: np.r_[x.view(np.uint8)[20:], y.view(np.uint8)[:20]].view(x.dtype)),
        ]  # fmt: skip
    cases += [
        Case("as signed", "ext_elem(a, 3, 1)", ("uint8x64",), "int32", lambda x: x.view(np.int8)[3]),
        Case("as unsigned", "ext_elem(a, 3, 0)", ("int16x32",), "int32", lambda x: x.view(np.uint16)[3]),
        Case("other type", "v32bfloat16(a)", ("int16x32",), "bfloat16x32", lambda x: x.view(bfloat16)),
        Case("other size", "v32int16(a)", ("int8x64",), "int16x32", lambda x: x.view(np.int16)),
        Case("accumulator shift", "shift(a, b, 8)", ("accfloatx16",) * 2, "accfloatx16", lambda x, y: np.r_[x[8:], y[:8]]),
        Case("accumulator part", "extract_v16acc32(a, 1)", ("acc32x32",), "acc32x16", lambda x: x[16:]),
        Case("four parts", "concat(a, a, a, a)", ("bfloat16x8",), "bfloat16x32", lambda x: np.tile(x, 4)),
    ]  # fmt: skip
    return cases


def chosen(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where([0x5AA5 >> i & 1 for i in range(x.size)], y, x)


def shuffles() -> list[Case]:
    cases = [
        Case(f"T{mode}_{half}", f"shuffle(a, b, T{mode}_{half})", ("uint8x64",) * 2, "uint8x64", lambda x, y, mode=mode, first=first: transposed(mode, np.r_[x, y])[first : first + 64])
        for mode in PAIRS
        for half, first in (("lo", 0), ("hi", 64))
    ]  # fmt: skip
    for mode in (*SINGLES, *BLOCKS):
        cases.append(Case(f"T{mode}", f"shuffle(a, b, shuffle_T{mode})", ("int16x32",) * 2, "int16x32", lambda x, y, mode=mode: transposed(mode, x).view(np.int16)))  # fmt: skip
    cases.append(Case("flip", "shuffle(a, T16_1x2_flip)", ("int16x32",), "int16x32", lambda x: x.reshape(-1, 2)[:, ::-1].reshape(-1)))  # fmt: skip
    return cases


def products() -> list[Case]:
    cases: list[Case] = []
    for a, b, lanes, size in (("int8", "uint8", "acc32", 32), ("int16", "int16", "acc32", 32), ("int32", "int16", "acc64", 16), ("bfloat16", "bfloat16", "accfloat", 64)):  # fmt: skip
        types, acc = (f"{a}x{size}", f"{b}x{size}"), f"{lanes}x{size}"
        wide = DTYPES[lanes]
        for name, sign in (("mul", 1), ("negmul", -1)):
            cases.append(Case(f"{name} {a}", f"{name}_elem_{size}(a, b)", types, acc, lambda x, y, s=sign, w=wide: s * (x.astype(w) * y.astype(w))))  # fmt: skip
        for name, sign in (("mac", 1), ("msc", -1)):
            cases.append(Case(f"{name} {a}", f"{name}_elem_{size}(a, b, c)", (*types, acc), acc, lambda x, y, z, s=sign, w=wide: z + s * (x.astype(w) * y.astype(w))))  # fmt: skip
    pair = "bfloat16x32"
    cases.append(Case("two products", "mul_elem_16_2(a, b)", (pair, pair), "accfloatx16", lambda x, y: (f32(x) * f32(y)).reshape(2, 16).sum(0)))  # fmt: skip
    cases.append(Case("two products", "mac_elem_16_2(a, b, c)", (pair, pair, "accfloatx16"), "accfloatx16", lambda x, y, z: z + (f32(x) * f32(y)).reshape(2, 16).sum(0)))  # fmt: skip
    for m, k, n, a, b, lanes in ((4, 8, 4, "bfloat16", "bfloat16", "accfloat"), (4, 8, 8, "int8", "int8", "acc32"), (4, 4, 4, "int16", "int16", "acc64"), (4, 2, 8, "int16", "int16", "acc32"), (8, 8, 8, "uint8", "int8", "acc32")):  # fmt: skip
        shape, types, acc = f"{m}x{k}_{k}x{n}", (f"{a}x{m * k}", f"{b}x{k * n}"), f"{lanes}x{m * n}"
        tolerance = 1e-4 if lanes == "accfloat" else 0.0
        cases.append(
            Case(f"mul {shape}", f"mul_{shape}(a, b)", types, acc, matrix(m, k, n, lanes), tolerance=tolerance)
        )
        cases.append(Case(f"mac {shape}", f"mac_{shape}(a, b, c)", (*types, acc), acc, matrix(m, k, n, lanes), tolerance=tolerance))  # fmt: skip
    return cases


def matrix(m: int, k: int, n: int, lanes: str) -> Callable[..., np.ndarray]:
    wide = np.float64 if lanes == "accfloat" else DTYPES[lanes]

    def product(x: np.ndarray, y: np.ndarray, z: np.ndarray | int = 0) -> np.ndarray:
        return (x.reshape(m, k).astype(wide) @ y.reshape(k, n).astype(wide)).reshape(-1) + z

    return product


def away(values: np.ndarray, shift: int, dtype: type) -> np.ndarray:
    """Shifted, halves away from zero, saturated."""
    wide = values.astype(object)
    rounded = [(abs(int(v)) + (1 << shift >> 1) >> shift) * (1 if v >= 0 else -1) for v in wide]
    limits = np.iinfo(dtype)
    return np.clip(rounded, limits.min, limits.max).astype(dtype)


def fixed(values: np.ndarray, shift: int) -> np.ndarray:
    return np.clip(np.floor(values.astype(np.float64) * 2.0**shift), -(2**31), 2**31 - 1)


def conversions() -> list[Case]:
    modes = {"rounding": SYMMETRIC_INF, "saturation": SATURATE}
    return [
        Case("lsrs 64", "lsrs(a, 7)", ("acc64x16",), "int32x16", lambda x: away(x, 7, np.int32), **modes),
        Case("lsrs 32", "lsrs(a, 1)", ("acc32x16",), "int16x16", lambda x: away(x, 1, np.int16), **modes),
        Case("ssrs 32", "ssrs(a, 3)", ("acc32x32",), "int8x32", lambda x: away(x, 3, np.int8), **modes),
        Case("ssrs 64", "ssrs(a, 3)", ("acc64x16",), "int16x16", lambda x: away(x, 3, np.int16), **modes),
        Case("low bits", "lsrs(a, 0, 0)", ("acc64x16",), "int32x16", lambda x: x.astype(np.int32)),
        Case("srs", "srs_to_v32uint8(a, 4)", ("acc32x32",), "uint8x32", lambda x: away(x, 4, np.uint8), **modes),
        Case("to", "to_v16int32(a, 9)", ("acc64x16",), "int32x16", lambda x: away(x, 9, np.int32), **modes),
        Case("bf16", "to_v16bfloat16(a)", ("accfloatx16",), "bfloat16x16", lambda x: x.astype(bfloat16), CONV_EVEN),
        Case("sups", "sups(a, 2)", ("uint8x32",), "acc32x32", lambda x: x.astype(np.int32) << 2),
        Case("sups", "sups(a, 5)", ("int16x16",), "acc32x16", lambda x: x.astype(np.int32) << 5),
        Case("lups", "lups(a, 9)", ("int32x16",), "acc64x16", lambda x: x.astype(np.int64) << 9),
        Case("ups", "ups_to_v32acc32(a, 3)", ("int16x32",), "acc32x32", lambda x: x.astype(np.int32) << 3),
        Case("ups", "ups_to_v16accfloat(a)", ("bfloat16x16",), "accfloatx16", f32),
        Case("to int", "bfloat16_to_int(a, 8)", ("bfloat16x16",), "int32x16", lambda x: fixed(x, 8)),
        Case("sub acc", "sub(a, b)", ("acc32x32",) * 2, "acc32x32", lambda x, y: x - y),
        Case("add acc", "add(a, b)", ("accfloatx16",) * 2, "accfloatx16", lambda x, y: x + y),
        Case("band", "band(a, b)", ("int16x32",) * 2, "int16x32", np.bitwise_and),
        Case("bor", "bor(a, b)", ("uint8x64",) * 2, "uint8x64", np.bitwise_or),
        Case("bxor", "bxor(a, b)", ("int32x16",) * 2, "int32x16", np.bitwise_xor),
        Case("bneg", "bneg(a)", ("int8x64",), "int8x64", np.bitwise_not),
        Case("sub_lt", "[&] { unsigned m; auto d = sub_lt(a, b, m); return sel(d, a, m); }()", ("int16x32",) * 2, "int16x32", lambda x, y: np.where(x < y, x, x - y)),
        Case("max_lt", "[&] { unsigned m; auto d = max_lt(a, b, m); return sel(d, a, ~m); }()", ("int32x16",) * 2, "int32x16", lambda x, y: np.where(x < y, y, x)),
        Case("abs_gtz", "[&] { unsigned m; auto d = abs_gtz(a, m); return sel(a, d, ~m); }()", ("int16x32",), "int16x32", lambda x: np.abs(x)),
    ]  # fmt: skip


CASES = [*elements_and_parts(), *shuffles(), *products(), *conversions()]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("intrinsics"), cases_source(CASES), "-O1", "-ffp-contract=off")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.name} {case.output}" for case in CASES])
def test_expressions(library: ctypes.CDLL, number: int) -> None:
    check(library, CASES, number, samples=4)


PORTS = """
#include "lut_based_ops.h"
#include "vec_math.h"
extern "C" {
void pass_on() {
  v32int32 v = get_scd_v32int32();
  put_mcd(upd_elem(v, 0, ext_elem(v, 31)));
  put_mcd(v, 0);
}
void accumulated() { put_mcd(lups(add(lsrs(get_scd_v16acc64(), 0), broadcast_to_v16int32(1)), 0)); }
void words(int n) {
  for (int i = 0; i < n; ++i)
    put_ms(get_ss() + 1, i == n - 1);
}
void registers() { write_tm(read_tm(0x1d000) | 1, 0x1d000, 4); }
void locks() {
  acquire_greater_equal(3, 1);
  release(3, 1);
}
unsigned modes() {
  set_sat();
  set_rnd(rnd_conv_even);
  unsigned seen = get_sat() * 100 + get_rnd();
  clr_sat();
  set_rnd(rnd_floor);
  return seen;
}
void look_up(const int8 *table, const int32 *offsets, int16 *found) {
  v64int8 low, high;
  load_lut_2x_int8(table, table, *(const v16int32 *)offsets, low, high);
  *(v16int16 *)found = extract_v16int16(v32int16(shuffle(low, high, T16_16x4_lo)), 0);
}
void fetch(const int16 *table, const int32 *indices, int16 *found) {
  const aie::lut<4, int16> entries(256, table, table);
  aie::parallel_lookup<int32, aie::lut<4, int16>> lookup(entries);
  *(v16int16 *)found = lookup.fetch(*(const v16int32 *)indices);
}
void exponential(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = to_v16bfloat16(getExpBf16(*(const v16bfloat16 *)x)); }
void tangent(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = getTanhBf16(*(const v16bfloat16 *)x); }
void root(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = getSqrtBf16(*(const v16bfloat16 *)x); }
void error(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = getErfBf16(*(const v16bfloat16 *)x); }
void logistic(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = getSigmoidBf16(*(const v16bfloat16 *)x); }
void round_down(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = getFloorBf16(*(const v16bfloat16 *)x); }
void round_up(const bfloat16 *x, bfloat16 *y) { *(v16bfloat16 *)y = getCeilBf16(*(const v16bfloat16 *)x); }
void inverse(const float *x, bfloat16 *y) {
  for (int i = 0; i < 16; ++i)
    y[i] = getInvBf16(x[i]);
}
const char *alone() {
  try {
    get_scd_v16int32();
    return "";
  } catch (const std::exception &error) {
    static char text[200];
    __builtin_strncpy(text, error.what(), sizeof text - 1);
    return text;
  }
}
}
"""

SELF, U32 = ctypes.c_void_p, ctypes.c_uint32
MOVE = ctypes.CFUNCTYPE(None, SELF, SELF, U32)
STREAM_PUT = ctypes.CFUNCTYPE(None, SELF, U32, SELF, U32, U32)
STREAM_GET = ctypes.CFUNCTYPE(None, SELF, U32, SELF, U32)
EVENT = ctypes.CFUNCTYPE(None, SELF, U32)
READ = ctypes.CFUNCTYPE(U32, SELF, U32)
WRITE = ctypes.CFUNCTYPE(None, SELF, U32, U32)
LOCK = ctypes.CFUNCTYPE(None, SELF, U32, ctypes.c_int32, U32)


class Ports(ctypes.Structure):
    """`tilewright_core_state` with its callbacks."""

    _fields_ = (
        *((f"head{i}", U32) for i in range(4)),
        ("counts", ctypes.c_uint64 * 32),
        ("self", SELF),
        ("cascade_put", MOVE),
        ("cascade_get", MOVE),
        ("stream_put", STREAM_PUT),
        ("stream_get", STREAM_GET),
        ("event", EVENT),
        ("tile_read", READ),
        ("tile_write", WRITE),
        ("lock", LOCK),
    )


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("ports"), PORTS, "-O1", "-ffp-contract=off", "-fno-gnu-unique")


def test_without_a_core_there_is_no_cascade(ports: ctypes.CDLL) -> None:
    ports.alone.restype = ctypes.c_char_p
    assert b"reading from the cascade needs a core" in ports.alone()


def test_cascade_moves_512_bits_a_step(ports: ctypes.CDLL) -> None:
    """The low half comes first, and accumulators have 64 bits a lane."""
    given: list[bytes] = []
    taken: list[bytes] = []

    def get(_self: int, to: int, size: int) -> None:
        data = given.pop(0)
        assert len(data) == size == 64
        ctypes.memmove(to, data, size)

    state = Ports.in_dll(ports, "tilewright_core")
    state.cascade_get = MOVE(get)
    state.cascade_put = MOVE(lambda _self, data, size: taken.append(ctypes.string_at(data, size)))
    words = np.arange(100, 132, dtype=np.int32)
    given += [words[:16].tobytes(), words[16:].tobytes()]
    ports.pass_on()
    assert np.frombuffer(b"".join(taken), np.int32).tolist() == [131, *range(101, 132)]
    assert len(taken) == 2 and not given

    taken.clear()
    lanes = np.arange(-8, 8, dtype=np.int64)
    given += [lanes[:8].tobytes(), lanes[8:].tobytes()]
    ports.accumulated()
    assert np.frombuffer(b"".join(taken), np.int64).tolist() == list(range(-7, 9))
    state.cascade_get, state.cascade_put = MOVE(), MOVE()


def test_streams_registers_and_locks_reach_the_core(ports: ctypes.CDLL) -> None:
    state, sent, written, locked = Ports.in_dll(ports, "tilewright_core"), [], [], []

    def get(_self: int, channel: int, to: int, size: int) -> None:
        ctypes.memmove(to, np.int32(10 + channel).tobytes(), size)

    def put(_self: int, _channel: int, data: int, size: int, last: int) -> None:
        sent.append((int.from_bytes(ctypes.string_at(data, size), "little"), last))

    state.stream_get, state.stream_put = STREAM_GET(get), STREAM_PUT(put)
    state.tile_read = READ(lambda _self, address: address)
    state.tile_write = WRITE(lambda _self, address, value: written.append((address, value)))
    state.lock = LOCK(lambda *request: locked.append(request[1:]))
    ports.words(3)
    assert sent == [(11, 0), (11, 0), (11, 1)]
    ports.registers()
    assert written == [(0x1D004, 0x1D001)]
    ports.locks()
    assert locked == [(3, -1, 1), (3, 1, 0)]
    state.stream_get, state.stream_put, state.lock = STREAM_GET(), STREAM_PUT(), LOCK()
    state.tile_read, state.tile_write = READ(), WRITE()


def test_modes_are_registers(ports: ctypes.CDLL) -> None:
    assert ports.modes() == 112


@pytest.mark.parametrize("arch, row", [("", 8), ("-D__AIE2P__", 16)], ids=["aie2", "aie2p"])
def test_tables_have_each_row_twice(ports: ctypes.CDLL, tmp_path: Path, arch: str, row: int) -> None:
    """Rows of 128 bits on AIE-ML, 256 on XDNA 2; an offset counts the bytes of both copies."""
    library = compile_source(tmp_path, PORTS, "-O1", arch) if arch else ports
    table = np.arange(256, dtype=np.int16) * 3
    twice = np.repeat(table.reshape(-1, 1, row), 2, axis=1).reshape(-1)
    wanted = np.random.default_rng(0).integers(0, 256, 16)
    offsets, found = (4 * wanted).astype(np.int32), np.zeros(16, np.int16)
    library.look_up(*(array.ctypes.data_as(SELF) for array in (twice, offsets, found)))
    assert found.tolist() == table[wanted].tolist()
    indices, fetched = wanted.astype(np.int32), np.zeros(16, np.int16)
    library.fetch(*(array.ctypes.data_as(SELF) for array in (twice, indices, fetched)))
    assert fetched.tolist() == found.tolist()


def applied(library: ctypes.CDLL, name: str, x: np.ndarray) -> np.ndarray:
    """A function of 16 elements, at many."""
    result = np.zeros(x.size, bfloat16)
    core_of(library).rounding = CONV_EVEN
    for first in range(0, x.size, 16):
        given, found = x[first : first + 16].copy(), np.zeros(16, bfloat16)
        getattr(library, name)(given.ctypes.data_as(SELF), found.ctypes.data_as(SELF))
        result[first : first + 16] = found
    core_of(library).rounding = 0
    return f32(result).astype(np.float64)


X = np.linspace(-6, 6, 512).astype(bfloat16)


def test_functions_from_tables(ports: ctypes.CDLL) -> None:
    """As good as tables of 256 powers, 32 pieces, and 128 inverses are."""
    x = f32(X).astype(np.float64)
    # x has eight bits behind the point in the table, and each factor is rounded to eight bits
    np.testing.assert_allclose(applied(ports, "exponential", X), np.exp(np.floor(x * 256) / 256), rtol=0.012)
    np.testing.assert_allclose(applied(ports, "tangent", X), np.tanh(x), atol=0.008)
    small = (X * bfloat16(0.04)).astype(bfloat16)
    assert (applied(ports, "tangent", small) == f32(small)).all()
    assert (applied(ports, "tangent", np.array([-90, 90] * 8, bfloat16)) == [-1, 1] * 8).all()
    positive = (np.abs(x) + 0.01).astype(np.float32)
    np.testing.assert_allclose(applied(ports, "inverse", positive), 1 / positive.astype(np.float64), rtol=0.008)
    powers = 2.0 ** np.arange(-8, 8)
    assert (applied(ports, "inverse", powers.astype(np.float32)) == 1 / powers).all()


def test_functions_without_tables(ports: ctypes.CDLL) -> None:
    x = f32(X).astype(np.float64)
    positive = np.abs(X) + bfloat16(0.01)
    np.testing.assert_allclose(applied(ports, "root", positive), np.sqrt(f32(positive)), rtol=0.015)
    np.testing.assert_allclose(applied(ports, "logistic", X), 1 / (1 + np.exp(-x)), atol=0.03)
    small = x[np.abs(x) < 0.7].size // 16 * 16
    near = (np.arange(small) / small * 1.2 - 0.6).astype(bfloat16)
    series = 2 / np.sqrt(np.pi) * (f32(near) - f32(near) ** 3 / 3 + f32(near) ** 5 / 10)
    np.testing.assert_allclose(applied(ports, "error", near), series, atol=0.01)
    assert (applied(ports, "round_down", X) == np.floor(x)).all()
    assert (applied(ports, "round_up", X) == np.ceil(x)).all()


def test_sanitized(tmp_path: Path) -> None:
    """No expression relies on what C++ leaves undefined: overflow, shifts, alignment."""
    options = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-static-libubsan")
    taken = [case for case in CASES if case.inputs and not case.name.startswith("T") and case.inputs[0][:4] in ("int8", "int1", "acc6", "acc3")]  # fmt: skip
    library = compile_source(tmp_path, cases_source(taken), *options)
    for number in range(len(taken)):
        check(library, taken, number, samples=2)


def test_layout() -> None:
    """The table's types have the sizes that NumPy gives them."""
    assert all(typed(f"{element}x{size}").zeros().nbytes == 64 for element, size in REGISTERS.items())
