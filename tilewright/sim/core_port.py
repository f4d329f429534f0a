"""The port of a core: all that its program needs from the tile around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import Arch, LockAction
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.func import CallOp
from tilewright.sim.engine import Process
from tilewright.sim.trace import TraceEvent

if TYPE_CHECKING:
    from tilewright.sim.cpp_kernels import CoreLibraries

Kernel = Callable[..., Any]
"""An external kernel: gets NumPy views of memrefs and Python numbers, gives what the function gives. A generator is a
kernel that waits, see `kernels.on_core`."""


class CorePort(Protocol):
    """The tile as its core sees it. What takes time or may have to wait is a process."""

    reached: int
    """The number of the place that the program has come to, among those where it reaches out of the core."""
    libraries: CoreLibraries
    """Compiled kernels that it has called."""
    calling: str | None
    """The compiled kernel that it is in while it waits for something, for messages."""

    @property
    def arch(self) -> Arch: ...

    @property
    def hears_events(self) -> bool:
        """Whether a trace unit may record what a kernel raises."""
        ...

    def memory(self, buffer: BufferOp) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer on this or a neighbouring tile: the memory itself, which stays where it is."""
        ...

    def acquire(self, lock: LockOp, amount: int, action: LockAction, location: LocationAttr) -> Process[None]: ...

    def release(self, lock: LockOp, amount: int, location: LocationAttr) -> None: ...

    def put_cascade(self, data: bytes, location: LocationAttr) -> Process[None]:
        """Hand one accumulator on."""
        ...

    def get_cascade(self, size_bytes: int, location: LocationAttr) -> Process[bytes]: ...

    def put_stream(self, channel: int, data: bytes, location: LocationAttr, is_last: bool = False) -> Process[None]:
        """Write one word, or four; the last of a packet may be marked as such."""
        ...

    def get_stream(self, channel: int, size_bytes: int, location: LocationAttr) -> Process[bytes]: ...

    def use_lock(self, number: int, amount: int, is_acquire: bool, location: LocationAttr) -> Process[None]:
        """Use a lock by the number that instructions have for it; to acquire -n is to wait for n or more."""
        ...

    def read_register(self, address: int, location: LocationAttr) -> Process[int]:
        """Read a register of the tile, as a core can."""
        ...

    def write_register(self, address: int, value: int, location: LocationAttr) -> Process[None]: ...

    def raises_events(self, call: CallOp) -> bool:
        """Whether a kernel tells of its events itself, by `raise_event`; otherwise its call and its end are both."""
        ...

    def raise_event(self, number: int) -> None:
        """An instruction of a kernel that is an event: 0 or 1."""
        ...

    def flow(self, entries: Sequence[int]) -> None:
        """Tell which way the program went, in entries of `native.context_layout`."""
        ...

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
