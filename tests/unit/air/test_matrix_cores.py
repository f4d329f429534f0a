"""Matrix instructions of AMD's GPUs: what the emulator makes of them, and products of the library."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest
from emulated import emulator, in_kernel, run
from gpu_kernels import compiled, kernel
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.air import library
from tilewright.device.gpu_matrices import INSTRUCTIONS, MATRIX_INSTRUCTIONS, MatrixInstruction, instruction_for
from tilewright.errors import ArgumentError
from tilewright.ir.diagnostics import CompileError, DiagnosedError
from tilewright.ir.run_errors import Fault

CHIPS = "gfx90a", "gfx942", "gfx950", "gfx1100"
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
WORDS = {**DTYPES, "i16": np.int16, "i32": np.int32, "i64": np.int64}
EXAMPLES = int(os.environ.get("TILEWRIGHT_PRODUCTS", "4"))


def product_kernel(row: MatrixInstruction, modes: str = "%zero, %zero, %zero") -> tuple[str, str]:
    """The body of a kernel that multiplies what lanes load from rows of their own, and its arguments."""
    word = row.operand if not row.operand.startswith("vector") else row.operand.split("x")[1].rstrip(">")
    count = int(row.operand.removeprefix("vector<").split("x")[0]) if row.operand.startswith("vector") else 1
    load = (
        f"vector.load %{{0}}[%l, %c0] : memref<{row.wave_size}x{count}x{word}>, {row.operand}"
        if count > 1
        else f"memref.load %{{0}}[%l, %c0] : memref<{row.wave_size}x{count}x{word}>"
    )
    sums = f"vector<{row.sums}x{row.sum_type}>"
    tail = "" if row.repeats else f", {modes}"
    types = f"({row.operand}, {row.operand}, {sums}{'' if row.repeats else ', i32, i32, i32'}) -> {sums}"
    signs = " {signA = true, signB = true}" if row.repeats and row.element == "i8" else ""
    body = f"""%l = gpu.thread_id x %c0 = arith.constant 0 : index %zero = arith.constant 0 : i32
      %x = {load.format("a")}
      %y = {load.format("b")}
      %z = vector.load %c[%l, %c0] : memref<{row.wave_size}x{row.sums}x{row.sum_type}>, {sums}
      %d = rocdl.{row.name} %x, %y, %z{tail}{signs} : {types}
      vector.store %d, %c[%l, %c0] : memref<{row.wave_size}x{row.sums}x{row.sum_type}>, {sums}"""
    word_type = f"memref<{row.wave_size}x{count}x{word}>"
    return body, f"%a: {word_type}, %b: {word_type}, %c: memref<{row.wave_size}x{row.sums}x{row.sum_type}>"


def numbers(row: MatrixInstruction, *shape: int) -> np.ndarray:
    drawn = np.random.default_rng(sum(shape)).integers(-128, 128, shape)
    return drawn.astype(np.int8) if row.element == "i8" else (drawn / 16).astype(DTYPES[row.element])


def held(matrix: np.ndarray, row: MatrixInstruction) -> np.ndarray:
    """What lanes hold of a matrix, as the bytes that they pass."""
    lanes = [
        [matrix[lane % row.m, row.depth(lane, place)] for place in range(row.each)] for lane in range(row.wave_size)
    ]
    found = np.array(lanes, matrix.dtype)
    word = row.operand.removeprefix("vector<").rstrip(">").split("x")[-1]
    return found.view(WORDS[word])


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: row.name)
def test_instructions_multiply(row: MatrixInstruction) -> None:
    a, b = numbers(row, row.m, row.k), numbers(row, row.k, row.n)
    wide = np.int32 if row.element == "i8" else np.float32
    c = np.arange(row.m * row.n).reshape(row.m, row.n).astype(wide)
    lanes = np.array([[c[row.row(lane, n), lane % row.n] for n in range(row.sums)] for lane in range(row.wave_size)])
    body, arguments = product_kernel(row)
    device = emulator(row.chips[-1])
    run(in_kernel(body, arguments), held(a, row), held(b.T, row), lanes, block=(row.wave_size,), device=device)
    expected = a.astype(wide) @ b.astype(wide) + c
    found = np.zeros_like(expected)
    for lane in range(row.wave_size):
        for number in range(row.sums):
            found[row.row(lane, number), lane % row.n] = lanes[lane, number]
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-3)
    if row.element == "i8":
        assert (found == expected).all()


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: row.name)
def test_instructions_are_machine_code(row: MatrixInstruction) -> None:
    body, arguments = product_kernel(row)
    text = kernel(body, arguments, row.wave_size)
    for chip in row.chips:
        code = compiled(text, chip, row.wave_size)
        shape = f"{row.m}x{row.n}x{row.k}"
        assert f"v_{row.name.split('.')[0]}_{row.sum_type}_{shape}" in code.assembly, chip
    with pytest.raises(DiagnosedError, match=r"has no such instruction; .* have it"):
        compiled(text, "gfx1030" if row.wave_size == 32 else "gfx906", row.wave_size)


def test_what_an_instruction_cannot_do_is_said() -> None:
    row = MATRIX_INSTRUCTIONS["mfma.f32.16x16x4f32"]
    body, arguments = product_kernel(row)
    data = [np.zeros((64, 1), np.float32), np.zeros((64, 1), np.float32), np.zeros((64, 4), np.float32)]
    with pytest.raises(CompileError, match="it is for waves of 64 lanes, not of 32"):
        run(in_kernel(body, arguments), *data, device=emulator("gfx1100"))
    with pytest.raises(CompileError, match="it is for waves of 64 lanes, not of 32"):
        compiled(kernel(body, arguments), "gfx942", 32)
    one = body.replace("arith.constant 0 : i32", "arith.constant 1 : i32")
    with pytest.raises(CompileError, match="its modes, the last operands, have to be 0"):
        run(in_kernel(one, arguments), *data)
    half = f"""%t = gpu.thread_id x %c32 = arith.constant 32 : index %few = arith.cmpi ult, %t, %c32 : index
      scf.if %few {{ {body} }}"""
    with pytest.raises(Fault, match="multiplies with a part of its lanes"):
        run(in_kernel(half, arguments), *data)


def test_lanes_of_rdna_have_to_repeat() -> None:
    row = MATRIX_INSTRUCTIONS["wmma.f32.16x16x16.f16"]
    body, arguments = product_kernel(row)
    a = np.arange(512, dtype=np.float16).reshape(32, 16)
    with pytest.raises(Fault, match="second half of lanes does not repeat the first one"):
        run(in_kernel(body, arguments), a, a, np.zeros((32, 8), np.float32), block=(32,), device=emulator("gfx1100"))


def test_chips_have_the_deepest_instruction() -> None:
    names = {chip: getattr(instruction_for(chip, "f16"), "name", None) for chip in (*CHIPS, "gfx906", "gfx1201")}
    assert names == {
        "gfx90a": "mfma.f32.16x16x16f16",
        "gfx942": "mfma.f32.16x16x16f16",
        "gfx950": "mfma.f32.16x16x32.f16",
        "gfx1100": "wmma.f32.16x16x16.f16",
        "gfx906": None,
        "gfx1201": None,
    }


def flops(chip: str, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, set[str]]:
    """A product, and what it was computed with."""
    profiles = []
    found = library.matmul(a, b, chip=chip, profile=profiles.append)
    return found, {name for profile in profiles for one in profile.kernels for name in one.launches.flops}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("element", DTYPES)
def test_the_library_multiplies_with_them(chip: str, element: str) -> None:
    row = instruction_for(chip, element)
    a, b = (np.random.default_rng(1).integers(-4, 5, (40, 40)).astype(DTYPES[element]) for _ in range(2))
    found, used = flops(chip, a, b)
    assert (f"matrix {element}" in used) == (row is not None) == ((chip, element) != ("gfx1100", "f32"))
    assert (found.astype(np.float64) == a.astype(np.float64) @ b.astype(np.float64)).all()
    assert found.dtype == (np.int32 if element == "i8" else a.dtype)


@settings(max_examples=EXAMPLES)
@given(
    chip=st.sampled_from(CHIPS),
    element=st.sampled_from(list(DTYPES)),
    layouts=st.tuples(*[st.sampled_from(["row", "column"])] * 2),
    sizes=st.tuples(*[st.integers(1, 150)] * 3),
    batch=st.integers(1, 2),
    seed=st.integers(0, 99),
)
def test_products_are_those_of_numpy(chip, element, layouts, sizes, batch, seed) -> None:
    if (chip, element) == ("gfx1100", "f32"):
        element = "f16"
    (m, n, k), rng = sizes, np.random.default_rng(seed)
    a, b = (rng.integers(-100, 100, (batch, *shape)) for shape in ((m, k), (k, n)))
    if element != "i8":
        a, b = a / 64, b / 64
    a, b = a.astype(DTYPES[element]), b.astype(DTYPES[element])
    left, right = (x if layout == "row" else np.swapaxes(x, 1, 2) for x, layout in zip((a, b), layouts, strict=True))
    out = None if element == "i8" else np.float32
    found = library.matmul(left, right, layouts=layouts, chip=chip, out_dtype=out)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    if element == "i8":
        assert (found == exact).all()
    else:
        assert np.allclose(found, exact, rtol=1e-4, atol=1e-3)


def test_many_tiles_and_epilogues() -> None:
    """More tiles than compute units, so that the large ones are used."""
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((3, 130, 24)).astype(np.float16), rng.standard_normal((3, 24, 5000)).astype(np.float16)
    bias = rng.standard_normal(5000).astype(np.float32)
    found = library.matmul(a, b, bias=bias, activation="relu", scale=0.5, out_dtype=np.float32, chip="gfx90a")
    exact = np.maximum(0.5 * (a.astype(np.float64) @ b.astype(np.float64)) + bias, 0)
    assert np.allclose(found, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_products_have_no_races(chip: str) -> None:
    a, b = np.ones((20, 70), np.float16), np.ones((70, 20), np.float16)
    assert (library.matmul(a, b, chip=chip, settings={"check": "races"}) == 70).all()
    assert (library.matmul(a, b, chip=chip, settings={"reorder": "on"}, seed=3) == 70).all()


def test_integers_are_multiplied_as_they_are() -> None:
    a = np.full((4, 200), -128, np.int8)
    assert (library.matmul(a, a, layouts=("row", "column")) == 200 * 128 * 128).all()
    with pytest.raises(ArgumentError, match="products of i8 are i32 as they are"):
        library.matmul(a, a.T, scale=2.0)
    with pytest.raises(ArgumentError, match="matrix instructions of AMD's GPUs alone, such as chip='gfx942'"):
        library.matmul(a, a.T, chip="sm_90")
    with pytest.raises(ArgumentError, match="a matrix of f32, f16, bf16 or fp8"):
        library.all_gather_matmul([a, a], [a.T, a.T])
