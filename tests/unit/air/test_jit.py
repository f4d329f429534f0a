"""Functions that are traced once for each kind of arguments, and what they refuse, at the user's line."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright import air
from tilewright.air import functions
from tilewright.cli.main import main
from tilewright.errors import ArgumentError
from tilewright.support.lazy import setting

TRACES: list[str] = []


@air.jit
def fill(x, value, *, size=64):
    TRACES.append("fill")

    @air.launch(air.cdiv(x.shape[0], size), waves=1)
    def _(block):
        x[block * size : (block + 1) * size] = value


def test_one_build_serves_all_sizes() -> None:
    TRACES.clear()
    for count in (0, 1, 63, 64, 65, 300):
        x = np.zeros(count, np.float32)
        fill(x, 2.5)
        assert (x == 2.5).all()
    assert len(TRACES) == 1
    fill(np.zeros(10, np.float32), 2.5, size=128)
    fill(np.zeros(10, np.int32), 2)
    assert len(TRACES) == 3


def test_builds_that_were_used_last_are_kept(monkeypatch) -> None:
    monkeypatch.setattr(functions, "MOST_BUILDS", 2)
    fill(np.zeros(1, np.float32), 0.0)
    TRACES.clear()
    x = np.zeros(300, np.float32)
    for number, size in enumerate((64, 128, 64, 256, 64, 128), 1):
        fill(x, np.float32(number), size=size)
        assert (x == number).all()
    # 128 went when 256 came, since 64 had been used after it
    assert len(TRACES) == 3


def test_two_threads_make_one_build() -> None:
    TRACES.clear()
    arrays = [np.zeros(100, np.float64) for _ in range(4)]
    threads = [threading.Thread(target=fill, args=(x, np.float64(n))) for n, x in enumerate(arrays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(TRACES) == 1
    assert [set(x) for x in arrays] == [{0.0}, {1.0}, {2.0}, {3.0}]


def test_a_kept_build_is_used_by_the_next_process_if_it_is_whole(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))

    def build() -> bytes:
        @air.jit
        def work(x):
            @air.launch(1, waves=1)
            def _(_):
                x[air.lane()] = x[air.lane()] + 1.0

        x = np.zeros(64, np.float32)
        work(x)
        assert (x == 1).all()
        return b""

    build()
    (kept,) = (tmp_path / "cache").rglob("*.air")
    first = kept.read_bytes()
    build()
    assert kept.read_bytes() == first
    kept.write_bytes(first[:-20])
    build()
    assert kept.read_bytes() == first


def test_messages_are_the_same_from_a_kept_build(tmp_path, monkeypatch) -> None:
    """Names of memory among them, which are in no text of the program."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))

    def race() -> str:
        @air.jit(settings={"check": "races"})
        def swapped(x, y):
            @air.launch(1, waves=2)
            def _(_):
                room = air.shared((2, 64))
                room[air.wave(), air.lane()] = x[air.wave(), air.lane()]
                y[air.wave(), air.lane()] = room[1 - air.wave(), air.lane()]

        with pytest.raises(tw.Error, match="data race") as error:
            swapped(np.ones((2, 64), np.float32), np.zeros((2, 64), np.float32))
        return str(error.value)

    assert race() == race()
    assert len(list((tmp_path / "cache").rglob("*.air"))) == 1


@pytest.mark.parametrize(
    "call, text",
    [
        pytest.param(lambda: fill(np.zeros(3, np.float32)), "missing a required argument: 'value'", id="too few"),
        pytest.param(lambda: fill([1, 2], 1.0), "argument x is [1, 2]: pass NumPy arrays", id="a list"),
        pytest.param(lambda: fill(np.zeros(3, bool), 1), "an array of bool", id="a type that GPUs lack"),
        pytest.param(lambda: fill.options(backend="rocket"), "unknown backend 'rocket'", id="backend"),
        pytest.param(lambda: fill.options(color=1), "there is no option color", id="option"),
    ],
)
def test_calls_that_do_not_fit(call, text: str) -> None:
    with pytest.raises(tw.Error, match=None) as error:
        call()
    assert text in str(error.value)


