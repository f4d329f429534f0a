"""`tilewright run`: a design on the simulated NPU, from the command line."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from bare_streams import binary, loopback
from elf_files import Reloc, elf_file
from programs import COPY

import tilewright as tw
from tilewright.cli import run_report
from tilewright.cli.main import main
from tilewright.cli.show import SHIPPED

DESIGN = COPY.replace(
    "BODY\n",
    """\
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
""",
)


@pytest.fixture
def copy(tmp_path: Path) -> str:
    path = tmp_path / "copy.mlir"
    path.write_text(DESIGN)
    return str(path)


def test_a_scalar_reaches_the_cores_of_the_shipped_design(tmp_path: Path) -> None:
    arguments = ["--arg", "a=arange", "--set", "factor=3", "--out", str(tmp_path)]
    assert main(["run", str(SHIPPED), *arguments]) == 0
    assert np.array_equal(np.load(tmp_path / "c.npy"), 3 * np.arange(4096))


def test_files_go_in_and_out(copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = np.random.default_rng(1).integers(0, 1 << 30, 64, dtype=np.int32)
    np.save(tmp_path / "in.npy", values)
    assert main(["run", copy, "--arg", f"a={tmp_path / 'in.npy'}", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert np.array_equal(np.load(tmp_path / "out" / "b.npy"), values)
    report = json.loads(capsys.readouterr().out)
    assert report["cycles"] > 64 and report["buffers"] == ["a", "b"]


def test_a_hang_says_who_waits_for_what(copy: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(copy).write_text(DESIGN.replace("%b[0, 0, 0, 0][1, 1, 1, 64]", "%b[0, 0, 0, 0][1, 1, 2, 32]").replace(
        "%a[0, 0, 0, 0][1, 1, 1, 64]", "%a[0, 0, 0, 0][1, 1, 1, 48]"))  # fmt: skip
    assert main(["run", copy]) == 1
    error = capsys.readouterr().err
    assert f"{copy}:10:5: error: hang: the controller waits for a token of S2MM 0 of tile (0, 0)" in error
    assert f"{copy}:9:5: " in error and "BD 1 on S2MM 0 of tile (0, 0) needs a word" in error


@pytest.mark.parametrize(
    "arguments, message",
    [
        pytest.param(["--arg", "c=zeros"], "no such argument: c; there is a, b", id="unknown buffer"),
        pytest.param(["--arg", "a=ones"], "'ones' is none of zeros, arange", id="unknown spec"),
        pytest.param(["--set", "a=3"], "no such argument: a; there is none", id="a buffer is no scalar"),
        pytest.param(["--sequence", "move"], "no runtime sequence 'move'; there is copy", id="unknown sequence"),
        pytest.param(["--arg", "a"], "takes NAME=VALUE", id="no value"),
    ],
)
def test_wrong_usage(copy: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", copy, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_array_that_a_transfer_leaves_is_a_fault(
    copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "small.npy", np.zeros(8, dtype=np.int32))
    assert main(["run", copy, "--arg", f"a={tmp_path / 'small.npy'}"]) == 1
    assert "reads bytes 0 to 256 of argument a, which has 32" in capsys.readouterr().err


@pytest.fixture
def loop(tmp_path: Path) -> str:
    """A stream that copies argument 0 to argument 2 on a bare device."""
    path = tmp_path / "loop.bin"
    path.write_bytes(binary(loopback(64)))
    return str(path)


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a run prints for machines; its status is told by its outcome."""
    status = main(["run", *arguments, "--json"])
    outcome = json.loads(capsys.readouterr().out)
    assert status == {"finished": 0, "interrupted": 130}.get(outcome["outcome"], 1)
    return outcome


def hex_text(data: bytes) -> bytes:
    return b"\n".join(b"%08X" % word for word in np.frombuffer(data, "<u4").tolist())


def patched_by_host(data: bytes) -> bytes:
    """An ELF file: relocations say what the host patches, in the loader's numbers of arguments."""
    words = np.frombuffer(data, "<u4").tolist()
    places = [4 * (at + 2) for at, word in enumerate(words) if word == 0x30 and words[at + 1] == 64]
    return elf_file(
        {".ctrltext": data}, [Reloc(".ctrltext", at - 4, name) for at, name in zip(places, "35", strict=True)]
    )


