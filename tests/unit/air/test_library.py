"""Collectives and products of the library, on the emulator against NumPy, for sizes and types drawn by lot."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.air import library
from tilewright.air.library import collectives
from tilewright.air.library.collectives import PROGRAMS
from tilewright.errors import ArgumentError

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.int32, np.uint16, np.int64]
MOVED = [*DTYPES, np.bool_, np.complex64, ml_dtypes.float8_e4m3fn]
"""What is only moved may be of any type."""
EXAMPLES = int(os.environ.get("TILEWRIGHT_COLLECTIVES", "6"))
"""How many collectives are drawn; `TILEWRIGHT_COLLECTIVES=1000` draws a thousand, in about ten minutes."""
KINDS = ["all_gather", "broadcast", "all_to_all", "reduce_scatter", "all_reduce"]
OPERATIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def expected(kind: str, parts: np.ndarray, root: int, operation: str) -> list[np.ndarray]:
    """What each rank ends with."""
    ranks = len(parts)
    if kind == "all_gather":
        return [parts] * ranks
    if kind == "broadcast":
        return [parts[root]] * ranks
    if kind == "all_to_all":
        return [parts[:, rank] for rank in range(ranks)]
    # short floats are added up in f32 and rounded once
    total = parts.astype(np.float32) if parts.dtype in (np.float16, ml_dtypes.bfloat16) else parts
    with np.errstate(over="ignore"):
        total = OPERATIONS[operation].reduce(total, axis=0, dtype=total.dtype).astype(parts.dtype)
    return list(total) if kind == "reduce_scatter" else [total] * ranks


def drawn(draw: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Floats of any size, whole numbers that seldom wrap."""
    if dtype.kind in "iub":
        return draw.integers(0, 20, shape).astype(dtype)
    return draw.standard_normal(shape).astype(dtype)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_collectives_are_those_of_numpy(data) -> None:
    kind, algorithm = data.draw(st.sampled_from(KINDS)), data.draw(st.sampled_from(["line", "bandwidth", None]))
    is_reduction = kind in ("all_reduce", "reduce_scatter")
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES if is_reduction else MOVED)))
    ranks, operation = data.draw(st.integers(2, 8)), data.draw(st.sampled_from([*OPERATIONS]))
    # a message through lines takes a turn of all ranks for each of them
    longest = 12 if algorithm == "line" else 90
    shape = tuple(data.draw(st.lists(st.integers(1, longest), min_size=1, max_size=2)))
    root = data.draw(st.integers(0, ranks - 1))
    blocks = (ranks,) if kind in ("all_to_all", "reduce_scatter") else ()
    parts = drawn(np.random.default_rng(data.draw(st.integers(0, 1000))), (ranks, *blocks, *shape), dtype)
    if kind == "broadcast":
        got = library.broadcast(parts[root], ranks, root, algorithm)
    elif is_reduction:
        got = getattr(library, kind)(list(parts), operation, algorithm)
    else:
        got = getattr(library, kind)(list(parts), algorithm)
    wanted = expected(kind, parts, root, operation)
    assert len(got) == ranks
    for mine, right in zip(got, wanted, strict=True):
        assert mine.shape == right.shape and mine.dtype == right.dtype and np.array_equal(mine, right)


@pytest.mark.parametrize("algorithm", PROGRAMS)
def test_collectives_wait_for_all_that_they_read(algorithm: str) -> None:
    """Stores come late and in any order, and accesses that nothing orders are errors."""
    settings = {"reorder": "on", "check": "races"}
    parts = np.arange(3 * 70, dtype=np.int32).reshape(3, 70)
    for kind in ("all_gather", "all_reduce"):
        wanted = expected(kind, parts, 0, "sum")
        for mine, right in zip(
            getattr(library, kind)(list(parts), algorithm=algorithm, settings=settings), wanted, strict=True
        ):
            assert np.array_equal(mine, right)


@pytest.mark.parametrize("nbytes, algorithm", [(2048, "line"), (2052, "bandwidth")])
def test_size_chooses_the_algorithm(nbytes: int, algorithm: str, monkeypatch) -> None:
    chosen = list[str]()

    class Chosen:
        def __init__(self, name: str):
            self.name = name

        def options(self, **options):
            chosen.append(self.name)
            return PROGRAMS[self.name].options(**options)

    monkeypatch.setattr(collectives, "PROGRAMS", {name: Chosen(name) for name in PROGRAMS})
    library.all_gather([np.zeros(nbytes, np.uint8)] * 2)
    assert chosen == [algorithm]


