"""`aie_api`: products, element by element, of matrices and of sliding windows."""

# ruff: noqa: E501, E731 -- rows of a table

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.kernels.cpp_cases import CONV_EVEN, DTYPES, FLOATS, Case, cases_source, check, compile_source, core_of


def as_lanes(values: np.ndarray, tag: str) -> np.ndarray:
    return values.astype(np.float32 if tag == "accfloat" else np.int64)


# Operands, and the lanes that accauto gives them: 32 bits hold operands of together 32 bits.
PAIRS = [
    ("int8", "int8", "acc32"),
    ("uint8", "int8", "acc32"),
    ("int8", "int16", "acc32"),
    ("int16", "int16", "acc32"),
    ("uint16", "int16", "acc32"),
    ("int32", "int16", "acc64"),
    ("int32", "int32", "acc64"),
    ("bfloat16", "bfloat16", "accfloat"),
    ("float", "float", "accfloat"),
    ("bfloat16", "float", "accfloat"),
]


def elementwise() -> list[Case]:
    cases: list[Case] = []
    for x, y, tag in PAIRS:
        a, b, acc, n = f"{x}x16", f"{y}x16", f"{tag}x16", tag

        def product(p: np.ndarray, q: np.ndarray, tag: str = n) -> np.ndarray:
            return as_lanes(p, tag) * as_lanes(q, tag)

        cases += [
            Case("mul", "aie::mul(a, b)", (a, b), acc, product),
            Case("mul scalar", "aie::mul(a, b)", (a, y), acc, product),
            Case("scalar mul", "aie::mul(a, b)", (x, b), acc, product),
            Case("negmul", "aie::negmul(a, b)", (a, b), acc, lambda p, q, f=product: -f(p, q)),
            Case(
                "mul_square",
                "aie::mul_square(a)",
                (b,),
                f"{tag if y != 'int16' else 'acc32'}x16",
                lambda p, f=product: f(p, p),
            ),
        ]
        if x == "bfloat16" or tag != "accfloat":  # products of other floats may be fused with the sum
            cases += [
                Case("mac", "aie::mac(c, a, b)", (a, b, acc), acc, lambda p, q, r, f=product, t=n: as_lanes(r, t) + f(p, q)),
                Case("mac_square", "aie::mac_square(b, a)", (b, acc), acc, lambda q, r, f=product, t=n: as_lanes(r, t) + f(q, q)),
                Case("mac scalar", "aie::mac(c, a, b)", (a, y, acc), acc, lambda p, q, r, f=product, t=n: as_lanes(r, t) + f(p, q)),
                Case("msc", "aie::msc(c, a, b)", (a, b, acc), acc, lambda p, q, r, f=product, t=n: as_lanes(r, t) - f(p, q)),
            ]  # fmt: skip
    exact = lambda p, q: p.astype(np.int64) * q
    cases += [
        Case("mul into 64 bits", "aie::mul<acc64>(a, b)", ("int16x16", "int16x16"), "acc64x16", exact),
        Case("mul into at least 48 bits", "aie::mul<acc48>(a, b)", ("int16x16", "int16x16"), "acc64x16", exact),
        Case(
            "mac of a wide vector",
            "aie::mac(c, a, b)",
            ("int8x64", "int8x64", "acc32x64"),
            "acc32x64",
            lambda p, q, r: exact(p, q) + r,
        ),
        Case("add to an accumulator", "aie::add(b, a)", ("int16x32", "acc32x32"), "acc32x32", lambda p, r: p + r),
        Case("add a scalar", "aie::add(b, a)", ("int16", "acc32x32"), "acc32x32", lambda p, r: p + r),
        Case(
            "sub from an accumulator",
            "aie::sub(b, a, 2)",
            ("int16x32", "acc64x32"),
            "acc64x32",
            lambda p, r: r - p.astype(np.int64) * 4,
        ),
        Case("neg of an accumulator", "aie::neg(a)", ("acc64x8",), "acc64x8", np.negative),
        Case("a product becomes a vector", "aie::mul(a, b)", ("int16x32", "int16x32"), "int16x32", exact),
        Case(
            "a product becomes bfloat16",
            "aie::mul(a, b)",
            ("bfloat16x16", "bfloat16x16"),
            "bfloat16x16",
            lambda p, q: p.astype(np.float32) * q.astype(np.float32),
            CONV_EVEN,
        ),
        Case(
            "accumulate",
            "aie::accumulate<32>(a, 14, b, c, b)",
            ("int16x16", "uint8x32", "uint8x32"),
            "acc32x32",
            lambda w, x, y: w[14] * x.astype(np.int64) + w[15] * y.astype(np.int64) + w[0] * x.astype(np.int64),
        ),
        Case(
            "accumulate onto",
            "aie::accumulate<32>(c, a, 1, b)",
            ("int16x16", "uint8x32", "acc32x32"),
            "acc32x32",
            lambda w, x, r: w[1] * x.astype(np.int64) + r,
        ),
    ]
    return cases


