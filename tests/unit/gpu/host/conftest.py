"""Host programs on a device whose kernels are Python functions, for tests that are about the host."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright import air
from tilewright.air.program import DEFAULT_CHIPS
from tilewright.gpu.device import BACKENDS, Size3

BACKEND = "of-python"
MODULE = "tilewright_test_backend"


@dataclass(frozen=True)
class NamedKernel:
    name: str


class PythonDevice:
    """Memory of the host; a kernel is looked up by name and called once, with `grid`, `block` and raw arguments."""

    kernels: dict[str, Callable[..., None]] = {}

    def __init__(self, world: Any, options: Any):
        self.world, self.options = world, options
        self.memory: dict[int, Any] = {}
        self.launches = 0

    def allocate(self, size_bytes: int, host_shared: bool = False) -> int:
        room = ctypes.create_string_buffer(size_bytes + 256)
        address = -(-ctypes.addressof(room) // 256) * 256
        self.memory[address] = room
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        ctypes.memmove(to, source, size_bytes)

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        ctypes.memmove(address, pattern * count, len(pattern) * count)

    def load(self, module: Any) -> Any:
        return SimpleNamespace(kernel=NamedKernel)

    def launch(
        self, kernel: NamedKernel, grid: Size3, block: Size3, shared: int, arguments: Sequence[bytes], where: Any = None
    ) -> None:
        self.launches += 1
        self.kernels[kernel.name](grid, block, arguments)

    def synchronize(self) -> None: ...

    def make_heap(self, size_bytes: int) -> Any:
        return self.world.make_heap(size_bytes)

    def drop_heap(self, heap: Any) -> None:
        self.world.drop_heap(heap)

    def waiting(self) -> Any:
        return nullcontext()

    def counters(self) -> dict[str, int]:
        return {"launches": self.launches}

    def profile(self) -> tuple[()]:
        return ()

    def close(self) -> None: ...


@pytest.fixture
def run_host(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a program whose kernels are given as functions; the result, whatever it is."""
    monkeypatch.setitem(BACKENDS, BACKEND, MODULE)
    monkeypatch.setitem(DEFAULT_CHIPS, BACKEND, "gfx942")
    monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(open_device=PythonDevice))

    def run(text: str, *arguments: Any, kernels: dict[str, Callable[..., None]] | None = None, **options: Any) -> Any:
        monkeypatch.setattr(PythonDevice, "kernels", kernels or {})
        given = {"timeout": 20, "check": False} | options
        return air.compile(text).run(*arguments, backend=BACKEND, **given)

    return run
