"""Run lists on one device that is configured anew for each run: the results are those of the designs one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iron_programs import vector

import tilewright as tw
import tilewright.iron as iron
from tilewright.driver.compiled_design import design_from_text
from tilewright.driver.reconfiguration import METHODS, ReconfigurableDesign
from tilewright.iron import (
    Buffer,
    CompileTime,
    DispatchTime,
    In,
    ObjectFifo,
    Out,
    Program,
    Reconfiguration,
    Runtime,
    ScratchpadParameter,
    Worker,
)
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1, NPU2Col1

LENGTH, LINE = 64, 16


@pytest.fixture(autouse=True)
def on_one_column() -> Iterator[None]:
    iron.set_current_device(NPU2Col1())
    yield
    iron.set_current_device(None)


def on_each(function: Callable[[Any], Any], *, device: Any = None, **end: Any) -> Program:
    """A program that does something with each number, a line at a time; another channel than the control packets'."""
    of_in, of_out = ObjectFifo(vector(LINE), name="in"), ObjectFifo(vector(LINE), name="out")

    def core(source: Any, target: Any) -> None:
        given, result = source.acquire(1), target.acquire(1)
        for i in range_(LINE):
            result[i] = function(given[i])
        source.release(1)
        target.release(1)

    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        source.fill(a)
        target.drain(b, wait=True)

    ends = [of_in.prod(**(end or {"channel": 1})), of_out.cons()]
    runtime = Runtime(sequence, [vector(LENGTH), vector(LENGTH), *ends])
    worker = Worker(core, [of_in.cons(), of_out.prod()])
    return Program(device or iron.get_current_device(), runtime, workers=[worker])


@iron.jit
def plus(a: In, b: Out, *, summand: CompileTime[int]) -> Any:
    return on_each(lambda number: number + summand)


@iron.jit
def tripled(a: In, b: Out) -> Any:
    return on_each(lambda number: number * 3)


@iron.jit
def transposed(a: In, b: Out, *, first: DispatchTime[np.int32] = 0) -> Any:  # pyright: ignore[reportArgumentType]
    """Squares of 4 by 4 on their side, through a mem tile, from the square `first` on; no core takes part."""
    of_in = ObjectFifo(vector(LINE), name="in")
    of_out = of_in.cons().forward(name="out", dims_to_stream=[(4, 1), (4, 4)])

    def sequence(a: Any, b: Any, first: Any, source: Any, target: Any) -> None:
        rest = LENGTH - first * LINE
        source.fill(a, offset=first * LINE, transfer_len=rest)
        target.drain(b, offset=first * LINE, transfer_len=rest, wait=True)

    ends = [of_in.prod(channel=1), of_out.cons()]
    runtime = Runtime(sequence, [vector(LENGTH), vector(LENGTH), first, *ends])
    return Program(iron.get_current_device(), runtime)


DESIGNS = {"five_more": plus.specialize(summand=5, name="five_more"), "tripled": tripled, "transposed": transposed}


def expected(name: str, a: np.ndarray, b: np.ndarray, first: int = 0) -> np.ndarray:
    if name != "transposed":
        return a + 5 if name == "five_more" else a * 3
    squares = a.reshape(-1, 4, 4).swapaxes(1, 2).reshape(-1, LINE)
    return np.concatenate([b[: first * LINE], squares[first:].ravel()])


@pytest.fixture(scope="module", params=METHODS)
def folded(request: pytest.FixtureRequest) -> ReconfigurableDesign:
    iron.set_current_device(NPU2Col1())
    reconfiguration = Reconfiguration("three", method=request.param)
    for design in DESIGNS.values():
        reconfiguration.add(design, None, None)
    return reconfiguration.compile()


@settings(max_examples=3, deadline=None, derandomize=True)
@given(names=st.lists(st.sampled_from([*DESIGNS]), min_size=2, max_size=5), first=st.integers(0, 3))
def test_run_list_gives_what_the_designs_give(folded: ReconfigurableDesign, names: list[str], first: int) -> None:
    """Each run goes on with the results of the one before."""
    arrays = [np.arange(LENGTH, dtype=np.int32), *(np.full(LENGTH, -1, np.int32) for _ in names)]
    alone = [array.copy() for array in arrays]
    numbers = [(first,) if name == "transposed" else () for name in names]
    runs = [(name, a, b, *n) for name, a, b, n in zip(names, arrays, arrays[1:], numbers, strict=False)]
    iron.set_current_device(NPU2Col1())
    results = folded.run(runs)
    assert len(results) == len(names) and all(result.cycles > 0 for result in results)
    for name, a, b, n in zip(names, alone, alone[1:], numbers, strict=False):
        before = b.copy()
        DESIGNS[name](a, b, **({"first": n[0]} if n else {}))
        assert (b == expected(name, a, before, *n)).all()
    assert all((array == other).all() for array, other in zip(arrays, alone, strict=True))


