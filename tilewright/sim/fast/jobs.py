"""Native kernels on other cores of this computer, while the loop goes on.

A kernel may begin and end whenever it likes between the cycle in which a core calls it and that in which it returns, as
long as nothing can tell: before anything else touches the memory that a call was given, it is waited for. So results
are those of kernels that run at once, in whatever order threads come to their work.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.native.compiled_python import call_address, post, take_post
from tilewright.sim.fast.state import CALL_MEMORIES, NONE, RING_JOBS, FastState, native

SEMAPHORE_BYTES = 64
"""At least as many as a `sem_t` has anywhere, and a line of the cache, so that no two share one."""


@native
def give_job(s: FastState, core: int, call: int) -> int:
    """Let a worker make the call of a core."""
    for memory in range(call * CALL_MEMORIES, (call + 1) * CALL_MEMORIES):
        await_memory(s, s.given_low[memory], s.given_high[memory])
    worker = s.next_worker
    s.next_worker = (worker + 1) % s.workers
    job = worker * RING_JOBS + s.worker_given[worker] % RING_JOBS
    s.job_function[job] = s.call_function[call]
    s.job_argument[job] = s.call_argument[call]
    s.job_core[job] = core
    s.worker_given[worker] += 1
    s.core_call[core] = call + 1
    s.pending += 1
    post(s.worker_work[worker])
    return 0


@native
def await_core(s: FastState, core: int) -> int:
    """Go on when the call of a core is made."""
    if s.core_call[core] != 0:
        take_post(s.core_done[core])
        s.core_call[core] = 0
        s.pending -= 1
    return 0


@native
def await_memory(s: FastState, low: int, high: int) -> int:
    """Go on when no call is under way that was given memory between two addresses."""
    if s.pending != 0:
        for core in range(s.cores):
            if s.core_call[core] != 0 and is_given(s, s.core_call[core] - 1, low, high):
                await_core(s, core)
    return 0


@native
def is_given(s: FastState, call: int, low: int, high: int) -> int:
    for memory in range(call * CALL_MEMORIES, (call + 1) * CALL_MEMORIES):
        if s.given_low[memory] < high and low < s.given_high[memory]:
            return 1
    return 0


@native
def await_all(s: FastState) -> int:
    if s.pending != 0:
        for core in range(s.cores):
            await_core(s, core)
    return 0


@native.entry
def work(s: FastState, worker: int) -> int:
    """Make the calls that a worker is given, until there is one of nothing."""
    taken = 0
    while True:
        take_post(s.worker_work[worker])
        job = worker * RING_JOBS + taken % RING_JOBS
        if s.job_core[job] == NONE:
            return 0
        call_address(s.job_function[job], s.job_argument[job])
        post(s.core_done[s.job_core[job]])
        taken += 1


class Workers:
    """Threads that make calls of native kernels during a run."""

    def __init__(self, state: FastState, cores: int, jobs: int):
        """`jobs` threads in all, that of the loop among them."""
        self.state, self.count = state, jobs - 1
        self._threads: list[threading.Thread] = []
        semaphores = self.count + cores
        self._memory = ctypes.create_string_buffer(SEMAPHORE_BYTES * (semaphores + 1))
        first = ctypes.addressof(self._memory)
        places = [first + -first % SEMAPHORE_BYTES + SEMAPHORE_BYTES * number for number in range(semaphores)]
        for place in places:
            _make_semaphore(place)
        self._work, self._done = places[: self.count], places[self.count :]

    def start(self) -> None:
        state = self.state
        state.array("worker_work")[: self.count] = self._work
        state.array("core_done")[: len(self._done)] = self._done
        state.array("worker_given")[:] = 0
        state.workers, state.next_worker = self.count, 0
        code: Any = native[work]
        address = ctypes.cast(code, ctypes.c_void_p).value
        assert address is not None
        # Without the interpreter's lock, which the loop has.
        entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(address)
        self._threads = [
            threading.Thread(target=entry, args=(state.address, number), name="kernels", daemon=True)
            for number in range(self.count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """All calls are made by now."""
        state = self.state
        for number, place in enumerate(self._work[: len(self._threads)]):
            state.job_core[number * RING_JOBS + int(state.worker_given[number]) % RING_JOBS] = NONE
            post(place)
        for thread in self._threads:
            thread.join()
        self._threads = []
        state.workers = 0


def _make_semaphore(place: int) -> None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "sem_init") or library.sem_init(ctypes.c_void_p(place), 0, 0) != 0:
        raise ArgumentError("jobs: this system has no semaphores for threads; leave it at 1")