@pytest.mark.parametrize("form", [bytes, hex_text, patched_by_host], ids=["raw", "hex text", "ELF"])
@pytest.mark.parametrize("model", ["fast", "plain"])
def test_a_stream_runs_on_a_bare_device(form: Callable[[bytes], bytes], model: str, loop: str, tmp_path: Path) -> None:
    Path(loop).write_bytes(form(Path(loop).read_bytes()))
    assert main(["run", "--txn", loop, "--arg", "0=random:4", "--model", model, "--out", str(tmp_path)]) == 0
    sent, received = np.load(tmp_path / "0.npy"), np.load(tmp_path / "2.npy")
    assert sent.nbytes == 256 and sent.any() and np.array_equal(sent, received)


def test_the_device_is_what_the_header_says_or_what_is_asked_for(loop: str, capsys: pytest.CaptureFixture[str]) -> None:
    cycles = [run_json(capsys, "--txn", loop, *more)["cycles"] for more in ([], ["--device", "npu2_1col"])]
    assert cycles[0] == cycles[1] != run_json(capsys, "--txn", loop, "--device", "npu1")["cycles"]
    data = bytearray(Path(loop).read_bytes())
    data[2] = 99
    Path(loop).write_bytes(data)
    assert main(["run", "--txn", loop]) == 2
    assert "describes no device that is known; name one: --device D" in capsys.readouterr().err


