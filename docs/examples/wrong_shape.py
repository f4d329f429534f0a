"""A mistake: the kernel takes lines of 512 numbers, but the fifo has lines of 1024."""

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, Worker, kernels
from tilewright.iron.device import NPU1Col1

line = np.ndarray[(1024,), np.dtype[np.uint8]]
of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")


def copy_line(source, target, pass_through_line):
    pass_through_line(source.acquire(1), target.acquire(1), 1024)
    source.release(1)
    target.release(1)


worker = Worker(copy_line, [of_in.cons(), of_out.prod(), kernels.passthrough(512, np.uint8)])


def sequence(a, b, source, target):
    source.fill(a)
    target.drain(b, wait=True)


runtime = Runtime(sequence, [line, line, of_in.prod(), of_out.cons()])
program = Program(NPU1Col1(), runtime, [worker])
