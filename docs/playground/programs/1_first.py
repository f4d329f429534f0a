"""A first program: one is added to each of 256 numbers"""

import numpy as np

import tilewright as tw
from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1

line, vector = np.ndarray[(64,), np.dtype[np.int32]], np.ndarray[(256,), np.dtype[np.int32]]
of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")


def add_one(source, target):  # what a core does, again and again
    numbers, results = source.acquire(1), target.acquire(1)
    for i in range_(64):
        results[i] = numbers[i] + 1
    source.release(1)
    target.release(1)


def sequence(a, b, source, target):  # what the host does
    source.fill(a)
    target.drain(b, wait=True)


runtime = Runtime(sequence, [vector, vector, of_in.prod(), of_out.cons()])
design = tw.compile(Program(NPU1Col1(), runtime, [Worker(add_one, [of_in.cons(), of_out.prod()])]))
a, b = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
result = design.run(a, b)
print("right" if (b == a + 1).all() else "wrong", b[:8], result.cycles, "cycles")
result
