"""Ranks in turns: one seed, one outcome; and what is said when all of them wait."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from tilewright import air
from tilewright.gpu.emulator.turns import SharedTurns, Stuck
from tilewright.ir.diagnostics import DiagnosedError


def talk(rank: int, ranks: int, folder: Path, seed: int, queue: multiprocessing.Queue[tuple[int, list[str]]]) -> None:
    """Do something a few times, then nothing more; note when it was this rank's turn."""
    turns = SharedTurns(folder, rank, ranks, seed)
    turns.begin()
    seen = list[str]()
    for number in range(5):
        with open(folder / "order", "a") as order:
            order.write(f"{rank}:{number} ")
        turns.pause(progress=True, idle=False)
    try:
        while True:
            turns.pause(progress=False, idle=True)
    except Stuck as stuck:
        seen = [f"rank {other} {state}" for other, state in sorted(stuck.others.items())]
    turns.leave()
    queue.put((rank, seen))


def conversation(folder: Path, seed: int) -> tuple[str, dict[int, list[str]]]:
    folder.mkdir()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    ranks = [context.Process(target=talk, args=(rank, 3, folder, seed, queue)) for rank in range(3)]
    for process in ranks:
        process.start()
    found = dict(queue.get(timeout=60) for _ in ranks)
    for process in ranks:
        process.join()
    return (folder / "order").read_text(), found


def test_turns_depend_on_the_seed_alone(tmp_path: Path):
    orders = [conversation(tmp_path / str(number), seed)[0] for number, seed in enumerate((7, 7, 8))]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0].split()) == sorted(f"{rank}:{number}" for rank in range(3) for number in range(5))


def test_when_nobody_does_anything_everyone_is_told(tmp_path: Path):
    _, found = conversation(tmp_path / "run", 1)
    assert set(found) == {0, 1, 2}
    assert all(len(others) == 2 for others in found.values())


def test_a_rank_that_dies_does_not_keep_its_turn(tmp_path: Path):
    """The first rank gets the turn and is gone; the other one goes on without it."""
    context = multiprocessing.get_context("fork")

    def die() -> None:
        turns = SharedTurns(tmp_path, 0, 2, 0)
        turns.begin()
        os._exit(1)

    process = context.Process(target=die)
    process.start()
    turns = SharedTurns(tmp_path, 1, 2, 0)
    turns.begin()
    with pytest.raises(Stuck) as caught:
        for _ in range(1000):
            turns.pause(progress=False, idle=True)
    process.join()
    assert caught.value.others == {0: "has ended"}
    turns.leave()


QUEUE = """
module attributes {gpu.container_module} {
  func.func private @mgpuSymmetricHeapInit(i64)
  func.func private @mgpuSymmetricHeapDestroy()
  func.func private @mgpuGetHeapBase(i32) -> !llvm.ptr
  func.func private @mgpuBarrier()
  func.func @f(%out: memref<8xi32>) {
    %size = arith.constant 65536 : i64
    call @mgpuSymmetricHeapInit(%size) : (i64) -> ()
    call @mgpuBarrier() : () -> ()
    %first = arith.constant 0 : i32
    %p = call @mgpuGetHeapBase(%first) : (i32) -> !llvm.ptr
    %one = arith.constant 1 : index
    %lanes = arith.constant 64 : index
    %device = gpu.alloc () : memref<8xi32>
    gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%lanes, %one, %one)
        args(%p : !llvm.ptr, %device : memref<8xi32>)
    gpu.memcpy %out, %device : memref<8xi32>, memref<8xi32>
    call @mgpuSymmetricHeapDestroy() : () -> ()
    return
  }
  gpu.module @m {
    gpu.func @k(%p: !llvm.ptr, %out: memref<8xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %one = arith.constant 1 : i32
      %lane = gpu.lane_id
      %leads = arith.cmpi eq, %lane, %c0 : index
      scf.if %leads {
        scf.for %k = %c0 to %c8 step %c1 {
          %number = llvm.atomicrmw add %p, %one acq_rel : !llvm.ptr, i32
          memref.store %number, %out[%k] : memref<8xi32>
        }
      }
      gpu.return
    }
  }
}"""
"""All ranks draw numbers from a counter of rank 0."""


def test_ranks_meet_in_the_same_order_under_the_same_seed():
    def drawn(seed: int) -> tuple[tuple[int, ...], ...]:
        result = air.compile(QUEUE).run(
            np.zeros(8, np.int32), ranks=3, entry="f", seed=seed, settings={"reorder": "on"}
        )
        return tuple(tuple(rank.arrays[0].tolist()) for rank in result.ranks)

    runs = [drawn(seed) for seed in (4, 4, 5)]
    assert runs[0] == runs[1] != runs[2]
    assert all(sorted(number for rank in run for number in rank) == list(range(24)) for run in runs)


WAITING = """
module attributes {gpu.container_module} {
  func.func private @mgpuSymmetricHeapInit(i64)
  func.func private @mgpuSymmetricHeapDestroy()
  func.func private @mgpuGetRank() -> i32
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func @main() {
    %size = arith.constant 65536 : i64
    call @mgpuSymmetricHeapInit(%size) : (i64) -> ()
    %null = llvm.mlir.zero : !llvm.ptr
    %bytes = arith.constant 128 : i64
    %p = call @mgpuSymmetricAlloc(%bytes, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    %rank = call @mgpuGetRank() : () -> i32
    %zero = arith.constant 0 : i32
    %waits = arith.cmpi ne, %rank, %zero : i32
    scf.if %waits {
      %one = arith.constant 1 : index
      %lanes = arith.constant 64 : index
      gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%lanes, %one, %one) args(%p : !llvm.ptr)
    }
    call @mgpuSymmetricHeapDestroy() : () -> ()
    return
  }
  gpu.module @m {
    gpu.func @k(%p: !llvm.ptr) kernel {
      %five = arith.constant 5 : i32
      scf.while : () -> () {
        %seen = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
        %wait = arith.cmpi ne, %seen, %five : i32
        scf.condition(%wait)
      } do { scf.yield }
      gpu.return
    }
    gpu.func @never(%p: !llvm.ptr) kernel {
      %five = arith.constant 5 : i32
      llvm.store %five, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr
      gpu.return
    }
  }
}"""


@pytest.mark.parametrize("settings", [{}, {"reorder": "on"}])
def test_a_rank_that_waits_for_one_that_sends_nothing_is_explained(settings: dict[str, str]):
    with pytest.raises(DiagnosedError) as caught:
        air.compile(WAITING).run(ranks=2, settings=settings)
    text = str(caught.value)
    assert "<text>:30:9: error: rank 1, block (0, 0, 0), wave 0 waits in this loop for ever" in text
    assert "it reads 0 from %p (symmetric heap of rank 1), byte 0" in text
    assert "and asks whether 0 is not equal to 5" in text
    assert "<text>:36:7: note: this could write to it, in kernel @never" in text
    assert "rank 0 waits for other ranks in the host program" in text
