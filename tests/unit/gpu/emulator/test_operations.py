"""Each operation, on lanes and on values that all lanes share, against plain Python and NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulated import emulator, in_kernel, run
from helpers import toward_zero

N = 64
TYPES: dict[str, Any] = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
}


def both_ways(operation: str, source: str, target: str, inputs: int, device: Any = None) -> Callable[..., Any]:
    """Run `%r = operation` on arrays `%x`, `%y`, `%z`: lane by lane, and one element after the other in all lanes."""
    names = "xyz"[:inputs]
    arguments = ", ".join(f"%{n}s: memref<{N}x{source}>" for n in names) + f", %out: memref<{N}x{target}>"

    def body(place: str) -> str:
        loads = " ".join(f"%{n} = memref.load %{n}s[{place}] : memref<{N}x{source}>" for n in names)
        return f"{loads} %r = {operation} memref.store %r, %out[{place}] : memref<{N}x{target}>"

    lanes = in_kernel(f"%t = gpu.thread_id x {body('%t')}", arguments)
    shared = in_kernel(
        f"""%c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %n = arith.constant {N} : index
            scf.for %i = %c0 to %n step %c1 {{ {body("%i")} }}""",
        arguments,
    )

    def compute(*arrays: np.ndarray) -> np.ndarray:
        results = list[np.ndarray]()
        for text in (lanes, shared):
            out = np.zeros(N, TYPES[target])
            run(text, *arrays, out, device=device or emulator())
            results.append(out)
        assert results[0].tobytes() == results[1].tobytes(), "lanes and shared values disagree"
        return results[0]

    return compute


def integers(type: str, seed: int = 0, nonzero: bool = False) -> np.ndarray:
    info = np.iinfo(TYPES[type])
    chance = np.random.default_rng(seed)
    values = chance.integers(info.min, info.max, N, dtype=TYPES[type], endpoint=True)
    edges = [0, 1, -1, info.max, info.min, 7, -7, 3]
    values[: len(edges)] = chance.permutation(np.array(edges, TYPES[type]))
    if nonzero:
        values[values == 0] = 5
        values[values == -1] = 3
    return values


def floats(type: str, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(0, 8, N)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5]
    return np.random.default_rng(seed + 1).permutation(values).astype(TYPES[type])


def wrapped(value: int, type: str) -> int:
    bits = np.dtype(TYPES[type]).itemsize * 8
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def positive(value: int, type: str) -> int:
    return value % (1 << np.dtype(TYPES[type]).itemsize * 8)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": max,
    "minsi": min,
    "divsi": toward_zero,
    "remsi": lambda a, b: a - toward_zero(a, b) * b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "maxui": max,
    "minui": min,
}


@pytest.mark.parametrize("type", ["i8", "i32", "i64", "index"])
@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
def test_integers_wrap_at_their_width(name: str, type: str):
    a, b = integers(type, 1), integers(type, 2, nonzero="div" in name or "rem" in name)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    if name in SIGNED:
        expected = [wrapped(SIGNED[name](x, y), type) for x, y in pairs]
    else:
        expected = [wrapped(UNSIGNED[name](positive(x, type), positive(y, type)), type) for x, y in pairs]
    assert both_ways(f"arith.{name} %x, %y : {type}", type, type, 2)(a, b).tolist() == expected


@pytest.mark.parametrize("name", ["shli", "shrsi", "shrui"])
def test_shifts(name: str):
    a, by = integers("i32", 3), np.arange(N, dtype=np.int32) % 32
    reference = {
        "shli": lambda x, n: wrapped(x << n, "i32"),
        "shrsi": lambda x, n: x >> n,
        "shrui": lambda x, n: wrapped(positive(x, "i32") >> n, "i32"),
    }[name]
    expected = [reference(x, n) for x, n in zip(a.tolist(), by.tolist(), strict=True)]
    assert both_ways(f"arith.{name} %x, %y : i32", "i32", "i32", 2)(a, by).tolist() == expected


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons_of_integers(predicate: str):
    a, b = integers("i32", 4), integers("i32", 5)
    b[::3] = a[::3]
    sides = [x if predicate in ("eq", "ne") or predicate[0] == "s" else x.view(np.uint32) for x in (a, b)]
    symbols = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
    compare = symbols.get(predicate[-2:], np.greater_equal)
    found = both_ways(f"arith.cmpi {predicate}, %x, %y : i32", "i32", "i1", 2)(a, b)
    assert found.tolist() == compare(*sides).tolist()


@pytest.mark.parametrize("predicate", ["oeq", "ogt", "oge", "olt", "ole", "one", "ord"])
def test_comparisons_of_floats_know_nan(predicate: str):
    a, b = floats("f32", 1), floats("f32", 2)
    b[::3] = a[::3]
    nan = np.isnan(a) | np.isnan(b)
    compare = {"eq": a == b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b, "ne": a != b, "rd": ~nan}
    holds = compare[predicate[-2:]] & ~nan
    found = both_ways(f"arith.cmpf {predicate}, %x, %y : f32", "f32", "i1", 2)(a, b)
    assert found.tolist() == holds.tolist()
    opposite = {"oeq": "une", "ogt": "ule", "oge": "ult", "olt": "uge", "ole": "ugt", "one": "ueq", "ord": "uno"}
    found = both_ways(f"arith.cmpf {opposite[predicate]}, %x, %y : f32", "f32", "i1", 2)(a, b)
    assert found.tolist() == (~holds).tolist()


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize(
    "name, reference",
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
        ("maximumf", np.maximum),
        ("minnumf", np.fmin),
    ],
)
def test_floats_are_rounded_to_their_type(name: str, reference: Any, type: str):
    a, b = floats(type, 3), floats(type, 4)
    with np.errstate(all="ignore"):
        expected = reference(a, b)
    found = both_ways(f"arith.{name} %x, %y : {type}", type, type, 2)(a, b)
    np.testing.assert_array_equal(found.astype(np.float64), np.asarray(expected, TYPES[type]).astype(np.float64))


@pytest.mark.parametrize(
    "name, reference",
    [
        ("exp", math.exp),
        ("log", math.log),
        ("sqrt", math.sqrt),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
        ("tanh", math.tanh),
        ("erf", math.erf),
        ("floor", math.floor),
        ("round", lambda x: math.floor(x + 0.5)),
        ("roundeven", round),
        ("absf", abs),
    ],
)
def test_functions(name: str, reference: Callable[[float], float]):
    a = np.linspace(0.25, 6, N, dtype=np.float32)
    found = both_ways(f"math.{name} %x : f32", "f32", "f32", 1)(a)
    np.testing.assert_allclose(found, [reference(x) for x in a.tolist()], rtol=2e-6)


def test_a_fused_multiply_and_add_rounds_once():
    a = np.full(N, np.float32(1 + 2**-12))
    c = np.full(N, np.float32(-1))
    found = both_ways("math.fma %x, %y, %z : f32", "f32", "f32", 3)(a, a, c)
    assert (found == np.float32(2**-11 + 2**-24)).all()


CASTS: list[tuple[str, str, str, Callable[[Any], Any]]] = [
    ("arith.trunci", "i32", "i8", lambda x: wrapped(x, "i8")),
    ("arith.extsi", "i8", "i64", lambda x: x),
    ("arith.extui", "i8", "i32", lambda x: x % 256),
    ("arith.index_cast", "i32", "index", lambda x: x),
    ("arith.index_castui", "i32", "index", lambda x: x % 2**32),
    ("arith.sitofp", "i32", "f64", float),
    ("arith.uitofp", "i8", "f32", lambda x: float(x % 256)),
]


@pytest.mark.parametrize("name, source, target, reference", CASTS)
def test_casts_of_integers(name: str, source: str, target: str, reference: Callable[[Any], Any]):
    values = integers(source, 6)
    found = both_ways(f"{name} %x : {source} to {target}", source, target, 1)(values)
    assert found.tolist() == [reference(x) for x in values.tolist()]


def test_floats_become_the_nearest_integers_that_fit():
    values = np.array([0.9, -0.9, 1e20, -1e20, np.nan, 300.5, -2.5, 7.0] * 8, np.float32)
    found = both_ways("arith.fptosi %x : f32 to i32", "f32", "i32", 1)(values)
    assert found[:8].tolist() == [0, 0, 2**31 - 1, -(2**31), 0, 300, -2, 7]
    found = both_ways("arith.fptoui %x : f32 to i8", "f32", "i8", 1)(values)
    assert found.view(np.uint8)[:8].tolist() == [0, 0, 255, 0, 0, 255, 0, 7]


def test_bits_and_narrow_floats():
    values = floats("f32", 7)
    found = both_ways("arith.bitcast %x : f32 to i32", "f32", "i32", 1)(values)
    assert found.tolist() == values.view(np.int32).tolist()
    narrow = both_ways("arith.truncf %x : f32 to bf16", "f32", "bf16", 1)(values)
    np.testing.assert_array_equal(narrow.astype(np.float32), values.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_vectors_of_a_lane():
    body = """
      %c4 = arith.constant 4 : index
      %t = gpu.thread_id x
      %i = arith.muli %t, %c4 : index
      %v = vector.load %a[%i] : memref<256xf32>, vector<4xf32>
      %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
      %w = arith.mulf %v, %k : vector<4xf32>
      %e = vector.extract %w[2] : f32 from vector<4xf32>
      %b = vector.broadcast %e : f32 to vector<4xf32>
      %s = arith.addf %w, %b : vector<4xf32>
      %r = vector.reduction <add>, %s : vector<4xf32> into f32
      %z = vector.insert %r, %s [0] : f32 into vector<4xf32>
      vector.store %z, %o[%i] : memref<256xf32>, vector<4xf32>"""
    a, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    run(in_kernel(body, "%a: memref<256xf32>, %o: memref<256xf32>"), a, out)
    expected = a.reshape(N, 4) * np.array([1, 2, 3, 4], np.float32)
    expected = expected + expected[:, 2:3]
    expected[:, 0] = expected.sum(1)
    np.testing.assert_allclose(out.reshape(N, 4), expected)
