"""AIR programs from their text to results: the documents' examples, and what bad programs are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright.cli.main import main

HEAP = "#air.symmetric_heap"
RING = [
    "rank 0 got 30 31 32 33",
    "rank 1 got 0 1 2 3",
    "rank 2 got 10 11 12 13",
    "rank 3 got 20 21 22 23",
]


def example(name: str) -> str:
    return str(EXAMPLES / f"{name}.mlir")


def test_add():
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, 1024)).astype(np.float32)
    total = np.zeros(1024, np.float32)
    result = tw.air.compile(example("air_add")).run(a, b, total)
    np.testing.assert_array_equal(total, a + b)
    assert result.counters["waves"] == 16


@pytest.mark.parametrize("chip, wave_size", [("gfx942", None), ("gfx1100", 64), ("sm_90", 64)])
def test_matmul(chip: str, wave_size: int | None):
    """The same on chips of both vendors, in waves of 64 lanes as it was written for."""
    random = np.random.default_rng(2)
    a, b = random.standard_normal((2, 64, 64)).astype(np.float32)
    product = np.zeros((64, 64), np.float32)
    tw.air.compile(example("air_matmul")).run(a, b, product, chip=chip, wave_size=wave_size)
    np.testing.assert_allclose(product, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


def test_ring():
    """Four ranks, each of which gets what the one before has; the same seed gives the same run."""
    program = tw.air.compile(example("air_channel_ring"))
    first, again = (program.run(seed=3) for _ in range(2))
    assert [rank.output for rank in first.ranks] == [f"{line}\n" for line in RING]
    assert [rank.counters for rank in first.ranks] == [rank.counters for rank in again.ranks]


def test_exchange():
    """Every rank stores into the heaps of all; the orders in which they get turns make no difference."""
    program = tw.air.compile(example("air_exchange"))
    for seed in range(3):
        outputs = [rank.output for rank in program.run(seed=seed).ranks]
        assert outputs == [f"rank {rank} found 100 101 102\n" for rank in range(3)]


def test_arrays_of_all_ranks_are_in_the_result():
    """Arrays change in place as rank 0 leaves them; what other ranks made of their copies is in the result."""
    program = tw.air.compile(
        """
  func.func private @mgpuGetRank() -> i32
  func.func @number(%m: memref<2xi32>) {
    %c1 = arith.constant 1 : index
    %rank = call @mgpuGetRank() : () -> i32
    memref.store %rank, %m[%c1] : memref<2xi32>
    return
  }"""
    )
    array = np.full(2, 9, np.int32)
    result = program.run(array, ranks=3)
    assert list(array) == [9, 0]
    assert [list(rank.arrays[0]) for rank in result.ranks] == [[9, 0], [9, 1], [9, 2]]


def bad(block: str, waves: int = 1, shared: int = 16) -> str:
    """A program with a kernel in which something is wrong."""
    return f"""
