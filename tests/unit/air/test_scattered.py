"""Elements at tiles of indices, updates of parts in one step, and random numbers, on the emulator against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import check_mistake

from tilewright import air

RACES: dict[str, Any] = {"check": "races"}


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8])
def test_rows_of_a_table_are_looked_up(index: Any) -> None:
    @air.jit(settings=RACES)
    def embed(table, rows, found, *, block=8, width=32):
        @air.launch(air.cdiv(rows.shape[0], block), waves=2)
        def _(number):
            here = slice(number * block, (number + 1) * block)
            found[here, :width] = air.load(table[air.load(rows[here]), :width])

    table, rows = draw(50, 30), np.random.default_rng(1).integers(0, 50, 19).astype(index)
    found = np.zeros((19, 30), np.float32)
    embed(table, rows, found)
    assert np.array_equal(found, table[rows])


def test_what_is_outside_of_the_array_is_filled_and_not_stored() -> None:
    @air.jit(settings=RACES)
    def work(x, places, y, z):
        @air.launch(1, waves=2)
        def _(_):
            at = air.load(places[:100])
            found = air.load(x[at], fill=7)
            y[:100] = found
            z[at, 1] = found + 1

    x, places = draw(30), np.random.default_rng(2).permutation(100) - 40
    y, z, expected = np.zeros(100, np.float32), np.zeros((20, 2), np.float32), np.zeros((20, 2), np.float32)
    work(x, places, y, z)
    inside = (places >= 0) & (places < 30)
    assert np.array_equal(y, np.where(inside, x[np.where(inside, places, 0)], 7))
    stored = (places >= 0) & (places < 20)
    expected[places[stored], 1] = x[places[stored]] + 1
    assert np.array_equal(z, expected)


def test_parts_of_arrays_may_begin_before_them() -> None:
    @air.jit(settings=RACES)
    def blur(x, y, z, *, size=64):
        @air.launch(air.cdiv(y.shape[0], size), waves=1)
        def _(block):
            start = block * size
            parts = [air.load(x[start + step : start + step + size]) for step in (-1, 0, 1)]
            y[start : start + size] = parts[0] + parts[1] + parts[2]
            z[start - size : start - size + 1] = 5.0

    x = np.arange(100, dtype=np.float32)
    y, z = np.zeros_like(x), np.zeros(10, np.float32)
    blur(x, y, z)
    assert np.array_equal(y, np.convolve(x, [1, 1, 1], "same"))
    assert z.tolist() == [5, *[0] * 9]


def test_indices_of_several_dimensions_go_together() -> None:
    @air.jit(settings=RACES)
    def work(x, y, z, w):
        @air.launch(1, waves=2)
        def _(_):
            row, column = air.arange(16)[:, None], air.arange(16)[None, :]
            y[:16, :16] = air.load(x[0, column, row], like=air.zeros((16, 16)))
            z[row, column] = (row * 16 + column).astype(air.i32)
            w[:16] = air.load(x[1, air.arange(16), 15 - air.arange(16)])

    x = draw(2, 16, 16)
    y, z, w = np.zeros((16, 16), np.float32), np.zeros((15, 16), np.int32), np.zeros(16, np.float32)
    work(x, y, z, w)
    assert np.array_equal(y, x[0].T)
    assert np.array_equal(z, np.arange(240).reshape(15, 16))
    assert np.array_equal(w, np.diag(x[1][:, ::-1]))


def test_counts_and_sums_are_updated_in_one_step() -> None:
    @air.jit(settings=RACES)
    def histogram(x, counts, weights, sums):
        @air.launch(air.cdiv(x.shape[0], 256), waves=4)
        def _(block):
            here = slice(block * 256, (block + 1) * 256)
            number = air.load(x[here], fill=-1)
            air.atomic_add(counts, number, 1)
            air.atomic_add(sums, number, air.load(weights[here]))

    x, weights = np.random.default_rng(3).integers(0, 16, 700).astype(np.int32), np.arange(700, dtype=np.float32)
    counts, sums = np.zeros(16, np.int32), np.zeros(16, np.float32)
    histogram(x, counts, weights, sums)
    assert np.array_equal(counts, np.bincount(x, minlength=16))
    assert np.array_equal(sums, np.bincount(x, weights, 16))


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_blocks_share_the_depth_of_a_product(chip: str) -> None:
    @air.jit(settings=RACES, chip=chip)
    def multiply(a, b, c, tops, *, size=16):
        @air.launch((air.cdiv(c.shape[1], size), air.cdiv(c.shape[0], size), air.cdiv(a.shape[1], size)), waves=2)
        def _(x, y, share):
            rows, columns, depth = (slice(n * size, (n + 1) * size) for n in (y, x, share))
            total = air.dot(a[rows, depth], b[depth, columns])
            air.atomic_add(c, (rows, columns), total)
            air.atomic_max(tops, rows, total.max(axis=1).astype(air.i32))

    a, b = np.random.default_rng(4).integers(-3, 4, (2, 40, 40)).astype(np.float16)
    c, tops = np.zeros((40, 40), np.float32), np.full(40, -1000, np.int32)
    multiply(a, b, c, tops)
    shares = [a[:, k : k + 16].astype(np.float32) @ b[k : k + 16] for k in range(0, 40, 16)]
    assert np.array_equal(c, sum(shares))
    # what is beside the matrix counts as zeros
    columns = [np.pad(share, ((0, 0), (0, 8))) for share in shares]
    assert np.array_equal(tops, np.max([share.max(axis=1) for share in columns], axis=0))


def philox(seed: int, number: int) -> int:
    """The first word of Philox4x32-10, of Salmon et al."""
    words, key = [number & 0xFFFFFFFF, number >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [second >> 32 ^ words[1] ^ key[0], second, first >> 32 ^ words[3] ^ key[1], first]
        words, key = (
            [w & 0xFFFFFFFF for w in words],
            [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF],
        )
    return words[0]


def test_random_numbers_are_those_of_the_paper() -> None:
    @air.jit(settings=RACES)
    def work(seed, bits, fractions, normals, *, known=(1 << 64) - 1):
        @air.launch(air.cdiv(bits.shape[0], 256), waves=4)
        def _(block):
            at, here = block * 256 + air.arange(256), slice(block * 256, (block + 1) * 256)
            bits[here] = air.randint(seed, at)
            fractions[here], normals[here] = air.rand(seed, at), air.randn(seed, at)
            bits[0:1] = air.randint(known, known)

    # the vectors that come with the authors' program have all words the same
    assert philox(0, 0) == 0x6627E8D5
    seed, bits = 0x123456789AB, np.zeros(2000, np.uint32)
    fractions, normals = np.zeros((2, 2000), np.float32)
    work.options(settings={})(seed, bits, fractions, normals)
    assert bits[1:].tolist() == [philox(seed, number) for number in range(1, 2000)]
    assert bits[0] == philox((1 << 64) - 1, (1 << 64) - 1)
    assert np.array_equal(fractions[1:], (bits[1:] >> 8) * np.float32(2.0**-24))
    assert abs(fractions.mean() - 0.5) < 0.02
    assert abs(normals.mean()) < 0.06
    assert abs(normals.std() - 1) < 0.05


MISTAKES: dict[str, tuple[Any, str]] = {
    "indices that do not go together": (lambda a: air.load(a[air.arange(4), air.arange(3)]), "tiles of 4 and 3 do not"),
    "a tile of another shape": (lambda a: a.__setitem__((air.arange(4), 0), air.load(a[0, :8])), "tiles of 4 and 8 do"),
    "a part of another shape": (
        lambda a: air.atomic_add(a, (0, slice(8)), air.load(a[0, :4])),
        "a tile of 4 cannot be stored in a part of 8",
    ),
    "fractions": (lambda a: air.load(a[air.load(a[0, :4]), 0]), "an index is a whole number, not a value of type f32"),
    "an open dimension": (lambda a: air.load(a[air.arange(4)]), "a tile has a known size"),
    "not loaded": (
        lambda a: a[air.arange(4), 0] + 1,
        "<elements of <Array float32 . x .> at tiles of indices> is in memory",
    ),
    "a seed that is a fraction": (lambda a: air.rand(1.5, air.arange(4)), "random numbers are of a whole seed"),
}


@pytest.mark.parametrize("call, error", MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes_are_said_at_the_line(call: Any, error: str) -> None:
    check_mistake(call, __file__, error)
