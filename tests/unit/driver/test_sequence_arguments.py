"""What runs take: arrays and scalars, in order or by name, in Python, in jit functions and on the command line."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bare_streams import bare, binary, loopback
from iron_programs import vector
from programs import COPY, WRITES

import tilewright as tw
import tilewright.iron as iron
from tilewright.cli.main import main
from tilewright.designs import Gemm, SingleCoreGemm
from tilewright.errors import ArgumentError, CallError, MissingResultsWarning, UnknownNameError
from tilewright.iron import CompileTime, In, ObjectFifo, Out, Program, RunTime, Runtime
from tilewright.iron.device import from_name

PART = "[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = ID : i64, metadata = @NAME} : memref<64xi32>"
LOOP = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
"""
TEXT = COPY.replace("BODY", LOOP).replace(
    "%b: memref<64xi32>)", "%b: memref<64xi32>, %n: index, %unused: memref<8xf32>)"
)
Start = Callable[..., Any]


@cache
def design() -> tw.Design:
    return tw.compile(TEXT)


@cache
def loaded() -> Any:
    return design().load()


STARTS = [pytest.param(lambda: design().run, id="run"), pytest.param(lambda: loaded().run, id="loaded")]


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(64, dtype=np.int32), np.zeros(64, np.int32)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda run, a, b: run(a, b, 1), id="without what is not used"),
        pytest.param(lambda run, a, b: run(a, b, 1, None), id="none for what is not used"),
        pytest.param(lambda run, a, b: run(a, b, 1, np.zeros(8, np.float32)), id="all of them"),
        pytest.param(lambda run, a, b: run(n=1, b=b, a=a), id="by name"),
        pytest.param(lambda run, a, b: run(a, n=1, b=b), id="some by name"),
        pytest.param(lambda run, a, b: run(a, b, np.int16(1)), id="an integer of NumPy"),
        pytest.param(lambda run, a, b: run(a, b, np.array(1)), id="an array with a single integer"),
        pytest.param(lambda run, a, b: run(a, b, True), id="true is one"),
        pytest.param(lambda run, a, b: run(a.view(np.uint32), b.view(np.uint32), 1), id="other sign"),
        pytest.param(lambda run, a, b: run(a.view(np.uint8), b.view(np.uint8), 1), id="raw bytes"),
        pytest.param(lambda run, a, b: run(a.reshape(8, 8), b.reshape(2, 32), 1), id="other shapes"),
        pytest.param(lambda run, a, b: run(a[:16], b[:16], 1), id="smaller, where no transfer leaves them"),
    ],
)
def test_calls_that_copy(start: Callable[[], Start], call: Callable[..., Any]) -> None:
    a, b = arrays()
    call(start(), a, b)
    assert (b[:16] == a[:16]).all() and not b[16:].any()


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "call, error, told",
    [
        pytest.param(lambda run, a, b: run(a, b), CallError, "missing value for argument 'n'", id="scalar missing"),
        pytest.param(lambda run, a, b: run(a, None, 1), CallError, "@copy uses b", id="used array left out"),
        pytest.param(lambda run, a, b: run(a, n=1), CallError, "@copy uses b", id="used array not given"),
        pytest.param(lambda run, a, b: run(a, b, 1, None, 5), CallError, "takes 4 arguments.*got 5", id="too many"),
        pytest.param(lambda run, a, b: run(a, b, 1, n=1), CallError, "argument n is given twice", id="twice"),
        pytest.param(lambda run, a, b: run(a, b, N=1), CallError, "no argument 'N', did you mean 'n'|no argument 'N'",
                     id="misspelt"),
        pytest.param(lambda run, a, b: run(a, b, 1, unusd=b), CallError, "did you mean 'unused'", id="nearly right"),
        pytest.param(lambda run, a, b: run(a, b, 1.0), CallError, "argument n = 1.0 is no integer", id="a float"),
        pytest.param(lambda run, a, b: run(a, b, 256.7), CallError, "argument n = 256.7 is no integer", id="real"),
        pytest.param(lambda run, a, b: run(a, b, "1"), CallError, "argument n = '1' is no integer", id="a text"),
        pytest.param(lambda run, a, b: run(a, b, a), CallError, "argument n = .* is no integer", id="an array"),
        pytest.param(lambda run, a, b: run(a, b, 1 << 64), tw.RangeError, "n = 1844.* does not fit", id="too large"),
        pytest.param(lambda run, a, b: run(1, b, 1), ArgumentError, "argument a is a buffer .* got 1", id="a number"),
        pytest.param(lambda run, a, b: run(a.tolist(), b, 1), ArgumentError, "argument a is a buffer", id="a list"),
        pytest.param(lambda run, a, b: run(a.astype(float), b, 1), ArgumentError, "argument a .*float64.*astype",
                     id="other elements"),
        pytest.param(lambda run, a, b: run(a, b.astype(np.int64), 1), ArgumentError, "argument b .*int64.*astype",
                     id="longer elements"),
    ],
)  # fmt: skip
def test_calls_that_are_refused(
    start: Callable[[], Start], call: Callable[..., Any], error: type[Exception], told: str
) -> None:
    """Before anything runs, with the argument's name; what Python has a TypeError for is one."""
    a, b = arrays()
    with pytest.raises(error, match=told) as raised:
        call(start(), a, b)
    assert isinstance(raised.value, tw.Error) and not b.any()
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_scalar_that_equals_the_last_one_is_looked_at() -> None:
    a, b = arrays()
    device = design().load()
    device.run(a, b, 2)
    with pytest.raises(CallError):
        device.run(a, b, 2.0)


