"""Waves that run side by side, part and meet at barriers, do the same as waves that run one at a time."""

from __future__ import annotations

import random

import numpy as np
import pytest
from emulated import emulator, in_kernel, run

from tilewright.ir.run_errors import Hang

WAVES, BLOCKS, ROUNDS = 4, 3, 3


def relay(order: list[int]) -> str:
    """In each round waves add to a shared number one after the other, in an order that has nothing to do with theirs.

    A wave waits until its predecessor has left its mark; then all meet at a barrier, and block 0 does more rounds.
    """
    place = {wave: number for number, wave in enumerate(order)}
    chosen = "\n".join(
        f"%is{wave} = arith.cmpi eq, %wave, %w{wave} : index %n{wave} = arith.constant {place[wave]} : i32"
        for wave in range(WAVES)
    )
    selected = "%sel0 = arith.select %is0, %n0, %n0 : i32\n" + "\n".join(
        f"%sel{wave} = arith.select %is{wave}, %n{wave}, %sel{wave - 1} : i32" for wave in range(1, WAVES)
    )
    constants = " ".join(f"%w{wave} = arith.constant {wave} : index" for wave in range(WAVES))
    body = f"""
      {constants}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %seven = arith.constant 7 : i32
      %count = arith.constant {WAVES} : i32
      %rounds = arith.constant {ROUNDS} : index
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %lane = gpu.lane_id
      %wave = gpu.subgroup_id : index
      %leads = arith.cmpi eq, %lane, %c0 : index
      %first = arith.cmpi eq, %b, %c0 : index
      %more = arith.addi %rounds, %rounds : index
      %end = arith.select %first, %more, %rounds : index
      {chosen}
      {selected}
      scf.if %leads {{ scf.if %is0 {{
        memref.store %z, %turn[%c0] : memref<1xi32, 3>
        memref.store %one, %sum[%c0] : memref<1xi32, 3>
      }} }}
      gpu.barrier
      %total = scf.for %k = %c0 to %end step %c1 iter_args(%seen = %z) -> i32 {{
        %ki = arith.index_cast %k : index to i32
        %start = arith.muli %ki, %count : i32
        %mine = arith.addi %start, %sel{WAVES - 1} : i32
        scf.while : () -> () {{
          %now = memref.atomic_rmw addi %z, %turn[%c0] : (i32, memref<1xi32, 3>) -> i32
          %wait = arith.cmpi ne, %now, %mine : i32
          scf.condition(%wait)
        }} do {{ scf.yield }}
        %old = memref.load %sum[%c0] : memref<1xi32, 3>
        scf.if %leads {{
          %w = arith.index_cast %wave : index to i32
          %m = arith.muli %old, %seven : i32
          %n = arith.addi %m, %w : i32
          memref.store %n, %sum[%c0] : memref<1xi32, 3>
          %next = arith.addi %mine, %one : i32
          %was = memref.atomic_rmw assign %next, %turn[%c0] : (i32, memref<1xi32, 3>) -> i32
        }}
        gpu.barrier
        %new = memref.load %sum[%c0] : memref<1xi32, 3>
        %after = arith.addi %seen, %new : i32
        gpu.barrier
        scf.yield %after : i32
      }}
      %c256 = arith.constant {WAVES * 64} : index
      %base = arith.muli %b, %c256 : index
      %me = arith.addi %base, %t : index
      memref.store %total, %out[%me] : memref<{BLOCKS * WAVES * 64}xi32>"""
    shared = "workgroup(%turn : memref<1xi32, 3>, %sum : memref<1xi32, 3>)"
    return in_kernel(body, f"%out: memref<{BLOCKS * WAVES * 64}xi32>", shared)


def expected(order: list[int], rounds: int) -> int:
    total, value = 0, 1
    for _ in range(rounds):
        for wave in order:
            value = (value * 7 + wave + 2**31) % 2**32 - 2**31
        total = (total + value + 2**31) % 2**32 - 2**31
    return total


@pytest.mark.parametrize(
    "options, seed",
    [*(({}, seed) for seed in range(6)), *(({"reorder": True, "check": True}, seed) for seed in range(2))],
)
def test_waves_pass_a_number_on_in_any_order(options: dict[str, bool], seed: int):
    order = random.Random(seed).sample(range(WAVES), WAVES)
    out = np.zeros(BLOCKS * WAVES * 64, np.int32)
    run(relay(order), out, grid=(BLOCKS,), block=(WAVES * 64,), device=emulator(seed=seed, **options))
    sums = [expected(order, 2 * ROUNDS if block == 0 else ROUNDS) for block in range(BLOCKS)]
    assert out.reshape(BLOCKS, -1).tolist() == [[number] * (WAVES * 64) for number in sums]


LOCK = """
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %address = memref.extract_aligned_pointer_as_index %lock : memref<1xi32> -> index
      %number = arith.index_cast %address : index to i64
      %p = llvm.inttoptr %number : i64 to !llvm.ptr
      scf.while : () -> () {
        %pair = llvm.cmpxchg %p, %z, %one acq_rel monotonic : !llvm.ptr, i32
        %got = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
        %true = arith.constant true
        %wait = arith.xori %got, %true : i1
        scf.condition(%wait)
      } do { scf.yield }
      %old = memref.load %sum[%c0] : memref<1xi32>
      %new = arith.addi %old, %one : i32
      memref.store %new, %sum[%c0] : memref<1xi32>
      llvm.store %z, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr"""
"""Every lane takes a lock for itself, which only works if lanes of a wave do not go in step."""


def test_lanes_that_wait_for_lanes_of_their_wave():
    """NVIDIA's lanes get on one without the other since sm_70; AMD's do not, and the report says so."""
    text = in_kernel(LOCK, "%lock: memref<1xi32>, %sum: memref<1xi32>")
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(text, lock, total, block=(64,), device=emulator("sm_90"))
    assert total[0] == 64
    with pytest.raises(Hang, match="lanes of a wave go in step on gfx942"):
        run(text, lock, total, block=(64,), device=emulator("gfx942"))


def test_blocks_that_meet_at_barriers_of_a_branch_leave_the_others_behind() -> None:
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %z = arith.constant 0 : index
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %first = arith.cmpi eq, %b, %c0 : index
      %total = scf.if %first -> (index) {
        scf.yield %t : index
      } else {
        %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %z) -> (index) {
          gpu.barrier
          %more = arith.addi %s, %t : index
          scf.yield %more : index
        }
        scf.yield %sum : index
      }
      memref.store %total, %out[%b, %t] : memref<3x128xindex>
    """
    out = np.zeros((3, 128), np.int64)
    run(in_kernel(body, "%out: memref<3x128xindex>"), out, grid=(3,), block=(128,))
    assert np.array_equal(out, np.outer([1, 3, 3], np.arange(128)))
