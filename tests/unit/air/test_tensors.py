"""Programs in mlir-air's form: tensors and symbols are declared, a launch is compiled and called."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tilewright import air
from tilewright.air.tensors import claimed
from tilewright.errors import ArgumentError
from tilewright.ir.diagnostics import CompileError

RACES: dict[str, Any] = {"check": "races"}


@pytest.fixture(autouse=True)
def nothing_declared() -> None:
    """What a test that ended early has left does not belong to the next one."""
    claimed()


def drawn(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def sum_of(shape: tuple[int, ...], tile: int, dtype: Any = air.f32) -> Any:
    """A launch without a grid, whose herd goes over tiles."""
    left = air.tensor(shape, dtype)
    right = air.tensor(shape, dtype)
    total = air.tensor(shape, dtype, name="result")
    tiles = [air.symbol(hint=tile, name=f"tile_{dimension}") for dimension in range(len(shape))]

    with air.launch(name="add") as launch:

        @launch.body
        def _():
            with air.herd(product(*(range(0, size, step) for size, step in zip(shape, tiles, strict=True)))) as h:

                @h.body
                def _(*point):
                    here = tuple(
                        slice(at * size, at * size + size) for at, size in zip(point, h.tile_sizes, strict=True)
                    )
                    a, b, c = (air.alloc(h.tile_sizes, dtype, scope=h.private(), vector=16) for _ in range(3))
                    air.ops.load(a, left[here])
                    air.ops.load(b, right[here])
                    c[:] = a[:] + b[:]
                    air.ops.store(c, total[here])

    return launch


@pytest.mark.parametrize("shape, tile", [((256,), 32), ((64, 96), 16)], ids=str)
@pytest.mark.parametrize("dtype", [air.f32, air.bf16, air.ui8], ids=str)
def test_a_launch_over_tensors_is_a_function_of_arrays(shape: tuple[int, ...], tile: int, dtype: Any) -> None:
    launch = sum_of(shape, tile, dtype)
    kernel = launch.compile(settings=RACES)
    a, b = (drawn(2, *shape) * 10).astype(np.int8).astype(dtype)
    for _ in range(2):
        assert np.array_equal(kernel(a, b), a + b)
    assert launch.search_space == kernel.search_space == {f"tile_{n}": tile for n in range(len(shape))}
    assert [tensor.name for tensor in (*kernel.inputs, *kernel.outputs)] == ["left", "right", "result"]
    assert kernel.unload() is None


def test_a_launch_says_for_which_gpu() -> None:
    assert "func.func @add" in sum_of((64, 64), 16).mlir(target="gfx942")
    result = air.tensor([64], air.f32)
    launch = air.launch(1, waves=1, target="sm_90")

    @launch.body
    def _(_):
        result[: air.lanes()] = float(air.lanes())

    for target, lanes in ((None, 32), ("gfx942", 64), ("gfx1100", 32)):
        assert np.array_equal(launch.compile(target)(), np.where(np.arange(64) < lanes, lanes, 0))


def test_segments_stage_what_herds_multiply() -> None:
    """Blocks of sums, each over the depth in turns, in memory of the block and of waves."""
    m, n, k, size = 64, 96, 64, 32
    a = air.tensor([m, k], air.f16)
    b = air.tensor([k, n], air.f16)
    c = air.tensor([m, n], air.f32)
    depth = air.symbol(choices=[16, 32])

    with air.launch([range(0, m, size), range(0, n, size)]) as launch:

        @launch.body
        def _(x, y):
            with air.segment(name="stage") as seg:

                @seg.body
                def _():
                    left = air.alloc([size, k], air.f16, scope=seg.private())
                    right = air.alloc([k, size], air.f16, scope=seg.private())
                    air.ops.load(left, a[x * size : x * size + size, :])
                    air.ops.load(right, b[:, y * size : y * size + size])

                    with air.herd(range(0, size, 16)) as h:

                        @h.body
                        def _(tx):
                            acc = air.alloc([16, size], air.f32, scope=h.private())
                            acc[:] = 0.0
                            for start in air.sequential(0, k, depth):
                                part = left[tx * 16 : tx * 16 + 16, start : start + depth]
                                air.ops.dot(part, right[start : start + depth, :], acc=acc)
                            place = x * size + tx * 16
                            air.ops.store(acc, c[place : place + 16, y * size : y * size + size])

    x, y = drawn(m, k, dtype=np.float16), drawn(k, n, dtype=np.float16)
    assert launch.search_space == {"depth": 16}
    for target, name in (("gfx942", "rocdl.mfma"), ("sm_80", "nvvm.mma.sync")):
        found = launch.compile(target, settings=RACES)(x, y)
        assert np.allclose(found, x.astype(np.float32) @ y.astype(np.float32), rtol=1e-4, atol=1e-3)
        assert name in launch.mlir(target)


def test_several_tensors_are_written() -> None:
    x = air.tensor([100], air.f32)
    positive, negative = air.tensor([100], air.f32, "positive"), air.tensor([100], air.f32, "negative")

    with air.launch(4) as launch:

        @launch.body
        def _(block):
            @air.herd(1)
            def _(_):
                here = slice(block * 25, block * 25 + 25)
                tile = air.load(x[here])
                positive[here] = air.ops.relu(tile)
                air.ops.store(air.ops.relu(-tile), negative[here])

    given = drawn(100)
    found = launch.compile()(given)
    assert np.array_equal(found[0], np.maximum(given, 0)) and np.array_equal(found[1], np.maximum(-given, 0))


def test_symbols_are_hints_choices_or_defaults() -> None:
    tile = air.symbol()
    first = air.symbol([8, 4])
    hint = air.symbol(choices=[8, 4], hint=4)
    _, unnamed = air.tensor([1], air.f32), air.symbol(default=3)
    assert (tile, first, hint, unnamed) == (64, 8, 4, 3) and tile * 2 == 128
    with air.launch(1) as launch:
        launch.body(lambda _: None)
    assert launch.search_space == {"tile": 64, "first": 8, "hint": 4, "symbol4": 3}


def launch_over(*tensors: Any) -> Any:
    for tensor in tensors:
        air.tensor(*tensor)
    return air.launch(1, waves=1)


def test_mistakes_in_declarations() -> None:
    with pytest.raises(CompileError, match=r"test_tensors.py:\d+:\d+: error: a tensor has known sizes of 1 or more"):
        air.tensor([0, 4], air.f32)
    with pytest.raises(CompileError, match="is no type of elements"):
        air.tensor([4], "complex64")
    for wrong in (5, [], ["a"]):
        with pytest.raises(CompileError, match="choices are a list of whole numbers, not"):
            air.symbol(choices=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(CompileError, match="one of its choices, not 3"):
        air.symbol([1, 2], hint=3)
    x = air.tensor([4], air.f32)
    with pytest.raises(CompileError, match="x has elements in the launch that follows alone"):
        x[0]
    with pytest.raises(AttributeError):
        x.missing  # noqa: B018
    with pytest.raises(CompileError, match="there is no program to build in"):
        air.herd(4)(lambda _: None)
    with pytest.raises(CompileError, match="this launch is no program by itself"):
        air.launch(1).compile()


def test_mistakes_in_launches() -> None:
    launch = launch_over(([4], air.f32))
    launch.body(lambda _: None)
    with pytest.raises(CompileError, match="this launch has a body already"):
        launch.body(lambda _: None)
    with pytest.raises(ArgumentError, match="kernel writes none of its tensors"):
        launch.compile()
    launch = launch_over(([4], air.f32))
    launch.body(lambda: None)
    with pytest.raises(CompileError, match="this launch has 1 dimension, but its body takes"):
        launch.compile()
    with pytest.raises(ArgumentError, match="there is no option shape"):
        launch.compile(shape=3)
    with pytest.raises(CompileError, match="npu2"):
        launch.compile(target="npu2")


def test_mistakes_in_calls() -> None:
    kernel = sum_of((64, 64), 16).compile()
    a = np.zeros((64, 64), np.float32)
    with pytest.raises(ArgumentError, match=r"the kernel takes 2 arrays \(left, right\), not 3"):
        kernel(a, a, a)
    for wrong, said in (
        (a[:32], "left is an array of float32, 64 x 64, and is given one of float32, "),
        (a.astype(np.float64), "given one of float64"),
        (3, "given 3"),
    ):
        with pytest.raises(ArgumentError, match=said):
            kernel(wrong, a)


def test_a_failed_compilation_leaves_tensors_as_they_were() -> None:
    x = air.tensor([64], air.f32)
    is_right = False

    with air.launch(1, waves=1) as launch:

        @launch.body
        def _(_):
            x[: 64 if is_right else 32] = air.load(x[:64]) + 1

    with pytest.raises(CompileError, match="cannot be stored in a part of"):
        launch.compile()
    is_right = True
    assert np.array_equal(launch.compile()(), np.ones(64))


@pytest.mark.parametrize("name", ["a b", 'c"', "", "é", "0a", "../a", 3])
def test_names_are_words(name: Any) -> None:
    for declare in (lambda: air.tensor([4], air.f32, name), lambda: air.symbol(name=name)):
        with pytest.raises(CompileError, match="is letters, digits and underscores, not"):
            declare()
