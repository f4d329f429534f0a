"""A design for a product: the room that it takes, the least time that the array leaves it, and the time predicted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from tilewright.designs.gemm_limits import HostLimits
from tilewright.designs.gemm_timeline import BUFFERS, BlockTimeline, CoreSteps, HostPaths, TransferTurns
from tilewright.designs.gemm_transfers import turn_blocks
from tilewright.designs.gemm_types import ROWS, TileShape, element_bytes, senders
from tilewright.designs.whole_array_gemm import WholeArrayGemm
from tilewright.device import Arch, model
from tilewright.device.timing import timing_of
from tilewright.device.vector_unit import vector_unit
from tilewright.kernels.definition import DTYPES, Call
from tilewright.kernels.registry import definitions

PARAMETER_BYTES = 32
"""A word, and what aligns the buffer after it."""
STEP_CYCLES = 24
"""Of a core's program around a call of the product: locks, and which buffer is next."""
LONGEST_WAIT, WAIT_STEPS = 1024.0, 14
"""Cycles that a burst waits at most, and halvings of that to find it."""
TILE_CYCLES = 60
"""The same around a tile of C."""


@cache
def kernel_cycles(arch: Arch, name: str, sizes: tuple[int, ...], macros: tuple[str, ...] = ()) -> int:
    """How long a kernel of the library takes for buffers of so many elements: what the simulator counts."""
    found = definitions(name)[0]
    call = Call(vector_unit(arch), sizes, dict.fromkeys(macros, "1"))
    buffers = (np.empty(size, DTYPES[memory.element]) for size, memory in zip(sizes, found.memories, strict=True))
    return found.cost(call, *buffers)


