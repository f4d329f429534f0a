"""`aie_api`: what is done element by element, the order of elements, masks, memory."""

# ruff: noqa: B023, E501, E731 -- rows of a table

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.unit.kernels.cpp_cases import CONV_EVEN, DTYPES, Case, cases_source, check, compile_source, core_of, typed

INTEGERS = {"int8": 64, "uint8": 64, "int16": 32, "uint16": 32, "int32": 16, "uint32": 32}
ALL = {**INTEGERS, "bfloat16": 32, "float": 16}


def wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32 if values.dtype == bfloat16 else values.dtype)


def elementwise() -> list[Case]:
    cases: list[Case] = []
    for element, size in ALL.items():
        vector, dtype = f"{element}x{size}", DTYPES[element]
        binary = {
            "add": lambda x, y: wide(x) + wide(y),
            "sub": lambda x, y: wide(x) - wide(y),
            "min": np.minimum,
            "max": np.maximum,
            "maxdiff": lambda x, y: np.where(wide(x) > wide(y), wide(x) - wide(y), 0),
        }
        for name, meaning in binary.items():
            cases.append(Case(name, f"aie::{name}(a, b)", (vector, vector), vector, meaning, CONV_EVEN))
            if element in ("int16", "bfloat16"):
                cases += [
                    Case(f"{name} scalar", f"aie::{name}(a, b)", (vector, element), vector, meaning, CONV_EVEN),
                    Case(f"scalar {name}", f"aie::{name}(a, b)", (element, vector), vector, meaning, CONV_EVEN),
                ]
        cases.append(Case("abs", "aie::abs(a)", (vector,), vector, np.abs))
        cases.append(Case("neg", "aie::neg(a)", (vector,), vector, np.negative))
        for name, compare in {
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
            "eq": np.equal,
            "neq": np.not_equal,
        }.items():
            truth = lambda x, y, compare=compare: -compare(x, y).astype(np.int8)
            cases.append(Case(name, f"aie::{name}(a, b)", (vector, vector), f"maskx{size}", truth))
            if element in ("uint8", "float"):
                cases.append(Case(f"{name} scalar", f"aie::{name}(a, b)", (vector, element), f"maskx{size}", truth))
        cases += [
            Case(
                "select",
                "aie::select(a, b, c)",
                (vector, vector, f"maskx{size}"),
                vector,
                lambda x, y, m: np.where(m, y, x),
            ),
            Case(
                "select scalar",
                "aie::select(a, b, c)",
                (element, vector, f"maskx{size}"),
                vector,
                lambda x, y, m: np.where(m, y, x),
            ),
            Case("clamp", "aie::clamp(a, b, b)", (vector, element), vector, lambda x, y: np.broadcast_to(y, x.shape)),
            Case(
                "broadcast",
                f"aie::broadcast<{element}, {size}>(a)",
                (element,),
                vector,
                lambda x, n=size: np.repeat(x, n),
            ),
            Case("zeros", f"aie::zeros<{element}, {size}>()", (), vector, lambda n=size, d=dtype: np.zeros(n, d)),
            Case(
                "max_cmp",
                "aie::max_cmp(a, b).second",
                (vector, vector),
                f"maskx{size}",
                lambda x, y: -(x < y).astype(np.int8),
            ),
            Case("reduce_min", "aie::reduce_min(a)", (vector,), element, np.min),
            Case("reduce_max", "aie::reduce_max(a)", (vector,), element, np.max),
        ]
    for element, size in INTEGERS.items():
        vector = f"{element}x{size}"
        info = np.iinfo(element)
        cases += [
            Case("bit_and", "aie::bit_and(a, b)", (vector, vector), vector, np.bitwise_and),
            Case("bit_or scalar", "aie::bit_or(b, a)", (vector, element), vector, np.bitwise_or),
            Case("bit_xor", "aie::bit_xor(a, b)", (vector, vector), vector, np.bitwise_xor),
            Case("bit_not", "aie::bit_not(a)", (vector,), vector, np.bitwise_not),
            Case("downshift", "aie::downshift(a, 3)", (vector,), vector, lambda x: x >> 3),
            Case("upshift", "aie::upshift(a, 3)", (vector,), vector, lambda x: x << 3),
            Case(
                "logical_downshift",
                "aie::logical_downshift(a, 3)",
                (vector,),
                vector,
                lambda x: x.view(f"u{x.itemsize}") >> 3,
            ),
            Case(
                "reduce_add_v",
                "aie::reduce_add_v(a, b).get(1)",
                (vector, vector),
                element,
                lambda _, y: np.add.reduce(y, dtype=y.dtype),
            ),
            Case("reduce_add", "aie::reduce_add(a)", (vector,), element, lambda x: np.add.reduce(x, dtype=x.dtype)),
            Case(
                "reduce_mul", "aie::reduce_mul(a)", (vector,), element, lambda x: np.multiply.reduce(x, dtype=x.dtype)
            ),
            Case(
                "saturating_add",
                "aie::saturating_add(a, b)",
                (vector, vector),
                vector,
                lambda x, y, i=info: np.clip(x.astype(np.int64) + y, i.min, i.max),
            ),
            Case(
                "saturating_sub",
                "aie::saturating_sub(a, b)",
                (vector, element),
                vector,
                lambda x, y, i=info: np.clip(x.astype(np.int64) - y, i.min, i.max),
            ),
        ]
    return cases