@pytest.mark.parametrize("ranks, rows, depth, columns", [(2, 65, 36, 20), (3, 33, 17, 31)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_products_are_overlapped_with_collectives(ranks: int, rows: int, depth: int, columns: int, dtype) -> None:
    draw = np.random.default_rng(1)
    b = draw.standard_normal((ranks, depth, columns)).astype(dtype)
    a = draw.standard_normal((ranks, rows, depth)).astype(dtype)
    exact = [a.astype(np.float32).reshape(-1, depth) @ factor.astype(np.float32) for factor in b]
    near = 1e-4 if dtype is np.float32 else 1e-2
    for mine, right in zip(library.all_gather_matmul(list(a), list(b)), exact, strict=True):
        assert mine.dtype == dtype and np.allclose(mine.astype(np.float32), right, rtol=near, atol=near)
    a = draw.standard_normal((ranks, rows * ranks, depth)).astype(dtype)
    total = np.einsum("rmk,rkn->mn", a.astype(np.float32), b.astype(np.float32))
    for mine, right in zip(library.matmul_reduce_scatter(list(a), list(b)), np.split(total, ranks), strict=True):
        assert mine.dtype == dtype and np.allclose(mine.astype(np.float32), right, rtol=near, atol=near)


def test_overlapped_products_have_no_races() -> None:
    draw, settings = np.random.default_rng(1), {"check": "races"}
    a, b = draw.standard_normal((2, 8, 8)).astype(np.float32), draw.standard_normal((2, 8, 8)).astype(np.float32)
    for program in (library.all_gather_matmul, library.matmul_reduce_scatter):
        assert len(program(list(a), list(b), settings=settings)) == 2


@pytest.mark.parametrize("count", [3000, 3001, 20_000], ids=["vectors", "elements", "several blocks"])
def test_many_ranks_and_more_than_a_turn_of_a_block(count: int) -> None:
    parts = np.arange(8 * count, dtype=np.float32).reshape(8, count)
    for mine in library.all_reduce(list(parts)):
        assert np.array_equal(mine, parts.sum(axis=0))
    for mine in library.all_gather(list(parts)):
        assert np.array_equal(mine, parts)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: library.all_gather([np.zeros(3)]), "collectives are for 2 to 8 ranks, not 1"),
        (lambda: library.all_gather([np.zeros(3), np.zeros(4)]), "the arrays of all ranks have one shape"),
        (lambda: library.all_to_all([np.zeros((3, 2))] * 2), "one element of its first dimension for each of 2"),
        (lambda: library.all_reduce([np.zeros(3)] * 2, "mean"), "there is no reduction 'mean'"),
        (lambda: library.all_gather([np.zeros(3)] * 2, "magic"), "there is no algorithm 'magic'"),
        (lambda: library.broadcast(np.zeros(3), 2, 5), "root 5 is none of 2 ranks"),
        (lambda: library.all_reduce([np.zeros(3, np.complex64)] * 2), "a GPU has no numbers of type complex64"),
        (lambda: library.all_gather([np.array([None])] * 2), "a GPU has no numbers of type object"),
        (lambda: library.all_gather_matmul([np.zeros((2, 2), np.float32)], []), "a part and a factor of each of 2"),
        (
            lambda: library.matmul_reduce_scatter(
                [np.zeros((3, 2), np.float32)] * 2, [np.zeros((2, 2), np.float32)] * 2
            ),
            "3 rows cannot be shared among 2 ranks",
        ),
        (lambda: library.matmul(np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)), "have no product"),
        (lambda: library.matmul(np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float16)), "are of one type"),
        (lambda: library.matmul(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), precision="f8"), "'f8'"),
        (
            lambda: library.matmul(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), out_dtype=int),
            "a product is of",
        ),
        (lambda: library.matmul(np.zeros((2, 3)), np.zeros((3, 3))), "a is a matrix of f32, f16, bf16, fp8 or i8"),
    ],
)
def test_what_does_not_fit_is_refused(call, text: str) -> None:
    with pytest.raises(ArgumentError) as error:
        call()
    assert text in str(error.value)


SIZES = (64, 64, 16), (65, 36, 20), (33, 31, 17), (1, 1, 1), (5, 7, 0), (40, 33, 300), (40, 36, 300)
"""The last ones have few tiles, so that blocks share a depth: of odd rows, and of rows of 16 bytes."""


def test_one_build_multiplies_matrices_of_all_sizes() -> None:
    draw = np.random.default_rng(1)
    for m, n, k in SIZES:
        a, b = draw.standard_normal((m, k)).astype(np.float32), draw.standard_normal((k, n)).astype(np.float32)
        found = library.matmul(a, b)
        assert found.shape == (m, n) and np.allclose(found, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_products_of_stacks_and_transposed_matrices_with_what_follows(dtype: type) -> None:
    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((2, 9, 20)).astype(dtype), draw.standard_normal((2, 20, 11)).astype(dtype)
    bias = draw.standard_normal(11).astype(np.float32)
    columns = np.ascontiguousarray(b.transpose(0, 2, 1))
    found = library.matmul(a, columns, bias, "relu", 0.5, ("row", "column"), out_dtype=np.float32)
    exact = np.maximum(0.5 * (a.astype(np.float32) @ b.astype(np.float32)) + bias, 0)
    assert np.allclose(found, exact, rtol=1e-4, atol=1e-4)


def test_fp8_is_multiplied_where_there_are_no_tensor_cores() -> None:
    draw = np.random.default_rng(1)
    a, b = (draw.standard_normal((8, 8)).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    found = library.matmul(a, b)
    assert found.dtype == np.float32 and np.allclose(found, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5)