# Every shape of the documents for these widths, those of the kernels first.
SHAPES = {
    ("int8", "int8", "acc32"): [(4, 8, 8), (8, 8, 8), (4, 8, 4), (4, 16, 4), (8, 8, 4), (2, 8, 8), (2, 16, 8), (4, 16, 8), (1, 8, 8)],
    ("uint8", "int8", "acc32"): [(4, 8, 8), (8, 8, 8)],
    ("int16", "int8", "acc32"): [(4, 4, 8), (4, 4, 4), (8, 4, 4), (4, 8, 4)],
    ("int16", "int16", "acc32"): [(4, 4, 4), (4, 4, 8), (2, 4, 8), (4, 2, 8), (8, 2, 8), (3, 5, 7)],
    ("int32", "int16", "acc64"): [(2, 4, 8), (4, 4, 4), (4, 2, 4)],
    ("int32", "int32", "acc64"): [(4, 2, 4), (4, 4, 4), (8, 2, 4)],
    ("bfloat16", "bfloat16", "accfloat"): [(4, 8, 4), (4, 8, 8), (8, 8, 8), (8, 1, 8)],
    ("float", "float", "accfloat"): [(4, 8, 4), (4, 4, 4)],
}  # fmt: skip


def matrices() -> list[Case]:
    cases: list[Case] = []
    for (x, y, tag), shapes in SHAPES.items():
        for m, k, n in shapes:

            def matmul(p: np.ndarray, q: np.ndarray, tag: str = tag, m: int = m, k: int = k, n: int = n) -> np.ndarray:
                left, right = as_lanes(p, tag).reshape(m, k), as_lanes(q, tag).reshape(k, n)
                total = np.zeros((m, n), left.dtype)
                for i in range(k):
                    total = total + left[:, i : i + 1] * right[i]
                return total.reshape(-1)

            a, b, acc = f"{x}x{m * k}", f"{y}x{k * n}", f"{tag}x{m * n}"
            kind = f"aie::mmul<{m}, {k}, {n}, {x}, {y}, accauto>"
            tolerance = 2e-5 if x == "float" else 0.0
            anew = f"[&] {{ {kind} p; p.mul(a, b); return p.to_accum(); }}()"
            onto = f"[&] {{ {kind} p(c); p.mac(a, b); return p.to_accum(); }}()"
            cases.append(Case(f"mmul {m}x{k}x{n}", anew, (a, b), acc, matmul, tolerance=tolerance))
            if tolerance == 0.0:
                cases.append(
                    Case(
                        f"mmul {m}x{k}x{n} onto",
                        onto,
                        (a, b, acc),
                        acc,
                        lambda p, q, r, f=matmul, t=tag: as_lanes(r, t) + f(p, q),
                    )
                )
    kind = "aie::mmul<4, 4, 4, int16, int16>"
    twice = f"[&] {{ {kind} p; p.mul(a, b); p.msc(a, b); p.mac(a, b); return p.to_vector<int16>(3); }}()"
    cases.append(
        Case(
            "mmul to_vector",
            twice,
            ("int16x16", "int16x16"),
            "int16x16",
            lambda p, q: ((p.reshape(4, 4).astype(np.int64) @ q.reshape(4, 4)).astype(np.int32) >> 3).reshape(-1),
        )
    )
    return cases


