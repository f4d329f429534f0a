"""Numbers that calls of a design give: one design for all of them, unless it is specialized."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iron_programs import vector

import tilewright as tw
import tilewright.iron as iron
from tilewright.iron import CompileTime, DispatchTime, In, ObjectFifo, Out, Program, Runtime, TaskGroup
from tilewright.iron.controlflow import range_
from tilewright.iron.device import from_name
from tilewright.iron.utils import NPUKernel
from tilewright.iron.utils.compile.jit import CompilableDesign, design_cache

TILE, MOST = 64, 8


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    design_cache.forget_designs()
    monkeypatch.setattr(design_cache, "statistics", design_cache.Statistics())
    iron.set_current_device(from_name("npu1"))
    yield
    iron.set_current_device(None)


def copying(tile: int, most: int, *numbers: Any) -> Any:
    """A program that copies `count` tiles, of at most so many, from the tile `first` on; numbers in that order."""
    source = ObjectFifo(vector(tile), name="in")
    target = source.cons().forward(name="out")

    def sequence(a: Any, b: Any, how_many: Any, begin: Any, source: Any, target: Any) -> None:
        for n in range_(how_many):
            group, offset = TaskGroup(), (n + begin) * tile
            target.drain(b, offset=offset, transfer_len=tile, wait=True, group=group)
            source.fill(a, offset=offset, transfer_len=tile, group=group)
            group.finish()

    arguments = [vector(most * tile), vector(most * tile), *numbers, source.prod(), target.cons()]
    return Program(iron.get_current_device(), Runtime(sequence, arguments)).resolve_program()


@iron.jit
def copy_tiles(
    a: In,
    b: Out,
    *,
    first: DispatchTime[np.int32] = 0,  # pyright: ignore[reportArgumentType]
    count: DispatchTime[np.int64],
    tile: CompileTime[int] = TILE,
) -> Any:
    return copying(tile, MOST, count, first)  # not in the order in which they are declared


def check(design: Any, copied: int, begin: int, /, **numbers: Any) -> None:
    a, b = np.arange(1, MOST * TILE + 1, dtype=np.int32), np.zeros(MOST * TILE, np.int32)
    design(a, b, **numbers)
    expected = np.zeros(MOST * TILE, np.int32)
    part = slice(begin * TILE, (begin + copied) * TILE)
    expected[part] = a[part]
    assert (b == expected).all()


def test_one_design_serves_all_numbers() -> None:
    design = copy_tiles.specialize()
    for first, count in ((0, 1), (2, 6), (0, 8), (7, 1)):
        check(design, count, first, first=first, count=np.int16(count))
    check(design, 3, 0, count=3)
    assert (design_cache.statistics.compiled, len(design._kernel_cache)) == (1, 1)
    assert sorted(design.design().scalars()) == ["count", "first"]
    words = {count: design.design().txn(first=0, count=count).size for count in (1, 3, 8)}
    assert words[1] < words[3] < words[8]


def test_specialized_number_is_part_of_the_design() -> None:
    static = copy_tiles.specialize(count=3, first=2)
    check(static, 3, 2)
    assert static.design().scalars() == [] == static.compilable.dispatch_params
    assert static.compilable.compile_params == ["tile", "first", "count"]
    for name, value, other in (("first", 1, "count"), ("count", 2, "first")):
        mixed = copy_tiles.specialize(**{name: value})
        assert mixed.compilable.dispatch_params == [other] == mixed.design().scalars()
        first, count = (value, 4) if name == "first" else (4, value)
        check(mixed, count, first, **{other: count if other == "count" else first})
        with pytest.raises(TypeError, match=f"specialized for {name} = {value}: a call cannot give '{name}'"):
            mixed(np.zeros(8), np.zeros(8), **{name: value, other: 1})


def test_numbers_fixed_by_the_decorator() -> None:
    def design(a: In, b: Out, *, count: DispatchTime[np.int32], first: DispatchTime[np.int32]) -> Any:
        return copying(TILE, MOST, count, first)

    check(iron.jit(design, first=1), 2, 1, count=2)
    check(iron.jit(count=4)(design), 4, 0, first=0)
    check(iron.jit(design).specialize(first=1).specialize(first=2, count=1), 1, 2)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(kind=st.sampled_from([np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]))
def test_function_gets_types_and_typed_numbers(kind: Any) -> None:
    seen = list[Any]()

    def design(a: In, b: Out, *, count: DispatchTime[kind], first: DispatchTime[kind]) -> Any:  # pyright: ignore
        seen.append(count)
        return copying(TILE, MOST, count, first)

    iron.set_current_device(from_name("npu1"))
    dynamic = CompilableDesign(design)
    assert dynamic.dispatch_params == ["count", "first"] and dynamic.dispatch_param_types == [kind, kind]
    dynamic.generate_mlir()
    assert isinstance(seen[0], type) and issubclass(seen[0], kind)
    static = dynamic.specialize(count=kind(4), first=0)
    static.generate_mlir()
    assert type(seen[1]) is kind and seen[1] == 4 and type(static.compile_kwargs["count"]) is int
    check(iron.jit(design), 2, 1, count=2, first=1)
    check(iron.jit(design, count=2), 2, 3, first=3)
    for value in (np.iinfo(kind).max + 1, np.iinfo(kind).min - 1):
        with pytest.raises(ValueError, match=rf"count = {value} is out of range: np.{kind.__name__} holds"):
            dynamic.specialize(count=value)
        with pytest.raises(ValueError, match="out of range"):
            iron.jit(design)(None, None, count=int(value), first=0)


@pytest.mark.parametrize("value", [1.0, 1.5, "4", None, True, np.bool_(False)])
def test_numbers_are_integers(value: Any) -> None:
    with pytest.raises(TypeError, match=r"'count' is an integer, np\.int64, not"):
        copy_tiles.specialize(count=value)
    with pytest.raises(TypeError, match=r"'count' is an integer, np\.int64, not"):
        copy_tiles(None, None, count=value)


@pytest.mark.parametrize("annotated", [int, bool, str, np.float32, np.bool_])
def test_types_that_are_no_numbers_of_a_sequence(annotated: Any) -> None:
    def design(a: In, *, n: DispatchTime[annotated]) -> None: ...  # pyright: ignore[reportInvalidTypeForm]

    with pytest.raises(TypeError, match="of 'n' is no type of a sequence's number: use an integer type of NumPy"):
        iron.jit(design)


def test_numbers_are_given_by_name() -> None:
    def design(a: In, n: DispatchTime[np.int32] = 3) -> None: ...  # pyright: ignore[reportArgumentType]

    for make in (iron.jit, CompilableDesign):
        with pytest.raises(TypeError, match=r"DispatchTime\[T\] parameter 'n' of 'design' is not keyword-only"):
            make(design)
    with pytest.raises(TypeError, match=r"So must DispatchTime\[T\] parameters \['first', 'count'\]"):
        copy_tiles(None, None, 3)
    with pytest.raises(TypeError, match="'copy_tiles' is missing a required argument: 'count'"):
        copy_tiles(None, None)
    with pytest.raises(TypeError, match=r"has no parameter 'counts', did you mean 'count'\?"):
        copy_tiles(None, None, counts=3)
    with pytest.raises(TypeError, match=r"received keyword .* \['counts'\]"):
        iron.jit(cast(Any, copy_tiles.compilable.mlir_generator), counts=3)


def test_split_of_a_calls_arguments() -> None:
    compilable = copy_tiles.compilable
    assert compilable.split_runtime_args(("a", "b"), {"count": 2}) == (["a", "b"], {"first": 0, "count": 2})
    assert compilable.specialize(count=4).split_runtime_args(("a", "b"), {}) == (["a", "b"], {"first": 0})
    with pytest.raises(TypeError, match="too many positional arguments: it takes 2"):
        compilable.split_runtime_args(("a", "b", 3), {"count": 2})


@pytest.mark.parametrize(
    "use",
    ["if n: pass", "range(n)", "n + 1", "2 * n", "n // 4", "n < 3", "-n", "int(n)", "n(3)", "[0][n]", "divmod(9, n)"],
)
def test_number_has_no_value_while_the_design_is_built(use: str) -> None:
    @iron.jit
    def design(a: In, b: Out, *, n: DispatchTime[np.int32]) -> Any:
        exec(use, {"n": n})

    # of a few, Python asks the type and not the number
    with pytest.raises((tw.CompileError, TypeError), match=r"'n' is a number of each call: it has no value|integer"):
        design.as_mlir()


def test_shapes_are_no_numbers_of_calls() -> None:
    @iron.jit
    def design(a: In, b: Out, *, n: DispatchTime[np.int32]) -> Any:
        return copying(n, MOST, n, 0)  # pyright: ignore[reportArgumentType]

    with pytest.raises(tw.CompileError, match=r"is a tuple of integers, not .*DispatchTime\[np\.int32\] 'n'"):
        design.as_mlir()


def test_number_has_to_reach_the_sequence_once() -> None:
    @iron.jit
    def lost(a: In, b: Out, *, n: DispatchTime[np.int32], m: DispatchTime[np.int32]) -> Any:
        return copying(TILE, MOST, m, 0)

    @iron.jit
    def twice(a: In, b: Out, *, n: DispatchTime[np.int32]) -> Any:
        return copying(TILE, MOST, n, n)

    with pytest.raises(TypeError, match="DispatchTime parameter 'n' does not reach the sequence"):
        lost.design()
    with pytest.raises(tw.CompileError, match="'n' is more than once among the arguments of the sequence"):
        twice.design()


def test_arguments_of_the_same_name_do_not_meet() -> None:
    """The sequence's function may use names of the design's numbers for something else."""

    @iron.jit
    def design(a: In, b: Out, *, how_many: DispatchTime[np.int32], begin: DispatchTime[np.int32]) -> Any:
        return copying(TILE, MOST, begin, how_many)

    check(design, 2, 5, begin=2, how_many=5)


def test_files_of_a_design_whose_calls_give_numbers(tmp_path: Path) -> None:
    file = tmp_path / "copy.xclbin"
    compilable = copy_tiles.specialize().compilable
    assert compilable.compile(xclbin_path=file) == (file, None)
    kernel = NPUKernel(file, None, dispatch_params=compilable.dispatch_params)
    a = np.arange(MOST * TILE, dtype=np.int32)
    for count in (3, 6, 1):
        kernel(a, b := np.zeros(MOST * TILE, np.int32), count=count, first=0)
        assert (b[: count * TILE] == a[: count * TILE]).all() and not b[count * TILE :].any()
    with pytest.raises(TypeError, match=r"give \['count', 'first'\], not \['n'\]"):
        NPUKernel(file, None, dispatch_params=["n"])(a, a)
