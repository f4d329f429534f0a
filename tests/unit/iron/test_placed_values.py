"""Python's operators, loops and choices on values of a program mean in the program what they mean in Python."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iron_programs import vector
from ml_dtypes import bfloat16

import tilewright as tw
from tilewright.ir.diagnostics import file_position
from tilewright.iron.builders import InsertionPoint, MemRefValue, ModuleContext, ScalarValue, mlir_mod_ctx
from tilewright.iron.dialects.aie import (
    AIEDevice,
    Device,
    TileOp,
    buffer,
    core,
    device,
    end,
    lock,
    object_fifo,
    tile,
)
from tilewright.iron.dialects.aiex import npu_write32, runtime_sequence
from tilewright.iron.extras import types as T
from tilewright.iron.extras.dialects import arith, memref
from tilewright.iron.extras.util import find_ops
from tilewright.iron.helpers.dialects.func import func
from tilewright.iron.helpers.dialects.scf import else_, if_, range_, yield_
from tilewright.iron.helpers.util import np_ndarray_type_get_shape, try_convert_np_type_to_mlir_type
from tilewright.iron.ir import Block, Location

ADDRESS = 0x400


def sequence(body: Callable[..., None], *types: Any) -> tw.Design:
    """A design whose only sequence runs `body`."""
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def _() -> None:
            runtime_sequence(*types, sym_name="sequence")(body)

    return tw.compile(ctx)


def written(design: tw.Design, **scalars: int) -> list[int]:
    """The values that a sequence writes, as signed numbers."""
    operations = tw.txn.decode(design.txn("sequence", **scalars)).operations
    return [int(np.uint32(op.value).astype(np.int32)) for op in operations]


def write(value: Any) -> None:
    npu_write32(ADDRESS, value, column=0, row=2)


Binary = Callable[[Any, Any], Any]
OPERATORS: dict[str, tuple[Binary, Binary]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "subtract": (lambda a, b: a - b, lambda a, b: a - b),
    "multiply": (lambda a, b: a * b, lambda a, b: a * b),
    "floor division": (lambda a, b: a // b, lambda a, b: a // b),
    "remainder": (lambda a, b: a % b, lambda a, b: a % b),
    "and": (lambda a, b: a & b, lambda a, b: a & b),
    "or": (lambda a, b: a | b, lambda a, b: a | b),
    "xor": (lambda a, b: a ^ b, lambda a, b: a ^ b),
}
"""What is built, and what that means for numbers."""
ON_THE_LEFT = ("subtract", "floor division", "remainder")
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.fixture(scope="module")
def arithmetic() -> tw.Design:
    """A sequence that writes what every operator makes of its arguments, with a Python number on either side too."""

    def body(a: Any, b: Any) -> None:
        for build, _ in OPERATORS.values():
            write(build(a, b))
            write(build(a, 7))
        for name in ON_THE_LEFT:
            write(OPERATORS[name][0](1000, b))
        for compare in COMPARISONS:
            write(arith.select(compare(a, b), 1, 0))
        write(-a)

    return sequence(body, np.int32, np.int32)


def expected(a: int, b: int) -> list[int]:
    values = [value for _, compute in OPERATORS.values() for value in (compute(a, b), compute(a, 7))]
    values += [OPERATORS[name][1](1000, b) for name in ON_THE_LEFT]
    values += [int(compare(a, b)) for compare in COMPARISONS]
    return [*values, -a]


small = st.integers(-(1 << 14), (1 << 14) - 1)


@settings(max_examples=40)
@given(a=small, b=small.filter(bool))
def test_operators_compute_what_python_does(arithmetic: tw.Design, a: int, b: int):
    assert written(arithmetic, a=a, b=b) == expected(a, b)


@given(n=st.integers(0, 40))
@settings(max_examples=15)
def test_loops_carry_values(sums: tw.Design, n: int):
    assert written(sums, n=n) == [*(i for i in range(n) if i % 3), sum(range(n)), 2 * n]


@pytest.fixture(scope="module")
def sums() -> tw.Design:
    def body(n: Any) -> None:
        zeros = [arith.constant(0, T.i32()), arith.constant(0, T.i32())]
        results: Any = ()
        for i, (total, twice), results in range_(n, iter_args=zeros):  # noqa: B007, they are for later
            with if_(i % 3 == 0) as choice:
                pass
            with else_(choice):
                write(i)
            yield_([total + i, twice + 2])
        for result in results:
            write(result)

    return sequence(body, np.int32)


def body_of(build: Callable[[], Any]) -> list[str]:
    """What a function builds, a line per operation."""
    with mlir_mod_ctx() as ctx:
        build()
    ctx.module.verify()
    return [line.strip() for line in str(ctx.module).splitlines()[1:-1] if line.strip() != "}"]


def test_where_an_index_meets_an_integer_the_left_one_keeps_its_type():
    def build() -> None:
        index, number = arith.constant(1, index=True), arith.constant(2, T.i64())
        assert (index + number).type == T.index()
        assert (number + index).type == T.i64()
        assert int(number) == 2

    lines = body_of(build)
    assert "%0 = arith.index_cast %c2_i64 : i64 to index" in lines
    assert "%2 = arith.index_cast %c1 : index to i64" in lines


@pytest.mark.parametrize(
    "value, type, text",
    [
        pytest.param(3, None, "3 : i32", id="whole numbers are i32"),
        pytest.param(1 << 40, None, "1099511627776 : i64", id="or i64"),
        pytest.param(True, None, "true", id="truth values are i1"),
        pytest.param(2.5, None, "2.500000e+00 : f32", id="others are f32"),
        pytest.param(np.int16(3), None, "3 : i16", id="NumPy's have their own"),
        pytest.param(3, bfloat16, "3.000000e+00 : bf16", id="a type may be asked for"),
        pytest.param(0xFFFFFFFF, np.int32, "-1 : i32", id="bits of an unsigned number"),
    ],
)
def test_constants(value: Any, type: Any, text: str):
    assert body_of(lambda: arith.constant(value, type))[0].endswith(f"arith.constant {text}")


@pytest.mark.parametrize(
    "given, text",
    [
        pytest.param(np.int8, "i8", id="signed integers are signless"),
        pytest.param(np.uint16, "ui16", id="unsigned ones stay unsigned"),
        pytest.param(np.dtype("float32"), "f32", id="a dtype"),
        pytest.param(bfloat16, "bf16", id="bfloat16"),
        pytest.param(vector(16, bfloat16), "memref<16xbf16>", id="an array"),
        pytest.param(np.ndarray[(2, 3), np.dtype[np.uint8]], "memref<2x3xui8>", id="an array of several dimensions"),
        pytest.param(T.memref(4, T.i32()), "memref<4xi32>", id="a type of the IR"),
    ],
)
def test_types(given: Any, text: str):
    assert str(try_convert_np_type_to_mlir_type(given)) == text


def test_buffers_are_indexed_like_arrays():
    def build() -> None:
        mem = memref.alloc(4, 8, T.i32())
        assert (mem.shape, mem.rank, mem.n_elements, mem.dtype) == ((4, 8), 2, 32, T.i32())
        mem[1, arith.constant(2)] = mem[0, 0]
        part = mem[1:3, ::2]
        assert isinstance(part, MemRefValue)
        assert part.shape == (2, 4)
        assert mem[:] is mem

    lines = body_of(build)
    assert "memref.store %0, %alloc[%c1, %1] : memref<4x8xi32>" in lines
    assert lines[-1].endswith("memref.subview %alloc[1, 0] [2, 4] [1, 2] : memref<4x8xi32> to "
                              "memref<2x4xi32, strided<[8, 2], offset: 8>>")  # fmt: skip


def test_a_python_function_becomes_a_function_of_the_program():
    @func
    def add(a: np.int32, b: np.int32) -> Any:
        return a + b

    def build() -> None:
        assert isinstance(add(arith.constant(1), 2), ScalarValue)
        add(3, 4)

    lines = body_of(build)
    assert lines.count("func.func @add(%arg0: i32, %arg1: i32) -> i32 {") == 1
    assert sum("call @add" in line for line in lines) == 2


def built_device() -> tuple[ModuleContext, TileOp]:
    with mlir_mod_ctx() as ctx:
        design = Device(AIEDevice.npu2)
        with InsertionPoint(Block.create_at_start(design.body_region)):
            place = tile(3, 4)
            end()
    return ctx, place


def test_operations_are_found():
    ctx, place = built_device()
    assert find_ops(ctx.module, lambda op: isinstance(op, TileOp)) == [place]
    assert find_ops(ctx.module.operation, lambda op: op.name == "aie.tile", single=True) == place
    assert find_ops(ctx.module, lambda op: op.name == "aie.lock", single=True) is None


def test_operations_show_their_parts():
    ctx, place = built_device()
    assert ctx.module.operation.verify()
    assert (int(place.col), place.row.value, place.place) == (3, 4, (3, 4))
    assert place.is_core_tile() and not place.is_shim_tile()
    assert place.result.owner == place
    assert isinstance(place.result.owner, TileOp)
    assert place.parent is not None and place.parent.sym_name.value == "main"
    assert str(place) == "%tile_3_4 = aie.tile(3, 4)"


def test_tiles_and_locks_are_compared_as_things():
    with mlir_mod_ctx():
        place = tile(0, 2)
        first, second = lock(place), lock(place)
        assert first != second
        assert [first, second].index(second) == 1
        assert {first: "a", second: "b"}[second] == "b"
        owner: Any = first.owner
        assert owner.tile == place.result


def test_arguments_are_named_as_the_function_names_them():
    def named(rows: Any, columns: Any) -> None: ...

    def unnamed(*_: Any) -> None: ...

    assert sequence(named, np.int32, np.int32).scalars("sequence") == ["rows", "columns"]
    assert sequence(unnamed, np.int32, np.int32).scalars("sequence") == ["arg0", "arg1"]


def test_a_place_can_be_given():
    with mlir_mod_ctx(), Location.file("model.py", 7, 3):
        place = tile(0, 2)
    assert file_position(place.location) == ("model.py", 7, 3)
    with mlir_mod_ctx():
        place = tile(0, 2, loc=Location.file("other.py", 1, 2))
    assert file_position(place.location) == ("other.py", 1, 2)


def test_attributes_can_be_set():
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def _() -> None:
            fifo = object_fifo("f", tile(0, 1), tile(0, 2), 2, vector(4))
            fifo.set_repeat_count(3)
            fifo.attributes["iter_count"] = 2
            assert fifo.repeat_count.value == 3
            assert fifo.prod_dma_channel is None
            assert "iter_count" in fifo.attributes

    assert "{iter_count = 2 : i32, repeat_count = 3 : i32}" in str(ctx.module)


def test_a_buffer_of_a_core_is_read_and_written():
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def _() -> None:
            place = tile(0, 2)
            data = buffer(place, vector(4), name="data", initial_value=[1, 2, 3, 4], address=1024)

            @core(place)
            def _() -> None:
                data[3] = data[0] + 5

    assert '{address = 1024 : i32, sym_name = "data"} : memref<4xi32>' in str(ctx.module)
    assert "dense<[1, 2, 3, 4]>" in str(ctx.module)
    assert np_ndarray_type_get_shape(vector(4)) == (4,)
