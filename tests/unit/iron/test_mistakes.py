"""The commonest mistakes in worker functions and sequences: the message has the user's line and what to write there."""

import math
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from iron_programs import Pipe, move_all, vector

import tilewright as tw
from tilewright.ir.diagnostics import file_position
from tilewright.iron import Buffer, Program
from tilewright.iron.controlflow import if_, range_, yield_

Body = Callable[[Any, Any], object]


def program(body: Body, dtype: Any = np.int32) -> Program:
    """A program whose core runs a body on an input and an output."""

    def core(source: Any, target: Any) -> None:
        x, y = source.acquire(1), target.acquire(1)
        body(x, y)
        source.release(1)
        target.release(1)

    line = vector(64, dtype)
    return Pipe(line, core).program(move_all, line, line)


def run(body: Body, a: Any) -> Any:
    b = np.zeros_like(a)
    tw.compile(program(body, a.dtype.type)).run(a, b)
    return b


def accumulator(x: Any, y: Any) -> None:
    total = 0
    for i in range_(64):
        total = total + x[i]
    y[0] = total


def running_sum(x: Any, y: Any) -> None:
    total = x[0]
    for i in range_(64):
        total += x[i]
        y[i] = total


def previous(x: Any, y: Any) -> None:
    before = 0
    for i in range_(64):
        y[i] = x[i] - before
        before = x[i]


def leaves_a_loop(x: Any, y: Any) -> None:
    for i in range_(64):
        last = x[i]
    y[0] = last


def leaves_a_choice(x: Any, y: Any) -> None:
    with if_(x[0] > 1, hasElse=False):
        chosen = x[0] + 1
    y[0] = chosen


def carries_nothing_on(x: Any, y: Any) -> None:
    for i, total, _ in range_(64, iter_args=[0]):
        y[i] = total


def choice(x: Any, y: Any) -> None:
    if x[0] > 3:
        y[0] = 1


def choice_with_both_sides(x: Any, y: Any) -> None:
    if x[0]:
        y[0] = 1
    else:
        y[0] = 2


def python_loop(x: Any, y: Any) -> None:
    for i in range(x[0]):
        y[i] = 1


def python_while(x: Any, y: Any) -> None:
    while x[0] > 1:
        y[0] = 1


def formats(x: Any, y: Any) -> None:
    print(f"{x[0]}")


def stores(value: Callable[[Any], Any]) -> Body:
    """A body of one line that stores a value."""

    def body(x: Any, y: Any) -> None:
        y[0] = value(x)

    return body