def body_error(body) -> str:
    """The error that tracing a body gives, without its file."""

    @air.jit
    def work(x):
        body(x)

    with pytest.raises(tw.CompileError) as error:
        work.mlir(np.zeros((4, 4), np.float32))
    first = str(error.value).splitlines()[0]
    file, line, _, text = first.split(":", 3)
    # the error is at the line of the mistake, which says so
    source = Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert source.endswith("# here"), first
    return text.removeprefix(" error: ")


def in_launch(inner):
    def body(x):
        @air.launch(1, waves=1)
        def _(_):
            inner(x)

    return body


def outside(x):
    air.lane()  # here


def open_tile(x):
    air.load(x[0, :])  # here


def truth(x):
    if x[0, 0] > 0:  # here
        pass


def wrong_store(x):
    x[0, 0] = air.lane().astype(air.i32)  # here


def too_many(x):
    x[0, 0, 0] = 1  # here


def shapes(x):
    _ = air.load(x[0:4, 0:4]) + air.load(x[0, 0:8])  # here


def large(x):
    air.zeros((1000, 1000))  # here


def carried(x):
    total = x[0, 0]
    for k in air.sequential(4):  # here
        total = total + x[0, k]
    x[0, 0] = total


def order(x):
    air.atomic_load(x, (0, 0), order="release")  # here


def backwards(x):
    x[-1, 0] = 1  # here


def host_alloc(x):
    air.symmetric(4)  # here


def nested(x):
    @air.herd(2)  # here
    def _(_):
        pass


@pytest.mark.parametrize(
    "body, text",
    [
        (outside, "a lane is for the waves of a herd"),
        (in_launch(open_tile), "a tile has a known size, and this part of an array has an open one"),
        (in_launch(truth), "a value of the program is not known while it is being built"),
        (in_launch(wrong_store), "cannot store a number of type int32 in an array of float32"),
        (in_launch(too_many), "an array of 2 dimensions takes as many indices, not 3"),
        (in_launch(shapes), "tiles of 4 x 4 and 8 do not go together"),
        (in_launch(large), "a tile of 1000 x 1000 is 15625 elements for each of 64 lanes"),
        (in_launch(carried), "'total' does not go from one turn of this loop to the next: its body is built once"),
        (in_launch(order), "there is no order 'release' here"),
        (in_launch(backwards), "index -1 counts from the end"),
        (host_alloc, "symmetric arrays are for ranks"),
        (in_launch(nested), "a herd cannot be in a herd"),
    ],
)
def test_mistakes_are_found_at_the_users_line(body, text: str) -> None:
    assert body_error(body) == text


def chosen(x):
    return 1 if x[0, 0] > 0 else 2


def largest(x):
    return max(x[0, 0], 0)


def counted(x):
    return range(x.shape[0])


def left(x):
    for k in air.sequential(4):
        last = x[0, k] * 2
    x[0, 0] = last


def choice(x):
    if x[0, 0] > 0:
        x[0, 0] = 1


def said(x):
    return f"{x[0, 0]}"


@pytest.mark.parametrize(
    "body, remedy",
    [
        (chosen, "write `air.where(condition, a, b)`"),
        (largest, "write `air.maximum(a, b)` or `air.minimum(a, b)`"),
        (counted, "write `air.sequential(...)` for a loop that the program runs"),
        (left, "`for i, total, result in air.sequential(n, iter_args=[0]):`"),
        (choice, "write `with air.if_(condition, hasElse=False):` in place of `if`"),
        (carried, "end the body with `air.yield_([total])`, and use `result` behind the loop"),
        (said, "print it when the program runs: `air.print_line(...)`"),
    ],
)
def test_remedies_are_what_programs_have_here(body, remedy: str) -> None:
    @air.jit
    def work(x):
        in_launch(body)(x)

    with pytest.raises(tw.CompileError) as error:
        work.mlir(np.zeros((4, 4), np.float32))
    assert remedy in str(error.value)


