"""Why it hangs: a core that gives nothing away"""

import numpy as np

import tilewright as tw
from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1

line, vector = np.ndarray[(64,), np.dtype[np.int32]], np.ndarray[(256,), np.dtype[np.int32]]
of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")


def double(source, target):
    numbers, results = source.acquire(1), target.acquire(1)
    for i in range_(64):
        results[i] = numbers[i] + numbers[i]
    source.release(1)  # and the results? add target.release(1), and run it again


def sequence(a, b, source, target):
    source.fill(a)
    target.drain(b, wait=True)


runtime = Runtime(sequence, [vector, vector, of_in.prod(), of_out.cons()])
design = tw.compile(Program(NPU1Col1(), runtime, [Worker(double, [of_in.cons(), of_out.prod()])]))
a, b = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
try:
    result = design.run(a, b)
    print("right" if (b == 2 * a).all() else "wrong")
except tw.Hang as hang:
    print(hang)
    result = tw.RunResult(hang.record)
result