@pytest.mark.parametrize(
    "scalars, told",
    [
        ({"n": 2.5}, "argument n = 2.5 is no integer"),
        ({"n": "2"}, "argument n = '2' is no integer"),
        ({"n": np.array([2])}, r"argument n = array\(\[2\]\) is no integer"),
        ({"nn": 2}, "unknown argument nn, did you mean 'n'"),
        ({"n": 1, "nn": 2}, "unknown argument nn"),
        ({}, "missing value for argument 'n'"),
    ],
)
def test_scalars_of_words(scalars: dict[str, Any], told: str) -> None:
    with pytest.raises(CallError, match=told):
        design().txn(**scalars)


@pytest.mark.parametrize("where", ["a", "b"])
@pytest.mark.parametrize("start", STARTS)
def test_a_transfer_that_leaves_an_array_is_a_fault(start: Callable[[], Start], where: str) -> None:
    """It names argument and offset, and what comes next in memory is as it was."""
    memory = np.full(80, 7, np.int32)
    given = dict(zip("ab", arrays(), strict=True)) | {where: memory[:8]}
    with pytest.raises(tw.Fault, match=f"bytes 0 to 64 of argument {where}, which has 32"):
        start()(**given, n=1)
    assert (memory[8:] == 7).all()


def test_arguments_are_far_apart() -> None:
    """A transfer far behind the end of a small array is not in the next one."""
    text = TEXT.replace("%a[0, 0, 0, 0]", "%a[0, 0, 0, 32768]").replace("memref<64xi32>", "memref<65536xi32>")
    a, b = arrays()
    with pytest.raises(tw.Fault, match="reads bytes 131072 to 131136 of argument a, which has 256"):
        tw.compile(text).run(a, b, 1)


@pytest.mark.parametrize("source", ["frombuffer", "flag", "memmap"])
@pytest.mark.parametrize("start", STARTS)
def test_read_only_arrays_can_be_read_and_not_written(start: Callable[[], Start], source: str, tmp_path: Path) -> None:
    a, b = arrays()
    fixed = np.frombuffer(a.tobytes(), np.int32)
    if source == "memmap":
        a.tofile(tmp_path / "a")
        fixed = np.memmap(tmp_path / "a", np.int32, "r")
    elif source == "flag":
        fixed = a.copy()
        fixed.flags.writeable = False
    start()(fixed, b, 1)
    assert (b[:16] == a[:16]).all()
    with pytest.raises(ArgumentError, match="argument b is written, but the array is read-only"):
        start()(b, fixed, 1)
    assert (fixed == a).all()


@pytest.mark.parametrize("model", ["fast", "plain"])
def test_a_write_that_nothing_told_of_is_a_fault(model: str) -> None:
    """Control packets, or a descriptor of an earlier stream, may do what the stream does not show."""
    device = bare(tw.sim.models.Model(model))
    data = np.zeros(256, np.uint8)
    data.flags.writeable = False
    source = np.arange(256, dtype=np.uint8)
    with device.in_use() as runner:
        from tilewright.sim.control_code import as_control_code, bind_stream

        program = bind_stream(runner, as_control_code(binary(loopback(64))), {0: ("0", source), 2: ("2", data)})
        with pytest.raises(tw.Fault, match="writes to argument 2, which is read-only"):
            runner.run(program)
    assert not data.any()


@pytest.mark.parametrize("arguments", [[np.zeros(4)], {"a": np.zeros(4)}, {-1: np.zeros(4)}])
def test_arguments_of_a_stream_have_numbers(arguments: Any) -> None:
    with pytest.raises(CallError, match="arguments of a stream"):
        bare().run(binary(loopback(64)), arguments)


