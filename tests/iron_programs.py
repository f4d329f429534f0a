"""Small Python programs for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.device import NPU1Col1


def vector(size: int | None, dtype: Any = np.int32) -> Any:
    """The type of a one-dimensional array; without a size, of as many elements as a run gives it."""
    return np.ndarray[(size,), np.dtype[dtype]]  # pyright: ignore[reportInvalidTypeArguments]


def copy_objects(source: Any, target: Any) -> None:
    """A worker's function that passes objects on, with room for a body in between."""
    source.acquire(1)
    target.acquire(1)
    source.release(1)
    target.release(1)


def move_all(a: Any, b: Any, source: Any, target: Any) -> None:
    """A sequence that fills one end with all of a buffer and drains the other into another."""
    source.fill(a)
    target.drain(b, wait=True)


class Pipe:
    """Two ObjectFifos with a worker between them: `source` is filled, `target` is drained."""

    def __init__(self, object_type: Any = None, core: Callable[..., Any] = copy_objects, *extra: Any, **worker: Any):
        object_type = vector(64) if object_type is None else object_type
        self.of_in, self.of_out = ObjectFifo(object_type, name="in"), ObjectFifo(object_type, name="out")
        self.worker = Worker(core, [self.of_in.cons(), self.of_out.prod(), *extra], **worker)
        self.source, self.target = self.of_in.prod(), self.of_out.cons()

    def program(self, sequence: Callable[..., Any], *types: Any) -> Program:
        """The program of a sequence that takes these, then the two ends."""
        runtime = Runtime(sequence, [*types, self.source, self.target])
        return Program(NPU1Col1(), runtime, [self.worker])
