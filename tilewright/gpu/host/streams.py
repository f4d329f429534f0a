"""The runtime's streams, which have nothing to do since all is done when a call returns, and its events, which tell
the time."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable

from tilewright.gpu.device import DeviceError
from tilewright.gpu.host.printing import print_text

MILLISECONDS = 1000.0


class Streams:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._times: dict[int, float | None] = {}

    def functions(self) -> dict[str, Callable[..., int | None]]:
        return {
            "mgpuStreamCreate": lambda: next(self._numbers),
            "mgpuStreamDestroy": self._nothing,
            "mgpuStreamSynchronize": self._nothing,
            "mgpuStreamWaitEvent": self._nothing,
            "mgpuEventCreate": self._create,
            "mgpuEventDestroy": self._destroy,
            "mgpuEventSynchronize": self._nothing,
            "mgpuEventRecord": self._record,
            "mgpuEventElapsedTime": self._elapsed,
        }

    def _nothing(self, *_: int) -> None: ...

    def _create(self) -> int:
        event = next(self._numbers)
        self._times[event] = None
        return event

    def _destroy(self, event: int) -> None:
        self._times.pop(event, None)

    def _record(self, event: int, stream: int) -> None:
        self._times[event] = time.perf_counter()

    def _elapsed(self, place: int, first: int, second: int) -> int:
        times = [self._times.get(event) for event in (first, second)]
        begin, end = times
        if begin is None or end is None:
            raise DeviceError("asks how long it was between two events of which one was not recorded")
        passed = MILLISECONDS * (end - begin)
        if place:
            ctypes.c_float.from_address(place).value = passed
        print_text(f"Elapsed time: {passed:.3f} ms\n")
        return 0
