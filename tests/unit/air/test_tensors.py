"""Programs in mlir-air's form: tensors and symbols are declared, a launch is compiled and called."""

from __future__ import annotations

import pickle
from copy import copy
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


def test_bytes_stand_for_elements_of_any_type() -> None:
    a, b = (drawn(2, 64, 32) * 10).astype(np.int16)
    kernel = sum_of((64, 32), 16, air.i16).compile(settings=RACES)
    assert np.array_equal(kernel(np.frombuffer(a.tobytes(), np.uint8), b.view(np.uint8)), a + b)
    with pytest.raises(ArgumentError, match="left is an array of int16, 64 x 32, and is given one of uint8"):
        kernel(np.zeros(64 * 32, np.uint8), b)


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


@pytest.mark.parametrize(
    "target, chip", [(None, "gfx942"), ("auto", "gfx942"), ("sm_90", "sm_90")], ids=["none", "auto", "named"]
)
def test_a_launch_is_built_to_be_printed_or_compiled(target: str | None, chip: str) -> None:
    launch = sum_of((64,), 16)
    built = launch.build(target)
    assert str(built) == launch.mlir(chip) and built.target == launch.target == chip
    a, b = drawn(2, 64)
    assert np.array_equal(built.compile(settings=RACES)(a, b), a + b)


def test_launches_are_for_gpus() -> None:
    launch = sum_of((64,), 16)
    for make in (launch.build, launch.compile, launch.mlir):
        with pytest.raises(CompileError, match=r"test_tensors.py:\d+:\d+: error: 'npu1' is an NPU, and a launch"):
            make(target="npu1")
        with pytest.raises(CompileError, match='give "auto" for that of the backend, or one of gfx906, gfx908'):
            make(target="gfx1")


def test_transfers_are_done_when_they_are_written() -> None:
    """Tokens say an order that is there already; what is none is refused."""
    x, y = air.tensor([64], air.i32), air.tensor([64], air.i32)
    further = list[Any]()

    with air.launch() as launch:

        @launch.body
        def _():
            with air.herd([range(0, 64, 16)], shape=(2,)) as h:

                @h.body
                def _(tx):
                    tile = air.alloc([16], air.i32, scope=h.private())
                    here = slice(tx * 16, tx * 16 + 16)
                    loaded = air.ops.load(tile, x[here])
                    tile[:] = tile[:] + tx
                    stored = air.ops.store(tile, y[here], dependency=[loaded, air.wait(loaded)])
                    assert isinstance(air.wait(loaded, stored), air.Token)
                    for dependency in further:
                        air.ops.load(tile, x[here], dependency=dependency)

    given = np.arange(64, dtype=np.int32)
    assert np.array_equal(launch.compile(settings=RACES)(given), given + given // 16)
    for wrong in (3, [3], "token"):
        further[:] = [wrong]
        with pytest.raises(CompileError, match="one waits for tokens, not for"):
            launch.mlir()
    with pytest.raises(CompileError, match="one waits for tokens, not for None"):
        air.wait(None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "name, known", [("bf16", air.bf16), ("f32", np.float32), ("i8", np.int8), ("ui64", np.uint64)], ids=str
)
def test_types_are_those_of_numpy(name: str, known: Any) -> None:
    """NumPy takes them, dtypes are equal to them both ways, and they have what dtypes have."""
    dtype, numpys = getattr(air.types, name), np.dtype(known)
    assert dtype == numpys and numpys == dtype and dtype == known and dtype != np.float16 and numpys != air.f16
    assert {numpys: 1}[dtype] == {dtype: 1}[numpys] == 1 and dtype is getattr(air, name)
    array = np.zeros(3, dtype)
    assert array.dtype == dtype and array.astype(air.f64).astype(dtype).dtype == numpys
    assert (dtype.itemsize, dtype.np_dtype, str(dtype)) == (numpys.itemsize, numpys.type, str(numpys))
    assert repr(dtype) == f"air.{name}" and air.types.dtype_of(known) is dtype and isinstance(dtype, air.DType)
    assert pickle.loads(pickle.dumps(dtype)) == copy(dtype) == dtype
    assert dtype.is_float == (name[0] in "bf") and dtype.is_unsigned == (name[0] == "u")
    assert dtype.default_vector_width >= 8 and not hasattr(dtype, "missing")


def test_types_have_no_others() -> None:
    assert air.types.dtype_of(np.complex64) is None


def herd_over(x: Any, body: Any, **options: Any) -> Any:
    """A launch whose herd of four does something with an array and a buffer of its own."""
    with air.launch() as launch:

        @launch.body
        def _():
            with air.herd(4, **options) as h:
                h.body(lambda at: body(x, air.alloc([64], air.bf16, scope=h.private()), at))

    return launch


def free_twice(_x: Any, tile: Any, _at: Any) -> None:
    air.dealloc(tile)
    air.dealloc(tile)


def read_when_free(_x: Any, tile: Any, _at: Any) -> None:
    air.dealloc(tile)
    tile[:] = 1.0


@pytest.mark.parametrize(
    "body, said",
    [
        (free_twice, "<Buffer 64 of bfloat16> is used behind its `air.dealloc`"),
        (read_when_free, "<Buffer 64 of bfloat16> is used behind its `air.dealloc`"),
        (lambda x, tile, at: air.dealloc(x), "expected a buffer that was allocated, not <Array bfloat16 64>"),
        (lambda x, tile, at: tile[:] + at, "operands have different types, bf16 and index"),
        (lambda x, tile, at: next(air.sequential(8, 0, -1)), "a loop goes up, and not by -1"),
        (lambda x, tile, at: air.ops.dot(tile, tile, acc=x), "the product of two lines is a number"),
        (lambda x, tile, at: air.ops.dot(tile, tile, kernel=3), "a kernel has a name, and is not 3"),  # pyright: ignore
    ],
)
def test_mistakes_in_herds(body: Any, said: str) -> None:
    launch = herd_over(air.tensor([64], air.bf16), body)
    with pytest.raises(CompileError, match=rf"test_tensors.py:\d+:\d+: error: {said}"):
        launch.mlir()


@pytest.mark.parametrize("shape", [(3,), (2, 2), 8, (0,), "ab"], ids=str)
def test_shapes_of_herds_divide_their_grids(shape: Any) -> None:
    launch = herd_over(air.tensor([64], air.bf16), lambda x, tile, at: None, shape=shape)
    with pytest.raises(CompileError, match=r"a shape of \[.*\] waves does not divide \[4\]"):
        launch.mlir()


def test_loops_name_their_variables() -> None:
    x, names = air.tensor([64], air.i32), list[Any]()

    with air.launch(1, waves=1) as launch:

        @launch.body
        def _(_):
            for at in air.sequential(2, name="half"):
                names.append(at.ssa.name_hint)
                x[at * 32] = 1
            for at, count, _result in air.sequential(2, iter_args=[np.int32(0)], name="third"):
                names.append(at.ssa.name_hint)
                x[at + 1] = count
                air.yield_([count + 2])

    assert np.array_equal(launch.compile(settings=RACES)().nonzero()[0], [0, 2, 32])
    assert names == ["half", "third"]


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
