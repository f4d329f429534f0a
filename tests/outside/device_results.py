"""Results of single instructions that were measured on a Phoenix NPU, beside those of our core for the same programs.

    PYTHONPATH=tests python -m outside.device_results CLONE

CLONE is a clone of FIM43-Redeye/xdna-emu, which has the results. The programs are made again by its own generator, run
in a temporary folder; nothing of it is kept here. Status 1 if something differs.

A program also sees registers and memory that nothing has set. Each is run in three surroundings, which differ in all
bits of the one or of the other: what does not come out the same in all is not determined. Registers go on from batch
to batch, as they do on the device; pointers are used between two batches too, and are read off their first result.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from outside.clone import Clone
from tilewright import isa
from tilewright.device.layout import WORD_BYTES
from tilewright.isa.core import FlatMemory, MachineCore
from tilewright.isa.schedule import ExecutionError

GENERATED_AT = "017da48d"
"""The commit whose generator made the programs that were measured: sizes of all results are as it says."""
GENERATOR = ("tools/isa-test-gen.py", "tools/aie2-isa.json", "tools/aie2-sched-latencies.json")
RESULTS = "tests/isa-hw-baseline-20260324/batch_{}_hw.bin"
POINT, END = "// ---- test", "ret lr"
"""Before each instruction's part of a program, and behind the last one."""
SEED = 42
"""Of the host program, for the bytes of the input."""
INPUT_AT, OUTPUT_AT, MOVED_BYTES = 0x70400, 0x74000, 0x2000
"""Places in the tile's own memory, and how far away they are in other surroundings: no result may depend on them."""
DRAIN_BUNDLES = 20
"""Until all is written that an instruction has under way."""
UNSET = re.compile(r"(r|m|dn|dj|dc|s|wl|wh|am[lh][lh]|q[lh])\d+")
"""Registers that nothing sets before the first batch. Those of control and status are 0 when a core starts."""
POINTER = re.compile(r"p\d+")
SIGNED_INDEX = re.compile(r"#-(\d+)")
INDEX_VALUES = 32
MOST_SHOWN = 20

EQUAL, DIFFERENT, REFUSED, UNDETERMINED = "equal", "different", "refused", "not determined"
BY_POINTER = "the first result of a pointer, which it is read off"
BY_REGISTERS = "registers that nothing had set"
BY_MEMORY = "memory of other tiles"
NOT_FETCHED = "bytes behind the last whole word, which the host does not fetch"


@dataclass(frozen=True)
class Point:
    """An instruction with what loads its operands and stores its result."""

    name: str
    operands: dict[str, str]
    program: bytes
    place: slice
    """Of the result, in those of the batch."""

    def __str__(self) -> str:
        return f"{self.name} {', '.join(f'{name} {value}' for name, value in self.operands.items())}"

    @property
    def moved_pointer(self) -> str | None:
        """The pointer that is the result."""
        return self.operands.get("ptr") if self.name.startswith("PADD") else None


@dataclass(frozen=True)
class Batch:
    """Points that one program has, in order, and their results."""

    number: int
    points: list[Point]
    input_bytes: int
    measured: bytes


# ---- programs and results ----


