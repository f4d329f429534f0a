"""One is added to each of 256 numbers, and trace units record what the core and its DMA do meanwhile."""

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1
from tilewright.iron.dialects.aie import TraceMode, WireBundle, event
from tilewright.iron.utils.trace.events import CoreEvent, MemEvent, PortEvent

line = np.ndarray[(64,), np.dtype[np.int32]]
vector = np.ndarray[(256,), np.dtype[np.int32]]

of_in = ObjectFifo(line, name="in")
of_out = ObjectFifo(line, name="out")


def add_one(source, target):
    numbers = source.acquire(1)
    results = target.acquire(1)
    event(0)
    for i in range_(64):
        results[i] = numbers[i] + 1
    event(1)
    source.release(1)
    target.release(1)


worker = Worker(add_one, [of_in.cons(), of_out.prod()])


def sequence(a, b, source, target):
    source.fill(a)
    target.drain(b, wait=True)


runtime = Runtime(sequence, [vector, vector, of_in.prod(), of_out.cons()])
program = Program(NPU1Col1(), runtime, workers=[worker])
program.enable_trace(
    8192,  # bytes
    workers=[worker],
    coretile_events=[
        CoreEvent.INSTR_EVENT_0,
        CoreEvent.INSTR_EVENT_1,
        CoreEvent.LOCK_STALL,
        PortEvent(CoreEvent.PORT_RUNNING_0, WireBundle.DMA, 0),
    ],
    coremem_events=[MemEvent.DMA_S2MM_0_FINISHED_BD, MemEvent.DMA_MM2S_0_FINISHED_BD],
    core_trace_mode=TraceMode.EventTime,
)