def tree_sum(values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float32)
    while len(values) > 1:
        values = values[: len(values) // 2] + values[len(values) // 2 :]
    return values


def operators() -> list[Case]:
    inside = "[&] {{ using namespace aie::operators; return {}; }}()".format
    return [
        Case("reduce_add of floats is a tree", "aie::reduce_add(a)", ("floatx16",), "float", tree_sum),
        Case("+", inside("a + b"), ("int16x32", "int16x32"), "int16x32", np.add),
        Case("- scalar", inside("a - b"), ("int16x32", "int16"), "int16x32", np.subtract),
        Case("unary -", inside("-a"), ("int8x32",), "int8x32", np.negative),
        Case("==", inside("a == b"), ("int8x64", "int8"), "maskx64", lambda x, y: -(x == y).astype(np.int8)),
        Case("<", inside("a < b"), ("floatx16", "floatx16"), "maskx16", lambda x, y: -(x < y).astype(np.int8)),
        Case("& ~", inside("a & ~b"), ("uint8x64", "uint8x64"), "uint8x64", lambda x, y: x & ~y),
        Case(">>", inside("a >> 2"), ("int32x16",), "int32x16", lambda x: x >> 2),
        Case("+=", inside("a += b"), ("int32x16", "int32x16"), "int32x16", np.add),
        Case("accum -", inside("a - b"), ("acc32x16", "acc32x16"), "acc32x16", np.subtract),
        Case(
            "op_abs",
            "aie::mul(aie::op_abs(a), b)",
            ("int8x32", "int8x32"),
            "acc32x32",
            lambda x, y: np.abs(x).astype(np.int32) * y,
        ),
        Case(
            "op_max",
            "aie::mul(aie::op_max(a, b), b)",
            ("int8x32", "int8x32"),
            "acc32x32",
            lambda x, y: np.maximum(x, y).astype(np.int32) * y,
        ),
        Case(
            "scalar max",
            "aie::max(a, aie::min(b, aie::abs(a)))",
            ("int16", "int16"),
            "int16",
            lambda x, y: np.maximum(x, np.minimum(y, np.abs(x))),
        ),
        Case(
            "op_sub of an accumulator",
            "aie::mac(aie::op_sub(c), a, b)",
            ("int8x32", "int8x32", "acc32x32"),
            "acc32x32",
            lambda x, y, z: x.astype(np.int32) * y - z,
        ),
    ]


def order() -> list[Case]:
    cases: list[Case] = []
    both = "[&] {{ auto p = {}; return aie::concat(p.first, p.second); }}()".format
    for element, size in {"int8": 64, "int16": 32, "int32": 16, "bfloat16": 32}.items():
        vector, double, half = f"{element}x{size}", f"{element}x{2 * size}", f"{element}x{size // 2}"
        for step in (1, 2, 4):
            zipped = lambda x, y, s=step: np.stack([x.reshape(-1, s), y.reshape(-1, s)], 1).reshape(-1)
            unzipped = lambda x, y, s=step: np.concatenate([x, y]).reshape(-1, 2, s).transpose(1, 0, 2).reshape(-1)
            cases += [
                Case(
                    f"interleave_zip {step}",
                    both(f"aie::interleave_zip(a, b, {step})"),
                    (vector, vector),
                    double,
                    zipped,
                ),
                Case(
                    f"interleave_unzip {step}",
                    both(f"aie::interleave_unzip(a, b, {step})"),
                    (vector, vector),
                    double,
                    unzipped,
                ),
                Case(
                    f"filter_even {step}",
                    f"aie::filter_even(a, {step})",
                    (vector,),
                    half,
                    lambda x, s=step: x.reshape(-1, 2, s)[:, 0].reshape(-1),
                ),
                Case(
                    f"filter_odd {step}",
                    f"aie::filter_odd(a, {step})",
                    (vector,),
                    half,
                    lambda x, s=step: x.reshape(-1, 2, s)[:, 1].reshape(-1),
                ),
            ]
        n = 3
        cases += [
            Case("shuffle_down", f"aie::shuffle_down(a, {n})", (vector,), vector, lambda x: np.concatenate([x[n:], np.zeros(n, x.dtype)])),
            Case("shuffle_down_rotate", f"aie::shuffle_down_rotate(a, {n})", (vector,), vector, lambda x: np.roll(x, -n)),
            Case("shuffle_down_replicate", f"aie::shuffle_down_replicate(a, {n})", (vector,), vector, lambda x: np.concatenate([x[n:], np.repeat(x[-1:], n)])),
            Case("shuffle_down_fill", f"aie::shuffle_down_fill(a, b, {n})", (vector, vector), vector, lambda x, y: np.concatenate([x[n:], y[:n]])),
            Case("shuffle_up", f"aie::shuffle_up(a, {n})", (vector,), vector, lambda x: np.concatenate([np.zeros(n, x.dtype), x[:-n]])),
            Case("shuffle_up_rotate", f"aie::shuffle_up_rotate(a, {n})", (vector,), vector, lambda x: np.roll(x, n)),
            Case("shuffle_up_replicate", f"aie::shuffle_up_replicate(a, {n})", (vector,), vector, lambda x: np.concatenate([np.repeat(x[:1], n), x[:-n]])),
            Case("shuffle_up_fill", f"aie::shuffle_up_fill(a, b, {n})", (vector, vector), vector, lambda x, y: np.concatenate([y[-n:], x[:-n]])),
            Case("reverse", "aie::reverse(a)", (vector,), vector, lambda x: x[::-1]),
            Case("transpose", f"aie::transpose(a, 4, {size // 4})", (vector,), vector, lambda x: x.reshape(4, -1).T.reshape(-1)),
            Case("concat", "aie::concat(a, b)", (vector, vector), double, lambda x, y: np.concatenate([x, y])),
            Case("extract", f"a.extract<{size // 2}>(1)", (vector,), half, lambda x: x[len(x) // 2 :]),
            Case("insert", "a.insert(1, b)", (vector, half), vector, lambda x, y: np.concatenate([x[: len(y)], y])),
            Case("grow", f"a.grow<{2 * size}>(1).extract<{size}>(1)", (vector,), vector, lambda x: x),
            Case("grow_replicate", f"a.grow_replicate<{2 * size}>()", (vector,), double, lambda x: np.tile(x, 2)),
            Case("push", "a.push(b)", (vector, element), vector, lambda x, y: np.concatenate([y, x[:-1]])),
            Case("element", "a[3]", (vector,), element, lambda x: x[3]),
            Case("element set", "[&] { a[5] = a[7]; a.set(a.get(2), 0); return a; }()", (vector,), vector, lambda x: x[[2, 1, 2, 3, 4, 7, *range(6, len(x))]]),
            Case("split", f"a.split<{size // 2}>()[1]", (vector,), half, lambda x: x[len(x) // 2 :]),
        ]  # fmt: skip
    cases += [
        Case("cast_to", "a.cast_to<int16>()", ("int32x16",), "int16x32", lambda x: x.view(np.int16)),
        Case("unpack", "a.unpack()", ("int8x32",), "int16x32", lambda x: x),
        Case("unpack of unsigned", "a.unpack()", ("uint8x32",), "uint16x32", lambda x: x),
        Case("pack", "a.pack()", ("int16x32",), "int8x32", lambda x: x),
        Case("pack saturates", "a.pack()", ("int16x32",), "int8x32", lambda x: np.clip(x, -128, 127), saturation=1),
        Case("of elements, the rest zero", "{a, b}", ("int16", "int16"), "int16x16", lambda x, y: np.concatenate([x, y, np.zeros(14)])),
        Case("int4 unpack", "a.cast_to<int4>().unpack()", ("int8x32",), "int8x64", lambda x: np.stack([np.left_shift(x, 4) >> 4, x >> 4], 1).reshape(-1)),
        Case("uint4 unpack", "a.cast_to<uint4>().unpack()", ("uint8x32",), "uint8x64", lambda x: np.stack([x & 15, x >> 4], 1).reshape(-1)),
        Case("int4 interleave_zip", "aie::interleave_zip(a.cast_to<int4>(), b.cast_to<int4>()).first.cast_to<uint8>()", ("uint8x32", "uint8x32"), "uint8x32", lambda x, y: np.stack([(x & 15) | (y & 15) << 4, x >> 4 | y & 240], 1).reshape(-1)[:32]),
        Case("int4 add", "aie::add(a.cast_to<int4>(), b.cast_to<int4>()).cast_to<uint8>()", ("uint8x32", "uint8x32"), "uint8x32", lambda x, y: ((x + y) & 15) | ((x & 240) + (y & 240)) & 240),
        Case("int4 reverse", "aie::reverse(a.cast_to<uint4>()).cast_to<uint8>()", ("uint8x32",), "uint8x32", lambda x: ((x >> 4) | (x << 4))[::-1]),
        Case("int4 pack", "a.pack<int4>().cast_to<uint8>()", ("int8x64",), "uint8x32", lambda x: (x[0::2] & 15) | (x[1::2] & 15) << 4),
    ]  # fmt: skip
    return cases


def masks() -> list[Case]:
    m, n = "maskx32", "uint32"
    bits = lambda x: np.packbits(x != 0, bitorder="little").view(np.uint32)
    return [
        Case("to_uint32", "a.to_uint32()", (m,), n, bits),
        Case("from_uint32", "aie::mask<32>::from_uint32(a)", (n,), m, lambda x: -np.unpackbits(x.view(np.uint8), bitorder="little").astype(np.int8)),
        Case("mask &", "a & b", (m, m), m, np.bitwise_and),
        Case("mask |", "a | ~b", (m, m), m, lambda x, y: x | ~y),
        Case("mask ^", "a ^ b", (m, m), m, np.bitwise_xor),
        Case("mask <<", "a << 3", (m,), m, lambda x: np.concatenate([[0, 0, 0], x[:-3]])),
        Case("mask >>", "a >> 3", (m,), m, lambda x: np.concatenate([x[3:], [0, 0, 0]])),
        Case("count", "a.count()", (m,), n, lambda x: np.count_nonzero(x)),
        Case("test", "a.test(7)", (m,), n, lambda x: x[7] != 0),
        Case("empty", "(a & ~a).empty() && !(a | ~a).empty() && (a | ~a).full()", (m,), n, lambda _: 1),
        Case("submask", "a.extract<16>(1)", (m,), "maskx16", lambda x: x[16:]),
        Case("ctz", "a.ctz()", (m,), n, lambda x: np.argmax(np.append(x, 1) != 0)),
        Case("clz", "a.clz()", (m,), n, lambda x: np.argmax(np.append(x[::-1], 1) != 0)),
    ]  # fmt: skip


CASES = [*elementwise(), *operators(), *order(), *masks()]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("aie_api"), cases_source(CASES), "-O1")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.name}: {', '.join(case.inputs)}" for case in CASES])
def test_expression(library: ctypes.CDLL, number: int) -> None:
    check(library, CASES, number)


MEMORY = """
#include "aie_api/utils.hpp"
extern "C" void copy(const int16 *from, int16 *to, unsigned n) {
  for (unsigned i = 0; i < n; i += 32)
    aie::store_v(to + i, aie::load_v<32>(from + i));
}
extern "C" void unaligned(const int16 *from, int16 *to) { aie::store_unaligned_v(to, aie::load_unaligned_v<16>(from)); }
extern "C" void floored(const int16 *from, int16 *to) { aie::store_v(to, aie::load_floor_v<16>(from)); }
extern "C" void show() {
  aie::vector<int16, 4> v(1, -2, 3, 4);
  aie::print(v, true, "v=");
  aie::print_matrix(v, 2, "m=");
  aie::print(aie::gt(v, int16(2)), true);
  std::fflush(stdout);
}
extern "C" void iterate(const int16 *restrict from, int16 *restrict to, unsigned n) {
  auto in = aie::cbegin_restrict_vector<16>(from);
  auto out = aie::begin_restrict_vector<16>(to);
  for (unsigned i = 0; i < n; i += 16) chess_prepare_for_pipelining chess_loop_range(2, )
    *out++ = aie::add(*in++, int16(1));
}
extern "C" void ring(const int16 *from, int16 *to, unsigned n) {
  auto in = aie::cbegin_vector_circular<16>(from, 32);
  for (unsigned i = 0; i < n; i += 16)
    aie::store_v(to + i, *in++);
}
extern "C" void tensor(const int16 *from, int16 *to) {
  auto rows = aie::make_tensor_descriptor<int16, 8>(aie::tensor_dim(4u, 1), aie::tensor_dim(2u, 8), aie::tensor_dim(2u, 4));
  auto in = aie::make_tensor_buffer_stream(from, rows);
  for (unsigned i = 0; i < 16; ++i)
    aie::store_v(to + 8 * i, in.pop());
}
extern "C" void tensor4(const int16 *from, int16 *to) {
  using aie::tensor_dim;
  auto out = aie::make_tensor_buffer_stream(to, aie::make_tensor_descriptor<int16, 8>(tensor_dim(16u, 1)));
  auto in = aie::make_tensor_buffer_stream(
      from, aie::make_tensor_descriptor<int16, 8>(tensor_dim(2u, 8), tensor_dim(2u, 1), tensor_dim(2u, 2), tensor_dim(2u, 4)));
  for (unsigned i = 0; i < 8; ++i) {
    auto inner = in.pop();
    aie::vector<int16, 8> first, second;
    inner >> first >> second;
    out << first << second;
  }
}
"""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("memory"), MEMORY, "-O1")


def call(library: ctypes.CDLL, name: str, source: np.ndarray, *numbers: int) -> np.ndarray:
    result = np.zeros_like(source)
    getattr(library, name)(source.ctypes.data_as(ctypes.c_void_p), result.ctypes.data_as(ctypes.c_void_p), *numbers)
    return result


def test_memory(memory: ctypes.CDLL) -> None:
    """Vectors are loaded and stored where pointers, iterators and tensors say."""
    source = np.arange(128, dtype=np.int16)
    assert (call(memory, "copy", source, 128) == source).all()
    assert (call(memory, "iterate", source, 128) == source + 1).all()
    assert (call(memory, "ring", source, 128) == np.tile(source[:32], 4)).all()
    vectors = source.reshape(16, 8)
    order = [outer + 8 * middle + 4 * inner for outer in range(4) for middle in range(2) for inner in range(2)]
    assert (call(memory, "tensor", source) == vectors[order].reshape(-1)).all()
    steps = [8 * a + b + 2 * c + 4 * d for a in range(2) for b in range(2) for c in range(2) for d in range(2)]
    assert (call(memory, "tensor4", source) == vectors[steps].reshape(-1)).all()
    moved = np.zeros(64, np.int16)
    memory.unaligned(source[3:].ctypes.data_as(ctypes.c_void_p), moved[5:].ctypes.data_as(ctypes.c_void_p))
    assert (moved[5:21] == source[3:19]).all()


def test_aligned_down(memory: ctypes.CDLL) -> None:
    """A load may round its address down to where a vector of 32 bytes stands."""
    room = np.arange(128, dtype=np.int16)
    start = -room.ctypes.data % 32 // 2
    result = np.zeros(16, np.int16)
    memory.floored(room[start + 21 :].ctypes.data_as(ctypes.c_void_p), result.ctypes.data_as(ctypes.c_void_p))
    assert (result == room[start + 16 : start + 32]).all()


def test_print(memory: ctypes.CDLL, capfd: pytest.CaptureFixture[str]) -> None:
    memory.show()
    assert capfd.readouterr().out == "v=1 -2 3 4 \nm=1 -2 \n3 4 \n0 0 1 1 \n"


def test_counts(memory: ctypes.CDLL) -> None:
    """Loads and stores are counted in issues of the hardware: 512 bits are two of AIE2's."""
    core = core_of(memory)
    core.counts[:] = [0] * 32
    call(memory, "copy", np.arange(128, dtype=np.int16), 128)
    assert core.version == 1
    assert list(core.counts)[:10] == [0, 0, 0, 0, 8, 8, 0, 0, 0, 0]


def test_layout() -> None:
    """The table's types have the sizes that NumPy gives them."""
    assert typed("bfloat16x32").zeros().nbytes == 64


def test_sanitized(tmp_path: Path) -> None:
    """No expression relies on what C++ leaves undefined: overflow, shifts, alignment."""
    options = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-static-libubsan")
    chosen = [case for case in CASES if case.inputs and case.inputs[0].startswith(("int8", "bfloat16"))]
    library = compile_source(tmp_path, cases_source(chosen), *options)
    for number in range(len(chosen)):
        check(library, chosen, number, samples=3)
