"""`-O2` turns on all steps that make copies and products faster; arrays and buffers may begin anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright.air.program import opt_passes, split_passes
from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.errors import ArgumentError
from tilewright.ir.printer import module_text

SHIFTED = """func.func @shifted(%IN: memref<64x64xf32>, %OUT: memref<64x64xf32>) {
  %c1 = arith.constant 1 : index
  air.launch (%x) in (%nx=%c1) args(%a=%IN, %o=%OUT) : memref<64x64xf32>, memref<64x64xf32> {
    air.segment args(%sa=%a, %so=%o) : memref<64x64xf32>, memref<64x64xf32> {
      %one = arith.constant 1 : index
      %shift = arith.constant SHIFT : index
      %room = memref.alloc() : memref<16400xi8, 1>
      %tile = memref.view %room[%shift][] : memref<16400xi8, 1> to memref<64x64xf32, 1>
      air.dma_memcpy_nd (%tile[] [] [], %sa[] [] []) : (memref<64x64xf32, 1>, memref<64x64xf32>)
      air.herd tile (%i, %j) in (%ni=%one, %nj=%one) {
      }
      air.dma_memcpy_nd (%so[] [] [], %tile[] [] []) : (memref<64x64xf32>, memref<64x64xf32, 1>)
    }
  }
  return
}
"""


CONTRACTED = """module attributes {gpu.container_module} {
func.func @contracted(%A: memref<32x64xf16>, %B: memref<64x64xf16>, %C: memref<32x64xf32>) {
  %c1 = arith.constant 1 : index
  air.launch (%x) in (%nx=%c1) args(%a=%A, %b=%B, %c=%C) : memref<32x64xf16>, memref<64x64xf16>, memref<32x64xf32> {
    air.segment args(%sa=%a, %sb=%b, %sc=%c) : memref<32x64xf16>, memref<64x64xf16>, memref<32x64xf32> {
      %two = arith.constant 2 : index
      %ta = memref.alloc() : memref<32x64xf16, 1>
      %tb = memref.alloc() : memref<64x64xf16, 1>
      air.dma_memcpy_nd (%ta[] [] [], %sa[] [] []) : (memref<32x64xf16, 1>, memref<32x64xf16>)
      air.dma_memcpy_nd (%tb[] [] [], %sb[] [] []) : (memref<64x64xf16, 1>, memref<64x64xf16>)
      air.herd tile (%i, %j) in (%ni=%two, %nj=%two) args(%ha=%ta, %hb=%tb, %hc=%sc)
          : memref<32x64xf16, 1>, memref<64x64xf16, 1>, memref<32x64xf32> {
        %zero = arith.constant dense<0.0> : vector<16x32xf32>
        %none = arith.constant 0.0 : f16
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        %row = affine.apply affine_map<()[s0] -> (s0 * 16)>()[%i]
        %column = affine.apply affine_map<()[s0] -> (s0 * 32)>()[%j]
        %sums = scf.for %k = %c0 to %c64 step %c32 iter_args(%sum = %zero) -> vector<16x32xf32> {
          %av = vector.transfer_read %ha[%row, %k], %none {in_bounds = [true, true]}
              : memref<32x64xf16, 1>, vector<16x32xf16>
          %bv = vector.transfer_read %hb[%k, %column], %none {in_bounds = [true, true]}
              : memref<64x64xf16, 1>, vector<32x32xf16>
          %more = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
              affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
              iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %av, %bv, %sum
              : vector<16x32xf16>, vector<32x32xf16> into vector<16x32xf32>
          scf.yield %more : vector<16x32xf32>
        }
        vector.transfer_write %sums, %hc[%row, %column] {in_bounds = [true, true]}
            : vector<16x32xf32>, memref<32x64xf32>
      }
    }
  }
  return
}
}
"""


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "sm_90"])
def test_waves_multiply_with_matrix_instructions(chip: str) -> None:
    a, b = (np.random.default_rng(2).integers(-4, 5, shape).astype(np.float16) for shape in ((32, 64), (64, 64)))
    out = np.zeros((32, 64), np.float32)
    program = tw.air.compile(CONTRACTED)
    target = GPU_TARGETS[chip]
    # on NVIDIA's GPUs a wave of 64 lanes is two warps
    for lanes in (32, 64) if chip == "sm_90" else (target.wave_size,):
        out[:] = 0
        text = module_text(program.lowered(target, lanes, opt_level=2))
        assert "vector.contract" not in text and ("mma" in text or "mfma" in text)
        program.run(a, b, out, chip=chip, wave_size=lanes, opt_level=2, settings={"check": "races"})
        assert (out == a.astype(np.float32) @ b.astype(np.float32)).all()


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize("shift, elements", [(16, 4), (4, 1), (0, 4)])
def test_views_of_a_blocks_memory_begin_anywhere(shift: int, elements: int, chip: str) -> None:
    given, out = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    program = tw.air.compile(SHIFTED.replace("SHIFT", str(shift)))
    result = program.run(given, out, chip=chip, profile=True, opt_level=2)
    assert (given == out).all() and result.profile is not None
    written = [kernel.launches.traffic("shared written") for kernel in result.profile.kernels]
    assert sum(traffic.accesses for traffic in written) == 4096 // GPU_TARGETS[chip].wave_size // elements


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_a_product_is_that_of_numpy_with_fewer_loads(chip: str) -> None:
    a, b = np.random.default_rng(0).integers(-8, 9, (2, 64, 64)).astype(np.float32)
    loads = list[int]()
    for level in (0, 2):
        out = np.zeros((64, 64), np.float32)
        program = tw.air.compile(EXAMPLES / "air_matmul.mlir")
        result = program.run(a, b, out, chip=chip, profile=True, opt_level=level)
        assert (out == a @ b).all() and result.profile is not None
        loads.append(sum(k.launches.traffic("global read").accesses for k in result.profile.kernels))
    assert loads[1] < loads[0]


def test_the_default_order_has_none_of_the_steps() -> None:
    order = split_passes(GPU_TARGETS["sm_90"], 64)
    plain, fast = (opt_passes(order, level) for level in (0, 2))
    assert plain == order and len(fast) == len(plain) + 3
    with pytest.raises(ArgumentError, match="0 or 2, got 1"):
        opt_passes(order, 1)
