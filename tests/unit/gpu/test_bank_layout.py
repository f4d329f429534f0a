"""Groups of 16 bytes that change places change no result, and lanes meet in fewer banks."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.air import program
from tilewright.air.program import split_passes
from tilewright.device.gpu_targets import GpuTarget
from tilewright.passes.air.air_to_rocdl.banks import rules

READS = """func.func @reads(%IN: memref<4x512xf32>, %OUT: memref<4x512xf32>) {
  %c1 = arith.constant 1 : index
  air.launch (%b) in (%nb=%c1) args(%a=%IN, %o=%OUT) : memref<4x512xf32>, memref<4x512xf32> {
    air.segment args(%sa=%a, %so=%o) : memref<4x512xf32>, memref<4x512xf32> {
      %one = arith.constant 1 : index
      %tile = memref.alloc() : memref<4x512xf32, 1>
      air.dma_memcpy_nd (%tile[] [] [], %sa[] [] []) : (memref<4x512xf32, 1>, memref<4x512xf32>)
      air.herd tile (%x, %y) in (%nx=%one, %ny=%one) args(%ht=%tile, %ho=%so)
          : memref<4x512xf32, 1>, memref<4x512xf32> {
        %c0 = arith.constant 0 : index
        %step = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %mine = memref.alloc() : memref<8xf32, 2>
        %lane = gpu.lane_id
        %start = arith.muli %lane, %c8 : index
        scf.for %row = %c0 to %c4 step %step {
          air.dma_memcpy_nd (%mine[] [] [], %ht[%row, %start] [8] [1]) : (memref<8xf32, 2>, memref<4x512xf32, 1>)
          air.dma_memcpy_nd (%ho[%row, %start] [8] [1], %mine[] [] []) : (memref<4x512xf32>, memref<8xf32, 2>)
        }
      }
    }
  }
  return
}
"""


def turns(monkeypatch: pytest.MonkeyPatch, chip: str, options: str) -> int:
    """Of banks for all reads of the block's memory, when a tile goes through it and comes out as it was."""

    def passes(target: GpuTarget, wave_size: int, heap_bytes: int | None = None) -> tuple[str, ...]:
        *before, kernels, outlining = split_passes(target, wave_size, heap_bytes)
        return (*before, kernels.replace("}", f" vector-bytes=16 {options}}}"), outlining)

    monkeypatch.setattr(program, "split_passes", passes)
    given, out = np.arange(2048, dtype=np.float32).reshape(4, 512), np.zeros((4, 512), np.float32)
    result = tw.air.compile(READS).run(given, out, entry="reads", chip=chip, profile=True)
    assert (given == out).all() and result.profile is not None
    return sum(kernel.launches.traffic("shared read").served for kernel in result.profile.kernels)


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_lanes_meet_in_half_as_many_banks(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns(monkeypatch, chip, "spread-banks=true") * 2 == turns(monkeypatch, chip, "")


@pytest.mark.parametrize("row, group", [(16, 4), (48, 2), (160, 4), (256, 8), (512, 4), (4096, 16)])
def test_every_element_keeps_a_place_of_its_own(row: int, group: int) -> None:
    known = [*rules(row, group)]
    assert known
    for rule in known:
        places = [rule.place(element) for element in range(row)]
        assert sorted(places) == [*range(row)] and places != [*range(row)]
        assert all(rule.place(place) == element for element, place in enumerate(places)), "the same rule leads back"
        assert all(place % group == element % group for element, place in enumerate(places)), "16 bytes stay together"
        behind = [rule.place(row + element) - row for element in range(row)]
        assert behind == places, "what is behind the end of a row is in the next one"


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_offsets_may_reach_into_the_next_row(chip: str) -> None:
    text = READS.replace("4x512", "4x160").replace("%c4 = arith.constant 4", "%c4 = arith.constant 1")
    given, out = np.arange(640, dtype=np.float32).reshape(4, 160), np.zeros((4, 160), np.float32)
    tw.air.compile(text).run(given, out, entry="reads", chip=chip, wave_size=64, opt_level=2)
    assert (given.ravel()[:512] == out.ravel()[:512]).all() and not out.ravel()[512:].any()