def batches(clone: Clone) -> Iterator[Batch]:
    """Programs that the generator wrote as assembly, as far as there are results of them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        script, *_ = [clone.at(GENERATED_AT).extract(path, folder) for path in GENERATOR]
        made = folder / "made"
        command = [sys.executable, str(script), "--out-dir", str(made)]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        have = {*clone.files(RESULTS.format("*"))}
        for entry in json.loads((made / "manifest.json").read_text())["batches"]:
            path = RESULTS.format(entry["batch_index"])
            if entry["source_type"] == "assembly" and path in have:
                programs = point_programs((made / entry["filename"]).read_text())
                points = [as_point(*it) for it in zip(entry["tests"], programs, strict=True)]
                yield Batch(entry["batch_index"], points, entry["in_size"], clone.read(path))


def point_programs(text: str) -> Iterator[bytes]:
    """The code of each point, and nops for all to be written."""
    _, *parts = text.partition(END)[0].split(POINT)
    for part in parts:
        lines = [line.strip() for line in part.splitlines()[1:]]
        code = [assembled(line) for line in lines if line and not line.startswith("//")]
        yield b"".join(code) + assembled("nop") * DRAIN_BUNDLES


@cache
def assembled(line: str) -> bytes:
    # the generator writes the index of `vextbcst` with a sign, LLVM takes the lowest five bits of it
    if line.startswith("vextbcst"):
        line = SIGNED_INDEX.sub(lambda it: f"#{-int(it[1]) % INDEX_VALUES}", line)
    return isa.assemble(line)


def as_point(entry: dict[str, Any], program: bytes) -> Point:
    at = entry["out_offset"]
    return Point(entry["instruction"], entry["operands"], program, slice(at, at + entry["out_size"]))


def host_input(size: int) -> bytes:
    """The bytes that the host program sends: those of a linear congruential generator."""
    state, made = SEED, bytearray()
    for _ in range(size):
        state = (state * 1103515245 + 12345) % (1 << 31)
        made.append(state >> 16 & 0xFF)
    return bytes(made)


# ---- our core ----


class Surroundings:
    """A core and its memory, with arbitrary values, or the inverse ones, where nothing has set any."""

    def __init__(self, *, other_registers: bool = False, other_memory: bool = False) -> None:
        self.random, self.inverts = Random(SEED), other_registers
        noise = Random(SEED).randbytes(len(FlatMemory().memory))
        self.noise = inverse(noise) if other_memory else noise
        self.moved = MOVED_BYTES if other_memory else 0
        self.ports = FlatMemory()
        fresh = MachineCore(b"", self.ports)
        self.widths, self.units = fresh.isa.registers.units, fresh.units
        self._scatter(UNSET)

    def begin(self, batch: Batch) -> None:
        """Start the core anew: control registers are reset, pointers were used in between, all others stay."""
        self.ports.memory[:] = self.noise
        self.ports.store(INPUT_AT + self.moved, host_input(batch.input_bytes))
        # a result may have bytes that its program does not write: all of them are 0 on the device
        self.ports.store(OUTPUT_AT + self.moved, bytes(len(batch.measured)))
        start = MachineCore(b"", self.ports)
        self.units = start.units | {unit: it for unit, it in self.units.items() if UNSET.fullmatch(unit)}
        self._scatter(POINTER)
        self.units |= {"p0": INPUT_AT + self.moved, "p1": OUTPUT_AT + self.moved}

    def run(self, point: Point) -> bytes | str:
        """The result of a point, or why there is none."""
        core = MachineCore(point.program, self.ports)
        core.units = self.units
        try:
            while core.pc < len(point.program):
                core.step()
        except ExecutionError as error:
            return error.reason
        at = OUTPUT_AT + self.moved + point.place.start
        return self.ports.load(at, point.place.stop - point.place.start)

    def _scatter(self, names: re.Pattern[str]) -> None:
        for unit in filter(names.fullmatch, self.widths):
            data = self.random.randbytes(self.widths[unit] // 8 + 1)
            data = inverse(data) if self.inverts else data
            is_bytes = isinstance(self.units[unit], bytes)
            whole = int.from_bytes(data, "little") % (1 << self.widths[unit])
            self.units[unit] = data[:-1] if is_bytes else whole


def inverse(data: bytes) -> bytes:
    return data.translate(bytes(reversed(range(256))))


# ---- comparison ----


@dataclass
class Comparison:
    """Results by outcome, and by the reason where there is one."""

    batches: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    names: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """Instructions, by the reason that their results are not determined."""
    differences: list[str] = field(default_factory=list[str])

    def add(self, batch: Batch, point: Point, outputs: Sequence[bytes | str]) -> None:
        measured = batch.measured[point.place]
        outcome, reason = judged(point, outputs, batch.measured)
        self.counts[outcome, reason] += 1
        if outcome == UNDETERMINED:
            self.names.setdefault(reason, Counter()).update([point.name])
        elif outcome == DIFFERENT:
            assert isinstance(outputs[0], bytes)
            ours = outputs[0].hex()
            self.differences.append(f"batch {batch.number}: {point}: {ours}, on the device {measured.hex()}")

    def total(self, *outcomes: str) -> int:
        return sum(count for (outcome, _), count in self.counts.items() if outcome in outcomes)


def judged(point: Point, outputs: Sequence[bytes | str], measured: bytes) -> tuple[str, str]:
    """An outcome with its reason: outputs are those of three surroundings, the second one with other registers."""
    first, other_registers, _ = outputs
    if first != other_registers:
        return UNDETERMINED, BY_POINTER if point.moved_pointer else BY_REGISTERS
    if len({*outputs}) > 1:
        return UNDETERMINED, BY_MEMORY
    if isinstance(first, str):
        return REFUSED, kind_of_refusal(first)
    if point.place.stop > len(measured) // WORD_BYTES * WORD_BYTES:
        return UNDETERMINED, NOT_FETCHED
    return (EQUAL if first == measured[point.place] else DIFFERENT), ""


def kind_of_refusal(reason: str) -> str:
    """A reason without the instruction that it was found at, and without its numbers."""
    reason = re.sub(r"^`[^`]*`: ", "", reason)
    return re.sub(r"`(\w+)[^`]*`", r"`\1`", re.sub(r" 0x\w+", "", reason))


def compare(clone: Clone) -> Comparison:
    found = Comparison()
    every = [Surroundings(), Surroundings(other_registers=True), Surroundings(other_memory=True)]
    for batch in batches(clone):
        found.batches += 1
        for it in every:
            it.begin(batch)
        for point in batch.points:
            outputs = [it.run(point) for it in every]
            found.add(batch, point, outputs)
            if point.moved_pointer and outputs[0] != outputs[1]:
                value = int.from_bytes(batch.measured[point.place], "little")
                for it in every:
                    it.units[point.moved_pointer] = value
    return found


def print_table(found: Comparison) -> None:
    made_again = found.total(EQUAL, DIFFERENT, REFUSED)
    rows = [
        (f"results of {found.batches} batches", made_again + found.total(UNDETERMINED)),
        ("with inputs that could be made again", made_again),
    ]
    for outcome in (EQUAL, DIFFERENT, REFUSED, UNDETERMINED):
        rows.append((f"  {outcome}", found.total(outcome)))
        reasons = [(reason, count) for (it, reason), count in found.counts.most_common() if it == outcome and reason]
        rows += [(f"    {reason}{names_of(found, reason)}", count) for reason, count in reasons]
    width = max(len(text) for text, _ in rows)
    for text, count in rows:
        print(f"{text:{width}} {count:6,}")


def names_of(found: Comparison, reason: str) -> str:
    names = found.names.get(reason, Counter[str]())
    return f" ({', '.join(names)})" if reason in (BY_REGISTERS, NOT_FETCHED) else ""


def main() -> int:
    parser = ArgumentParser("outside.device_results", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path, metavar="CLONE")
    clone = Clone(parser.parse_args().clone)
    if not clone.files(RESULTS.format("*")):
        parser.error(f"{clone.path} has no {RESULTS.format('*')}")
    found = compare(clone)
    print_table(found)
    for line in found.differences[:MOST_SHOWN]:
        print(line, file=sys.stderr)
    return 1 if found.differences or not found.total(EQUAL) else 0


if __name__ == "__main__":
    sys.exit(main())
