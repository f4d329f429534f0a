"""Steps that make copies faster change no result, wherever arrays begin; and NVIDIA's assembler takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu_kernels import assembled, needs_ptxas
from helpers import EXAMPLES
from xdsl.dialects.builtin import ModuleOp

import tilewright as tw
from tilewright.air import program
from tilewright.air.program import split_passes
from tilewright.device.gpu_targets import GPU_TARGETS, GpuTarget
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.native.gpu_code import compile_kernels, machine_of

PLACED = """module attributes {gpu.container_module} {
func.func @placed(%OUT: memref<64x64xf32>) {
  %c1 = arith.constant 1 : index
  %shift = arith.constant SHIFT : index
  %room = gpu.alloc () : memref<16400xi8>
  %A = memref.view %room[%shift][] : memref<16400xi8> to memref<64x64xf32>
  air.launch (%x) in (%nx=%c1) args(%a=%A) : memref<64x64xf32> {
    air.herd tile (%i, %j) in (%ni=%nx, %nj=%nx) args(%ha=%a) : memref<64x64xf32> {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %one = arith.constant 1 : index
      %lane = gpu.lane_id
      scf.for %row = %c0 to %c64 step %one {
        %start = arith.muli %row, %c64 : index
        %number = arith.addi %start, %lane : index
        %n = arith.index_cast %number : index to i32
        %f = arith.sitofp %n : i32 to f32
        memref.store %f, %ha[%row, %lane] : memref<64x64xf32>
      }
    }
  }
  air.launch (%x) in (%nx=%c1) args(%a=%A, %o=%OUT) : memref<64x64xf32>, memref<64x64xf32> {
    air.segment args(%sa=%a, %so=%o) : memref<64x64xf32>, memref<64x64xf32> {
      %tile = memref.alloc() : memref<64x64xf32, 1>
      %one = arith.constant 1 : index
      air.dma_memcpy_nd (%tile[] [] [], %sa[] [] []) : (memref<64x64xf32, 1>, memref<64x64xf32>)
      air.herd tile (%i, %j) in (%ni=%one, %nj=%one) {
      }
      air.dma_memcpy_nd (%so[] [] [], %tile[] [] []) : (memref<64x64xf32>, memref<64x64xf32, 1>)
    }
  }
  return
}
}
"""


def fast_passes(target: GpuTarget, wave_size: int, heap_bytes: int | None = None) -> tuple[str, ...]:
    """All steps for copies, where they belong."""
    *before, kernels, outlining = split_passes(target, wave_size, heap_bytes)
    wide = kernels.replace("}", " vector-bytes=16}")
    return (*before, "air-gpu-l2-layout", wide, "air-gpu-pipeline-copies", outlining)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(program, "split_passes", fast_passes)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-8, 9, shape).astype(np.float32)


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize("shift, wide", [(0, True), (16, True), (4, False), (8, False)])
def test_arrays_begin_anywhere(shift: int, wide: bool, chip: str, fast: Callable[[], None]) -> None:
    fast()
    out = np.zeros((64, 64), np.float32)
    result = tw.air.compile(PLACED.replace("SHIFT", str(shift))).run(out, chip=chip, profile=True)
    assert (out == np.arange(4096).reshape(64, 64)).all()
    assert result.profile is not None
    copies = [kernel.launches.traffic("global read") for kernel in result.profile.kernels]
    (read,) = [traffic for traffic in copies if traffic.accesses]
    lanes = min(GPU_TARGETS[chip].wave_size, 64)
    assert read.accesses == 4096 // lanes // (4 if wide else 1), "a lane reads four numbers at once, or one"


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_a_product_stays_the_same(chip: str, fast: Callable[[], None]) -> None:
    a, b, plain, other = numbers(64, 64), numbers(64, 64), *np.zeros((2, 64, 64), np.float32)
    text = (EXAMPLES / "air_matmul.mlir").read_text()
    tw.air.compile(text).run(a, b, plain, chip=chip)
    fast()
    result = tw.air.compile(text).run(a, b, other, chip=chip, settings={"check": "races"})
    assert (plain == other).all() and (plain == a @ b).all() and result.status == 0


@needs_ptxas
@pytest.mark.parametrize("name", ["air_matmul", "air_add"])
def test_nvidias_assembler_takes_them(name: str, fast: Callable[[], None], tmp_path: Path) -> None:
    fast()
    target = GPU_TARGETS["sm_90"]
    module: ModuleOp = tw.air.compile(EXAMPLES / f"{name}.mlir").lowered(target, 32)
    modules: list[Any] = [op for op in module.body.ops if isinstance(op, GPUModuleOp)]
    assert modules
    for found in modules:
        assembled(compile_kernels(found, machine_of(target, 32)), tmp_path)
