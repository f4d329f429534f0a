"""The ranks of a run as processes of MPI, on one machine or several. Symmetric heaps are windows of one-sided
communication: those of this machine are mapped, others are reached by messages."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tilewright.errors import Error
from tilewright.gpu.device import DeviceError, Heap
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.outcome import RankReport
from tilewright.gpu.host.printing import flush_all, print_lines_at_once
from tilewright.gpu.host.rank import RankJob, run_rank, share_arguments

PAGE_BYTES = 4096
REMEDY = "pip install 'tilewright[mpi]', and an MPI such as Open MPI (apt install openmpi-bin)"


class NoMpi(Error):
    """mpi4py or the library that it needs is not there; the text says what to do."""


def check_mpi() -> None:
    """Complain if there is no mpi4py. It is not imported: that makes this process one of MPI's."""
    if find_spec("mpi4py") is None:
        raise NoMpi(f"--launcher mpi needs mpi4py, which is not installed; {REMEDY}")


def open_mpi() -> Any:
    """The module `MPI` of mpi4py."""
    check_mpi()
    try:
        return import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:  # the latter without an MPI library
        raise NoMpi(f"mpi4py cannot be used: {error}; {REMEDY}") from error


class MpiWorld:
    """One rank's place in MPI's world. With `by_messages` even heaps of the same machine are not mapped."""

    def __init__(self, mpi: Any, by_messages: bool = False):
        self.mpi, self.by_messages = mpi, by_messages
        self._world: Any = mpi.COMM_WORLD
        self._node: Any = self._world.Split_type(mpi.COMM_TYPE_SHARED)
        self.rank: int = self._world.rank
        self.size: int = self._world.size
        self.folder: Path | None = None
        self._windows: list[Any] = []
        self._reserved: list[mmap.mmap] = []

    def barrier(self) -> None:
        self._world.Barrier()

    def exchange(self, data: bytes) -> list[bytes]:
        return self._world.allgather(data)

    def make_heap(self, size_bytes: int) -> Heap:
        node = self._world.Split(self.rank, 0) if self.by_messages else self._node
        # room to begin at a page on every rank, as mapped heaps do
        shared = self.mpi.Win.Allocate_shared(size_bytes + PAGE_BYTES, 1, comm=node)
        window = self.mpi.Win.Create(shared.tomemory(), 1, comm=self._world)
        window.Lock_all()
        # a window of its own for locks: the other is open for all the time
        turns = self.mpi.Win.Allocate(1, 1, comm=self._world)
        self._windows = [window, turns, shared]
        paddings: list[int] = self._world.allgather(-shared.tomemory().address % PAGE_BYTES)
        members: list[int] = node.allgather(self.rank)
        mapped = {rank: shared.Shared_query(place)[0].address + paddings[rank] for place, rank in enumerate(members)}
        ctypes.memset(mapped[self.rank], 0, size_bytes)
        bases = tuple(mapped[rank] if rank in mapped else self._reserve(size_bytes) for rank in range(self.size))
        self.barrier()
        memory = WindowMemory(self.mpi, window, turns, bases, paddings, size_bytes)
        return Heap(size_bytes, bases, memory, frozenset(range(self.size)) - set(mapped))

    def drop_heap(self, heap: Heap) -> None:
        self.barrier()
        self._windows[0].Unlock_all()
        for window in self._windows:
            window.Free()
        self._windows, self._reserved = [], []

    def _reserve(self, size_bytes: int) -> int:
        """Addresses that nothing else has and that cannot be accessed: they stand for memory of another machine."""
        try:
            mapping = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_WRITE)
        except OSError as error:
            raise DeviceError(f"no addresses for a heap of {size_bytes} bytes: {error.strerror}") from error
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        # an access is a fault and no silent zero
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size_bytes), 0)
        self._reserved.append(mapping)
        return address


class WindowMemory:
    """Heaps of all ranks, through a window that is open as long as it is there."""

    def __init__(
        self, mpi: Any, window: Any, turns: Any, bases: Sequence[int], paddings: Sequence[int], size_bytes: int
    ):
        self.mpi, self.window, self.turns = mpi, window, turns
        self.bases, self.paddings, self.size_bytes = bases, paddings, size_bytes

    def read(self, address: int, size_bytes: int) -> bytes:
        rank, offset = self._place(address, size_bytes)
        data = bytearray(size_bytes)
        self.window.Get([data, self.mpi.BYTE], rank, (offset, size_bytes, self.mpi.BYTE))
        self.window.Flush(rank)
        return bytes(data)

    def write(self, address: int, data: bytes) -> None:
        rank, offset = self._place(address, len(data))
        self.window.Put([data, self.mpi.BYTE], rank, (offset, len(data), self.mpi.BYTE))
        self.window.Flush(rank)

    def update(self, address: int, size_bytes: int, change: Callable[[bytes], bytes]) -> bytes:
        """An update of a rank's heap holds its lock. (Open MPI 4 crashes in `Compare_and_swap` by `osc/rdma`.)"""
        rank, _ = self._place(address, size_bytes)
        self.turns.Lock(rank, self.mpi.LOCK_EXCLUSIVE)
        try:
            found = self.read(address, size_bytes)
            self.write(address, change(found))
        finally:
            self.turns.Unlock(rank)
        return found

    def _place(self, address: int, size_bytes: int) -> tuple[int, int]:
        for rank, base in enumerate(self.bases):
            if base <= address and address + size_bytes <= base + self.size_bytes:
                return rank, address - base + self.paddings[rank]
        raise DeviceError(f"accesses {size_bytes} bytes at {address:#x}, which is in no symmetric heap")


def run_mpi_rank(job: RankJob, mpi: Any, by_messages: bool = False) -> RankReport:
    """Run a job here, as the rank that MPI says."""
    print_lines_at_once()
    job.program.prepare()
    arguments = share_arguments(job)
    report = run_rank(job, MpiWorld(mpi, by_messages), HostContext(job.program.context_bytes), arguments)
    report.arrays = [value for value in arguments if not isinstance(value, int | float)]
    flush_all()
    return report


def abort(mpi: Any, status: int) -> None:
    """End all ranks, wherever they are."""
    sys.stdout.flush()
    sys.stderr.flush()
    # others may be in a barrier that never ends
    mpi.COMM_WORLD.Abort(status)
