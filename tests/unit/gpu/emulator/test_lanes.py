"""What lanes of a wave and waves of a block do together."""

from __future__ import annotations

import numpy as np
import pytest
from emulated import emulator, in_kernel, run

from tilewright.ir.diagnostics import DiagnosedError

OUT = "%out: memref<?xi32>"
ME = "%t = gpu.thread_id x %v = arith.index_cast %t : index to i32"


def results(body: str, threads: int, chip: str = "gfx942") -> np.ndarray:
    out = np.zeros(threads, np.int32)
    text = in_kernel(f"{ME} {body} memref.store %r, %out[%t] : memref<?xi32>", OUT)
    run(text, out, block=(threads,), device=emulator(chip))
    return out


@pytest.mark.parametrize(
    "mode, source",
    [
        ("idx", lambda lane: 5),
        ("xor", lambda lane: lane ^ 5),
        ("up", lambda lane: lane - 5 if lane >= 5 else lane),
        ("down", lambda lane: lane + 5 if lane + 5 < 16 else lane),
    ],
)
def test_shuffles_stay_among_their_neighbours(mode: str, source):
    body = f"""%by = arith.constant 5 : i32 %w = arith.constant 16 : i32
      %r, %valid = gpu.shuffle {mode} %v, %by, %w : i32"""
    expected = [first + source(lane) for first in range(0, 128, 16) for lane in range(16)]
    assert results(body, 128).tolist() == expected


def test_a_shuffle_over_more_lanes_than_a_wave_has_is_refused():
    body = "%by = arith.constant 1 : i32 %w = arith.constant 64 : i32 %r, %ok = gpu.shuffle idx %v, %by, %w : i32"
    with pytest.raises(DiagnosedError, match="shuffle over 64 lanes"):
        results(body, 64, "sm_90")


def test_a_lane_that_is_not_there_cannot_be_read():
    body = """%c = arith.constant 8 : i32 %w = arith.constant 64 : i32 %few = arith.cmpi slt, %v, %c : i32
      %r = scf.if %few -> i32 {
        %x, %ok = gpu.shuffle idx %v, %c, %w : i32
        scf.yield %x : i32
      } else { scf.yield %v : i32 }"""
    with pytest.raises(DiagnosedError, match="lane 0 reads the value of lane 8, which is not active"):
        results(body, 64)


def test_reductions_of_waves_and_of_clusters():
    assert results("%r = gpu.subgroup_reduce add %v : (i32) -> i32", 128)[[0, 64]].tolist() == [2016, 6112]
    found = results("%r = gpu.subgroup_reduce maxsi %v cluster(size = 4) : (i32) -> i32", 64)
    assert found.tolist() == [lane // 4 * 4 + 3 for lane in range(64)]


@pytest.mark.parametrize("threads", [64, 256, 320])
def test_reductions_of_a_block(threads: int):
    found = results("%r = gpu.all_reduce add %v {} : (i32) -> i32", threads)
    assert set(found.tolist()) == {threads * (threads - 1) // 2}
    found = results("%r = gpu.all_reduce maxsi %v {} : (i32) -> i32", threads, "sm_90")
    assert set(found.tolist()) == {threads - 1}


def test_ballots_tell_every_lane_who_said_yes():
    body = """%one = arith.constant 1 : i32 %b = arith.andi %v, %one : i32
      %odd = arith.cmpi eq, %b, %one : i32
      %m = rocdl.ballot %odd : i64
      %r = arith.trunci %m : i64 to i32"""
    assert set(results(body, 64).view(np.uint32).tolist()) == {0xAAAAAAAA}


def test_lanes_count_themselves():
    """How AMD's compiler finds the number of a lane."""
    body = """%all = arith.constant -1 : i32 %z = arith.constant 0 : i32
      %low = rocdl.mbcnt.lo %all, %z : (i32, i32) -> i32
      %r = rocdl.mbcnt.hi %all, %low : (i32, i32) -> i32"""
    assert results(body, 128).tolist() == [lane % 64 for lane in range(128)]


def test_lanes_read_each_other():
    assert set(results("%r = rocdl.readfirstlane %v : i32", 64).tolist()) == {0}
    body = "%c = arith.constant 9 : i32 %r = rocdl.readlane %v, %c : (i32, i32) -> i32"
    assert results(body, 128)[[3, 70]].tolist() == [9, 73]
    body = (
        "%c4 = arith.constant 4 : i32 %p = arith.muli %v, %c4 : i32 %r = rocdl.ds_bpermute %p, %v : (i32, i32) -> i32"
    )
    assert results(body, 64).tolist() == list(range(64))


@pytest.mark.parametrize("chip, size", [("gfx942", 64), ("sm_90", 32)])
def test_who_a_thread_is(chip: str, size: int):
    body = """%bx = gpu.block_id x %by = gpu.block_id y %ty = gpu.thread_id y
      %dx = gpu.block_dim x %gx = gpu.grid_dim x %lane = gpu.lane_id %wave = gpu.subgroup_id : index
      %count = gpu.num_subgroups : index %width = gpu.subgroup_size : index
      %row = arith.muli %ty, %dx : index %in = arith.addi %row, %t : index
      %b = arith.muli %by, %gx : index %block = arith.addi %b, %bx : index
      %n = arith.constant 128 : index %start = arith.muli %block, %n : index %me = arith.addi %start, %in : index
      %a1 = arith.muli %wave, %width : index %a = arith.addi %a1, %lane : index
      %d = arith.subi %a, %in : index %s = arith.subi %width, %count : index %z = arith.addi %d, %s : index
      %r = arith.index_cast %z : index to i32
      memref.store %r, %out[%me] : memref<?xi32>"""
    out = np.full(6 * 128, -1, np.int32)
    run(in_kernel(f"{ME} {body}", OUT), out, grid=(3, 2), block=(32, 4), device=emulator(chip))
    assert set(out.tolist()) == {size - 128 // size}


def test_a_barrier_lets_waves_see_what_others_stored():
    body = f"""{ME} %n = arith.constant 255 : index %other = arith.subi %n, %t : index
      memref.store %v, %shared[%t] : memref<256xi32, 3>
      gpu.barrier
      %x = memref.load %shared[%other] : memref<256xi32, 3>
      %b = gpu.block_id x %c = arith.constant 256 : index %s = arith.muli %b, %c : index
      %me = arith.addi %s, %t : index
      memref.store %x, %out[%me] : memref<?xi32>"""
    text = in_kernel(body, OUT, "workgroup(%shared : memref<256xi32, 3>)")
    for options in ({}, {"reorder": True, "check": True}):
        out = np.zeros(512, np.int32)
        run(text, out, grid=(2,), block=(256,), device=emulator(**options))
        assert out.tolist() == [255 - t for t in range(256)] * 2


def test_waves_that_end_are_not_waited_for():
    body = f"""{ME} %c64 = arith.constant 64 : index %first = arith.cmpi ult, %t, %c64 : index
      cf.cond_br %first, ^go, ^end
    ^go:
      gpu.barrier
      memref.store %v, %out[%t] : memref<?xi32>
      cf.br ^end
    ^end:"""
    out = np.full(128, -1, np.int32)
    run(in_kernel(body, OUT), out, block=(128,))
    assert out.tolist() == [*range(64), *[-1] * 64]
