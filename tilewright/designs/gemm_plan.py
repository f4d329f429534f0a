"""Plans of products: which tiles fit an array, and how long a product with them takes by the model of its clock.

A plan tries tiles, depths and buffers, keeps what has room in the memories and descriptors of the device, and puts
those first that are predicted to be the fastest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from tilewright.designs.gemm_types import TileShape, element_bytes, tile_steps
from tilewright.designs.whole_array_gemm import MOST_COLUMNS, ROWS, WholeArrayGemm, senders
from tilewright.device import Arch, TileType, model
from tilewright.device.timing import timing_of
from tilewright.device.vector_unit import vector_unit
from tilewright.errors import ArgumentError
from tilewright.kernels.definition import DTYPES, Call
from tilewright.kernels.registry import definitions

MOST_TILE = 256
"""Rows and columns of a tile that are tried."""
DEPTHS = 1, 2, 3, 4, 5, 6, 8
"""Tiles along K that come from the host together."""
SHOWN = 10
BUFFERS = 2
"""Of A and B everywhere, and of C in mem tiles."""
SAMPLED_LINES = 64
"""Of a matrix, to see where its runs lie in bursts: they repeat."""


@cache
def kernel_cycles(arch: Arch, name: str, sizes: tuple[int, ...], macros: tuple[str, ...] = ()) -> int:
    """How long a kernel of the library takes for buffers of so many elements: what the simulator counts."""
    found = definitions(name)[0]
    call = Call(vector_unit(arch), sizes, dict.fromkeys(macros, "1"))
    buffers = (np.empty(size, DTYPES[memory.element]) for size, memory in zip(sizes, found.memories, strict=True))
    return found.cost(call, *buffers)


@dataclass(frozen=True)
class HostLimits:
    """What host memory gives an array, in bytes for each cycle, and what it costs to ask for it, in cycles."""

    read: float
    """To all shim tiles together."""
    both: float
    """From and to all of them."""
    column: float
    channel_read: float
    channel_write: float
    burst_bytes: int
    unused: float
    """The share of a burst's unused bytes that takes time."""
    write: float
    """To set a word of the array."""
    task: float
    """To start a transfer."""
    first_word: float
    """From there to its first word."""
    last_word: float
    """From the last word of a write until the sequence goes on."""

    @staticmethod
    @cache
    def of(device: str) -> HostLimits:
        return _limits(device)

    @cache  # noqa: B019, there is one for each device
    def charged(self, run: int, line: int, piece: int) -> float:
        """Bytes that take time for each that is wanted, in runs of `run` bytes; lines and pieces are so far apart."""
        starts = (np.arange(SAMPLED_LINES)[:, None] * line + np.arange(SAMPLED_LINES) * piece) % self.burst_bytes
        bursts = (starts + run - 1) // self.burst_bytes + 1
        whole = float(bursts.mean()) * self.burst_bytes
        return 1 + (whole / run - 1) * self.unused


def _limits(device: str) -> HostLimits:
    target = model(device)
    timing = timing_of(target.arch)
    read, both, column = (
        megabytes / timing.clock_mhz
        for megabytes in (timing.host_read_mb_per_s, timing.host_mb_per_s, timing.column_mb_per_s)
    )
    return HostLimits(
        read=read,
        both=both,
        column=column,
        channel_read=4000 / timing.host_read_millicycles,
        channel_write=4000 / timing.host_write_millicycles,
        burst_bytes=target.burst_bytes(0),
        unused=timing.burst_unused_percent / 100,
        write=timing.operation_cycles(),
        task=sum(map(timing.operation_cycles, TASK_ACCESSES)),
        first_word=timing.host_read_cycles(0),
        last_word=timing.cycles(timing.host_write_ns + timing.token_ns),
    )


TASK_ACCESSES = 8, 2, 2, 1
"""Words that the sequence writes for a transfer: the descriptor, its address, whom to tell, the queue."""