def test_what_a_compiled_one_has(folded: ReconfigurableDesign) -> None:
    assert list(folded.entries) == [*DESIGNS] and folded.method in METHODS
    assert folded.entrypoints == [f"main:{name}" for name in DESIGNS]
    assert (folded.packets.keys() == DESIGNS.keys()) == (folded.method == "ctrlpkt")
    words = folded.design.txn("transposed", first=2)
    operations = [operation.name for operation in tw.txn.decode(words).operations]
    assert operations.count("LOADPDI") == 1 == operations.index("LOADPDI") + 1
    # only where the image is loaded does the stream leave all registers of the array alone
    assert (len(operations) < 20) == (folded.method == "loadpdi")


def test_device_keeps_its_configuration_until_the_next(folded: ReconfigurableDesign) -> None:
    a, b = np.arange(LENGTH, dtype=np.int32), np.zeros(LENGTH, np.int32)
    for model in ("fast", "plain"):
        device = folded.load(model=model)
        for name in ("tripled", "tripled", "five_more"):
            device.run(a, b, entry=f"main:{name}")
            assert (b == expected(name, a, b)).all()
    with pytest.raises(tw.Error, match="which configuration to run has to be said"):
        device.run(a, b)
    with pytest.raises(KeyError, match=r"there is no configuration 'triple', did you mean 'tripled'\?"):
        device.run(a, b, entry="triple")


@pytest.mark.parametrize("method", METHODS)
def test_programs_without_names(method: str, tmp_path: Path) -> None:
    programs = [on_each(lambda n: n - 1, device=NPU1Col1()), on_each(lambda n: n * n, device=NPU1Col1())]
    folded = Reconfiguration(programs, method=method, output_dir=tmp_path).compile()
    a, b, c = np.arange(LENGTH, dtype=np.int32), np.zeros(LENGTH, np.int32), np.zeros(LENGTH, np.int32)
    folded.run([("config_1", a, b), ("config_2", b, c)])
    assert (b == a - 1).all() and (c == b * b).all()
    written = tmp_path / "reconfiguration.mlir"
    again = design_from_text(written.read_text(), str(written))
    assert again.sequences == folded.design.sequences
    assert (again.txn("config_2") == folded.design.txn("config_2")).all()


def test_buffers_of_one_object_have_any_number_of_them() -> None:
    """A design that declares its buffers as one line runs at several of them, here as by itself."""

    def sequence(a: Any, b: Any, length: Any, source: Any, target: Any) -> None:
        source.fill(a, sizes=[1, 1, 1, length])
        target.drain(b, sizes=[1, 1, 1, length], wait=True)

    of_in = ObjectFifo(vector(LINE), name="in")
    of_out = of_in.cons().forward(name="out")
    runtime = Runtime(sequence, [vector(LINE), vector(LINE), np.int32, of_in.prod(), of_out.cons()])
    folded = Reconfiguration([Program(NPU2Col1(), runtime)]).compile()
    a, b = np.arange(LENGTH, dtype=np.int32), np.zeros(LENGTH, np.int32)
    folded.run([("config_1", a, b, 3 * LINE)])
    assert (b[: 3 * LINE] == a[: 3 * LINE]).all() and not b[3 * LINE :].any()


def with_scratchpad() -> Program:
    amount = ScratchpadParameter("amount", np.int32)

    def sequence(a: Any, source: Any) -> None:
        source.fill(a, offset_parameter=amount)

    of_in = ObjectFifo(vector(LINE), name="in")
    buffer = Buffer(vector(LINE), name="sink")
    worker = Worker(lambda source, sink: source.acquire(1), [of_in.cons(), buffer])
    return Program(NPU2Col1(), Runtime(sequence, [vector(LINE), of_in.prod()]), workers=[worker])


@pytest.mark.filterwarnings("ignore:worker")
@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: Reconfiguration("a/b"), "name must be a bare identifier, not 'a/b'"),
        (lambda: Reconfiguration("x", method="magic"), "there is no method 'magic' of configuring"),
        (lambda: Reconfiguration("x").compile(), "no designs added"),
        (lambda: Reconfiguration([tripled, tripled]), "duplicate design name 'tripled'"),
        (lambda: Reconfiguration([tripled.specialize(name="main")]), "'main' cannot be the name of a design"),
        (lambda: Reconfiguration([tripled.specialize(name="a b")]), "'a b' cannot be the name of a design"),
        (
            lambda: Reconfiguration([tripled, on_each(abs, device=NPU1Col1())]),
            "'config_2' is for npu1_1col, the designs before it are for npu2_1col",
        ),
        (lambda: Reconfiguration([with_scratchpad()]), "is not one device with one runtime sequence and nothing else"),
        (
            lambda: Reconfiguration("x").add(on_each(abs), summand=3),
            "only designs of @iron.jit have arguments such as 'summand'",
        ),
        (
            lambda: Reconfiguration([on_each(abs, channel=0)], method="ctrlpkt").compile(),
            "pinned MM2S DMA channel 0 is out of range or already in use on this tile",
        ),
    ],
)
def test_what_is_refused(make: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(tw.CompileError, match=complaint):
        make()
