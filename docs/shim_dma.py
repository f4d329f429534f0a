"""Writes the table of docs/shim_dma.md: what ten host programs cost with the tiles that we choose, and with others.

python docs/shim_dma.py            writes it
python docs/shim_dma.py --check    says whether it is up to date
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import SSAValue

import tilewright as tw
from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pass, Pipeline, run_pipeline
from tilewright.ir.printer import module_text
from tilewright.passes.air.air_opt_shim_dma_bds import AirOptShimDmaBdsPass
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import EmptyTile
from tilewright.passes.air.air_shim_endpoints import AirShimEndpointsPass
from tilewright.passes.air.air_to_std import AirToStdPass
from tilewright.passes.air.airrt_to_npu import AirrtToNpuPass
from tilewright.passes.air.shim.host_transfers import AWAITED, host_transfers, key_of
from tilewright.passes.standard.canonicalize import CanonicalizePass

PAGE = Path(__file__).parent / "shim_dma.md"
DEVICE = "npu1"
QUEUE_DEPTH = 4


@dataclass(frozen=True)
class Program:
    """Loops around transfers: each is a channel, put or get, the elements of its buffer, offsets, sizes, strides."""

    title: str
    trips: tuple[int, ...]
    transfers: tuple[str, ...]

    @property
    def buffers(self) -> list[int]:
        return [int(transfer.split()[2]) for transfer in self.transfers]

    def text(self) -> str:
        arguments = ", ".join(f"%b{n}: memref<{size}xi32>" for n, size in enumerate(self.buffers))
        lines = [f"func.func @host({arguments}) {{", "%n0 = arith.constant 0 : index", "%n1 = arith.constant 1 : index"]
        lines += [f"%u{n} = arith.constant {trips} : index" for n, trips in enumerate(self.trips)]
        lines += ["%t0 = air.wait_all async"]
        for n in range(len(self.trips)):
            head = f"%r{n} = scf.for %i{n} = %n0 to %u{n} step %n1"
            lines += [f"{head} iter_args(%t{n + 1} = %t{n}) -> (!air.async.token) {{"]
        lines += [_transfer(n, transfer, len(self.trips)) for n, transfer in enumerate(self.transfers)]
        lines += [f"%all = air.wait_all async [{', '.join(f'%p{n}' for n in range(len(self.transfers)))}]"]
        for n in reversed(range(len(self.trips))):
            lines += [f"scf.yield %{'all' if n + 1 == len(self.trips) else f'r{n + 1}'} : !air.async.token", "}"]
        return "\n".join([*lines, "return", "}"])


def _transfer(number: int, transfer: str, depth: int) -> str:
    """`channel put|get elements offsets sizes strides`; offsets are sums of multiples of the counters i and j."""
    channel, verb, elements, offsets, sizes, strides = transfer.split()
    counters = ["i", "j", "k"][:depth]
    lines: list[str] = []
    names: list[str] = []
    for dim, offset in enumerate(offsets.split(",")):
        map = f"affine_map<({', '.join(counters)}) -> ({offset})>({', '.join(f'%i{n}' for n in range(depth))})"
        names.append(f"%o{number}_{dim}")
        lines.append(f"{names[-1]} = affine.apply {map}")
    lists = f"[{', '.join(names)}] [{sizes.replace(',', ', ')}] [{strides.replace(',', ', ')}]"
    head = f"%p{number} = air.channel.{verb} async [%t{depth}] @{channel}[]"
    return "\n".join([*lines, f"{head} (%b{number}{lists}) : (memref<{elements}xi32>)"])


PROGRAMS = [
    Program("copy of 4,096 words", (1,), ("a put 4096 0 4096 1", "c get 4096 0 4096 1")),
    Program("cascade: two patterns on a channel, 8 times", (8,), ("a put 512 64*i 64 1", "a put 512 64*i 64 1")),
    Program("the same 32 times", (32,), ("a put 2048 64*i 64 1", "a put 2048 64*i 64 1", "c get 2048 64*i 64 1")),
    Program(
        "GEMM, 4 x 4 tiles of 16 x 16",
        (4, 4),
        ("a put 4096 16*i,0 16,64 64,1", "b put 4096 0,16*j 64,16 64,1", "c get 4096 16*i,16*j 16,16 64,1"),
    ),
    Program("GEMV, 16 rows", (16,), ("a put 4096 256*i 256 1", "x put 256 0*i 256 1", "y get 16 i 1 1")),
    Program(
        "convolution: three rows that overlap",
        (8,),
        ("a put 2048 64*i 64 1", "a put 2048 64*i+64 64 1", "a put 2048 64*i+128 64 1", "c get 512 64*i 64 1"),
    ),
    Program("transposed tiles", (4, 4), ("a put 4096 16*j,16*i 16,16 64,1", "c get 4096 16*i,16*j 16,16 64,1")),
    Program(
        "weights in large blocks between small ones",
        (12,),
        ("w put 24576 2048*i 2048 1", "w put 192 16*i 16 1", "c get 768 64*i 64 1"),
    ),
    Program(
        "four channels, one of them irregular",
        (6,),
        ("a put 768 128*i 128 1", "b put 768 128*i 64 1", "b put 768 128*i 32 1", "c get 768 128*i 128 1"),
    ),
    Program("two vectors in turn, 40 times", (40,), ("a put 64 0*i 64 1", "a put 32 0*i 32 1")),
]


@dataclass(frozen=True)
class Outcome:
    """What a program takes with some tile size."""

    descriptors: int
    operations: int
    waits: int
    time: str

    def __str__(self) -> str:
        operations = f" · {self.operations}" if self.operations else ""
        return f"{self.time}<br>{self.descriptors}{operations} · {self.waits}"


def run_passes(module: ModuleOp, *passes: Pass) -> ModuleOp:
    pipeline = Pipeline()
    for step in passes:
        pipeline.add(step)
    run_pipeline(make_context(), module, pipeline)
    return module


def lowered(program: Program, choice: AirOptShimDmaBdsPass) -> tuple[ModuleOp, bool]:
    """A program against mem tiles that send and receive without end, and whether its queues hold all it pushes.

    Tiles that are given end with waits.
    """
    module = parse_source(make_context(), program.text(), "program.mlir")
    run_passes(module, AirShimEndpointsPass(DEVICE), choice)
    deepest = 0
    if choice.shim_dma_tile_sizes:
        deepest = max(wait_for_tiles(op) for op in module.walk() if isinstance(op, FuncOp))
    run_passes(module, AirToStdPass(), CanonicalizePass(), AirrtToNpuPass())
    return module, deepest <= QUEUE_DEPTH


def wait_for_tiles(function: FuncOp) -> int:
    """Wait for the end of all transfers of a tile, not only for their descriptors; gives the most on one channel."""
    transfers = set(host_transfers(function))
    tile: list[Transfer] = []
    deepest = 0
    for op in list(function.walk()):
        if op in transfers:
            tile.append(cast(Transfer, op))
        elif isinstance(op, WaitAllOp) and op.token is None and tile:
            op.set_dependencies([cast(SSAValue, transfer.token) for transfer in tile])
            deepest = max(deepest, *Counter(key_of(transfer) for transfer in tile).values())
            last = {key_of(transfer): transfer for transfer in tile}
            for transfer in tile:
                transfer.attributes[AWAITED] = BoolAttr.from_bool(last[key_of(transfer)] is transfer)
                transfer.set_dependencies([])
            tile = []
    return deepest


def outcome(program: Program, choice: AirOptShimDmaBdsPass) -> Outcome:
    module, is_safe = lowered(program, choice)
    text = module_text(module)
    descriptors, waits = text.count("dma_configure_task_for"), text.count("dma_await_task")
    try:
        design = tw.compile(text)
    except tw.CompileError:
        return Outcome(descriptors, 0, waits, "too many descriptors")
    operations = len(tw.txn.decode(design.txn()).operations)
    try:
        cycles = design.run(*(np.zeros(size, np.int32) for size in program.buffers)).cycles
    except tw.Fault:
        return Outcome(descriptors, operations, waits, "queue overflows")
    return Outcome(descriptors, operations, waits, f"**{cycles:,}**" if is_safe else f"{cycles:,} †")


def patterns(program: Program) -> int:
    """How many transfers of one iteration go through its busiest channel."""
    counts: dict[str, int] = defaultdict(int)
    for transfer in program.transfers:
        counts[transfer.split()[0]] += 1
    return max(counts.values())


def sizes(program: Program, size: int) -> tuple[int, ...]:
    return (size,) * len(program.trips)


def strategies(program: Program) -> Iterator[AirOptShimDmaBdsPass]:
    """Our choice, tile 1, queue depth over patterns, and 16."""
    yield AirOptShimDmaBdsPass(DEVICE, empty_tile=EmptyTile.AUTO)
    for size in (1, max(1, QUEUE_DEPTH // patterns(program)), 16):
        yield AirOptShimDmaBdsPass(DEVICE, sizes(program, size))


@cache
def cells(number: int) -> Sequence[str]:
    """A row of the table."""
    program = PROGRAMS[number]
    return [program.title, *(str(outcome(program, choice)) for choice in strategies(program))]


def rows() -> Iterator[str]:
    yield "| program | our choice | tile 1 | queue depth / patterns | tile 16 |"
    yield "|---|---:|---:|---:|---:|"
    for number in range(len(PROGRAMS)):
        yield row(number)


def row(number: int) -> str:
    return f"| {' | '.join(cells(number))} |"


def updated(text: str) -> str:
    """The page with its table made anew."""
    table = "\n".join(rows())
    return re.sub(
        r"(<!-- table -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{table}\n{found[2]}", text, flags=re.S
    )


def main(arguments: list[str]) -> int:
    text = PAGE.read_text(encoding="utf-8")
    current = updated(text)
    if "--check" in arguments:
        return int(current != text)
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