KERNEL = """
aie.device(npu1_1col) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) {sym_name = "buffer"} : memref<16xi32>
  func.func private @scale(memref<16xi32>)
  aie.core(%tile) {
    func.call @scale(%buffer) : (memref<16xi32>) -> ()
    aie.end
  }
  aie.runtime_sequence() {}
}
"""


def test_kernels_have_names_that_cores_call() -> None:
    seen = list[np.ndarray]()
    one = tw.compile(KERNEL)
    one.run(kernels={"scale": seen.append})
    with pytest.raises(UnknownNameError, match="no core calls a kernel 'other'; the kernels of this design: scale"):
        one.run(kernels={"scale": seen.append, "other": print})
    with pytest.raises(tw.CompileError, match=r"(?s)calls @scale.*no core calls a kernel 'scal', did you mean 'scale'"):
        one.load(kernels={"scal": print})
    with pytest.raises(ArgumentError, match="kernel 'scale' has to be a function or the file of one, got 3"):
        one.load(kernels={"scale": 3})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="kernels are functions by the names"):
        one.load(kernels=[print])  # pyright: ignore[reportArgumentType]


def test_a_view_that_a_kernel_keeps_stays_valid() -> None:
    """It keeps the tile's memory; the rest of the device goes."""
    kept = list[np.ndarray]()

    def scale(view: np.ndarray) -> None:
        view[:] = 5
        kept.append(view)

    for _ in range(3):
        tw.compile(KERNEL).run(kernels={"scale": scale})
    others = [np.full(1 << 16, 9, np.uint8) for _ in range(50)]
    assert all((view == 5).all() for view in kept) and others


WITHOUT_WAIT = COPY.replace("BODY", """
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
""")  # fmt: skip
TOLD = "results of argument b are missing: the sequence ended before S2MM 0"


@pytest.mark.parametrize("start", ["run", "loaded", "stream"])
def test_results_that_nothing_waits_for_are_warned_of(start: str) -> None:
    compiled, (a, b) = tw.compile(WITHOUT_WAIT), arrays()
    with pytest.warns(MissingResultsWarning, match=TOLD) as caught:
        if start == "run":
            compiled.run(a, b)
        elif start == "loaded":
            compiled.load().run(a, b)
        else:
            compiled.run(a, b, txn=compiled.txn())
    assert [warning.filename for warning in caught] == [__file__] and "wait=True" in str(caught[0].message)


def test_results_of_a_bare_device_that_nothing_waits_for_are_warned_of() -> None:
    device, (a, b) = bare(), arrays()
    with pytest.warns(MissingResultsWarning, match="results of argument 2 are missing"):
        device.run(binary(loopback(64)[:-1]), {0: a, 2: b})


def test_results_that_have_come_are_not_warned_of() -> None:
    a, b = arrays()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design().run(a, b, 1)
        tw.compile(WITHOUT_WAIT).run(a, b, levels={"left-over": "off"})