def sliding() -> list[Case]:
    def slide(
        lanes: int, points: int, step: int, x: int, y: int, start: int, at: int, channels: int = 1
    ) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        def meaning(coeff: np.ndarray, data: np.ndarray) -> np.ndarray:
            out = np.zeros(lanes * channels, np.int64)
            for i in range(lanes * channels):
                o, c = divmod(i, channels)
                for p in range(points):
                    w = int(coeff[(start + p * step * channels + c) % len(coeff)])
                    out[i] += w * int(data[(at + (o * y + p * x) * channels + c) % len(data)])
            return out

        return meaning

    inputs = ("int8x32", "uint8x64")
    ops = "aie::sliding_mul{}_ops<{}, int8, uint8>::mul(a, {}, b, {})".format
    return [
        Case("sliding_mul_xy_ops", ops("_xy", "32, 8, 1, 1", 8, 0), inputs, "acc32x32", slide(32, 8, 1, 1, 1, 8, 0)),
        Case("sliding_mul_x_ops", ops("_x", "16, 4, 1, 2", 0, 3), inputs, "acc32x16", slide(16, 4, 1, 2, 1, 0, 3)),
        Case("sliding_mul_y_ops", ops("_y", "16, 4, 2, 2", 1, 5), inputs, "acc32x16", slide(16, 4, 2, 1, 2, 1, 5)),
        Case(
            "sliding_mul_ops wraps", ops("", "8, 4, 1, 3, 2", 30, 60), inputs, "acc32x8", slide(8, 4, 1, 3, 2, 30, 60)
        ),
        Case(
            "sliding_mul_ch_ops",
            ops("_ch", "4, 8, 3, 1, 1, 1", 0, 8),
            inputs,
            "acc32x32",
            slide(4, 3, 1, 1, 1, 0, 8, 8),
        ),
        Case(
            "sliding_mac",
            "aie::sliding_mac<16, 4>(c, a, 0, b, 0)",
            ("int8x32", "uint8x64", "acc32x16"),
            "acc32x16",
            lambda w, x, r: slide(16, 4, 1, 1, 1, 0, 0)(w, x) + r,
        ),
    ]


CASES = [*elementwise(), *matrices(), *sliding()]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("products"), cases_source(CASES), "-O1", "-ffp-contract=off")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.name}: {', '.join(case.inputs)}" for case in CASES])
def test_expression(library: ctypes.CDLL, number: int) -> None:
    check(library, CASES, number)


def test_floats_are_summed_before_they_join(library: ctypes.CDLL) -> None:
    """The products of one mac are added up first: 2^24 + (1 + 1) is more than (2^24 + 1) + 1."""
    number = next(
        i for i, case in enumerate(CASES) if case.name == "mmul 4x8x4 onto" and case.inputs[0].startswith("bf")
    )
    ones = np.zeros(32, DTYPES["bfloat16"])
    ones.reshape(4, 8)[:, :2] = 1
    onto, result = np.full(16, 2.0**24, np.float32), np.zeros(16, np.float32)
    arrays = [ones, np.ones(32, DTYPES["bfloat16"]), onto, result]
    getattr(library, f"case{number}")(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))
    assert (result == 2.0**24 + 2).all()


def test_counts_of_products(library: ctypes.CDLL) -> None:
    """One issue makes 256 products of 8 bits and 64 of 16 bits on AIE2; FLOATS take their own path."""
    core = core_of(library)
    for name, issues in {"mmul 4x8x8": 1, "mmul 4x4x4": 1, "mmul 8x8x8": 2}.items():
        number = next(
            i for i, case in enumerate(CASES) if case.name == name and case.inputs[0].split("x")[0] not in FLOATS
        )
        core.counts[0] = 0
        check(library, CASES, number, samples=1)
        assert core.counts[0] == issues, name
