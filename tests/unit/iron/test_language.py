"""What worker functions and sequences can say: functions of numbers, conversions, parameters, printing, open sizes."""

from __future__ import annotations

import math as python_math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from iron_programs import Pipe, move_all, vector
from ml_dtypes import bfloat16

import tilewright as tw
from tilewright.iron import Buffer, ObjectFifo, Program, Runtime, Worker, WorkerRuntimeBarrier, math, print_
from tilewright.iron.controlflow import if_, range_
from tilewright.iron.device import NPU1Col1

SIZE = 64


def elementwise(function: Callable[[Any], Any], dtype: Any, result: Any = None) -> tw.Design:
    """A core that applies a function to each number."""
    result = result or dtype
    of_in, of_out = ObjectFifo(vector(SIZE, dtype), name="in"), ObjectFifo(vector(SIZE, result), name="out")

    def core(source: Any, target: Any) -> None:
        x, y = source.acquire(1), target.acquire(1)
        for i in range_(SIZE):
            y[i] = function(x[i])
        source.release(1)
        target.release(1)

    types = [vector(SIZE, dtype), vector(SIZE, result)]
    runtime = Runtime(move_all, [*types, of_in.prod(), of_out.cons()])
    return tw.compile(Program(NPU1Col1(), runtime, [Worker(core, [of_in.cons(), of_out.prod()])]))


def apply(function: Callable[[Any], Any], a: Any, result: Any = None) -> Any:
    b = np.zeros(SIZE, result or a.dtype)
    elementwise(function, a.dtype.type, b.dtype.type).run(a, b)
    return b


ANY = np.linspace(-3, 3, SIZE, dtype=np.float32)
POSITIVE = np.linspace(0.1, 20, SIZE, dtype=np.float32)
UNIT = np.linspace(-0.9, 0.9, SIZE, dtype=np.float32)
FUNCTIONS = {
    **dict.fromkeys(["exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh"], ANY),
    **dict.fromkeys(["erf", "erfc", "floor", "ceil", "trunc", "roundeven", "round", "cbrt", "abs"], ANY),
    **dict.fromkeys(["sqrt", "rsqrt", "log", "log2", "log10", "log1p"], POSITIVE),
    **dict.fromkeys(["asin", "acos", "atanh"], UNIT),
    "acosh": POSITIVE + 1,
}


@pytest.mark.parametrize("names", [list(FUNCTIONS)[n::4] for n in range(4)], ids=", ".join)
@pytest.mark.parametrize("dtype", [np.float32, bfloat16], ids=["f32", "bf16"])
def test_functions_give_what_python_gives(names: list[str], dtype: Any):
    tolerance = 1e-5 if dtype is np.float32 else 1e-2
    for name in names:
        function, given = getattr(math, name), FUNCTIONS[name].astype(dtype)
        wanted = [function(float(number)) for number in given]
        assert np.allclose(apply(function, given).astype(np.float64), wanted, tolerance, tolerance), name


def test_functions_of_several_numbers():
    def function(v: Any) -> Any:
        return math.atan2(v, 2.0) + math.powf(abs(v) + 1, 1.5) + math.fma(v, v, 1.0) + math.copysign(1.0, v)

    wanted = [function(float(number)) for number in ANY]
    assert np.allclose(apply(function, ANY), wanted, 1e-5, 1e-5)


def test_numpy_functions_build_the_same():
    def function(v: Any) -> Any:
        return np.exp(v) * np.float32(2) + np.maximum(v, 0) - np.float32(1) / (np.abs(v) + 1)

    assert np.allclose(apply(function, ANY), function(ANY), 1e-5, 1e-5)


def test_operators_of_floating_point_numbers_are_those_of_python():
    def function(v: Any) -> Any:
        return v**3 + abs(v) ** 0.5 + v // 0.7 + v % 0.7 + round(v) + python_math.floor(v) - v / 3 + v**-2

    given = ANY[np.abs(ANY) > 0.1].repeat(2)[:SIZE]
    wanted = [function(float(number)) for number in given]
    assert np.allclose(apply(function, given), wanted, 1e-4, 1e-4)


@pytest.mark.parametrize("value", [-2.5, -0.5, 0.5, 1.5, 2.5, 7.0])
def test_functions_of_python_numbers_are_known_now(value: float):
    assert math.roundeven(value) == round(value)
    assert math.maximum(value, 0, 1) == max(value, 0, 1)
    assert math.clip(value, -1, 1) == min(max(value, -1), 1)
    assert math.where(value > 0, 1, 2) == (1 if value > 0 else 2)


# Unsigned numbers.

