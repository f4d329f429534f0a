"""Bytes to a core and back, as many as the host likes: one build for all lengths that are multiples of four."""

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, TaskGroup, Worker, kernels
from tilewright.iron.controlflow import if_
from tilewright.iron.device import NPU1Col1

LINE = 1024

line = np.ndarray[(LINE,), np.dtype[np.uint8]]
buffer = np.ndarray[(None,), np.dtype[np.uint8]]

of_in = ObjectFifo(line, name="in")
of_out = ObjectFifo(line, name="out")


def copy_line(source, target, pass_through_line):
    target_line = target.acquire(1)
    source_line = source.acquire(1)
    pass_through_line(source_line, target_line, LINE)
    source.release(1)
    target.release(1)


worker = Worker(copy_line, [of_in.cons(), of_out.prod(), kernels.passthrough(LINE, np.uint8)])


def sequence(a, b, rest, length, source, target):
    """Copy `length` bytes of `a` to `b`. The core works on whole lines: `rest` fills up the last one."""
    group = TaskGroup()
    source.fill(a, transfer_len=length, group=group)
    target.drain(b, transfer_len=length, wait=True, group=group)
    missing = (LINE - length % LINE) % LINE
    with if_(missing != 0, hasElse=False):
        end = TaskGroup()
        source.fill(rest, transfer_len=missing, group=end)
        target.drain(rest, transfer_len=missing, wait=True, group=end)
        end.finish()
    group.finish()


runtime = Runtime(sequence, [buffer, buffer, line, np.int32, of_in.prod(), of_out.cons()])
program = Program(NPU1Col1(), runtime, [worker])
