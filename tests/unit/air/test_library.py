"""Collectives and products of the library, on the emulator against NumPy, for sizes and types drawn by lot."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.air import library
from tilewright.errors import ArgumentError

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.int32, np.uint16, np.int64]
EXAMPLES = int(os.environ.get("TILEWRIGHT_COLLECTIVES", "5"))
"""How many collectives are drawn; each is compiled."""
KINDS = ["all_gather", "broadcast", "all_to_all", "reduce_scatter", "all_reduce"]


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
    function = {"sum": np.add, "max": np.maximum, "min": np.minimum}[operation]
    total = function.reduce(total, axis=0, dtype=total.dtype).astype(parts.dtype)
    return list(total) if kind == "reduce_scatter" else [total] * ranks


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_collectives_are_those_of_numpy(data) -> None:
    kind, dtype = data.draw(st.sampled_from(KINDS)), data.draw(st.sampled_from(DTYPES))
    ranks, algorithm = data.draw(st.integers(2, 4)), data.draw(st.sampled_from(["line", "bandwidth"]))
    shape = tuple(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=2)))
    operation = data.draw(st.sampled_from(["sum", "max", "min"]))
    root = data.draw(st.integers(0, ranks - 1))
    blocks = (ranks,) if kind in ("all_to_all", "reduce_scatter") else ()
    draw = np.random.default_rng(data.draw(st.integers(0, 1000)))
    parts = draw.integers(0, 20, (ranks, *blocks, *shape)).astype(dtype)
    if kind == "broadcast":
        got = library.broadcast(parts[root], ranks, root, algorithm)
    elif kind in ("all_reduce", "reduce_scatter"):
        got = getattr(library, kind)(list(parts), operation, algorithm)
    else:
        got = getattr(library, kind)(list(parts), algorithm)
    wanted = expected(kind, parts, root, operation)
    assert len(got) == ranks
    for mine, right in zip(got, wanted, strict=True):
        assert mine.shape == right.shape and mine.dtype == right.dtype and np.array_equal(mine, right)


def test_eight_ranks_and_more_than_a_tile() -> None:
    parts = np.arange(8 * 3000, dtype=np.float32).reshape(8, 3000)
    for mine in library.all_reduce(list(parts)):
        assert np.array_equal(mine, parts.sum(axis=0))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: library.all_gather([np.zeros(3)]), "collectives are for 2 to 8 ranks, not 1"),
        (lambda: library.all_gather([np.zeros(3), np.zeros(4)]), "the arrays of all ranks have one shape"),
        (lambda: library.all_to_all([np.zeros((3, 2))] * 2), "one element of its first dimension for each of 2"),
        (lambda: library.all_reduce([np.zeros(3)] * 2, "mean"), "there is no reduction 'mean'"),
        (lambda: library.all_gather([np.zeros(3)] * 2, "magic"), "there is no algorithm 'magic'"),
        (lambda: library.broadcast(np.zeros(3), 2, 5), "root 5 is none of 2 ranks"),
        (lambda: library.matmul(np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)), "have no product"),
        (lambda: library.matmul(np.zeros((2, 3)), np.zeros((3, 3))), "a is a matrix of f32, f16 or bf16"),
    ],
)
def test_what_does_not_fit_is_refused(call, text: str) -> None:
    with pytest.raises(ArgumentError) as error:
        call()
    assert text in str(error.value)


def test_one_build_multiplies_matrices_of_all_sizes() -> None:
    draw = np.random.default_rng(1)
    for m, n, k in ((64, 64, 16), (65, 36, 20), (33, 31, 17), (1, 1, 1), (5, 7, 0)):
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
