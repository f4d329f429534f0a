"""Buffers on the symmetric heap whose sizes only a run knows: used by all ranks, checked on all of them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

RANKS = 2
PROGRAM = """
#heap = #air.symmetric_heap
module attributes {gpu.container_module} {
  func.func private @mgpuGetHeapBases() -> !llvm.ptr
  func.func private @mgpuBarrier()
  func.func @main(%n: index, %more: index, %at: index, %out: memref<1xi32>) {
    %two = arith.constant 2 : index
    air.rank (%me) in (%ranks=%two) args(%rn=%n, %rm=%more, %ra=%at, %ro=%out) : index, index, index, memref<1xi32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %extra = arith.muli %me, %rm : index
      %columns = arith.addi %rn, %extra : index
      %slots = memref.alloc(%columns) : memref<3x?xi32, #heap>

      %table = func.call @mgpuGetHeapBases() : () -> !llvm.ptr
      %here = memref.alloc() : memref<2xindex>
      scf.for %i = %c0 to %c2 step %c1 {
        %k = arith.index_cast %i : index to i64
        %place = llvm.getelementptr %table[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        %base = llvm.load %place : !llvm.ptr -> i64
        %number = arith.index_cast %base : i64 to index
        memref.store %number, %here[%i] : memref<2xindex>
      }
      %bases = gpu.alloc () : memref<2xindex>
      gpu.memcpy %bases, %here : memref<2xindex>, memref<2xindex>
      %peer = arith.subi %c1, %me : index

      // Each rank stores 10 and its number in the last row of the other one.
      air.launch () in () args(%ls=%slots, %lb=%bases, %lr=%me, %lp=%peer, %la=%ra)
          : memref<3x?xi32, #heap>, memref<2xindex>, index, index, index {
        %one = arith.constant 1 : index
        air.herd tile (%x) in (%nx=%one) args(%hs=%ls, %hb=%lb, %hr=%lr, %hp=%lp, %ha=%la)
            : memref<3x?xi32, #heap>, memref<2xindex>, index, index, index {
          %row = arith.constant 2 : index
          %c10 = arith.constant 10 : i32
          %number = arith.index_cast %hr : index to i32
          %value = arith.addi %number, %c10 : i32
          %theirs = air.translate %hs, %hr, %hp, %hb : memref<3x?xi32, #heap>, memref<2xindex>
          memref.store %value, %theirs[%row, %ha] : memref<3x?xi32, #heap>
        }
      }
      func.call @mgpuBarrier() : () -> ()
      air.launch () in () args(%ls=%slots, %la=%ra, %lo=%ro) : memref<3x?xi32, #heap>, index, memref<1xi32> {
        %one = arith.constant 1 : index
        air.herd tile (%x) in (%nx=%one) args(%hs=%ls, %ha=%la, %ho=%lo)
            : memref<3x?xi32, #heap>, index, memref<1xi32> {
          %zero = arith.constant 0 : index
          %row = arith.constant 2 : index
          %value = memref.load %hs[%row, %ha] : memref<3x?xi32, #heap>
          memref.store %value, %ho[%zero] : memref<1xi32>
        }
      }
      memref.dealloc %slots : memref<3x?xi32, #heap>
    }
    return
  }
}
"""


def run(columns: int, more: int = 0, at: int = 0) -> list[int]:
    """What each rank finds, where rank 1 asks for so many columns more."""
    result = tw.air.compile(PROGRAM).run(columns, more, at, np.zeros(1, np.int32))
    return [int(rank.arrays[0][0]) for rank in result.ranks]


@pytest.mark.parametrize("columns, at", [(1, 0), (5, 4), (1000, 999)])
def test_ranks_reach_each_others_buffers(columns: int, at: int):
    assert run(columns, at=at) == [11, 10]


def test_ranks_that_ask_for_different_sizes_are_told_at_the_allocation():
    line = 1 + PROGRAM.splitlines().index("      %slots = memref.alloc(%columns) : memref<3x?xi32, #heap>")
    wanted = (
        rf"<text>:{line}:\d+: error: .*ranks allocate different sizes on the symmetric heap \(rank 0: 60, rank 1: 84"
    )
    with pytest.raises(tw.Fault, match=wanted):
        run(5, more=2)


@pytest.mark.parametrize(
    "columns, text",
    [
        pytest.param(-1, "asks the symmetric heap for a negative size", id="negative"),
        pytest.param(1 << 62, "more bytes than 64 bits can count", id="the product wraps"),
        pytest.param(1 << 40, "symmetric heap out of memory", id="more than there is"),
    ],
)
def test_sizes_that_no_heap_has_stop_the_program(columns: int, text: str):
    with pytest.raises(tw.Fault, match=text):
        run(columns)


@pytest.mark.parametrize("at", [5, -1])
def test_accesses_are_checked_against_the_size_of_the_run(at: int):
    with pytest.raises(tw.Fault, match="is outside of its buffer on the symmetric heap"):
        run(5, at=at)
