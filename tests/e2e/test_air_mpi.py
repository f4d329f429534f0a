"""Ranks under MPI: the same programs, with symmetric heaps in windows of one-sided communication."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import EXAMPLES

from tilewright.cli.main import main

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Open MPI does not like to be run by root, which tests in a container are."""
SECONDS = 120

needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or find_spec("mpi4py") is None, reason="needs mpirun and mpi4py"
)


def run_under_mpi(path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilewright", "air", "run", str(path), "--launcher", "mpi"]
    modest = ["--heap-size", "65536", "--mpirun", "mpirun --oversubscribe"]
    return subprocess.run(
        [*command, *modest, *arguments],
        env=os.environ | AS_ROOT | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@needs_mpi
def test_ring():
    """Four ranks, as if each were on a machine of its own: all goes by messages."""
    done = run_under_mpi(EXAMPLES / "air_channel_ring.mlir", TILEWRIGHT_MPI_MESSAGES="1")
    assert done.returncode == 0, done.stderr
    tens = [10 * ((rank - 1) % 4) for rank in range(4)]
    expected = [f"rank {rank} got {n} {n + 1} {n + 2} {n + 3}" for rank, n in enumerate(tens)]
    assert sorted(done.stdout.split("\n")) == ["", *expected]


@needs_mpi
@pytest.mark.parametrize("messages", ["0", "1"], ids=["mapped heaps", "heaps by messages"])
def test_updates_of_one_counter_are_not_lost(tmp_path: Path, messages: str):
    """Every lane of both ranks adds 1 to a counter of rank 0, at the same time."""
    program = tmp_path / "count.mlir"
    program.write_text(COUNTER)
    done = run_under_mpi(program, TILEWRIGHT_MPI_MESSAGES=messages)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "counted 128\n"


@needs_mpi
def test_a_rank_that_fails_ends_all(tmp_path: Path):
    program = tmp_path / "fails.mlir"
    program.write_text(FAILS)
    done = run_under_mpi(program, "--ranks", "2")
    assert done.returncode == 1
    assert "fails.mlir:16:8: error: 'func.call' op airgpu: symmetric heap not initialized" in done.stderr
    assert "this is rank 1 of 2" in done.stderr


@needs_mpi
def test_a_wrong_world_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["air", "run", str(EXAMPLES / "air_channel_ring.mlir"), "--launcher", "mpi", "--ranks", "2"]) == 1
    assert "'air.rank' op is a world of 4 ranks, but there are 2" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py")
def test_without_mpirun_there_is_a_remedy(capsys: pytest.CaptureFixture[str]):
    arguments = ["--launcher", "mpi", "--mpirun", "no-such-mpirun"]
    assert main(["air", "run", str(EXAMPLES / "air_channel_ring.mlir"), *arguments]) == 1
    assert "'no-such-mpirun' cannot be started; install an MPI" in capsys.readouterr().err


FAILS = """func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
func.func private @mgpuGetRank() -> i32
func.func @main() {
  %rank = call @mgpuGetRank() : () -> i32
  %is_one = arith.trunci %rank : i32 to i1
  cf.cond_br %is_one, ^fail, ^end
^fail:
    %p = call @broken() : () -> !llvm.ptr
    cf.br ^end
^end:
  return
}
func.func @broken() -> !llvm.ptr {
  %c8 = arith.constant 8 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %p = call @mgpuSymmetricAlloc(%c8, %null) : (i64, !llvm.ptr) -> !llvm.ptr
  return %p : !llvm.ptr
}
"""
COUNTER = """
module attributes {gpu.container_module} {
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @line("counted %d\\0A\\00") {addr_space = 0 : i32}
  func.func private @mgpuSymmetricHeapInit(i64)
  func.func private @mgpuSymmetricHeapDestroy()
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func private @mgpuGetHeapBases() -> !llvm.ptr
  func.func private @mgpuGetRank() -> i32
  func.func private @mgpuBarrier()
  func.func private @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
  gpu.module @kernels {
    gpu.func @count(%counter: !llvm.ptr) kernel {
      %one = arith.constant 1 : i32
      %old = llvm.atomicrmw add %counter, %one seq_cst : !llvm.ptr, i32
      gpu.return
    }
  }
  func.func @main() {
    %c2 = arith.constant 2 : index
    air.rank (%me) in (%n=%c2) {
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c4 = arith.constant 4 : i64
      %c0_i32 = arith.constant 0 : i32
      %single = arith.constant 1 : i32
      %null = llvm.mlir.zero : !llvm.ptr
      %mine = func.call @mgpuSymmetricAlloc(%c4, %null) : (i64, !llvm.ptr) -> !llvm.ptr
      func.call @mgpuBarrier() : () -> ()
      %bases = func.call @mgpuGetHeapBases() : () -> !llvm.ptr
      %first = llvm.load %bases : !llvm.ptr -> i64
      %counter = llvm.inttoptr %first : i64 to !llvm.ptr
      gpu.launch_func @kernels::@count blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%counter : !llvm.ptr)
      func.call @mgpuBarrier() : () -> ()
      %rank = func.call @mgpuGetRank() : () -> i32
      %is_first = arith.cmpi eq, %rank, %c0_i32 : i32
      scf.if %is_first {
        %format = llvm.mlir.addressof @line : !llvm.ptr
        %room = llvm.alloca %single x i32 : (i32) -> !llvm.ptr
        func.call @mgpuMemcpy(%room, %mine, %c4, %null) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
        %count = llvm.load %room : !llvm.ptr -> i32
        %printed = llvm.call @printf(%format, %count) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
      }
    }
    return
  }
}
"""
