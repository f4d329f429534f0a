"""Profiles of kernels: what launches on the emulator counted, in a form that travels between processes.

Counts are exact for the program and its data. Steps are the emulator's: in one step a wave does one operation of the
lowered program, whatever that would take on a GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tilewright.device.gpu_targets import MEMORY_SHAPES, PEAKS, GpuTarget
from tilewright.gpu.resources import Occupancy, occupancy

Place = tuple[str, int]
"""A file and a line of it."""
READ, WRITTEN, UPDATED = "read", "written", "updated"
GLOBAL, SHARED = "global", "shared"
LEVELS = tuple(f"{space} {way}" for space in (GLOBAL, SHARED) for way in (READ, WRITTEN, UPDATED))


@dataclass
class Traffic:
    """Accesses of waves to one kind of memory: bytes that lanes asked for, and what serves them.

    Global memory is served in transactions, memory of a block in turns of its banks; `least` is how many of them the
    same bytes would take at best.
    """

    accesses: int = 0
    bytes: int = 0
    served: int = 0
    least: int = 0

    def add(self, other: Traffic) -> None:
        self.accesses += other.accesses
        self.bytes += other.bytes
        self.served += other.served
        self.least += other.least

    @property
    def efficiency(self) -> float:
        return self.least / self.served if self.served else 1.0


@dataclass
class LineProfile:
    """What waves did for a line of the program."""

    operations: int = 0
    """Of waves."""
    flops: int = 0
    traffic: dict[str, Traffic] = field(default_factory=dict[str, Traffic])

    def add(self, other: LineProfile) -> None:
        self.operations += other.operations
        self.flops += other.flops
        for level, traffic in other.traffic.items():
            self.traffic.setdefault(level, Traffic()).add(traffic)

    def space(self, space: str) -> Traffic:
        return total_traffic(traffic for level, traffic in self.traffic.items() if level.startswith(space))


@dataclass
class WaveTrack:
    """A wave over time: steps at which it began to execute and to wait, in turns, and its end."""

    block: tuple[int, int, int]
    wave: int
    unit: int
    start: int
    edges: list[int]
    """Steps after the start: executes up to the first, waits up to the second, executes again, and so on."""


@dataclass
class LaunchProfile:
    """One launch of a kernel, or all of them in one."""

    kernel: str
    """Its name, and before it that of its module where that is another one."""
    place: Place | None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    private_bytes: int
    waves: int = 0
    launches: int = 1
    steps: int = 0
    """From the first operation to the last, with blocks on units as they have room."""
    wave_steps: int = 0
    """Of all waves together, those that wait for others at barriers included."""
    waited_steps: int = 0
    operations: int = 0
    lane_operations: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    flops: Counter[str] = field(default_factory=Counter[str])
    distinct: Counter[str] = field(default_factory=Counter[str])
    """Bytes of transactions to different places of global memory: what has to be moved even with a perfect cache."""
    lines: dict[Place, LineProfile] = field(default_factory=dict[Place, LineProfile])
    tracks: list[WaveTrack] = field(default_factory=list[WaveTrack])
    """Of the first blocks of the longest launch."""
    track_steps: int = 0

    def add(self, other: LaunchProfile) -> None:
        if other.steps > self.track_steps:
            self.grid, self.block, self.shared_bytes = other.grid, other.block, other.shared_bytes
            self.tracks, self.track_steps = other.tracks, other.steps
        for name in ("waves", "launches", "steps", "wave_steps", "waited_steps", "operations", "lane_operations"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("kinds", "flops", "distinct"):
            getattr(self, name).update(getattr(other, name))
        for place, line in other.lines.items():
            self.lines.setdefault(place, LineProfile()).add(line)

    def traffic(self, level: str) -> Traffic:
        """All accesses of one way to one kind of memory."""
        total = Traffic()
        for line in self.lines.values():
            if level in line.traffic:
                total.add(line.traffic[level])
        return total

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


def full_name(module: str, kernel: str) -> str:
    """A kernel's name among all modules of a program."""
    return kernel if module == kernel else f"{module}::{kernel}"


def total_traffic(parts: Iterable[Traffic]) -> Traffic:
    total = Traffic()
    for part in parts:
        total.add(part)
    return total


@dataclass(frozen=True)
class Roof:
    """What a GPU reaches at best for one kind of operations."""

    name: str
    tflops: float
    flops: int


