"""Cycles of kernels between their own events: as a Phoenix NPU recorded them, and as our cores take them.

    PYTHONPATH=tests python -m outside.kernel_cycles CLONE

CLONE is a clone of atassis/mlir-aie, bare or not, which has a matrix product for npu1 with the trace of a run of it.
The package runs here bundle by bundle, which takes minutes. Status 1 if a kernel takes other cycles than on the device
where no stall of memory counts.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from outside.clone import Clone
from outside.packages import PROGRAMS, timed_run
from tilewright.device import TileId
from tilewright.device.events import EventModule
from tilewright.device.trace_packets import RecordingMode
from tilewright.isa.observed_core import IssuedBundle
from tilewright.report.hardware_trace import TracedModule, TraceSetup, decode_trace
from tilewright.xrt.loaded_package import LoadedPackage

NAME = "product of i8 to i16, 512x480x480"
TRACE = "programming_examples/basic/matrix_multiplication_experiments/single_core/trace.txt"
CORE = TileId(0, 2)
BEGIN, END, STALL = "INSTR_EVENT_0", "INSTR_EVENT_1", "MEMORY_STALL"
SLOTS = ("PORT_RUNNING_0", "PORT_RUNNING_1", "PORT_RUNNING_2", BEGIN, END, STALL, "LOCK_STALL", "INSTR_VECTOR")
"""Events that the instructions choose for the core's trace unit."""
SHORT = 1000
"""Cycles that zeros for a tile take less than, and its product more."""
WAITS = 200
"""Cycles between two kernels above which the core waited for the host's data, not for itself."""
KERNELS = PRODUCT, ZEROS = "product", "zeros"
FEW = 3
"""Different numbers that are printed one by one."""


@dataclass(frozen=True)
class Mark:
    """An event of a kernel, and how many cycles memory had stalled before it since the beginning."""

    is_begin: bool
    cycle: int
    stalled: int


@dataclass(frozen=True)
class Interval:
    """From a mark to the next."""

    name: str
    cycles: int
    without_stalls: int


def intervals(marks: Sequence[Mark]) -> Iterator[Interval]:
    """Kernels, and what lies between two of them. What a trace has cut off is left out."""
    before: Interval | None = None
    between: Interval | None = None
    for left, right in pairwise(marks):
        cycles = right.cycle - left.cycle
        found = Interval(ZEROS if cycles < SHORT else PRODUCT, cycles, cycles - (right.stalled - left.stalled))
        if left.is_begin and not right.is_begin:
            if before is not None and between is not None and between.cycles < WAITS:
                yield replace(between, name=f"{before.name} to {found.name}")
            yield found
            before = found
        else:
            between = found


def device_marks(text: bytes) -> list[Mark]:
    """Marks in a trace buffer; a stall lasts from its first cycle up to its last."""
    words = np.array([int(line, 16) for line in text.split()], np.uint32)
    setups = {TracedModule(EventModule.Core, CORE): TraceSetup(SLOTS, RecordingMode.TIME)}
    events = decode_trace(words, setups)
    stalls = np.array(sorted(at for it in events if it.name == STALL for at in range(it.begin, it.end)))
    found = sorted((it.begin, it.name) for it in events if it.name in (BEGIN, END))
    return [Mark(name == BEGIN, at, int(np.searchsorted(stalls, at))) for at, name in found]


def own_marks(package: LoadedPackage) -> list[Mark]:
    """Marks of a run here, whose stalls of memory are conflicts of banks."""
    marks = list[Mark]()
    core = package.core(*CORE)

    def show(it: IssuedBundle) -> None:
        for each in it.bundle.instructions:
            if each.row.meaning[0] == "event":
                marks.append(Mark(each.operands["i"] == 0, it.time, it.time - it.cycle))

    core.show = show
    timed_run(package, {number: np.zeros(size, np.uint8) for number, size in package.needs.items()})
    return marks


def described(values: Sequence[int]) -> str:
    counts = Counter(values)
    if len(counts) <= FEW:
        return ", ".join(f"{value} ({count} times)" for value, count in counts.most_common()) or "-"
    return f"{min(values)} to {max(values)}, mean {sum(values) / len(values):.0f}"


def by_name(marks: Sequence[Mark]) -> dict[str, list[Interval]]:
    found = defaultdict[str, list[Interval]](list)
    for it in intervals(marks):
        found[it.name].append(it)
    return found


def main() -> int:
    parser = ArgumentParser("outside.kernel_cycles", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path, metavar="CLONE")
    clone = Clone(parser.parse_args().clone)
    program = next(it for it in PROGRAMS if it.name == NAME)
    loaded = program.load(clone)
    if loaded is None:
        parser.error(f"the clone has no {program.xclbin}")
    device = by_name(device_marks(clone.at(program.commit).read(TRACE)))
    ours = by_name(own_marks(loaded[0]))
    is_well = bool(device)
    for name in device:
        sides = {"device": device[name], "here": ours.get(name, [])}
        for side, found in sides.items():
            print(f"{name:20} {side:7} {described([it.cycles for it in found])}")
        if name in KERNELS:
            quiet = {side: [it.without_stalls for it in found] for side, found in sides.items()}
            for side, cycles in quiet.items():
                print(f"{'  without stalls':20} {side:7} {described(cycles)}")
            is_well &= {*quiet["device"]} == {*quiet["here"]}
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