def test_operands_say_how_they_are_converted() -> None:
    @air.jit
    def work(x):
        @air.launch(1, waves=1)
        def _(_):
            x[0, 0] = x[0, 1] / x.shape[1]

    with pytest.raises(tw.CompileError, match=r"convert the index: `n.astype\(np.float32\)`"):
        work.mlir(np.zeros((4, 4), np.float32))


def test_a_launch_wants_a_program() -> None:
    with pytest.raises(tw.CompileError, match=r"there is no program to build in\n.*`@air.jit`"):
        air.launch(1, waves=1)(lambda _: None)


def test_a_fault_in_a_kernel_is_at_the_users_line() -> None:
    @air.jit
    def reach(x):
        @air.launch(1, waves=1)
        def _(_):
            x[air.lane() + 1] = 1.0  # beyond

    with pytest.raises(tw.Fault) as error:
        reach(np.zeros(64, np.float32))
    file, line, _, _ = str(error.value).split(":", 3)
    assert Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1].endswith("# beyond")


@air.jit
def product(a, b, c):
    @air.launch(1, waves=2)
    def _(_):
        total = air.zeros((16, 16))
        for k in air.sequential(0, a.shape[1], 16):
            air.dot(air.load(a[:16, k : k + 16]), air.load(b[k : k + 16, :16]), acc=total)
        c[:16, :16] = total


@pytest.mark.parametrize("pinned", [False, True])
def test_steps_that_make_copies_faster_are_an_option(pinned: bool) -> None:
    """They take one more turn; those of a function go before those of the command line."""
    a, b = np.random.default_rng(1).standard_normal((2, 64, 64)).astype(np.float32)[:, :16, :]
    steps = list[int]()
    for level in (0, 2):
        c = np.zeros((16, 16), np.float32)
        chosen = product.options(opt_level=0) if pinned else product
        with setting(functions.defaults, {"opt_level": level, "profile": True}):
            profile = chosen.run(a, b.T.copy(), c).profile
        assert profile is not None and np.allclose(c, a @ b.T, atol=1e-4)
        launched = profile.kernels[0].launches
        steps.append(sum(launched.kinds.values()))
    assert (steps[0] == steps[1]) is pinned


def test_there_are_levels_0_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError, match="opt_level is 0 or 2, got 1"):
        fill.options(opt_level=1)(np.zeros(1, np.float32), 0.0)
    assert main(["air", "run", str(EXAMPLES / "air_matmul.py"), "-O2"]) == 0
    assert "largest difference" in capsys.readouterr().out


def test_an_access_behind_an_array_says_which_and_how_far() -> None:
    @air.jit(settings={"check": "races"})
    def work(x):
        @air.launch(2, waves=1)
        def _(block):
            x[block * 64] = 1.0

    with pytest.raises(
        tw.Fault, match=r"(?s)which is not the device's.*0 bytes behind the end of allocation 1, 256 bytes"
    ):
        work(np.zeros(64, np.float32))


def test_a_number_that_all_waves_store_is_a_race_with_a_way_out() -> None:
    @air.jit(settings={"check": "races"})
    def work(x, y, *, whole):
        @air.launch(1, waves=2)
        def _(_):
            if whole:
                y[0] = air.load(x[:64]).sum()
            else:
                y[0:1] = air.load(x[:64]).sum()

    x, y = np.ones(64, np.float32), np.zeros(1, np.float32)
    with pytest.raises(tw.Fault, match=r"(?s)data race.*let one do it \(`a\[i : i \+ 1\] = v` in Python\)"):
        work(x, y, whole=True)
    work(x, y, whole=False)
    assert y[0] == 64
