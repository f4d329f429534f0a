"""Products of tiles, `air.dot`, on the emulator against NumPy, with accesses that nothing orders looked for."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import check_mistake
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import air
from tilewright.cli.main import main
from tilewright.device.gpu_matrices import instructions_of
from tilewright.ir.diagnostics import CompileError

CHIPS = "sm_80", "sm_90", "gfx90a", "gfx942", "gfx950", "gfx1100"
NVIDIA, CDNA = CHIPS[:2], CHIPS[2:5]
DTYPES = {
    name: getattr(air, name)
    for name in ("f16", "bf16", "i8", "f32", "f64", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
}
SHORT = "f16", "bf16", "i8", "f32"
"""What some GPU has instructions for."""
LONG_SUMS = {"f64": air.f64, "i64": air.i64, "ui32": air.ui32, "ui64": air.ui64}
RACES: dict[str, Any] = {"check": "races"}
REORDERED: dict[str, Any] = {"reorder": "on"}
EXAMPLES = int(os.environ.get("TILEWRIGHT_PRODUCTS", "16"))
Shape = tuple[int, int, int]


def sum_type(element: str) -> air.DType:
    return LONG_SUMS.get(element, air.i32 if "i" in element else air.f32)


@air.jit
def multiply(a, b, c, *, shape, waves=4, turned=False, precision="f32", added=None, where="tiles"):
    """A product of tiles, or of what is in memory of the block or the device; with `added`, to a buffer of that."""
    m, n, k = shape

    @air.launch(1, waves=waves)
    def _(_):
        parts: list[Any] = [a[:m, :k], b[:n, :k] if turned else b[:k, :n]]
        if where == "tiles":
            parts = [air.load(part) for part in parts]
        if where == "shared":
            for number, part in enumerate(parts):
                rows, columns = part.known_shape()
                room = air.shared((rows, columns + 8), part.dtype)
                parts[number] = room[:, :columns]
                air.store(air.load(part), parts[number])
            air.barrier()
        if added is None:
            c[:m, :n] = air.dot(*parts, transpose_b=turned, precision=precision)
        else:
            total = air.zeros((m, n), c.dtype)
            total[:] = added
            air.dot(*parts, acc=total, transpose_b=turned, precision=precision)
            c[:m, :n] = total


def whole(*shape: int, dtype: Any) -> np.ndarray:
    """Numbers that all types have, and whose products and sums f32 has."""
    least = 0 if np.dtype(dtype).kind == "u" else -4
    return np.random.default_rng(sum(shape)).integers(least, 5, shape).astype(dtype)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def promised(chip: str, element: str, shape: Shape, waves: int) -> str | None:
    """The instruction that goes into the depth, and of whose squares each wave has the same number."""
    m, n, k = shape
    for row in instructions_of(chip, element):
        ways = [(down, waves // down) for down in range(1, waves + 1) if waves % down == 0]
        if k % row.k == 0 and any(m % (down * row.m) == 0 and n % (across * row.n) == 0 for down, across in ways):
            return row.name
    return None


def used(text: str) -> str | None:
    """The instruction that a program multiplies with."""
    found = re.search(r"(nvvm)\.mma\.sync|rocdl\.((?:mfma|wmma)\.[\w.]+)", text)
    return None if found is None else "mma.sync" if found[1] else found[2]


def check(chip: str, element: str, shape: Shape, precision: str = "f32", other: str | None = None, **how: Any) -> Any:
    """Compare with NumPy; gives the instruction that is used."""
    m, n, k = shape
    a, b = whole(m, k, dtype=DTYPES[element]), whole(k, n, dtype=DTYPES[other or element])
    arguments = a, np.ascontiguousarray(b.T) if how.get("turned") else b, np.full((m, n), 99, sum_type(element))
    program = multiply.options(chip=chip, settings=RACES)
    program(*arguments, shape=shape, precision=precision, **how)
    assert np.array_equal(arguments[2], exact(a, b) + (how.get("added") or 0))
    return used(program.mlir(*arguments, shape=shape, precision=precision, **how))


@pytest.mark.parametrize(
    "chip, where, elements",
    [
        *((chip, "tiles", SHORT) for chip in CHIPS),
        *((chip, "shared", SHORT) for chip in ("sm_90", "gfx942", "gfx950", "gfx1100")),
        *((chip, "device", ["f16"]) for chip in ("sm_90", "gfx942")),
    ],
    ids=str,
)
@pytest.mark.parametrize("turned", [False, True], ids=["", "transpose_b"])
def test_matrix_instructions_multiply(chip: str, turned: bool, where: str, elements: list[str]) -> None:
    shape = 32, 32, 32
    for element in elements:
        expected = promised(chip, element, shape, 4)
        has_it = element in ("f16", "bf16") or (element == "i8" and chip not in NVIDIA)
        assert (expected is not None) == (has_it or (element == "f32" and chip in CDNA))
        assert check(chip, element, shape, turned=turned, where=where) == expected, element


@pytest.mark.parametrize(
    "chip, element, shape, waves, name",
    [
        ("sm_80", "bf16", (16, 8, 16), 1, "mma.sync"),
        ("sm_80", "f16", (16, 8, 16), 2, None),
        ("sm_80", "f16", (16, 8, 24), 1, None),
        ("sm_80", "f16", (24, 8, 16), 1, None),
        ("sm_90", "f16", (16, 64, 48), 8, "mma.sync"),
        ("gfx942", "f16", (32, 32, 8), 1, "mfma.f32.32x32x8f16"),
        ("gfx942", "f16", (32, 32, 16), 1, "mfma.f32.16x16x16f16"),
        ("gfx942", "f32", (16, 16, 4), 1, "mfma.f32.16x16x4f32"),
        ("gfx950", "bf16", (32, 32, 64), 4, "mfma.f32.16x16x32.bf16"),
        ("gfx950", "i8", (32, 32, 64), 4, "mfma.i32.16x16x64.i8"),
        ("gfx950", "f16", (48, 16, 16), 3, "mfma.f32.16x16x16f16"),
        ("gfx90a", "i8", (16, 32, 16), 2, "mfma.i32.16x16x16i8"),
        ("gfx1100", "i8", (16, 16, 16), 1, "wmma.i32.16x16x16.iu8"),
        ("gfx1100", "f32", (16, 16, 16), 1, None),
    ],
)
def test_the_deepest_instruction_that_fits_is_used(chip: str, element: str, shape: Shape, waves: int, name) -> None:
    assert check(chip, element, shape, waves=waves) == name == promised(chip, element, shape, waves)


@pytest.mark.parametrize("element", [name for name in DTYPES if name not in SHORT])
def test_lanes_multiply_what_no_instruction_does(element: str) -> None:
    for chip in ("sm_90", "gfx942"):
        assert check(chip, element, (16, 32, 16)) is None


@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 5, 3), (24, 40, 12), (3, 130, 1)])
def test_shapes_that_do_not_divide(shape: Shape) -> None:
    for chip, element, waves, turned, where in (
        ("sm_90", "f16", 1, True, "shared"),
        ("gfx942", "bf16", 4, False, "shared"),
        ("gfx1100", "i8", 3, True, "tiles"),
        ("gfx90a", "f32", 2, False, "tiles"),
    ):
        assert check(chip, element, shape, waves=waves, turned=turned, where=where, added=5) is None


@pytest.mark.parametrize("element, other", [("i8", "i16"), ("f16", "f32"), ("f32", "bf16"), ("i32", "ui8")])
def test_factors_of_different_types_are_multiplied_by_lanes(element: str, other: str) -> None:
    assert check("gfx942", element, (16, 16, 16), other=other) is None


def test_sums_of_other_types_are_those_of_lanes() -> None:
    a, found = whole(16, 16, dtype=air.f16), np.zeros((16, 16))
    for dtype in (air.f64, air.f16):
        found = found.astype(dtype)
        assert used(multiply.mlir(a, a, found, shape=(16, 16, 16), waves=1, added=1)) is None
        multiply(a, a, found, shape=(16, 16, 16), waves=1, added=1)
        assert np.array_equal(found, exact(a, a) + 1)


def as_tf32(numbers: np.ndarray) -> np.ndarray:
    """Rounded to ten binary places behind the point, halves away from zero."""
    return ((numbers.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("where", ["tiles", "shared"])
@pytest.mark.parametrize("turned", [False, True], ids=["", "transpose_b"])
def test_numbers_are_rounded_to_tf32(turned: bool, where: str) -> None:
    a, b = np.random.default_rng(1).standard_normal((2, 32, 32)).astype(np.float32)
    a[3, 5], a[4, 6], b[:, 7] = np.inf, np.uint32(0x7FFFFFFF).view(np.float32), np.abs(b[:, 7])
    given = np.ascontiguousarray(b.T) if turned else b
    rounded, plain = np.zeros((2, 32, 32), np.float32)
    for precision, found in (("tf32", rounded), ("f32", plain)):
        how: dict[str, Any] = {"shape": (32, 32, 32), "turned": turned, "where": where, "precision": precision}
        multiply.options(chip="sm_80", settings=RACES)(a, given, found, **how)
        assert used(multiply.options(chip="sm_80").mlir(a, given, found, **how)) == (
            "mma.sync" if precision == "tf32" else None
        )
    finite = np.delete(np.arange(32), [3, 4])
    assert np.allclose(rounded[finite], (as_tf32(a) @ as_tf32(b))[finite], rtol=1e-6, atol=1e-5)
    assert np.allclose(plain[finite], (a @ b)[finite], rtol=1e-6, atol=1e-5)
    assert not np.allclose(rounded[finite], plain[finite], rtol=1e-6, atol=1e-5)
    assert rounded[3, 7] == np.inf and np.isnan(rounded[4]).all()


@pytest.mark.parametrize("chip", CHIPS)
def test_tf32_is_asked_for_and_not_demanded(chip: str) -> None:
    for shape in ((16, 16, 8), (16, 16, 6)):
        name = promised(chip, "tf32", shape, 1) or promised(chip, "f32", shape, 1)
        assert check(chip, "f32", shape, precision="tf32", waves=1) == name
    assert check(chip, "f16", (16, 16, 32), precision="tf32", waves=1) == promised(chip, "f16", (16, 16, 32), 1)


@pytest.mark.parametrize(
    "chip, wave_size, settings",
    [
        *((chip, None, RACES) for chip in CHIPS),
        *((chip, None, REORDERED) for chip in ("sm_90", "gfx942")),
        ("sm_90", 64, RACES),
        ("sm_90", 64, REORDERED),
        ("gfx1100", 64, RACES),
    ],
    ids=str,
)
def test_waves_multiply_tiles_of_their_own(chip: str, wave_size: int | None, settings: dict[str, Any]) -> None:
    """Some do so more often than others, and none has to wait for another one: the first waits for the last."""
    size, waves = 16, 3

    @air.jit
    def work(a, b, c, ends):
        @air.launch(2)
        def _(block):
            @air.herd(waves)
            def _(wave):
                here = slice((block * waves + wave) * size, (block * waves + wave + 1) * size)
                total = air.zeros((size, size))
                with air.if_(wave == 0, hasElse=False):
                    air.wait_until(lambda: air.atomic_load(ends, block) == 1)
                for k in air.sequential(0, wave * size, size):
                    air.dot(a[here, k : k + size], b[here, k : k + size], acc=total, transpose_b=True)
                with air.if_((wave == waves - 1) & (air.lane() == 0), hasElse=False):
                    air.atomic_store(ends, block, 1)
                c[here, :size] = total

    a, b = whole(2, 2 * waves * size, 2 * size, dtype=air.f16)
    c, ends = np.full((2 * waves * size, size), 99, np.float32), np.zeros(2, np.int32)
    program = work.options(chip=chip, wave_size=wave_size, settings=settings)
    program(a, b, c, ends)
    parts = [(slice(n * size, (n + 1) * size), slice(n % waves * size)) for n in range(2 * waves)]
    assert np.array_equal(c, np.concatenate([exact(a[part], b[part].T) for part in parts]))
    name = None if (chip, wave_size) == ("gfx1100", 64) else promised(chip, "f16", (size, size, size), 1)
    assert used(program.mlir(a, b, np.zeros_like(c), ends)) == name


def test_one_buffer_takes_products_of_lanes_and_of_instructions() -> None:
    @air.jit
    def work(a, b, c, d):
        @air.launch(1, waves=4)
        def _(_):
            total, late = air.zeros((32, 32)), air.zeros((32, 32))
            air.dot(air.load(a[:32, :16]), air.load(b[:16, :32]), acc=total)
            total += 1.0
            air.dot(air.load(a[:32, 16:21]), air.load(b[16:21, :32]), acc=total)
            c[:32, :32] = total[:] * air.load(d[:32, :32], like=total)
            # who holds what is asked before, and stays
            late[:] = air.load(d[:32, :32], like=late)
            air.dot(air.load(a[:32, :16]), air.load(b[:16, :32]), acc=late)
            d[:32, :32] = late

    for chip in CHIPS:
        a, b, d = whole(32, 21, dtype=air.f16), whole(21, 32, dtype=air.f16), whole(32, 32, dtype=air.f32)
        c, before = np.zeros((32, 32), np.float32), d.copy()
        program = work.options(chip=chip, settings=RACES)
        program(a, b, c, d)
        assert np.array_equal(c, (exact(a, b) + 1) * before)
        assert np.array_equal(d, exact(a[:, :16], b[:16]) + before)


@pytest.mark.parametrize("chip", ["sm_80", "gfx942", "gfx1100"])
def test_a_product_of_any_size_in_a_loop(chip: str) -> None:
    """Rows, columns and depth that end within a tile: what is outside of arrays counts as zero and is not stored."""

    @air.jit
    def work(a, b, c):
        @air.launch((air.cdiv(b.shape[0], 32), air.cdiv(a.shape[0], 32)), waves=4)
        def _(x, y):
            rows, columns = slice(y * 32, y * 32 + 32), slice(x * 32, x * 32 + 32)
            total = air.zeros((32, 32))
            for k in air.sequential(0, a.shape[1], 32):
                air.dot(a[rows, k : k + 32], b[columns, k : k + 32], acc=total, transpose_b=True)
            c[rows, columns] = total

    for m, n, k in ((32, 64, 32), (33, 31, 70)):
        a, b = whole(m, k, dtype=air.bf16), whole(n, k, dtype=air.bf16)
        c = np.full((m + 1, n), 99, np.float32)
        work.options(chip=chip, settings=RACES)(a, b, c[:m])
        assert np.array_equal(c[:m], exact(a, b.T)) and (c[m] == 99).all()


@air.jit
def lines(a, x, y, down, across, number, *, where, element):
    """A matrix by a line, a line by a matrix, and a line by a line."""
    m, n = 21, 19

    @air.launch(1, waves=2)
    def _(_):
        parts = [a[:m, :n], x[:n], y[:m]]
        if where == "shared":
            for place, part in enumerate(parts):
                room = air.shared(part.known_shape(), part.dtype)
                air.store(air.load(part), room)
                parts[place] = room
            air.barrier()
        matrix, right, left = parts
        down[:m] = air.dot(matrix, right)
        across[:n] = air.dot(left, matrix)
        product = air.dot(right, right)
        total = air.zeros((), sum_type(element))
        total[:] = 3
        air.dot(right, right, acc=total)
        number[:1], number[1:2] = product, total[:].slots[0]


@pytest.mark.parametrize("where", ["tiles", "shared"])
@pytest.mark.parametrize("element", ["f32", "f16", "i8", "ui16", "f64"])
def test_factors_of_one_dimension(element: str, where: str) -> None:
    dtype, sums = DTYPES[element], sum_type(element)
    a, x, y = whole(21, 19, dtype=dtype), whole(19, dtype=dtype), whole(21, dtype=dtype)
    found = [np.zeros(size, sums) for size in (21, 19, 2)]
    lines.options(settings=RACES)(a, x, y, *found, where=where, element=element)
    assert np.array_equal(found[0], exact(a, x)) and np.array_equal(found[1], exact(y, a))
    assert found[2].tolist() == [exact(x, x), exact(x, x) + 3]


def test_a_line_of_a_matrix_and_columns_of_a_stack() -> None:
    @air.jit
    def work(a, c, d):
        @air.launch(1, waves=1)
        def _(_):
            room = air.shared((2, 16, 24), a.dtype)
            air.store(air.load(a[:2, :16, :24]), room)
            air.barrier()
            c[:16] = air.dot(room[1, :, :16], room[0, :, 3])
            d[:16, :16] = air.dot(room[1, :, 8:24], room[0, :, 8:24], transpose_b=True)

    a = whole(2, 16, 24, dtype=air.f16)
    c, d = np.zeros(16, np.float32), np.zeros((16, 16), np.float32)
    for chip in CHIPS:
        program = work.options(chip=chip, settings=RACES)
        program(a, c, d)
        assert np.array_equal(c, exact(a[1, :, :16], a[0, :, 3]))
        assert np.array_equal(d, exact(a[1, :, 8:], a[0, :, 8:].T))
        assert used(program.mlir(a, c, d)) == promised(chip, "f16", (16, 16, 16), 1)


def test_dimensions_of_a_tile_in_reverse() -> None:
    @air.jit
    def work(a, turned, twice, sums, product):
        @air.launch(1, waves=2)
        def _(_):
            x = air.load(a[:21, :19])
            turned[:19, :21] = x.T
            twice[:21, :19] = x.T.T + x
            most, least, line = (x.T * 2).max(), x.T.T.min(), air.load(a[0, :19])
            assert line.T is line and x.T.T.layout == x.layout and x.T.shape == (19, 21)
            product[:19, :19] = air.dot(x.T, x)
            both = air.load(a[:19, :19], like=air.dot(x.T, x))
            product[19:38, :19] = both.T + air.load(a[:19, :19], like=both.T)
            sums[:1], sums[1:2], sums[2:3] = x.T.sum(), most, least

    a = whole(21, 19, dtype=air.f32)
    found = [np.zeros(shape, np.float32) for shape in ((19, 21), (21, 19), (3,), (38, 19))]
    work.options(settings=RACES)(a, *found)
    assert np.array_equal(found[0], a.T) and np.array_equal(found[1], 2 * a)
    assert found[2].tolist() == [a.sum(), 2 * a.max(), a.min()]
    assert np.array_equal(found[3][:19], exact(a.T, a)) and np.array_equal(found[3][19:], a[:19].T + a[:19])


def test_a_stack_is_turned_too() -> None:
    @air.jit
    def work(a, b):
        @air.launch(1, waves=1)
        def _(_):
            b[:4, :3, :5] = air.load(a[:5, :3, :4]).T

    a, b = whole(5, 3, 4, dtype=air.i32), np.zeros((4, 3, 5), np.int32)
    work.options(settings=RACES)(a, b)
    assert np.array_equal(b, a.T)


MISTAKES = {
    "a depth": (
        lambda a: air.dot(a[:8, :4], a[:8, :4]),
        "8 x 4 by 8 x 4 is no product",
        "both have one depth",
    ),
    "a depth of rows": (
        lambda a: air.dot(a[:8, :4], a[:4, :8], transpose_b=True),
        "8 x 4 by 8 x 4 is no product",
        "both have one depth",
    ),
    "a precision": (
        lambda a: air.dot(a[:8, :8], a[:8, :8], precision="f8"),
        "there is no precision 'f8'",
        "there is f32, tf32",
    ),
    "three dimensions": (
        lambda a: air.dot(air.shared((2, 2, 2)), a[:2, :2]),
        "a factor has one or two dimensions, not 2 x 2 x 2",
        "multiply part by part",
    ),
    "an element": (
        lambda a: air.dot(a[0, 0], a[:2, :2]),
        "expected a tile or a part of an array, not ScalarValue",
        "such as `air.load",
    ),
    "a number": (lambda a: air.dot(a[:8, :8], 2.0), "expected a tile or a part of an array, not 2.0", "such as"),
    "a line turned": (
        lambda a: air.dot(a[:8, :8], a[0, :8], transpose_b=True),
        "`transpose_b` is for rows and columns, not for 8",
        "leave it out",
    ),
    "an open size": (
        lambda a: air.dot(a, a),
        "a tile has a known size, and this part of an array has an open one",
        "write `a",
    ),
    "sums of another shape": (
        lambda a: air.dot(a[:8, :4], a[:4, :8], acc=air.zeros((8, 4))),
        "products of 8 x 8 are added to a buffer of that shape, not to <Buffer 8 x 4 of float32>",
        r"make it `air.zeros\(\(8, 8\)\)`, or leave `acc` out",
    ),
    "sums that are a tile": (
        lambda a: air.dot(a[:8, :8], a[:8, :8], acc=air.load(a[:8, :8])),
        "products of 8 x 8 are added to a buffer of that shape, not to <Tile 8 x 8 of f32>",
        "make it",
    ),
    "a number that is a tile": (
        lambda a: air.dot(a[0, :8], a[1, :8], acc=0.0),
        "products of none are added to a buffer of that shape, not to 0.0",
        r"make it `air.zeros\(\(\)\)`",
    ),
    "fractions as whole numbers": (
        lambda a: air.dot(a[:8, :8], a[:8, :8], acc=air.zeros((8, 8), air.i32)),
        "products of float32 are not added to a buffer of int32",
        r"make it `air.zeros\(\(8, 8\)\)`, which is of float32",
    ),
    "a tile that is too large": (
        lambda a: air.dot(a[:512, :1], a[:1, :512]),
        "a tile of 512 x 512 is 4096 elements for each of 64 lanes",
        "make it smaller, or give the launch more waves",
    ),
    "tiles of two layouts": (
        lambda a: air.dot(a[:8, :8], a[:8, :8]).T + air.load(a[:8, :8]),
        "these tiles are divided among lanes in different ways: one is a sum of products, or turned",
        "load one to go with the other",
    ),
}


@pytest.mark.parametrize("call, error, note", MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes_are_said_at_the_line(call: Any, error: str, note: str) -> None:
    check_mistake(call, __file__, error, note)


def test_products_are_for_waves() -> None:
    @air.jit
    def work(a):
        @air.launch(1)
        def _(_):
            air.dot(a[:8, :8], a[:8, :8])

    with pytest.raises(CompileError, match="a tile is for the waves of a herd"):
        work.mlir(np.zeros((8, 8), np.float32))


@pytest.mark.parametrize(
    "chip, instruction, last", [("sm_90", "mma.sync", "f32"), ("gfx942", "v_mfma", "i8"), ("gfx1100", "v_wmma", "i8")]
)
def test_products_are_code_of_gpus(chip: str, instruction: str, last: str, tmp_path: Path) -> None:
    backend, lanes = "cuda" if chip in NVIDIA else "hip", 64 if chip in CDNA else 32
    for element, where, turned in (("f16", "tiles", False), ("bf16", "shared", True), (last, "shared", False)):
        a, found = np.zeros((32, 32), DTYPES[element]), np.zeros((32, 32), sum_type(element))
        how: dict[str, Any] = {"shape": (32, 32, 32), "where": where, "turned": turned, "precision": "tf32"}
        source, out = tmp_path / "program.mlir", tmp_path / element
        source.write_text(multiply.options(backend=backend, chip=chip).mlir(a, a, found, **how))
        options = ["--target", chip, "--wave-size", str(lanes), "--entry", "multiply", "-o", str(out)]
        assert main(["air", "compile", str(source), *options]) == 0
        assert instruction in "".join(path.read_text() for path in out.iterdir() if path.suffix in (".ptx", ".s"))


@settings(max_examples=EXAMPLES)
@given(
    chip=st.sampled_from(CHIPS),
    element=st.sampled_from(SHORT),
    waves=st.sampled_from([1, 2, 3, 4]),
    shape=st.tuples(*[st.one_of(st.integers(1, 40), st.sampled_from([16, 32, 48, 64]))] * 3),
    turned=st.booleans(),
    precision=st.sampled_from(["f32", "tf32"]),
    where=st.sampled_from(["tiles", "shared"]),
    added=st.sampled_from([None, 7]),
)
def test_products_are_those_of_numpy(chip, element, waves, shape, turned, precision, where, added) -> None:
    elements = ("tf32", "f32") if (element, precision) == ("f32", "tf32") else (element,)
    expected = next((name for each in elements if (name := promised(chip, each, shape, waves))), None)
    how: dict[str, Any] = {"waves": waves, "turned": turned, "where": where, "added": added}
    assert check(chip, element, shape, precision, **how) == expected