@pytest.mark.parametrize("model", ["fast", "plain"])
@pytest.mark.parametrize("words", range(12, 16))
def test_the_environment_forgives_what_the_hardware_does(
    model: str, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transfer of 16 words goes past an array of fewer: what is behind its end reads as 0."""
    a, b = arrays()
    with pytest.raises(tw.Fault, match=f"to 64 of argument a, which has {4 * words}"):
        design().run(a[:words].copy(), b, 1, model=model)
    monkeypatch.setenv("TILEWRIGHT_JUDGE", "left-over=off, outside-memory=note")
    result = design().run(a[:words].copy(), b, 1, model=model)
    assert (b[:words] == a[:words]).all() and not b[words:].any()
    assert [f"which has {4 * words}" in str(note) for note in result.record.notes] == [True]
    with pytest.raises(tw.Fault):
        design().run(a[:words].copy(), b, 1, model=model, levels={"outside-memory": "fault"})


def test_a_hazard_that_the_environment_misspells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_JUDGE", "outside_memory=note")
    with pytest.raises(tw.Error, match=r"TILEWRIGHT_JUDGE: there is no hazard 'outside_memory'.*'outside-memory'"):
        design().run(*arrays(), 1)


def test_the_command_says_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "copy.mlir").write_text(WITHOUT_WAIT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["run", str(tmp_path / "copy.mlir")]) == 0
    assert "wait for it before the sequence ends" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, status, told",
    [
        (["--arg", "a=A.npy"], 1, "argument a is of type memref<64xi32>, which takes int32, uint32"),
        (["--arg", "a=BIG.npy"], 1, "got int32 (big-endian); convert it first: .astype(np.int32)"),
        (["--arg", "aa=zeros"], 2, "--arg: no such argument: aa, did you mean 'a'?; there is a, b, unused"),
        (["--set", "n=256.7"], 2, "--set n: '256.7' is no integer"),
        (["--set", "m=1"], 2, "--set: no such argument: m; there is n"),
        (["--set", "n=1", "--set", "n=2"], 2, "--set: n is given twice"),
        (["--kernel", "scal=KERNEL.py:print"], 2, "--kernel: no core calls a kernel 'scal'"),
    ],
)
def test_what_the_command_is_given_is_checked(
    options: list[str], status: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.mlir").write_text(TEXT)
    (tmp_path / "KERNEL.py").write_text("def print(view): ...")
    np.save(tmp_path / "A.npy", np.zeros(64))
    np.save(tmp_path / "BIG.npy", np.zeros(64, ">i4"))
    given = [option.replace("=A", f"={tmp_path}/A").replace("=BIG", f"={tmp_path}/BIG").replace("=K", f"={tmp_path}/K")
             for option in options]  # fmt: skip
    scalars = [] if "--set" in given else ["--set", "n=1"]
    assert main(["run", str(tmp_path / "copy.mlir"), *given, *scalars]) == status
    assert told in capsys.readouterr().err


@pytest.fixture
def npu1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    iron.set_current_device(from_name("npu1"))
    yield
    iron.set_current_device(None)


@iron.jit
def forward(a: In, b: Out, unused: In, count: RunTime[np.int32], *, line: CompileTime[int] = 16) -> Any:
    whole = vector(None)
    source = ObjectFifo(np.ndarray[(line,), np.dtype[np.int32]], name="source")
    target = source.cons().forward()

    def sequence(a: Any, b: Any, _: Any, n: Any, given: Any, taken: Any) -> None:
        given.fill(a, sizes=[1, 1, 1, n], strides=[0, 0, 0, 1], offset=0)
        taken.drain(b, sizes=[1, 1, 1, n], strides=[0, 0, 0, 1], offset=0, wait=True)

    return Program(
        iron.get_current_device(), Runtime(sequence, [whole, whole, whole, count, source.prod(), target.cons()])
    )


@pytest.mark.usefixtures("npu1")
def test_calls_of_jit_functions() -> None:
    a, b = arrays()
    forward(a, b, None, 64)
    assert (a == b).all()
    strided = np.zeros((64, 2), np.int32)
    forward(a[::-1], strided[:, 1], None, count=64)
    assert (strided[:, 1] == a[::-1]).all() and not strided[:, 0].any()


@pytest.mark.usefixtures("npu1")
@pytest.mark.parametrize(
    "call, told",
    [
        (lambda a, b: forward(a.astype(np.int64), b, None, 64), "argument a .*got int64.*astype"),
        (lambda a, b: forward(a, b.astype(float), None, 64), "argument b .*got float64.*astype"),
        (lambda a, b: forward(a, b, None, 64.5), "= 64.5 is no integer"),
        (lambda a, b: forward(a, b, None, "64"), "= '64' is no integer"),
        (lambda a, b: forward(a, b, None, cuont=64), "no parameter 'cuont', did you mean 'count'"),
        (lambda a, b: forward(a, b, None, 64, lines=16), "no parameter 'lines', did you mean 'line'"),
        (lambda a, b: forward(a, None, None, 64), "uses b"),
        (lambda a, b: forward(a, b.tolist(), None, 64), "expected a tensor or a NumPy array, got list"),
        (lambda a, b: forward(a, np.broadcast_to(b[:1], 64), None, 64), "argument b is written, .*read-only"),
    ],
)
def test_calls_of_jit_functions_that_are_refused(call: Callable[..., Any], told: str) -> None:
    a, b = arrays()
    with pytest.raises(ArgumentError, match=told):
        call(a, b)
    assert not b.any()


def test_a_product_takes_no_matrix_whose_values_it_cannot_have() -> None:
    gemm, ones = Gemm(SingleCoreGemm()), np.ones((2, 2))
    assert (gemm(ones, ones) == 2).all()
    for wrong in (ones * 0.5, ones * 1e6, ones * np.nan):
        with pytest.raises(ArgumentError, match="matrix b has values that are no integers from"):
            gemm(ones, wrong)


@pytest.mark.parametrize("odd", [np.zeros(3), "slow", None, 1, ["fast"]], ids=repr)
def test_a_model_is_named(odd: Any) -> None:
    with pytest.raises(tw.ArgumentError, match="it is one of fast, words, plain, python"):
        bare(odd).run(b"", {})
    with pytest.raises(tw.ArgumentError, match="it is one of fast, words, plain, python"):
        tw.compile(WRITES).run(1, model=odd)