@dataclass(frozen=True)
class Candidate:
    """A design for a product, with the room that it takes and how long it is predicted to take."""

    gemm: WholeArrayGemm
    m: int
    k: int
    n: int
    """The sizes of the product."""

    # Room.

    @property
    def l1_bytes(self) -> int:
        """Of a core's memory: tiles of A and B twice, of C as often as the design has it, the stack and a parameter."""
        return core_bytes(self.gemm)

    @property
    def l2_bytes(self) -> int:
        """Of the mem tile that has most to hold."""
        return mem_tile_bytes(self.gemm)

    @property
    def channels(self) -> tuple[int, int]:
        """Of that mem tile's DMA: into it (A, B, and C of each row), and out of it."""
        return 2 + ROWS, ROWS // senders(self.gemm.columns) + 2

    @property
    def descriptors(self) -> tuple[int, int]:
        """Of that mem tile, and of a shim tile, which has two transfers of each matrix under way."""
        into, out = self.channels
        parts_of_c = ROWS * BUFFERS  # that go to the host one after the other
        return BUFFERS * into + BUFFERS * (out - 1) + parts_of_c, 3 * BUFFERS

    # Time.

    @cached_property
    def blocks(self) -> int:
        """Of C, each a tile of every core."""
        step_m, _, step_n = self.gemm.multiples
        return -(-self.m // step_m) * -(-self.n // step_n)

    @cached_property
    def pieces(self) -> int:
        """Of the depth that comes from the host, for each block."""
        return -(-self.k // self.gemm.multiples[1])

    @cached_property
    def tile_step_cycles(self) -> int:
        """For a tile of A and one of B: to multiply them, or to bring the longer one, a word in a cycle."""
        types, tile = self.gemm.types, self.gemm.types.tile
        sizes = tile.m * tile.k, tile.k * tile.n, tile.m * tile.n
        product = kernel_cycles(self._arch, f"matmul_{types.names}", sizes, tuple(types.macros))
        stream = max(sizes[:2]) * element_bytes(types.operand) // 4
        return max(product + STEP_CYCLES, stream)

    @cached_property
    def block_cycles(self) -> int:
        """Of a core, for its tile of C; where there is one buffer for it, this waits until it is empty."""
        types, tile = self.gemm.types, self.gemm.types.tile
        clear = kernel_cycles(self._arch, f"zero_{types.sums}", (tile.m * tile.n,))
        leaving = self._tile_of_c_words if self.gemm.c_depth == 1 else 0
        return self.pieces * types.depth * self.tile_step_cycles + clear + leaving + TILE_CYCLES

    @property
    def compute_cycles(self) -> float:
        """All blocks, if nothing were waited for."""
        return self.blocks * self.block_cycles

    @cached_property
    def _traffic(self) -> tuple[float, float, float]:
        """Bytes of A, B and C, with what bursts waste: for a block of C and all of K."""
        gemm, limits = self.gemm, self._limits
        (step_m, k_mt, step_n), tile = gemm.multiples, gemm.tile
        _, k, n = gemm.padded(self.m, self.k, self.n)
        size, size_c = element_bytes(gemm.operand), element_bytes(gemm.result)
        depth = self.pieces * k_mt
        along_k = limits.charged(k_mt * size, k * size, k_mt * size)
        a = along_k if not gemm.a_col_maj else limits.charged(tile.m * size, self.m * size, tile.m * size)
        b = along_k if gemm.b_col_maj else limits.charged(tile.n * size, n * size, tile.n * size)
        c = limits.charged(tile.n * size_c, n * size_c, tile.n * size_c)
        return step_m * depth * size * a, step_n * depth * size * b, step_m * step_n * size_c * c

    @property
    def read_cycles(self) -> float:
        """All that is read, at the limit of reads or of a channel."""
        a, b, _ = self._by_port
        shared = (a + b) / self._limits.read
        one = max(a / senders(self.gemm.columns), b / self.gemm.columns) / self._limits.channel_read
        return self.blocks * max(shared, one)

    @property
    def mixed_cycles(self) -> float:
        """All that is read and written, at the limits of both."""
        a, b, c = self._by_port
        of_column = a / senders(self.gemm.columns) + (b + c) / self.gemm.columns
        write = c / self.gemm.columns / self._limits.channel_write
        return self.blocks * max((a + b + c) / self._limits.both, of_column / self._limits.column, write)

    @property
    def _by_port(self) -> tuple[float, float, float]:
        """The traffic of what goes along the rows, up the columns, and back."""
        a, b, c = self._traffic
        return (b, a, c) if self.gemm.a_col_maj else (a, b, c)

    @property
    def start_cycles(self) -> float:
        """Until the sequence has written parameters and started the transfers that a first block needs."""
        limits, columns = self._limits, self.gemm.columns
        return ROWS * columns * limits.write + (senders(columns) + columns) * limits.task + limits.first_word

    @property
    def end_cycles(self) -> float:
        """From the last product until the sequence knows that C is there."""
        _, _, c = self._traffic
        limits, of_column = self._limits, c / self.gemm.columns
        return self._tile_of_c_words + max(c / limits.both, of_column / limits.channel_write) + limits.last_word

    @property
    def cycles(self) -> float:
        """All of it: a core begins once the first piece is there, and multiplies the last one when all is read."""
        a, b, _ = self._traffic
        first_piece = (a + b) / self.pieces / self._limits.read
        last_piece = self.gemm.types.depth * self.tile_step_cycles
        busiest = max(self.compute_cycles + first_piece, self.host_cycles + last_piece)
        return self.start_cycles + busiest + self.end_cycles

    @cached_property
    def host_cycles(self) -> float:
        """What host memory takes for all blocks, with its shares: while C is written, reads are slower."""
        columns = self.gemm.columns
        reads, _ = self._shares(0)
        while_written, writes = self._shares(columns)
        writing = self._by_port[2] / columns / writes
        if writing >= while_written:
            return max(self.mixed_cycles, self.blocks * writing)
        return max(self.mixed_cycles, self.blocks * (writing + (1 - writing / while_written) * reads))

    def _shares(self, writers: int) -> tuple[float, float]:
        """Cycles for all that a block reads beside so many channels that write, and what each of these has of a cycle.

        Channels have equal shares: once those with less to bring have done that, and wait until it is used, the
        others have more, but no more than a channel can move.
        """
        limits, (a, b, _) = self._limits, self._by_port
        rows, columns = senders(self.gemm.columns), self.gemm.columns
        (less, _), (more, busy) = sorted([(a / rows, rows), (b / columns, columns)])
        phases = [(less, rows + columns), (more - less, busy)]
        cycles = writing = 0.0
        for load, readers in phases:
            both = limits.both / (readers + writers)
            taken = load / min(limits.channel_read, limits.read / readers, both)
            cycles, writing = cycles + taken, writing + taken * min(both, limits.channel_write)
        return cycles, writing / cycles

    @property
    def bound_cycles(self) -> float:
        """The longest of what computes, what is read, and what goes both ways: no order of them is faster."""
        return max(self.compute_cycles, self.read_cycles, self.mixed_cycles)

    @property
    def bound(self) -> str:
        """Which of them it is."""
        kinds = {"compute": self.compute_cycles, "reads": self.read_cycles, "reads and writes": self.mixed_cycles}
        return max(kinds, key=lambda kind: kinds[kind])

    @property
    def seconds(self) -> float:
        return self.cycles / timing_of(self._arch).clock_hz

    @property
    def tops(self) -> float:
        """Of the product itself, not of what is computed twice."""
        return 2 * self.m * self.k * self.n / self.seconds / 1e12

    @property
    def of_peak(self) -> float:
        """The share of what the vector units of all cores of these columns could do."""
        peak = vector_unit(self._arch).macs[self.gemm.operand] * ROWS * self.gemm.columns
        return self.m * self.k * self.n / (self.cycles * peak)

    @property
    def _tile_of_c_words(self) -> int:
        tile = self.gemm.tile
        return tile.m * tile.n * element_bytes(self.gemm.result) // 4

    @property
    def _arch(self) -> Arch:
        return model(self.gemm.device).arch

    @property
    def _limits(self) -> HostLimits:
        return HostLimits.of(self.gemm.device)

    def __str__(self) -> str:
        return " ".join(self.cells())

    def cells(self) -> list[str]:
        """A row of a plan's table; `HEADINGS` has the meanings."""
        gemm, tile = self.gemm, self.gemm.tile
        return [
            f"{tile.m}x{tile.k}x{tile.n}",
            str(gemm.multiples[1]),
            str(gemm.c_depth),
            f"{self.l1_bytes:,}",
            f"{self.l2_bytes:,}",
            "{}+{}".format(*self.channels),
            "{}+{}".format(*self.descriptors),
            f"{self.compute_cycles:,.0f}",
            f"{self.read_cycles:,.0f}",
            f"{self.mixed_cycles:,.0f}",
            f"{self.seconds * 1e6:,.0f}",
            f"{self.tops:.2f}",
            f"{self.of_peak:.0%}",
        ]


STEP_CYCLES = 24
"""Of a core's program around a call of the product: locks, and which buffer is next."""
TILE_CYCLES = 60
"""The same around a tile of C."""
HEADINGS = (
    "tile",
    "k_mt",
    "C",
    "L1 bytes",
    "L2 bytes",
    "channels",
    "BDs",
    "compute",
    "reads",
    "mixed",
    "us",
    "TOPS",
    "of peak",
)


@dataclass(frozen=True)
class Plan:
    """Designs for a product, the fastest first."""

    candidates: tuple[Candidate, ...]
    tried: int
    """How many were compared."""

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    def __getitem__(self, index: int) -> Candidate:
        return self.candidates[index]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __str__(self) -> str:
        first = self.best
        rows = [HEADINGS, *(candidate.cells() for candidate in self.candidates)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        title = f"{first.m} x {first.k} x {first.n} of {first.gemm.types.names} on {first.gemm.columns} columns of "
        return "\n".join([f"{title}{first.gemm.device}, {self.tried:,} compared, cycles:", *lines])


def core_bytes(gemm: WholeArrayGemm) -> int:
    """What a design has in a core's memory."""
    tile, size = gemm.tile, element_bytes(gemm.operand)
    operands = BUFFERS * tile.k * (tile.m + tile.n) * size
    result = gemm.c_depth * tile.m * tile.n * element_bytes(gemm.result)
    return operands + result + model(gemm.device).default_stack_bytes + PARAMETER_BYTES


def mem_tile_bytes(gemm: WholeArrayGemm) -> int:
    """What a design has in the mem tile of a column that brings in A."""
    tile, (_, k_mt, _) = gemm.types.tile, gemm.multiples
    rows = ROWS // senders(gemm.columns) * tile.m
    operands = BUFFERS * k_mt * (rows + tile.n) * element_bytes(gemm.operand)
    return operands + BUFFERS * ROWS * tile.m * tile.n * element_bytes(gemm.result)


PARAMETER_BYTES = 32
"""A word, and what aligns the buffer after it."""


def make_plan(m: int, k: int, n: int, types: str, device: str, columns: int | None = None, **options: Any) -> Plan:
    """The best designs for m x k and k x n of `types`, an operand or an operand and the type of C, such as i8_i16."""
    operand, _, sums = types.partition("_")
    start = WholeArrayGemm(device, columns or min(MOST_COLUMNS, model(device).columns), operand, sums=sums or None)
    start = replace(start, **options)
    start.types  # noqa: B018, complains about types, orders and columns that there is no product for
    if min(m, k, n) < 1:
        raise ArgumentError(f"there is no product of {m} x {k} and {k} x {n} elements")
    tried = [Candidate(gemm, m, k, n) for gemm in _designs(start, m, k, n)]
    if not tried:
        raise ArgumentError(f"no tile of {types} has room on {device}")
    best = sorted(tried, key=lambda candidate: candidate.cycles)[:SHOWN]
    return Plan(tuple(best), len(tried))


def _designs(start: WholeArrayGemm, m: int, k: int, n: int) -> Iterator[WholeArrayGemm]:
    """Tiles that have room, with all of K or with as much of it as a core takes, and shallower ones."""
    unit, target = vector_unit(model(start.device).arch), model(start.device)
    table = unit.emulated_blocks if start.block_floats else unit.blocks
    step_m, step_k, step_n = tile_steps(table[start.operand, start.result])
    if start.a_col_maj:
        step_m, step_n = step_n, step_m
    l1, l2 = target.local_memory_bytes, target.resources(TileType.MemTile).data_memory_bytes
    rows, _, columns = replace(start, tile=TileShape(1, 1, 1)).multiples
    for tile_m in _sizes(step_m, -(-m // rows)):
        for tile_n in _sizes(step_n, -(-n // columns)):
            for c_depth in (1, 2):
                shallow = replace(start, tile=TileShape(tile_m, 0, tile_n), c_depth=c_depth, k_mt=0)
                room = l1 - core_bytes(shallow)
                deepest = room // (BUFFERS * (tile_m + tile_n) * element_bytes(start.operand)) // step_k * step_k
                for tile_k in _depths(deepest, step_k, k):
                    for depth in DEPTHS:
                        if depth > 1 and (depth - 1) * tile_k >= k:
                            continue
                        gemm = replace(shallow, tile=TileShape(tile_m, tile_k, tile_n), k_mt=depth * tile_k)
                        if mem_tile_bytes(gemm) <= l2:
                            yield gemm


def _sizes(step: int, wanted: int) -> list[int]:
    """Of a tile: up to what the matrix has for it, with the next one that covers it."""
    most = min(MOST_TILE, -(-wanted // step) * step)
    return list(range(step, most + 1, step))


def _depths(deepest: int, step: int, k: int) -> set[int]:
    """The deepest that there is room for, those that divide K, and those that fill bursts."""
    deepest = min(deepest, -(-k // step) * step)
    if deepest < step:
        return set()
    even = [depth for depth in range(step, deepest + 1, step) if k % depth == 0]
    powers = [1 << bits for bits in range(3, deepest.bit_length()) if (1 << bits) % step == 0]
    return {deepest, max(deepest - step, step), *even[-2:], *powers[-2:]}