def test_a_buffer_that_is_too_small_is_a_fault(loop: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run_json(capsys, "--txn", loop, "--bytes", "2=128")
    assert (outcome["outcome"], outcome["kind"]) == ("fault", "outside-memory")
    assert "bytes 0 to 256 of argument 2, which has 128" in outcome["message"]
    assert (outcome["file"], outcome["operation"]) == (loop, 8)


def test_a_hang_names_the_operation_that_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.bin"
    path.write_bytes(binary(loopback(64, written=80)))
    outcome = run_json(capsys, "--txn", str(path))
    assert outcome["outcome"] == "hang" and outcome["operation"] == 12 and "kind" not in outcome
    assert any("64 of 80 words" in note["message"] for note in outcome["notes"])
    assert main(["run", "--txn", str(path)]) == 1
    assert f"{path}: operation 12: error: hang: the controller waits for a token" in capsys.readouterr().err


@pytest.fixture
def endless(tmp_path: Path) -> str:
    path = tmp_path / "endless.bin"
    path.write_bytes(binary(loopback(64, for_ever=True)))
    return str(path)


def test_a_run_can_be_stopped_after_some_cycles(endless: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run_json(capsys, "--txn", endless, "--max-cycles", "20000")
    assert outcome["outcome"] == "stopped" and outcome["cycles"] >= 20000
    assert "operation 12 of 13: the controller waits for a token of S2MM 0" in outcome["notes"][0]["message"]
    assert any("MM2S 0 of tile (0, 0)" in note["message"] for note in outcome["notes"])


@contextmanager
def interrupting() -> Generator[Callable[[object], None]]:
    """In place of the line that shows progress: as if somebody pressed Ctrl-C on seeing it."""
    yield lambda _: os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_tells_the_state_and_writes_nothing(
    endless: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_report, "progress_line", interrupting)
    outcome = run_json(capsys, "--txn", endless, "--out", str(tmp_path / "out"))
    assert outcome["outcome"] == "interrupted" and outcome["message"].startswith("interrupted in cycle ")
    assert outcome["operation"] == 12 and not (tmp_path / "out").exists()


def test_hazards_can_be_raised_and_lowered(loop: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--txn", loop, "--bytes", "2=128", "--judge"]
    assert run_json(capsys, *arguments, "outside-memory=note")["remarks"]
    assert run_json(capsys, *arguments, "outside-memory=off")["remarks"] == []
    assert main(["run", *arguments, "outside-mem=off"]) == 2
    assert "did you mean 'outside-memory'?" in capsys.readouterr().err
    assert main(["run", "--judge", "help"]) == 0
    assert "outside-memory" in capsys.readouterr().out


def test_a_design_runs_given_words(copy: str, loop: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The words need no scalars, and the design's routes are there when they run."""
    words = tw.compile(Path(copy)).txn()
    Path(loop).write_bytes(hex_text(words.astype("<u4").tobytes()))
    assert run_json(capsys, copy, "--txn", loop) == run_json(capsys, copy) | {"seconds": ANY}


def test_notes_of_a_design_have_lines(copy: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(copy).write_text(DESIGN.replace("%a[0, 0, 0, 0][1, 1, 1, 64]", "%a[0, 0, 0, 0][1, 1, 1, 48]"))
    outcome = run_json(capsys, copy)
    assert (outcome["outcome"], outcome["file"], outcome["line"]) == ("hang", copy, 10)
    assert {"line": 9, "column": 5, "file": copy}.items() <= outcome["notes"][0].items()


OFFSETS = """aiex.scratchpad_parameter @offset : i32
aiex.scratchpad_parameter @factor : i16
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%tile}, 1 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%tile, {%shim}, 1 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %factor = aiex.read_scratchpad_parameter @factor : i16
    %by = arith.extsi %factor : i16 to i32
    %from = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
    %a = aie.objectfifo.subview.access %from[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
    %to = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
    %b = aie.objectfifo.subview.access %to[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
    scf.for %i = %c0 to %c8 step %c1 {
      %value = memref.load %a[%i] : memref<8xi32>
      %scaled = arith.muli %value, %by : i32
      memref.store %scaled, %b[%i] : memref<8xi32>
    }
    aie.objectfifo.release @in(Consume, 1)
    aie.objectfifo.release @out(Produce, 1)
    aie.end
  }
  aie.runtime_sequence @part(%a: memref<32xi32>, %b: memref<8xi32>) {
    %read = aiex.dma_configure_task_for @in {
      aie.dma_bd(%a : memref<32xi32> offset = 0 len = 8) {offset_parameter = @offset}
      aie.end
    }
    %write = aiex.dma_configure_task_for @out {
      aie.dma_bd(%b : memref<8xi32> offset = 0 len = 8)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%read)
    aiex.dma_start_task(%write)
    aiex.dma_await_task(%write)
  }
}
"""


@pytest.mark.parametrize("offset, factor", [(0, 1), (8, 3), (24, -2)])
def test_scratchpad_parameters_reach_descriptors_and_cores(offset: int, factor: int, tmp_path: Path) -> None:
    path = tmp_path / "offsets.mlir"
    path.write_text(OFFSETS)
    values = ["--scratchpad", f"offset={offset}", "--scratchpad", f"factor={factor}"]
    assert main(["run", str(path), "--arg", "a=arange", *values, "--out", str(tmp_path)]) == 0
    assert np.load(tmp_path / "b.npy").tolist() == [factor * (offset + n) for n in range(8)]


@pytest.mark.parametrize(
    "value, message",
    [
        pytest.param("facto=1", "no scratchpad parameter facto; there is offset, factor", id="unknown"),
        pytest.param("factor=70000", "factor takes an integer in [-32768, 65535], got 70000", id="does not fit"),
        pytest.param("factor=many", "'many' is no number", id="no number"),
    ],
)
def test_wrong_scratchpad_parameters(
    value: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "offsets.mlir"
    path.write_text(OFFSETS)
    assert main(["run", str(path), "--scratchpad", value]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        pytest.param([], "give a DESIGN, or a stream to run on a bare device: --txn FILE", id="nothing"),
        pytest.param(["--txn", "LOOP", "--set", "n=3"], "--set needs a DESIGN", id="a scalar without a design"),
        pytest.param(["--txn", "LOOP", "--device", "npu7"], "there is no NPU 'npu7'; there is npu1,", id="device"),
        pytest.param(
            ["--txn", "LOOP", "--arg", "a=zeros"], "as in --arg 0=zeros; got 'a'", id="arguments have numbers"
        ),
        pytest.param(["--txn", "LOOP", "--bytes", "0=-4"], "argument 0: -4 is no such size", id="size"),
        pytest.param(["--txn", "LOOP", "--arg", "1=zeros"], "give it: --bytes 1=INT", id="size that cannot be told"),
        pytest.param(["--txn", "LOOP", "--jobs", "2"], "--jobs needs a DESIGN", id="jobs without a design"),
        pytest.param(["--txn", "LOOP", "--max-cycles", "0"], "takes a positive number, got 0", id="no cycles"),
        pytest.param(["COPY", "--jobs", "0"], "the number of threads to use, 1 to 64", id="no threads"),
        pytest.param(["COPY", "--device", "npu1"], "--device is for a stream without a design", id="design and device"),
    ],
)
def test_wrong_usage_of_streams(
    arguments: list[str], message: str, copy: str, loop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [{"LOOP": loop, "COPY": copy}.get(argument, argument) for argument in arguments]
    assert main(["run", *given]) == 2
    assert message in capsys.readouterr().err


def test_what_a_kernel_raises_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, kernel = tmp_path / "call.mlir", tmp_path / "kernels.py"
    design.write_text("""aie.device(npu1_1col) {
  %tile = aie.tile(0, 2)
  func.func private @scale(memref<4xi32>)
  %buffer = aie.buffer(%tile) : memref<4xi32>
  aie.core(%tile) {
    func.call @scale(%buffer) : (memref<4xi32>) -> ()
    aie.end
  }
  aie.runtime_sequence @wait() {
    aiex.npu.preempt {level = 0 : ui8}
  }
}
""")
    kernel.write_text("def scale(values):\n    values[7] = 1\n")
    assert main(["run", str(design), "--kernel", f"scale={kernel}"]) == 1
    error = capsys.readouterr().err
    assert f"{kernel}:2:1: error: the kernel raises IndexError: " in error and "values[7] = 1" in error
    kernel.write_text("def scale(values:\n")
    assert main(["run", str(design), "--kernel", f"scale={kernel}"]) == 1
    assert f"kernel file '{kernel}' cannot be run: SyntaxError" in capsys.readouterr().err


OPEN_SIZES = """\
import numpy as np
from tilewright.iron import Buffer, ObjectFifo, Program, Runtime, Worker, WorkerRuntimeBarrier
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1

line, vector = np.ndarray[(64,), np.dtype[np.float32]], np.ndarray[(None,), np.dtype[np.float32]]
of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")
factor = Buffer(np.ndarray[(1,), np.dtype[np.float32]], name="factor", use_write_rtp=True)
is_set = WorkerRuntimeBarrier()


def scale(source, target, factor, is_set):
    is_set.wait_for_value(1)
    for _ in range_(3):
        numbers, results = source.acquire(1), target.acquire(1)
        for i in range_(64):
            results[i] = numbers[i] * factor[0]
        source.release(1)
        target.release(1)


def sequence(a, b, by, source, target):
    factor[0] = by
    is_set.set(1)
    source.fill(a)
    target.drain(b, wait=True)


runtime = Runtime(sequence, [vector, vector, np.float32, of_in.prod(), of_out.cons()])
program = Program(NPU1Col1(), runtime, [Worker(scale, [of_in.cons(), of_out.prod(), factor, is_set])])
"""


@pytest.fixture
def scaled(tmp_path: Path) -> list[str]:
    """A run of a design that takes the sizes of its arrays and a float."""
    (tmp_path / "scale.py").write_text(OPEN_SIZES)
    np.save(tmp_path / "a.npy", np.arange(192, dtype=np.float32))
    np.save(tmp_path / "b.npy", np.zeros(192, np.float32))
    arrays = [f"--arg={name}={tmp_path / name}.npy" for name in "ab"]
    return ["run", str(tmp_path / "scale.py"), *arrays, "--out", str(tmp_path / "out")]


def test_a_float_is_set_and_sizes_are_those_of_the_files(scaled: list[str], tmp_path: Path) -> None:
    assert main([*scaled, "--set", "by=0.5"]) == 0
    assert np.array_equal(np.load(tmp_path / "out" / "b.npy"), np.arange(192, dtype=np.float32) / 2)


def test_what_is_no_number_is_not_set(scaled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*scaled, "--set", "by=half"]) == 2
    assert "--set by: 'half' is no number" in capsys.readouterr().err
