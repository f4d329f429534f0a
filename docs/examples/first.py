"""One is added to each of 256 numbers: to a core 64 at a time, and back."""

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1

line = np.ndarray[(64,), np.dtype[np.int32]]
vector = np.ndarray[(256,), np.dtype[np.int32]]

of_in = ObjectFifo(line, name="in")
of_out = ObjectFifo(line, name="out")


def add_one(source, target):
    numbers = source.acquire(1)
    results = target.acquire(1)
    for i in range_(64):
        results[i] = numbers[i] + 1
    source.release(1)
    target.release(1)


worker = Worker(add_one, [of_in.cons(), of_out.prod()])


def sequence(a, b, source, target):
    source.fill(a)
    target.drain(b, wait=True)


runtime = Runtime(sequence, [vector, vector, of_in.prod(), of_out.cons()])
program = Program(NPU1Col1(), runtime, workers=[worker])
