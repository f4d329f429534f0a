"""Kernels of object files in mlir-air's programs: functions stand in for them on GPUs."""

from __future__ import annotations

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


def set_zero(sums: Any) -> None:
    sums[:] = 0.0


def add_row(depth: int, row: Any, matrix: Any, vector: Any, sums: Any) -> None:
    """Set one element of the sums to a product of lines; `depth` is known, `row` is the variable of a loop."""
    assert depth == 64 and matrix.shape == (1, 64)
    found = air.ops.sum(air.ops.dot(matrix, vector))
    sums[:] = air.where(air.arange(sums.shape[0]) == row, found, sums[:])


KERNELS = {"zero_f32": set_zero, "add_row_bf16": add_row}


def rows_by_vector(m: int, tile: int) -> Any:
    """Each wave has a tile of sums, row by row of a matrix by a vector, in kernels of an object file."""
    zero = air.extern("zero_f32", object="rows.o")
    add = air.extern("add_row_bf16", object="rows.o", scalars=[air.i32, air.i32])
    a, b, c = air.tensor([m, 64], air.bf16), air.tensor([64], air.bf16), air.tensor([m], air.f32)

    with air.launch(name="rows") as launch:

        @launch.body
        def _():
            with air.herd(range(0, m, tile)) as h:

                @h.body
                def _(x):
                    row, vector = air.alloc([1, 64], air.bf16), air.alloc([64], air.bf16)
                    sums = air.alloc([tile], air.f32, scope=h.private())
                    air.ops.load(vector, b[:])
                    zero(sums)
                    for at in air.sequential(tile, name="row"):
                        place = x * tile + at
                        air.ops.load(row, a[place : place + 1, :])
                        add(64, at, row, vector, sums)
                    air.ops.store(sums, c[x * tile : x * tile + tile])

    return launch


@pytest.mark.parametrize("target", ["gfx942", "sm_90"])
def test_functions_stand_in_for_kernels(target: str) -> None:
    a, b = (np.random.default_rng(1).integers(-4, 5, shape).astype(air.bf16) for shape in ((8, 64), (64,)))
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    launch = rows_by_vector(8, 4)
    assert np.array_equal(launch.compile(target, kernels=KERNELS, settings=RACES)(a, b), wanted)
    # what is built is traced when it is compiled, so that functions can be given then
    assert np.array_equal(launch.build(target).compile(KERNELS)(a, b), wanted)


def test_kernels_have_no_other_form_on_gpus() -> None:
    launch = rows_by_vector(8, 4)
    for make in (launch.mlir, launch.compile, lambda: str(launch.build())):
        with pytest.raises(CompileError, match=r"test_extern.py:\d+:\d+: error: zero_f32 is a kernel of AIE") as raised:
            make()
        assert 'give a function for it: `launch.compile(kernels={"zero_f32": function})`' in str(raised.value)
    with pytest.raises(CompileError, match="add_row_bf16 is a kernel of AIE cores"):
        launch.mlir(kernels={"zero_f32": set_zero})
    for wrong in (set_zero, {"zero_f32": 3}):
        with pytest.raises(CompileError, match="`kernels` has functions by name, and is"):
            launch.compile(kernels=wrong)
    with pytest.raises(ArgumentError, match="there is no option kernels"):
        air.jit(set_zero, kernels=KERNELS)  # pyright: ignore


def called(*arguments: Any, scalars: Any = (), function: Any = lambda *_: None) -> None:
    """Trace a call of a kernel."""
    kernel = air.extern("kernel", scalars=scalars)
    x = air.tensor([64], air.f32)

    with air.launch(1, waves=1) as launch:

        @launch.body
        def _(block):
            x[0] = 1.0
            kernel(*(block if argument == "block" else argument for argument in arguments))

    launch.mlir(kernels={"kernel": function})


@pytest.mark.parametrize(
    "scalars, given, seen",
    [
        (air.i32, 3, 3),
        (air.i32, 4.0, 4),
        (air.f32, 3, 3.0),
        (air.bf16, 0.5, 0.5),
    ],
    ids=str,
)
def test_numbers_that_are_known_stay_known(scalars: Any, given: Any, seen: Any) -> None:
    found = list[Any]()
    called(given, scalars=[scalars], function=found.append)
    assert found == [seen] and type(found[0]) is type(seen)


def test_indices_become_numbers_of_the_type_that_is_said() -> None:
    found = list[Any]()
    called("block", scalars=[air.i32], function=found.append)
    assert str(found[0].type) == "i32"


@pytest.mark.parametrize(
    "arguments, scalars, said",
    [
        ((1, 2), [air.i32], "kernel takes 1 numbers beside its buffers, and is given 2"),
        ((2.5,), [air.i32], "kernel takes a number of int32, not 2.5"),
        (("block",), [air.bf16], "kernel takes a number of bfloat16, not "),
        (("text",), [air.i32], "kernel takes a number of int32, not 'text'"),
    ],
)
def test_numbers_of_other_types_are_refused(arguments: Any, scalars: Any, said: str) -> None:
    with pytest.raises(CompileError, match=rf"test_extern.py:\d+:\d+: error: {said}"):
        called(*arguments, scalars=scalars)


def test_mistakes_in_kernels() -> None:
    with pytest.raises(CompileError, match=r"called with 1 arguments, but its function takes \(sums, other\)"):
        called(1, scalars=[air.i32], function=lambda sums, other: None)
    with pytest.raises(CompileError, match="the name of a kernel is that of a function, not 3"):
        air.extern(3)  # pyright: ignore[reportArgumentType]
    scalars: Any
    for scalars, said in ((air.i32, "`scalars` is a list of types, not air.i32"), (["text"], "is no type of elements")):
        with pytest.raises(CompileError, match=said):
            air.extern("kernel", scalars=scalars)
    with pytest.raises(CompileError, match="there is no program to build in"):
        air.extern("kernel")()