@dataclass(frozen=True)
class Candidate:
    """A design for a product, with the room that it takes and how long it is predicted to take."""

    gemm: WholeArrayGemm
    m: int
    k: int
    n: int
    """The sizes of the product that the device does."""

    # Room.

    @property
    def l1_bytes(self) -> int:
        """Of a core's memory: tiles of A and B twice, of C as often as the design has it, the stack and a parameter."""
        gemm = self.gemm
        sizes = element_bytes(gemm.operand), element_bytes(gemm.result)
        return core_bytes(gemm.tile, gemm.c_depth, *sizes) + model(gemm.device).default_stack_bytes

    @property
    def l2_bytes(self) -> int:
        """Of the mem tile that has most to hold."""
        gemm = self.gemm
        sizes = element_bytes(gemm.operand), element_bytes(gemm.result)
        return mem_tile_bytes(gemm.types.tile, gemm.multiples[1], gemm.columns, *sizes)

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

    # What is done.

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
    def product_cycles(self) -> int:
        """Of the kernel, for a tile of A and one of B."""
        types, tile = self.gemm.types, self.gemm.types.tile
        sizes = tile.m * tile.k, tile.k * tile.n, tile.m * tile.n
        return kernel_cycles(self._arch, f"matmul_{types.names}", sizes, tuple(types.macros))

    @cached_property
    def block_bytes(self) -> tuple[int, int, int]:
        """Bytes of A, B and C that go from and to the host for a block of C."""
        step_m, k_mt, step_n = self.gemm.multiples
        size, depth = element_bytes(self.gemm.operand), self.pieces * k_mt
        return step_m * depth * size, step_n * depth * size, step_m * step_n * element_bytes(self.gemm.result)

    # The bound: no order of these is faster.

    @property
    def compute_cycles(self) -> float:
        """A core's products at the efficiency of the kernel, and nothing else."""
        return self.blocks * self.pieces * self.gemm.types.depth * self.product_cycles

    @property
    def read_cycles(self) -> float:
        """The bytes that are read, at the limit of reads."""
        a, b, _ = self.block_bytes
        return self.blocks * (a + b) / self._limits.read

    @property
    def mixed_cycles(self) -> float:
        """The bytes that are read and written, at the limit of both."""
        return self.blocks * sum(self.block_bytes) / self._limits.both

    @property
    def bound_cycles(self) -> float:
        """The longest of what is multiplied, what is read, and what goes both ways."""
        return max(self.compute_cycles, self.read_cycles, self.mixed_cycles)

    @property
    def bound(self) -> str:
        """Which of them it is."""
        kinds = {"compute": self.compute_cycles, "reads": self.read_cycles, "reads and writes": self.mixed_cycles}
        return max(kinds, key=lambda kind: kinds[kind])

    # The prediction: what a block takes of each part, put together by a timeline.

    @cached_property
    def _tile_stream_cycles(self) -> int:
        """To bring a tile of A and one of B from mem tiles, a word in a cycle."""
        tile = self.gemm.types.tile
        return max(tile.m, tile.n) * tile.k * element_bytes(self.gemm.operand) // 4

    @cached_property
    def tile_step_cycles(self) -> int:
        """For a tile of A and one of B: to multiply them, or to bring the longer one."""
        return max(self.product_cycles + STEP_CYCLES, self._tile_stream_cycles)

    @cached_property
    def block_core_cycles(self) -> float:
        """Of a core, for a tile of C, once the first tiles are there."""
        types, tile = self.gemm.types, self.gemm.types.tile
        clear = kernel_cycles(self._arch, f"zero_{types.sums}", (tile.m * tile.n,))
        return self.pieces * types.depth * self.tile_step_cycles + clear + TILE_CYCLES

    @cached_property
    def _wasted(self) -> tuple[float, float, float]:
        """Bytes that shared limits count for each one of what goes along the rows, up the columns, and back."""
        gemm, limits, tile = self.gemm, self._limits, self.gemm.tile
        k_mt, (m, k, n) = gemm.multiples[1], gemm.padded(self.m, self.k, self.n)
        size, size_c = element_bytes(gemm.operand), element_bytes(gemm.result)

        def charged(run: int, line: int, size: int, burst: int) -> float:
            return limits.charged(run * size, line * size, run * size, burst)

        left, right, back = gemm.bursts
        of_a, of_b = (right, left) if gemm.is_turned else (left, right)
        a = charged(tile.m, m, size, of_a) if gemm.a_col_maj else charged(k_mt, k, size, of_a)
        b = charged(k_mt, k, size, of_b) if gemm.b_col_maj else charged(tile.n, n, size, of_b)
        c = charged(tile.n, n, size_c, back)
        return (b, a, c) if gemm.is_turned else (a, b, c)

    @cached_property
    def _traffic(self) -> tuple[float, float, float]:
        """Bytes for a block of what goes along the rows, up the columns, and back."""
        a, b, c = self.block_bytes
        return (b, a, c) if self.gemm.is_turned else (a, b, c)

    @cached_property
    def _paths(self) -> HostPaths:
        """What host memory takes for a block, with its shares: while C is written, reads may be slower."""
        limits, columns, c = self._limits, self.gemm.columns, self._traffic[2]
        left, right, back = (of_block * wasted for of_block, wasted in zip(self._traffic, self._wasted, strict=True))
        of_column = left / senders(columns) + right / columns
        wait = self._wait(limits.read, 2)
        longer = max(wait, self._wait(limits.both, 3))
        reading = max(self._block_read_cycles(wait), of_column / limits.column)
        beside, writing = self._block_read_cycles(longer), c / columns / self._paces(longer)[2]
        slower = max(1.0, (of_column / beside + back / columns / writing) / limits.column)
        alone = max(c / limits.both, c / columns / limits.channel_write)
        return HostPaths(reading, max(reading, slower * beside), alone, slower * writing)

    @cached_property
    def _moving(self) -> list[float]:
        """Cycles that a burst of each takes by itself."""
        limits = self._limits
        paces = limits.channel_read, limits.channel_read, limits.channel_write
        return [burst / pace for burst, pace in zip(self.gemm.bursts, paces, strict=True)]

    def _paces(self, wait: float) -> list[float]:
        """Bytes for each cycle of a channel of each: it asks for a burst once it has the one before."""
        return [burst / (moving + wait) for burst, moving in zip(self.gemm.bursts, self._moving, strict=True)]

    def _wait(self, limit: float, kinds: int) -> float:
        """For a burst, the same for all channels: so long that the first kinds of them together keep to a limit."""
        counts = senders(self.gemm.columns), self.gemm.columns, self.gemm.columns
        shares = [count * wasted for count, wasted in zip(counts, self._wasted, strict=True)][:kinds]
        low, high = 0.0, LONGEST_WAIT
        for _ in range(WAIT_STEPS):
            middle = (low + high) / 2
            taken = sum(share * pace for share, pace in zip(shares, self._paces(middle), strict=False))
            low, high = (middle, high) if taken > limit else (low, middle)
        return low

    def _block_read_cycles(self, wait: float) -> float:
        """For all that a block reads: once channels that are done first wait until that is used, others have more."""
        limits, counts = self._limits, (senders(self.gemm.columns), self.gemm.columns)
        loads = [of_block / count for of_block, count in zip(self._traffic[:2], counts, strict=True)]
        paces = self._paces(wait)
        times = [load / pace for load, pace in zip(loads, paces, strict=False)]
        later = times.index(max(times))
        alone = min(limits.channel_read, limits.read / counts[later] / self._wasted[later])
        return min(times) + (loads[later] - min(times) * paces[later]) / alone

    @cached_property
    def _turns(self) -> TransferTurns:
        """What the sequence does for blocks beside each other; a last piece that overlaps has transfers of its own."""
        limits, columns, rests = self._limits, self.gemm.columns, self.k % self.gemm.multiples[1] > 0
        m, k, n = self.gemm.padded(self.m, self.k, self.n)
        blocks = turn_blocks(self.gemm, *((n, k, m) if self.gemm.is_turned else (m, k, n)), has_rest=rests)
        words = ROWS * columns * (3 if self.gemm.any_k else 1)  # of parameters
        channels, task = senders(columns) + columns, (1 + rests) * limits.task
        before = sum(min(started * limits.channel_read, limits.read) for started in range(1, channels))
        left, right, _ = (of_block * wasted for of_block, wasted in zip(self._traffic, self._wasted, strict=True))
        rows, alone = (
            of_block / count / limits.channel_read
            for of_block, count in zip(self._traffic, (senders(columns), columns), strict=False)
        )
        # rows are brought by those that are started first
        after = max((left + right - task * before) / limits.read, rows - task * columns, alone)
        early = min(max(0.0, self._paths.reading - after), self._ahead_cycles)
        return TransferTurns(blocks, words * limits.write, channels * task, columns * limits.task, early, alone)

    @cached_property
    def _ahead_cycles(self) -> float:
        """Of reading: what mem tiles and cores have room for beside what is multiplied."""
        pieces = BUFFERS + (BUFFERS - 1) / self.gemm.types.depth
        return pieces / self.pieces * self._paths.reading

    @cached_property
    def _core_steps(self) -> CoreSteps:
        """One tile of A and of B has to come before it is multiplied, others come meanwhile."""
        gemm, stream = self.gemm, self._tile_stream_cycles
        last = stream + (gemm.types.depth - 1) * self.tile_step_cycles + self.product_cycles + STEP_CYCLES
        tile_of_c = gemm.tile.m * gemm.tile.n * element_bytes(gemm.result) // 4
        first = self._paths.reading / self.pieces + stream
        return CoreSteps(first, self.block_core_cycles, last, tile_of_c, gemm.c_depth, self._ahead_cycles)

    @cached_property
    def cycles(self) -> float:
        """All of it, from the first word that the sequence writes until it knows that C is there."""
        found = BlockTimeline(self._turns, self._paths, self._core_steps, self._limits)
        return found.cycles(self.blocks)

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


def core_bytes(tile: TileShape, c_depth: int, size: int, size_c: int) -> int:
    """What a design has in a core's memory beside the stack, with elements of so many bytes."""
    operands = BUFFERS * tile.k * (tile.m + tile.n) * size
    return operands + c_depth * tile.m * tile.n * size_c + PARAMETER_BYTES


def mem_tile_bytes(tile: TileShape, k_mt: int, columns: int, size: int, size_c: int) -> int:
    """What a design has in the mem tile of a column that brings in tiles of the left operand."""
    rows = ROWS // senders(columns) * tile.m
    return BUFFERS * (k_mt * (rows + tile.n) * size + ROWS * tile.m * tile.n * size_c)
