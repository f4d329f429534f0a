"""C = A B on one core, for any M, K and N, with workers and ObjectFifos that find their own places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.designs.gemm_core import accumulate_tiles
from tilewright.designs.gemm_types import SUMS, WORD, SingleCore
from tilewright.iron import Buffer, Kernel, ObjectFifo, Program, Runtime, TaskGroup, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import Device
from tilewright.iron.open_sizes import Size, require_multiple


class SingleCoreGemm(SingleCore):
    """A product with workers and ObjectFifos that find their own places."""

    def program(self, M: Size = np.int32, K: Size = np.int32, N: Size = np.int32) -> Program:
        """The design. `M`, `K` and `N` are built in where they are numbers, else arguments of the sequence."""
        types, (m, k, n) = self.types, self.multiples
        in_a, in_b = ObjectFifo(types.a(), name="A_L3L2"), ObjectFifo(types.b(), name="B_L3L2")
        mem_a = in_a.cons().forward(name="A_L2L1", dims_to_stream=types.a_to_blocks())
        mem_b = in_b.cons().forward(name="B_L2L1", dims_to_stream=types.b_to_blocks())
        mem_c = ObjectFifo(types.c(), name="C_L1L2")
        out_c = mem_c.cons().forward(name="C_L2L3", dims_to_stream=types.c_from_blocks())
        steps = Buffer(WORD, name="steps", use_write_rtp=True)
        zero = Kernel(f"zero_{SUMS[self.operand]}", "mm.o", [types.c()])
        matmul = Kernel(f"matmul_{types.names}", "mm.o", [types.a(), types.b(), types.c()])
        arguments = [mem_a.cons(), mem_b.cons(), mem_c.prod(), steps, zero, matmul]
        worker = Worker(accumulate_tiles, arguments, dynamic_objfifo_lowering=True)

        def sequence(A: Any, B: Any, C: Any, M: Any, K: Any, N: Any, a: Any, b: Any, c: Any) -> None:
            for size, multiple, name in zip((M, K, N), self.multiples, "MKN", strict=True):
                require_multiple(size, multiple, name)
            steps[0] = K // k
            for i in range_(M // m):
                for j in range_(N // n):
                    group = TaskGroup()
                    a.fill(A, sizes=[1, K // k, m, k], strides=[0, k, K, 1], offset=i * m * K, group=group)
                    b.fill(B, sizes=[1, K // k, k, n], strides=[0, N * k, N, 1], offset=j * n, group=group)
                    at = i * m * N + j * n
                    c.drain(C, sizes=[1, 1, m, n], strides=[0, 0, N, 1], offset=at, wait=True, group=group)
                    group.finish()  # frees the descriptors: a shim tile has 16

        runtime = Runtime(sequence, [*self.arrays, M, K, N, in_a.prod(), in_b.prod(), out_c.cons()])
        return Program(Device(self.device), runtime, [worker])
