"""Native kernels in threads of their own: nothing in a run can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.designs import Gemm, WholeArrayGemm
from tilewright.driver.compiled_design import Design

RACE = """
module {
  aie.device(npu1) {
    func.func private @matmul_i16_i32(memref<1024xi16>, memref<1024xi16>, memref<1024xi32>)
    %shim = aie.tile(0, 0)
    %tile = aie.tile(0, 2)
    %a = aie.buffer(%tile) : memref<1024xi16> = dense<3>
    %b = aie.buffer(%tile) : memref<1024xi16> = dense<5>
    %c = aie.buffer(%tile) {sym_name = "c"} : memref<1024xi32>
    aie.flow(%tile, DMA : 0, %shim, DMA : 0)
    aie.shim_dma_allocation @out(%shim, S2MM, 0)
    %core = aie.core(%tile) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %rounds = arith.constant 40 : index
      scf.for %n = %c0 to %rounds step %c1 {
        func.call @matmul_i16_i32(%a, %b, %c) : (memref<1024xi16>, memref<1024xi16>, memref<1024xi32>) -> ()
        %x = memref.load %c[%n] : memref<1024xi32>
        memref.store %x, %c[%c0] : memref<1024xi32>
      }
      aie.end
    }
    %mem = aie.mem(%tile) {
      %start = aie.dma_start(MM2S, 0, ^send, ^end)
    ^send:
      aie.dma_bd(%c : memref<1024xi32>, 0, 1024)
      aie.next_bd ^send
    ^end:
      aie.end
    }
    aie.runtime_sequence @run(%out: memref<16384xi32>) {
      aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 16384][0, 0, 0, 1])
        {id = 0 : i64, issue_token = true, metadata = @out} : memref<16384xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
"""
"""A DMA sends what a core's kernel is at, without a lock between them."""


def outcome(design: Design, jobs: int, arguments: list[Any], model: str = "fast") -> tuple[Any, ...]:
    given = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    loaded = design.load(jobs=jobs, model=model)
    runs = [loaded.run(*given) for _ in range(2)]
    arrays = [array.tobytes() for array in given if isinstance(array, np.ndarray)]
    return [run.cycles for run in runs], arrays, [run.trace[np.lexsort(run.trace.T[::-1])].tobytes() for run in runs]


def test_a_product_of_many_cores() -> None:
    design, random = Gemm(WholeArrayGemm("npu1", operand="i16")), np.random.default_rng(0)
    m, k, n = design.gemm.padded(1, 1, 1)
    a, b = (random.integers(-99, 99, shape).astype(np.int16) for shape in ((m, 2 * k), (2 * k, n)))
    arguments = [a, b, np.zeros((m, n), np.int32), m, 2 * k, n]
    one = outcome(design.design, 1, arguments)
    assert np.frombuffer(one[1][2], np.int32).any()
    assert all(outcome(design.design, jobs, arguments) == one for jobs in (2, 3, 5))


def test_what_is_sent_without_a_lock_is_what_the_kernel_has_made_by_then() -> None:
    design, arguments = tw.compile(RACE), [np.zeros(16384, np.int32)]
    plain = outcome(design, 1, arguments, "plain")
    assert len(np.unique(np.frombuffer(plain[1][0], np.int32))) > 2
    assert all(outcome(design, jobs, arguments) == plain for jobs in (1, 2, 4))


@pytest.mark.parametrize("jobs", [0, 65, True, "2", 1.0])
def test_a_number_of_jobs_that_is_none(jobs: Any) -> None:
    with pytest.raises(tw.Error, match=r"jobs is .*; it is the number of threads to use, 1 to 64"):
        tw.compile(RACE).load(jobs=jobs)
