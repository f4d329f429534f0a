"""The port of a core: all that its program needs from the tile around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import LockAction
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.sim.engine import Process
from tilewright.sim.trace import TraceEvent

Kernel = Callable[..., Any]
"""An external kernel: gets NumPy views of memrefs and Python numbers, gives what the function gives. A generator is a
kernel that waits, see `kernels.on_core`."""


class CorePort(Protocol):
    """The tile as its core sees it. What takes time or may have to wait is a process."""

    reached: int
    """The number of the place that the program has come to, among those where it reaches out of the core."""

    def memory(self, buffer: BufferOp) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer on this or a neighbouring tile: the memory itself, which stays where it is."""
        ...

    def acquire(self, lock: LockOp, amount: int, action: LockAction, location: LocationAttr) -> Process[None]: ...

    def release(self, lock: LockOp, amount: int, location: LocationAttr) -> None: ...

    def put_cascade(self, data: bytes, location: LocationAttr) -> Process[None]:
        """Hand one accumulator on."""
        ...

    def get_cascade(self, size_bytes: int, location: LocationAttr) -> Process[bytes]: ...

    def put_stream(self, channel: int, data: bytes, location: LocationAttr) -> Process[None]:
        """Write one word, or four."""
        ...

    def get_stream(self, channel: int, size_bytes: int, location: LocationAttr) -> Process[bytes]: ...

    def record(self, event: TraceEvent, a: int = 0, b: int = 0) -> None:
        """Write down that something happens on the core."""
        ...

    def spend(self, cycles: int) -> Process[None]:
        """Let time pass."""
        ...

    def say(self, text: str) -> None:
        """Print something."""
        ...

    def pause(self, cycles: int, asker: object) -> Process[None]:
        """Let time pass in a loop that may be waiting for something in memory to change."""
        ...

    def kernel(self, name: str) -> Kernel | None:
        """What is bound to the name of a function that has no body."""
        ...
