"""The transpose of a matrix of any number of blocks each way. No core takes part: DMAs read columns, write rows."""

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, TaskGroup
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU2Col1

BLOCK = 32

matrix = np.ndarray[(None,), np.dtype[np.int32]]
block = np.ndarray[(BLOCK * BLOCK,), np.dtype[np.int32]]

of_in = ObjectFifo(block, name="in")
of_out = of_in.cons().forward(name="out")


def sequence(a, b, rows, columns, source, target):
    """Write the transpose of `a`, `rows` by `columns`, both multiples of 32, to `b`: 32 columns at a time."""
    for n in range_(columns // BLOCK):
        group = TaskGroup()
        source.fill(
            a,
            offset=n * BLOCK,
            sizes=[1, BLOCK, rows // BLOCK, BLOCK],
            strides=[0, 1, columns * BLOCK, columns],
            group=group,
        )
        target.drain(b, offset=rows * n * BLOCK, transfer_len=rows * BLOCK, wait=True, group=group)
        group.finish()


runtime = Runtime(sequence, [matrix, matrix, np.int32, np.int32, of_in.prod(), of_out.cons()])
program = Program(NPU2Col1(), runtime)
