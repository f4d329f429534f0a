"""Times of calls: on this computer, and on the modelled device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Stats:
    """In microseconds."""

    avg_us: float
    min_us: float
    max_us: float


@dataclass
class BenchmarkResult:
    e2e: Stats
    """From call to return, which here is the time that the simulation takes."""
    npu: Stats | None
    """Modelled time on the device; None for calls that are no designs."""


def run_iters(fn: Callable[..., Any], *args: Any, warmup: int = 0, iters: int = 1, **kwargs: Any) -> BenchmarkResult:
    """Call a function several times; the first `warmup` calls do not count."""
    if iters < 1:
        raise ValueError(f"iters must be >= 1 (got {iters})")
    if warmup < 0:
        raise ValueError(f"warmup must be >= 0 (got {warmup})")
    # the first call compiles, so its time is another
    for _ in range(warmup):
        fn(*args, **kwargs)
    samples = [_timed(fn, args, kwargs) for _ in range(iters)]
    modelled = [npu_ns / 1000 for _, npu_ns in samples if npu_ns is not None]
    return BenchmarkResult(_stats([us for us, _ in samples]), _stats(modelled) if modelled else None)


def _timed(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[float, float | None]:
    start = time.perf_counter()
    result = fn(*args, **kwargs)
    return (time.perf_counter() - start) * 1e6, getattr(result, "npu_time", None)


def _stats(samples_us: Sequence[float]) -> Stats:
    return Stats(sum(samples_us) / len(samples_us), min(samples_us), max(samples_us))


def print_benchmark(result: BenchmarkResult) -> None:
    """Print both times."""
    for name, stats in (("NPU time    ", result.npu), ("End-to-end  ", result.e2e)):
        if stats is not None:
            print(f"{name} (avg/min/max us): {stats.avg_us:.1f} / {stats.min_us:.1f} / {stats.max_us:.1f}")
