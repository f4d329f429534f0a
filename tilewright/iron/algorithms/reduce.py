"""Designs that make a tensor smaller."""

from __future__ import annotations

from typing import Any

from tilewright.iron.algorithms.elementwise import array_type, chosen_device, vector
from tilewright.iron.builders.location import refuse
from tilewright.iron.dataflow.objectfifo import ObjectFifo
from tilewright.iron.kernel import BaseKernel
from tilewright.iron.program import Program
from tilewright.iron.runtime.runtime import Runtime
from tilewright.iron.worker import Worker


def reduce(func: Any, input_ty: Any, output_ty: Any, *, trace_size: int = 0) -> Any:
    """A design that hands all of a tensor to one call of a kernel of `(input, output, number of elements)`."""
    if not isinstance(func, BaseKernel):
        refuse("reduce takes a kernel, which sees all elements", (None, "such as kernels.reduce_add(...)"))
    size, dtype = array_type(input_ty, "reduce")
    of_in = ObjectFifo(vector(size, dtype), name="in")
    of_out = ObjectFifo(vector(*array_type(output_ty, "reduce")), name="out")

    def core(source: Any, target: Any, kernel: Any) -> None:
        result, tensor = target.acquire(1), source.acquire(1)
        kernel(tensor, result, size)
        source.release(1)
        target.release(1)

    def sequence(input: Any, output: Any, source: Any, target: Any) -> None:
        source.fill(input)
        target.drain(output, wait=True)

    worker = Worker(core, [of_in.cons(), of_out.prod(), func], trace=1 if trace_size else None)
    runtime = Runtime(sequence, [of_in.obj_type, of_out.obj_type, of_in.prod(), of_out.cons()])
    program = Program(chosen_device("iron.algorithms.reduce"), runtime, [worker])
    program.enable_trace(trace_size)  # a size of 0 is none
    return program.resolve_program()
