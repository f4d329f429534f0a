"""`-O2` turns on all steps that make copies faster; arrays and buffers may begin anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright.air.program import opt_passes, split_passes
from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.errors import ArgumentError

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
    assert plain == order and len(fast) == len(plain) + 2
    with pytest.raises(ArgumentError, match="0 or 2, got 1"):
        opt_passes(order, 1)
