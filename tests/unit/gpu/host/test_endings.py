"""How a run ends that does not end well: hangs and faults, options that no run has, interrupts; runs beside others."""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES, patience_s

import tilewright as tw
from tilewright.cli.main import main

FOREVER = """
func.func @main() {
  scf.while : () -> () {
    %yes = arith.constant true
    scf.condition(%yes)
  } do { scf.yield }
  return
}
"""
ALONE_AT_A_BARRIER = """
func.func private @mgpuBarrier()
func.func private @mgpuGetRank() -> i32
func.func @main() {
  %rank = func.call @mgpuGetRank() : () -> i32
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %rank, %zero : i32
  scf.if %first { func.call @mgpuBarrier() : () -> () }
  return
}
"""
NULL = """
func.func @main() -> i32 {
  %p = llvm.mlir.zero : !llvm.ptr
  %v = llvm.load %p : !llvm.ptr -> i32
  return %v : i32
}
"""
ONE_FAILS = """
func.func private @mgpuGetRank() -> i32
func.func @main() {
  %rank = func.call @mgpuGetRank() : () -> i32
  %one = arith.constant 1 : i32
  %q = arith.divui %one, %rank : i32
  return
}
"""
UNKNOWN_OPERATION = """
func.func @main() {
  %one = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %one, %e = %one, %f = %one)
      threads(%g, %h, %i) in (%j = %one, %k = %one, %l = %one) {
    "some.operation"() : () -> ()
    gpu.terminator
  }
  return
}
"""


@pytest.mark.parametrize(
    "text, options, kind, message",
    [
        pytest.param(EXAMPLES / "gpu_hang.mlir", {"entry": "wait"}, tw.Hang, "waits in this loop for ever", id="spin"),
        pytest.param(FOREVER, {"timeout": 0.5}, tw.Hang, "has not ended after 0.5 seconds", id="time is up"),
        pytest.param(ALONE_AT_A_BARRIER, {"ranks": 2}, tw.Hang, "rank 1 ended before it came", id="alone at a barrier"),
        pytest.param(NULL, {}, tw.Fault, "was ended by SIGSEGV", id="killed"),
        pytest.param(ONE_FAILS, {"ranks": 2}, tw.Fault, "divides by zero", id="a rank fails"),
        pytest.param(
            "func.func @main() { %x = arith.constant 1 : i33 }", {}, tw.CompileError, "terminator", id="wrong program"
        ),
    ],
)
def test_what_is_raised_says_what_happened(text: Any, options: dict[str, Any], kind: type[tw.Error], message: str):
    with pytest.raises(tw.Error, match=message) as caught:
        tw.air.compile(text).run(**{"timeout": 30, **options})
    assert type(caught.value) is kind
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_race_is_a_fault():
    with pytest.raises(tw.Fault, match="data race"):
        tw.air.compile(EXAMPLES / "gpu_race.mlir").run(
            *[np.arange(128, dtype=np.int32)], entry="reverse", settings={"check": "races"}
        )


def test_what_no_kernel_can_do_is_said_before_any_rank_starts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tilewright.air.program.run_ranks", lambda *_: pytest.fail("a rank was started"))
    with pytest.raises(tw.CompileError):
        tw.air.compile(UNKNOWN_OPERATION).run()


@pytest.mark.parametrize(
    "options, message",
    [
        *[pytest.param({"timeout": value}, "timeout takes seconds", id=f"timeout {value}")
          for value in (math.nan, math.inf, -math.inf, -1, 0, "1", True)],
        *[pytest.param({"ranks": value}, "ranks takes a whole number from 1 to 256", id=f"ranks {value}")
          for value in (0, -1, 257, 10**23, 1.0, "2")],
        *[pytest.param({"heap_bytes": value}, "heap size takes a whole number", id=f"heap {value}")
          for value in (0, -1, 10**23, 1 << 63, 1.5)],
        *[pytest.param({"wave_size": value}, "wave size takes a", id=f"wave {value}")
          for value in (0, -64, 48, 1 << 40)],
        *[pytest.param({"seed": value}, "seed takes a whole number", id=f"seed {value}") for value in (10**30, 0.5)],
        pytest.param({"settings": {"reorder": "maybe"}}, "'reorder' of the emulator is off or on", id="setting"),
        pytest.param({"settings": {"colour": "red"}}, "knows no setting 'colour'", id="unknown setting"),
        pytest.param({"settings": {"memory": "lots"}}, "'memory' of the emulator takes a whole number", id="memory"),
    ],
)  # fmt: skip
def test_an_option_that_no_run_has_is_refused(options: dict[str, Any], message: str):
    with pytest.raises(tw.ArgumentError, match=message):
        tw.air.compile("func.func @main() {\n  return\n}").run(**options)


@pytest.mark.parametrize(
    "options",
    [["--timeout", "nan"], ["--timeout", "-1"], ["--heap-size", str(10**23)], ["--ranks", "0"], ["--set", "a=b"]],
    ids=" ".join,
)
def test_an_option_that_no_run_has_is_wrong_usage(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    program = tmp_path / "main.mlir"
    program.write_text("func.func @main() {\n  return\n}")
    assert main(["air", "run", str(program), *options]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_heap_holds_no_more_than_it_has():
    text = """
func.func @main() {
  %one = arith.constant 1 : index
  air.rank (%me) in (%n=%one) {
    %a = memref.alloc() : memref<2xi64, #air.symmetric_heap>
    %b = memref.alloc() : memref<1xi64, #air.symmetric_heap>
  }
  return
}"""
    with pytest.raises(tw.Fault, match=r"requested 8, used 16, total 16"):
        tw.air.compile(text).run(heap_bytes=16)


THREADS = 6


def test_programs_run_from_many_threads_from_the_first_call_on():
    program = tw.air.compile(EXAMPLES / "air_add.mlir")
    failures, start = list[BaseException](), threading.Barrier(THREADS)

    def work(number: int) -> None:
        try:
            a, b = np.random.default_rng(number).standard_normal((2, 1024)).astype(np.float32)
            start.wait()
            for _ in range(int(os.environ.get("TILEWRIGHT_STRESS", "0")) * 20 or 1):
                total = np.zeros(1024, np.float32)
                (program if number % 2 else tw.air.compile(EXAMPLES / "air_add.mlir")).run(a, b, total, timeout=100)
                assert (total == a + b).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_run_does_not_wait_for_ranks_of_another_one():
    """What a process inherits of others it closes: a pipe ends when its own writers have."""
    other = threading.Thread(target=lambda: tw.air.compile(FOREVER).run(timeout=6, check=False))
    other.start()
    time.sleep(1)
    assert tw.air.compile("func.func @main() {\n  return\n}").run().status == 0
    assert other.is_alive()
    other.join()


INTERRUPTED = """
import os, sys, threading, time
import tilewright as tw
program = tw.air.compile({text!r})
print("ready", flush=True)
try:
    program.run(ranks=2)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("delay", [0.0, 0.05, 1.0], ids=["at once", "while ranks start", "while they run"])
def test_an_interrupt_leaves_nothing_behind(delay: float):
    command = [sys.executable, "-c", INTERRUPTED.format(text=FOREVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(delay)
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 7
        assert time.perf_counter() - begin < patience_s()
    assert not _children(process.pid)
    assert not list(Path("/dev/shm").glob(f"tilewright-run-{process.pid}-*"))


def _children(group: int) -> list[str]:
    """Processes that were started by one that is no more and still run its program."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    return [
        line
        for line in found.splitlines()
        if "tw.air.compile(" in line and "scf.while" in line and "ps -eo" not in line
    ]
