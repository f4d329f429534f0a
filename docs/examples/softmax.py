"""The softmax of each row of a matrix, on two cores that take turns; how many rows is decided when the host asks."""

import numpy as np
from ml_dtypes import bfloat16

from tilewright.iron import ObjectFifo, Program, Runtime, Worker, kernels
from tilewright.iron.device import NPU2Col1

WIDTH, CORES = 1024, 2

row = np.ndarray[(WIDTH,), np.dtype[bfloat16]]
rows_of_all = np.ndarray[(CORES * WIDTH,), np.dtype[bfloat16]]
matrix = np.ndarray[(None,), np.dtype[bfloat16]]
parts = {"offsets": [WIDTH * core for core in range(CORES)], "obj_types": [row] * CORES}

of_in = ObjectFifo(rows_of_all, name="in")
of_out = ObjectFifo(rows_of_all, name="out")
of_in_each = of_in.cons().split(**parts)
of_out_each = of_out.prod().join(**parts)


def softmax_row(source, target, kernel):
    result, values = target.acquire(1), source.acquire(1)
    kernel(values, result, WIDTH)
    source.release(1)
    target.release(1)


kernel = kernels.softmax(WIDTH)
workers = [Worker(softmax_row, [of_in_each[n].cons(), of_out_each[n].prod(), kernel]) for n in range(CORES)]


def sequence(x, y, pairs, source, target):
    """Write the softmax of each of the first 2 * `pairs` rows of `x` to `y`."""
    source.fill(x, transfer_len=pairs * CORES * WIDTH)
    target.drain(y, transfer_len=pairs * CORES * WIDTH, wait=True)


runtime = Runtime(sequence, [matrix, matrix, np.int32, of_in.prod(), of_out.cons()])
program = Program(NPU2Col1(), runtime, workers)
