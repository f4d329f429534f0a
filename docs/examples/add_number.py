import argparse
import sys

import aie.iron as iron
import numpy as np
from aie.iron import CompileTime, In, ObjectFifo, Out, Program, Runtime, Worker
from aie.iron.controlflow import range_


@iron.jit
def add_number(a: In, b: Out, *, size: CompileTime[int], number: CompileTime[int]):
    line = np.ndarray[(64,), np.dtype[np.int32]]
    vector = np.ndarray[(size,), np.dtype[np.int32]]
    of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")

    def core(source, target):
        numbers, results = source.acquire(1), target.acquire(1)
        for i in range_(64):
            results[i] = numbers[i] + number
        source.release(1)
        target.release(1)

    def sequence(a, b, source, target):
        source.fill(a)
        target.drain(b, wait=True)

    worker = Worker(core, [of_in.cons(), of_out.prod()])
    runtime = Runtime(sequence, [vector, vector, of_in.prod(), of_out.cons()])
    return Program(iron.get_current_device(), runtime, workers=[worker]).resolve_program()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1024)
    options = parser.parse_args()
    a = iron.arange(options.size, dtype=np.int32)
    b = iron.zeros(options.size, dtype=np.int32)
    add_number(a, b, size=options.size, number=7)
    if not np.array_equal(b.numpy(), a.numpy() + 7):
        sys.exit("wrong results")
    print("PASS!")


if __name__ == "__main__":
    main()