PIXELS = ((np.arange(SIZE) * 37 + 100) % 256).astype(np.uint8)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda v: 255 - v, id="invert"),
        pytest.param(lambda v: v // 3, id="divide"),
        pytest.param(lambda v: v % 10, id="remainder"),
        pytest.param(lambda v: v >> 1, id="halve"),
        pytest.param(lambda v: math.where(v > 127, v, 0), id="threshold"),
        pytest.param(lambda v: math.minimum(v, 200), id="cap"),
        pytest.param(lambda v: (v.astype(np.uint16) * 77 >> 8).astype(np.uint8), id="weight"),
        pytest.param(lambda v: math.clip(v.astype(np.int32) - 128, 0, 100).astype(np.uint8), id="offset"),
        pytest.param(lambda v: (v.astype(np.float32) * np.float32(0.5)).astype(np.uint8), id="scale"),
    ],
)
def test_images_are_unsigned(function: Callable[[Any], Any]):
    reference = PIXELS.view(_WithFunctions)
    assert (apply(function, PIXELS) == np.asarray(function(reference)).astype(np.uint8)).all()


class _WithFunctions(np.ndarray[Any, Any]):
    """An array that `where`, `minimum` and `clip` take as a number of the program would be."""


@pytest.fixture(autouse=True)
def _functions_of_arrays(monkeypatch: pytest.MonkeyPatch):
    for name in ("where", "minimum", "clip"):
        ours, numpys = getattr(math, name), getattr(np, name)

        def either(*given: Any, ours: Any = ours, numpys: Any = numpys) -> Any:
            return numpys(*given) if any(isinstance(part, np.ndarray) for part in given) else ours(*given)

        monkeypatch.setattr(math, name, either)


CONVERSIONS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, bfloat16]


@pytest.mark.parametrize("source", CONVERSIONS, ids=lambda kind: kind.__name__)
def test_conversions_are_numpys(source: Any):
    of_in = ObjectFifo(vector(SIZE, source), name="in")
    of_out = ObjectFifo(vector(SIZE * len(CONVERSIONS), np.float64), name="out")

    def core(source: Any, target: Any) -> None:
        x, y = source.acquire(1), target.acquire(1)
        for i in range_(SIZE):
            for number, kind in enumerate(CONVERSIONS):
                y[i + number * SIZE] = x[i].astype(kind).astype(np.float64)
        source.release(1)
        target.release(1)

    types = [of_in.obj_type, of_out.obj_type]
    runtime = Runtime(move_all, [*types, of_in.prod(), of_out.cons()])
    design = tw.compile(Program(NPU1Col1(), runtime, [Worker(core, [of_in.cons(), of_out.prod()])]))
    # of a negative floating-point number there is no unsigned one
    given = (np.arange(SIZE) * 2 - (60 if np.dtype(source).kind == "i" else 0)).astype(source)
    results = np.zeros(SIZE * len(CONVERSIONS))
    design.run(given, results)
    for number, kind in enumerate(CONVERSIONS):
        found = results[number * SIZE : (number + 1) * SIZE]
        assert (found == given.astype(kind).astype(np.float64)).all(), kind


def test_conditions_combine_as_bits():
    def function(v: Any) -> Any:
        return math.where(~(v > 10) | (v == 20) & (v < 30), 1, 0)

    given = np.arange(SIZE, dtype=np.int32)
    assert (apply(function, given) == np.where((given <= 10) | (given == 20), 1, 0)).all()


# Parameters.


def test_floating_point_parameters_are_given_at_run_time():
    line = vector(SIZE, np.float32)
    scale, is_set = Buffer(vector(2, np.float32), name="scale", use_write_rtp=True), WorkerRuntimeBarrier()

    def core(source: Any, target: Any, scale: Any, is_set: Any) -> None:
        is_set.wait_for_value(1)
        factor, offset = scale[0], scale[1]
        is_set.release_with_value(1)
        x, y = source.acquire(1), target.acquire(1)
        for i in range_(SIZE):
            y[i] = x[i] * factor + offset
        source.release(1)
        target.release(1)

    def sequence(a: Any, b: Any, factor: Any, source: Any, target: Any) -> None:
        scale[0] = factor
        scale[1] = 0.25
        is_set.set(1)
        source.fill(a)
        target.drain(b, wait=True)

    design = tw.compile(Pipe(line, core, scale, is_set).program(sequence, line, line, np.float32))
    results = np.zeros(SIZE, np.float32)
    factors: list[Any] = [0.5, -3, np.float32(1.1)]
    for factor in factors:
        design.run(ANY, results, factor)
        assert (results == ANY * np.float32(factor) + np.float32(0.25)).all()
    assert (design.txn(factor=0.5) != design.txn(factor=0.75)).sum() == 1


