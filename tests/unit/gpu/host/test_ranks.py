"""Ranks are processes: they share a heap, meet at barriers, and nobody waits for one that is no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewright import air
from tilewright.ir.diagnostics import DiagnosedError

Run = Callable[..., Any]

DECLARATIONS = """
  func.func private @mgpuSymmetricHeapInit(i64)
  func.func private @mgpuSymmetricHeapDestroy()
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func private @mgpuGetHeapBases() -> !llvm.ptr
  func.func private @mgpuGetRank() -> i32
  func.func private @mgpuGetWorldSize() -> i32
  func.func private @mgpuBarrier()
  func.func private @exit(i32)
  func.func private @abort()
"""

NEIGHBOURS = (
    DECLARATIONS
    + """
  // Each rank stores its number in the heap of the next one, and returns what it finds in its own.
  func.func @exchange() -> i32 {
    %size = arith.constant 4096 : i64
    %c16 = arith.constant 16 : i64
    %c1 = arith.constant 1 : i32
    %c100 = arith.constant 100 : i32
    %null = llvm.mlir.zero : !llvm.ptr
    call @mgpuSymmetricHeapInit(%size) : (i64) -> ()
    %rank = call @mgpuGetRank() : () -> i32
    %world = call @mgpuGetWorldSize() : () -> i32
    %skipped = call @mgpuSymmetricAlloc(%c16, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    %mine = call @mgpuSymmetricAlloc(%c16, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    %bases = call @mgpuGetHeapBases() : () -> !llvm.ptr
    %after = arith.addi %rank, %c1 : i32
    %next = arith.remui %after, %world : i32
    %own_slot = llvm.getelementptr %bases[%rank] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %next_slot = llvm.getelementptr %bases[%next] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %own_base = llvm.load %own_slot : !llvm.ptr -> i64
    %next_base = llvm.load %next_slot : !llvm.ptr -> i64
    %at = llvm.ptrtoint %mine : !llvm.ptr to i64
    %offset = arith.subi %at, %own_base : i64
    %there = arith.addi %next_base, %offset : i64
    %theirs = llvm.inttoptr %there : i64 to !llvm.ptr
    %value = arith.addi %rank, %c100 : i32
    llvm.store %value, %theirs : i32, !llvm.ptr
    call @mgpuBarrier() : () -> ()
    %found = llvm.load %mine : !llvm.ptr -> i32
    call @mgpuSymmetricHeapDestroy() : () -> ()
    return %found : i32
  }
  func.func @twice() -> (i32, i32) {
    %first = call @exchange() : () -> i32
    %second = call @exchange() : () -> i32
    return %first, %second : i32, i32
  }"""
)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_heaps_are_shared_and_can_be_made_again(run_host: Run, ranks: int):
    result = run_host(NEIGHBOURS, ranks=ranks, entry="twice")
    before = [100 + (rank - 1) % ranks for rank in range(ranks)]
    assert [list(rank.values) for rank in result.ranks] == [[number, number] for number in before]


def by_rank(zero: str, one: str) -> str:
    """A program whose ranks 0 and 1 do different things."""
    return f"""{DECLARATIONS}
  func.func @main() {{
    %rank = call @mgpuGetRank() : () -> i32
    %c0 = arith.constant 0 : i32
    %c3 = arith.constant 3 : i32
    %c8 = arith.constant 8 : i64
    %c512 = arith.constant 512 : i64
    %null = llvm.mlir.zero : !llvm.ptr
    call @mgpuSymmetricHeapInit(%c512) : (i64) -> ()
    %is_zero = arith.cmpi eq, %rank, %c0 : i32
    scf.if %is_zero {{
      {zero}
    }} else {{
      {one}
    }}
    call @mgpuBarrier() : () -> ()
    return
  }}"""


def test_a_rank_that_waits_for_one_that_exited_says_so(run_host: Run):
    """The one that called exit is the cause; the other one's complaint only a consequence."""
    result = run_host(by_rank("call @exit(%c3) : (i32) -> ()", ""), ranks=2)
    zero, one = result.ranks
    assert (zero.status, zero.is_consequence, zero.messages) == (3, False, [])
    assert (one.status, one.is_consequence) == (1, True)
    assert "waits for all ranks, but rank 0 ended before it came to such a place" in one.messages[0].text
    assert result.diagnostics() == []


def test_a_rank_that_crashes_is_named(run_host: Run):
    result = run_host(by_rank("", "func.call @abort() : () -> ()"), ranks=2)
    assert result.ranks[1].messages[0].text == "rank 1 was ended by SIGABRT"
    (note,) = result.ranks[1].messages[0].notes
    assert "last call of the runtime" in note.text
    assert [rank.is_consequence for rank in result.ranks] == [True, False]


def test_a_wrong_pointer_does_not_end_the_command(run_host: Run):
    """The rank is lost, the run says so, and what it may be."""
    result = run_host(by_rank("", "llvm.store %rank, %null : i32, !llvm.ptr"), ranks=2)
    (error,) = result.ranks[1].messages
    assert error.text == "rank 1 was ended by SIGSEGV"
    assert "host code accessed memory that is not there" in error.notes[-1].text


def test_allocations_must_be_the_same_on_all_ranks(run_host: Run):
    allocate = "%p = func.call @mgpuSymmetricAlloc({}, %null) : (i64, !llvm.ptr) -> !llvm.ptr"
    result = run_host(by_rank(allocate.format("%c8"), allocate.format("%c512")), ranks=2)
    assert "ranks allocate different sizes on the symmetric heap (rank 0: 8, rank 1: 512 bytes)" in str(
        result.diagnostics()[0]
    )


def test_a_run_ends_after_its_timeout(run_host: Run):
    """Who has not ended is said, and where it was."""
    endless = "scf.while : () -> () { %yes = arith.constant true\n scf.condition(%yes) } do { scf.yield }"
    begin = time.perf_counter()
    result = run_host(by_rank("", endless), ranks=2, timeout=2)
    assert time.perf_counter() - begin < 10
    texts = [rank.messages[0].text for rank in result.ranks]
    assert texts == ["rank 0 has not ended after 2 seconds", "rank 1 has not ended after 2 seconds"]
    assert [rank.messages[0].notes[0].text for rank in result.ranks] == [
        "it is in this call",
        "this was the last call of the runtime",
    ]


WORLD_OF_TWO = """
  func.func @main() {
    %c2 = arith.constant 2 : index
    air.rank (%r) in (%n = %c2) {
      air.rank_terminator
    }
    return
  }"""


def test_a_program_says_how_many_ranks_it_has(run_host: Run):
    assert len(run_host(WORLD_OF_TWO).ranks) == 2
    with pytest.raises(DiagnosedError) as error:
        air.compile(WORLD_OF_TWO).run(ranks=3)
    assert str(error.value).splitlines() == [
        "<text>:4:5: error: 'air.rank' op is a world of 2 ranks, but there are 3",
        "<text>:4:5: note: run it with --ranks 2, or change the size of its air.rank",
    ]


ENDLESS = """
llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.mlir.global internal constant @ready("ready\\0A\\00") {addr_space = 0 : i32}
func.func @main() {
  %text = llvm.mlir.addressof @ready : !llvm.ptr
  %n = llvm.call @printf(%text) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr) -> i32
  scf.while : () -> () { %yes = arith.constant true
    scf.condition(%yes) } do { scf.yield }
  return
}"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_stopping_the_command_stops_all_ranks(tmp_path: Path, stop: signal.Signals):
    """Ctrl-C ends a run with status 130; however the command ends, no rank and no shared memory is left."""
    program = tmp_path / "endless.mlir"
    program.write_text(ENDLESS)
    command = [sys.executable, "-m", "tilewright", "air", "run", str(program), "--ranks", "2"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout is not None
            assert "ready" in process.stdout.readline()
            children = _children(process.pid)
            assert len(children) == 2
            process.send_signal(stop)
            process.wait(timeout=20)
        finally:
            process.kill()
    assert process.returncode == (130 if stop is signal.SIGINT else -signal.SIGKILL)
    _wait_until(lambda: not any(_runs(child) for child in children))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + 10
    while not condition():
        assert time.perf_counter() < deadline
        time.sleep(0.05)


def test_nothing_is_left_behind(run_host: Run):
    """Descriptors and folders of a run are gone after it."""

    def left() -> tuple[set[str], set[Path]]:
        return set(os.listdir("/proc/self/fd")), set(Path("/dev/shm").glob(f"*tilewright*-{os.getpid()}-*"))

    run_host(NEIGHBOURS, ranks=2, entry="exchange")
    before = left()
    run_host(NEIGHBOURS, ranks=2, entry="exchange")
    assert left() == before
    assert not before[1]