MISTAKES = {
    "an accumulator": (accumulator, "for i, total, result in range_(64, iter_args=[total]):"),
    "an accumulator that is used in the loop": (running_sum, "yield_([total])"),
    "what the last turn had": (previous, "iter_args=[before]"),
    "a value that leaves a loop": (leaves_a_loop, "iter_args=[0]"),
    "a value that leaves a choice": (leaves_a_choice, "where(condition, a, b)"),
    "a loop that carries, without yield_": (carries_nothing_on, "yield_([value])"),
    "if": (choice, "with if_(condition, hasElse=False):"),
    "if and else": (choice_with_both_sides, "with else_(choice):"),
    "range": (python_loop, "range_(...)"),
    "while": (python_while, "range_"),
    "an f-string": (formats, "print_(...)"),
    "an f-string with a format": (stores(lambda x: float(f"{x[0]:.2f}")), "print_(...)"),
    "max": (stores(lambda x: max(x[0], 5)), "maximum(a, b)"),
    "min of three": (stores(lambda x: min(x[0], x[1], x[2])), "minimum(a, b)"),
    "and": (stores(lambda x: x[0] > 1 and x[1] > 2), "(a) & (b)"),
    "or": (stores(lambda x: x[0] > 1 or x[1] > 2), "(a) | (b)"),
    "not": (stores(lambda x: not x[0] > 1), "~condition"),
    "a chain of comparisons": (stores(lambda x: 0 < x[0] < 5), "(a < b) & (b < c)"),
    "in": (stores(lambda x: x[0] in (1, 2)), "(v == 1) | (v == 2)"),
    "a conditional expression": (stores(lambda x: 1 if x[0] > 1 else 2), "where(condition, a, b)"),
    "/ of integers": (stores(lambda x: x[0] / 2), "`//`"),
    "1 / an integer": (stores(lambda x: 1 / x[0]), "`//`"),
    "a negative power": (stores(lambda x: x[0] ** -1), "astype(np.float32)"),
    "a factor with a fraction": (stores(lambda x: x[0] * 0.5), "astype(np.float32)"),
    "float": (stores(lambda x: float(x[0])), "astype(np.float32)"),
    "int": (stores(lambda x: int(x[0])), "astype(np.int32)"),
    "math of Python": (stores(lambda x: math.sqrt(x[0])), "`sqrt` of `tilewright.iron.math`"),
    "math of an integer": (stores(lambda x: np.sqrt(x[0])), "sqrt(v.astype(np.float32))"),
    "a function that there is not": (stores(lambda x: np.gcd(x[0], 2)), "tilewright.iron.math"),
    "an index with a fraction": (stores(lambda x: x[1.5]), "astype(np.int32)"),
    "an index of a list": (stores(lambda x: [1, 2, 3][x[0]]), "Buffer(initial_value=...)"),
    "a negative index": (stores(lambda x: x[-1]), "write 63"),
    "a buffer as a number": (stores(lambda x: x + 1), "range_"),
    "a function of a buffer": (stores(lambda x: np.sum(x)), "range_"),
    "operands of different widths": (stores(lambda x: x[0] + x[1].astype(np.int16)), "astype(np.int32)"),
    "a value of another type": (stores(lambda x: x[0].astype(np.int16)), "astype(np.int32)"),
    "a float bound": (lambda x, y: list(range_(64 / 2)), "`//`"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_what_to_write(mistake: str):
    body, remedy = MISTAKES[mistake]
    with pytest.raises(tw.CompileError) as caught:
        tw.compile(program(body))
    error = caught.value.diagnostics[0]
    position = file_position(error.location)
    assert position is not None and position[0] == __file__
    assert any(remedy in note.text for note in error.notes), str(error)


def test_the_remedy_for_an_accumulator_works():
    def body(x: Any, y: Any) -> None:
        for i, total, result in range_(64, iter_args=[0]):  # noqa: B007
            yield_([total + x[i]])
        y[0] = result

    assert run(body, np.arange(64, dtype=np.int32))[0] == 2016


def test_loops_may_carry_numbers_of_any_type():
    def body(x: Any, y: Any) -> None:
        for i, (total, product), (sums, products) in range_(8, iter_args=[np.uint8(3), np.uint8(1)]):  # noqa: B007
            yield_([total + x[i], product * 3])
        y[0], y[1] = sums, products

    assert run(body, np.full(64, 40, np.uint8))[:2].tolist() == [(3 + 320) % 256, 3**8 % 256]


def test_a_variable_that_each_turn_sets_anew_is_no_accumulator():
    def body(x: Any, y: Any) -> None:
        value = 0
        for i in range_(64):
            value = x[i]
            value = value + 1
            y[i] = value

    assert (run(body, np.arange(64, dtype=np.int32)) == np.arange(64) + 1).all()


def test_two_loops_may_have_one_variable():
    def body(x: Any, y: Any) -> None:
        for i in range_(64):
            y[i] = x[i]
        for i in range_(64):
            y[i] = y[i] + x[i]

    assert (run(body, np.arange(64, dtype=np.int32)) == 2 * np.arange(64)).all()


def test_an_end_is_no_object():
    def core(source: Any, target: Any) -> None:
        target.acquire(1)[0] = source[0]

    with pytest.raises(tw.CompileError, match=r"acquire one"):
        Pipe(vector(64), core).program(lambda *_: None).resolve_program()


def test_objects_that_are_never_released_are_warned_of():
    def core(source: Any, target: Any) -> None:
        target.acquire(1)[0] = source.acquire(1)[0]
        target.release(1)

    with pytest.warns(UserWarning, match=r"worker 'core' acquires objects of 'in' and releases none") as found:
        Pipe(vector(64), core).program(lambda *_: None).resolve_program()
    assert found[0].filename == __file__


def test_a_float_in_an_integer_parameter():
    sizes = Buffer(vector(4), name="sizes", use_write_rtp=True)

    def sequence(source: Any, target: Any) -> None:
        sizes[0] = 0.5

    with pytest.raises(tw.CompileError, match=r"holds whole numbers, not 0\.5"):
        Pipe(vector(64), lambda *_: None, sizes).program(sequence).resolve_program()


# Tracebacks.


def frames(error: BaseException) -> list[str]:
    return [Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)]


def test_an_error_shows_the_users_lines_and_one_of_ours():
    with pytest.raises(tw.CompileError) as caught:
        tw.compile(program(choice))
    here = Path(__file__).name
    assert frames(caught.value) == [here, "tracebacks.py", here, here]
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_an_error_of_the_users_own_does_too():
    with pytest.raises(ZeroDivisionError) as caught:
        tw.compile(program(lambda x, y: 1 // 0))
    here = Path(__file__).name
    assert frames(caught.value) == [here, "tracebacks.py", here, here]


def test_a_run_that_goes_wrong_does_too():
    design = tw.compile(program(lambda x, y: None))
    with pytest.raises(tw.Error) as caught:
        design.run(np.zeros(64, np.int64), np.zeros(64, np.int32))
    assert frames(caught.value) == [Path(__file__).name, "tracebacks.py"]


SCRIPT = dedent("""
    import numpy as np
    import tilewright as tw
    from tilewright.iron import ObjectFifo, Program, Runtime, Worker
    from tilewright.iron.device import NPU1Col1

    line = np.ndarray[(64,), np.dtype[np.int32]]
    fifo = ObjectFifo(line, name="in")

    def core(source):
        numbers = source.acquire(1)
        if numbers[0] > 1:
            pass

    def sequence(a, source):
        source.fill(a)

    program = Program(NPU1Col1(), Runtime(sequence, [line, fifo.prod()]), [Worker(core, [fifo.cons()])])
    tw.compile(program)
""")


def traceback_of(tmp_path: Path, source: str = SCRIPT, **environment: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(source)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_a_script_shows_its_lines_and_the_message(tmp_path: Path):
    text = traceback_of(tmp_path)
    assert text.count('script.py", line') == 2
    assert text.count('File "') == 3
    assert "with if_(condition, hasElse=False):" in text
    assert "The above exception" not in text and "During handling" not in text


def test_a_variable_brings_all_frames_back(tmp_path: Path):
    assert traceback_of(tmp_path, TILEWRIGHT_TRACEBACK="1").count('File "') > 10


def test_the_error_of_a_pass_is_shown_once(tmp_path: Path):
    text = traceback_of(tmp_path, SCRIPT.replace("(64,)", "(32768,)").replace("if numbers[0] > 1:", "if False:"))
    errors = [line for line in text.splitlines() if "error: " in line]
    assert errors and len(set(errors)) == len(errors)
    assert text.count("Traceback") == 1 and text.count('File "') == 2


def test_upstreams_short_name_for_a_tile_is_explained():
    text = """aie.device(npu1) {
  %shim = aie.logical_tile<ShimNOCTile>(?, ?)
  %core = aie.logical_tile<CoreTile>(?, ?)
  aie.objectfifo @f0(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @f1(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @f2(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
}"""
    with pytest.raises(tw.CompileError, match="an LTO is a logical tile") as caught:
        tw.compile(text)
    assert str(caught.value).index("this LTO") < str(caught.value).index("an LTO is")