@dataclass
class KernelProfile:
    """All launches of a kernel on a target."""

    launches: LaunchProfile
    target: GpuTarget
    wave_size: int
    registers: int | None
    """Of a thread, as the compiler gives them for the target; None where that is not known."""

    @property
    def name(self) -> str:
        return self.launches.kernel

    @property
    def occupancy(self) -> Occupancy:
        return occupancy(self.target, self.launches.threads, self.launches.shared_bytes, self.registers)

    def space(self, space: str) -> Traffic:
        return total_traffic(self.launches.traffic(level) for level in LEVELS if level.startswith(space))

    @property
    def active_lanes(self) -> float:
        """The share of lanes that took part in operations of their waves."""
        possible = self.launches.operations * self.wave_size
        return self.launches.lane_operations / possible if possible else 1.0

    @property
    def least_bytes(self) -> int:
        """Of global memory, with a cache that keeps everything."""
        return sum(self.launches.distinct.values())

    @property
    def moved_bytes(self) -> int:
        """Of global memory, with no cache at all."""
        return self.space(GLOBAL).served * MEMORY_SHAPES[self.target.chip].transaction_bytes

    @property
    def roofs(self) -> list[Roof]:
        """Those that the kernel's operations are under, the one of most operations first."""
        peaks = PEAKS[self.target.chip]
        found = list[Roof]()
        for name, flops in self.launches.flops.most_common():
            kind, _, type = name.rpartition(" ")
            peak = peaks.matrix.get(PEAK_TYPES.get(type, type)) if kind else peaks.lanes
            if flops and peak is not None:
                found.append(Roof(name if kind else f"lanes, {type}", peak, flops))
        return found

    @property
    def flops(self) -> int:
        return sum(self.launches.flops.values())

    @property
    def least_seconds(self) -> dict[str, float]:
        """What no run of it can be faster than, by what it is bound by."""
        compute = sum(roof.flops / (roof.tflops * 1e12) for roof in self.roofs)
        return {"compute": compute, "memory": self.least_bytes / (PEAKS[self.target.chip].memory_gbs * 1e9)}

    @property
    def bound(self) -> str:
        times = self.least_seconds
        return max(times, key=lambda cause: times[cause])

    def facts(self) -> dict[str, Any]:
        """For machines."""
        launches, occupancy = self.launches, self.occupancy
        return {
            "kernel": self.name,
            "chip": self.target.chip,
            "wave_size": self.wave_size,
            "launches": launches.launches,
            "grid": list(launches.grid),
            "block": list(launches.block),
            "waves": launches.waves,
            "registers": self.registers,
            "shared_bytes": launches.shared_bytes,
            "private_bytes": launches.private_bytes,
            "occupancy": {**asdict(occupancy), "share": round(occupancy.share, 4)},
            "steps": launches.steps,
            "wave_steps": launches.wave_steps,
            "waited_steps": launches.waited_steps,
            "operations": launches.operations,
            "active_lanes": round(self.active_lanes, 4),
            "kinds": dict(launches.kinds),
            "flops": dict(launches.flops),
            "memory": {level: _traffic(launches.traffic(level)) for level in LEVELS},
            "least_bytes": dict(launches.distinct),
            "moved_bytes": self.moved_bytes,
            "bound": self.bound,
            "least_seconds": self.least_seconds,
            "lines": [
                {
                    "file": place[0],
                    "line": place[1],
                    "operations": line.operations,
                    "flops": line.flops,
                    "memory": {level: _traffic(traffic) for level, traffic in line.traffic.items()},
                }
                for place, line in self.hot_lines()
            ],
        }

    def hot_lines(self) -> list[tuple[Place, LineProfile]]:
        """Lines by how many operations waves did for them."""
        return sorted(self.launches.lines.items(), key=lambda item: (-item[1].operations, item[0]))


PEAK_TYPES = {"e4m3": "fp8", "e5m2": "fp8", "s8": "i8", "xf32": "tf32"}
"""Types of matrix instructions as data sheets call them."""


def _traffic(traffic: Traffic) -> dict[str, Any]:
    return {**asdict(traffic), "efficiency": round(traffic.efficiency, 4)}


@dataclass
class Profile:
    """Kernels of a run, those of all ranks in one, in the order in which they were launched first."""

    kernels: list[KernelProfile]
    sources: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(
        cls,
        launches: Iterable[LaunchProfile],
        target: GpuTarget,
        wave_size: int,
        registers: Mapping[str, int],
        sources: Mapping[str, str],
    ) -> Profile:
        """Launches joined by kernel; `registers` are those of a thread, by kernel."""
        found: dict[str, LaunchProfile] = {}
        for launch in launches:
            if launch.kernel in found:
                found[launch.kernel].add(launch)
            else:
                found[launch.kernel] = launch
        kernels = [KernelProfile(one, target, wave_size, registers.get(name)) for name, one in found.items()]
        return cls(kernels, sources)

    def facts(self) -> list[dict[str, Any]]:
        """For machines."""
        return [kernel.facts() for kernel in self.kernels]

    def __str__(self) -> str:
        from tilewright.gpu.profile_text import profile_text

        return profile_text(self)

    def __repr__(self) -> str:
        return f"<Profile: {', '.join(kernel.name for kernel in self.kernels) or 'no kernels'}>"

    def html(self, title: str = "kernels") -> str:
        """A page that needs nothing else."""
        from tilewright.gpu.profile_page import page_html

        return page_html(self, title)

    def line_text(self, place: Place) -> str:
        """A line of the program."""
        lines = self.sources.get(place[0], "").split("\n")
        return lines[place[1] - 1].strip() if 0 < place[1] <= len(lines) else ""


def joined(profiles: Sequence[Profile]) -> Profile:
    """Profiles of several calls as one."""
    kernels = [kernel for profile in profiles for kernel in profile.kernels]
    sources = {name: text for profile in profiles for name, text in profile.sources.items()}
    return Profile(kernels, sources)