def test_a_sequence_only_hands_floating_point_numbers_on():
    def sequence(factor: Any, source: Any, target: Any) -> None:
        _ = factor * 2

    with pytest.raises(tw.CompileError, match="computes with whole numbers only"):
        Pipe().program(sequence, np.float32).resolve_program()


# Printing.


@pytest.mark.parametrize("model", ["fast", "plain"])
def test_a_core_prints_values_as_they_are_when_it_runs(capsys: pytest.CaptureFixture[str], model: Any):
    def core(source: Any, target: Any) -> None:
        x, y = source.acquire(1), target.acquire(1)
        for i in range_(0, SIZE, 32):
            with if_(x[i] > 1, hasElse=False):
                print_("x[", i, "] is {", x[i], "}, half of it", x[i].astype(np.float32) / 2, sep="")
            y[i] = x[i]
        source.release(1)
        target.release(1)

    design = tw.compile(Pipe(vector(SIZE), core).program(move_all, vector(SIZE), vector(SIZE)))
    result = design.run(np.arange(SIZE, dtype=np.int32) + 3, np.zeros(SIZE, np.int32), model=model)
    texts = [line.text for line in result.printed]
    assert texts == ["x[0] is {3}, half of it1.5", "x[32] is {35}, half of it17.5"]
    assert [line.tile for line in result.printed] == [(0, 2), (0, 2)]
    assert 0 < result.printed[0].cycle < result.printed[1].cycle < result.cycles
    assert capsys.readouterr().out.splitlines() == [str(line) for line in result.printed]


def test_printing_takes_the_cycle_of_a_call():
    def core(says: bool) -> Callable[..., None]:
        def body(source: Any, target: Any) -> None:
            x, y = source.acquire(1), target.acquire(1)
            if says:
                print_("the numbers:", x)
            y[0] = x[0]
            source.release(1)
            target.release(1)

        return body

    a, b = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    cycles = list[int]()
    for says in (False, True):
        pipe = Pipe(vector(SIZE), core(says))
        design = tw.compile(pipe.program(move_all, vector(SIZE), vector(SIZE)))
        # A first write takes so long that a cycle would not show.
        cycles.append(design.run(a, b, timing={"host_write_cold_ns": 0}).cycles)
    assert cycles[1] - cycles[0] == 1


def test_a_sequence_has_nothing_to_print_to():
    with pytest.raises(tw.CompileError, match="a runtime sequence has nothing to print to"):
        Pipe().program(lambda *_: print_("here")).resolve_program()


# Buffers of the host.

OPEN = vector(None)


def add_one(source: Any, target: Any) -> None:
    x, y = source.acquire(1), target.acquire(1)
    for i in range_(SIZE):
        y[i] = x[i] + 1
    source.release(1)
    target.release(1)


def test_all_of_a_buffer_of_open_size_is_as_much_as_the_host_gives():
    design = tw.compile(Pipe(vector(SIZE), add_one).program(move_all, OPEN, OPEN))
    for size in (SIZE, 10 * SIZE, 3 * SIZE):
        a, b = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
        design.run(a, b)
        assert (b == a + 1).all()
        design.run(a.view(np.uint8), b.view(np.uint8))
    words = design.txn(a_size=SIZE, b_size=SIZE)
    design.run(a, b, txn=words)
    with pytest.raises(tw.Error, match="a_size"):
        design.txn()


def test_the_size_of_a_buffer_is_a_number_of_the_sequence():
    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        half = a.size // 2
        source.fill(a, offset=half, transfer_len=half)
        target.drain(b, wait=True)

    design = tw.compile(Pipe(vector(SIZE), add_one).program(sequence, OPEN, OPEN))
    a, b = np.arange(4 * SIZE, dtype=np.int32), np.zeros(2 * SIZE, np.int32)
    design.run(a, b)
    assert (b == a[2 * SIZE :] + 1).all()


@pytest.mark.parametrize("host", [np.int16, np.int64, np.float32, bfloat16], ids=lambda kind: kind.__name__)
def test_a_buffer_of_other_elements_moves_bytes(host: Any):
    buffer = vector(SIZE * 4 // np.dtype(host).itemsize, host)
    a, b = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    tw.compile(Pipe(vector(SIZE), add_one).program(move_all, buffer, buffer)).run(a.view(host), b.view(host))
    assert (b == a + 1).all()


@pytest.mark.parametrize("relation", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_nan_compares_as_in_python(relation: str):
    compare = getattr(operator, relation)
    given = np.where(np.arange(SIZE) % 2 == 0, np.float32("nan"), ANY)
    found = apply(lambda v: math.where(compare(v, 0.5), 1, 0), given, np.int32)
    assert (found == compare(given, np.float32(0.5))).all()