func.func @f(%a: memref<64xi32, {HEAP}>) {{
  %c1 = arith.constant 1 : index
  air.launch (%b) in (%bs=%c1) args(%la=%a) : memref<64xi32, {HEAP}> {{
    air.segment args(%sa=%la) : memref<64xi32, {HEAP}> {{
      %tile = memref.alloc() : memref<{shared}xi32, 1>
      %waves = arith.constant {waves} : index
      %one = arith.constant 1 : index
      air.herd tile (%x, %y) in (%nx=%waves, %ny=%one) args(%m=%sa, %t=%tile) : memref<64xi32, {HEAP}>,
                                                                              memref<{shared}xi32, 1> {{
        %lane = gpu.lane_id
        %c7 = arith.constant 7 : i32
        %c1000 = arith.constant 1000 : index
        {block}
      }}
    }}
  }}
  return
}}"""


@pytest.mark.parametrize(
    "text, line, message",
    [
        pytest.param(
            bad("memref.store %c7, %m[%c1000] : memref<64xi32, #air.symmetric_heap>"),
            14,
            "element 1000 of a buffer that has 64",
            id="index out of bounds",
        ),
        pytest.param(bad("", waves=17), 9, "needs a block of 1088 threads", id="herd over the block limit"),
        pytest.param(
            bad("", shared=17000), 6, "brings the memory of a block to 68000 bytes; gfx942 has 65536", id="LDS overflow"
        ),
    ],
)
def test_bad_programs_are_told_where(text: str, line: int, message: str):
    with pytest.raises(tw.Error) as error:
        tw.air.compile(text).run(np.zeros(64, np.int32))
    assert message in str(error.value)
    assert str(error.value).startswith(f"<text>:{line}:")


WAITS_FOR_NOBODY = f"""
  func.func @main() {{
    %c2 = arith.constant 2 : index
    air.rank (%me) in (%n=%c2) {{
      %c1 = arith.constant 1 : index
      %flag = memref.alloc() : memref<1xi32, {HEAP}>
      air.launch (%b) in (%bs=%c1) args(%lf=%flag) : memref<1xi32, {HEAP}> {{
        air.segment args(%sf=%lf) : memref<1xi32, {HEAP}> {{
          %one = arith.constant 1 : index
          air.herd tile (%x, %y) in (%nx=%one, %ny=%one) args(%f=%sf) : memref<1xi32, {HEAP}> {{
            %c0 = arith.constant 0 : index
            %none = arith.constant 0 : i32
            scf.while : () -> () {{
              %seen = memref.atomic_rmw addi %none, %f[%c0] : (i32, memref<1xi32, {HEAP}>) -> i32
              %wait = arith.cmpi eq, %seen, %none : i32
              scf.condition(%wait)
            }} do {{
              scf.yield
            }}
          }}
        }}
      }}
      memref.dealloc %flag : memref<1xi32, {HEAP}>
    }}
    return
  }}"""


def test_ranks_that_wait_for_nobody_are_found():
    """All ranks spin on flags that nobody sets: that is said, with the line, and the run ends."""
    with pytest.raises(tw.Hang) as error:
        tw.air.compile(WAITS_FOR_NOBODY).run(timeout=60)
    assert "<text>:14:" in str(error.value)
    assert "has not ended" not in str(error.value)


def run_cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["air", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_command_prints_and_saves(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    arguments = ["--arg", "arange", "--arg", "b=random:3", "--out", str(tmp_path)]
    status, out, err = run_cli(capsys, "run", example("air_add"), *arguments)
    assert (status, out, err) == (0, "", "")
    a, b, total = (np.load(tmp_path / f"{name}.npy") for name in ("a", "b", "sum"))
    np.testing.assert_array_equal(total, a + b)


def test_command_for_machines(capsys: pytest.CaptureFixture[str]):
    status, out, _ = run_cli(capsys, "run", example("air_channel_ring"), "--json")
    outcome = json.loads(out)
    assert (status, outcome["status"], len(outcome["ranks"])) == (0, 0, 4)
    assert outcome["ranks"][1]["output"] == "rank 1 got 0 1 2 3\n"
    assert outcome["counters"]["launches"] == 4


def test_command_reports_a_failed_rank(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    program = tmp_path / "fails.mlir"
    program.write_text("func.func @main() -> i32 {\n  %c = arith.constant 7 : i32\n  return %c : i32\n}\n")
    assert run_cli(capsys, "run", str(program)) == (1, "", "tilewright: error: rank 0 ended with status 7\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "F", "--ranks", "0"], "ranks takes a whole number from 1 to 256, got 0"),
        (["run", "F", "--arg", "q=zeros"], "--arg: no such argument: q; there is a, b, sum"),
        (["run", "F", *["--arg", "zeros"] * 4], "@add takes 3 arguments, got 'zeros' as well"),
        (["run", "F", "--backend", "abacus"], "unknown backend 'abacus'; there is emulator, cuda"),
        (["run", "F", "--entry", "sub"], "there is no function @sub to begin with; there is add"),
        (["run", "F", "--chip", "gfx1"], "unknown chip 'gfx1'"),
        (["run", "F", "--set", "spin=fast"], "spin"),
        (["compile", "F"], "say where the files go, -o DIR"),
        (
            ["compile", "F", "--after", "cse", "--emit", "mlir"],
            "--after: 'cse' is none of air-gpu-channel-to-cacheline",
        ),
        (["compile", "F", "--emit", "llvm", "--after", "air-to-rocdl"], "--after goes with --emit mlir"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str):
    status, _, err = run_cli(capsys, *(example("air_add") if word == "F" else word for word in arguments))
    assert status in (1, 2)
    assert message in err


@pytest.mark.parametrize("chip, files", [("gfx942", {"add_module.s", "add_module.o"}), ("sm_90", {"add_module.ptx"})])
def test_compile(capsys: pytest.CaptureFixture[str], tmp_path: Path, chip: str, files: set[str]):
    status, out, _ = run_cli(capsys, "compile", example("air_add"), "--target", chip, "-o", str(tmp_path), "--json")
    written = {Path(path).name for path in json.loads(out)["files"]}
    assert status == 0
    assert written >= {"program.mlir", "host.ll", "kernels.json"} | files
    facts: dict[str, Any] = json.loads((tmp_path / "kernels.json").read_text())
    assert [kernel["name"] for kernel in facts["kernels"]] == ["add_module"]


def test_emit_at_a_stage(capsys: pytest.CaptureFixture[str]):
    """The program as it is after a pass, and LLVM IR of host and kernels."""
    _, launches, _ = run_cli(capsys, "compile", example("air_add"), "--emit", "mlir", "--after", "air-to-rocdl")
    _, split, _ = run_cli(capsys, "compile", example("air_add"), "--emit", "mlir")
    _, native, _ = run_cli(capsys, "compile", example("air_add"), "--emit", "llvm")
    assert "gpu.launch blocks" in launches
    assert "gpu.launch_func" in split
    assert "gpu.launch blocks" not in split
    assert 'define i64 @"start"' in native
    assert "amdgpu_kernel" in native
