"""One build for any size: the words of the stream, for three of them"""

import numpy as np

import tilewright as tw
from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU2Col1

line, vector = np.ndarray[(32,), np.dtype[np.int32]], np.ndarray[(None,), np.dtype[np.int32]]
of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")


def negate(source, target):
    numbers, results = source.acquire(1), target.acquire(1)
    for i in range_(32):
        results[i] = 0 - numbers[i]
    source.release(1)
    target.release(1)


def sequence(a, b, n, source, target):
    source.fill(a, transfer_len=n)
    target.drain(b, transfer_len=n, wait=True)


runtime = Runtime(sequence, [vector, vector, np.int32, of_in.prod(), of_out.cons()])
design = tw.compile(Program(NPU2Col1(), runtime, [Worker(negate, [of_in.cons(), of_out.prod()])]))
for n in (32, 96, 320):
    a, b = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    result = design.run(a, b, n)
    assert (b == -a).all()
    print(f"n = {n:3}: {design.txn(n=n).size} words, {result.cycles:,} cycles")
design
