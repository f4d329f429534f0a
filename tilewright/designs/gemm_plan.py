"""Plans of products: which tiles fit an array, and how long a product with them takes by the model of its clock.

A plan tries tiles, depths and buffers, keeps what has room in the memories of the device, and puts those first that are
predicted to be the fastest. Predictions are made in the order of the bounds, until no bound is below the best of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tilewright.designs.gemm_candidate import (
    BUFFERS,
    HEADINGS,
    Candidate,
    core_bytes,
    kernel_cycles,
    mem_tile_bytes,
)
from tilewright.designs.gemm_limits import HostLimits
from tilewright.designs.gemm_types import TileShape, element_bytes, senders, tile_steps
from tilewright.designs.whole_array_gemm import MOST_COLUMNS, WholeArrayGemm
from tilewright.device import TileType, model
from tilewright.device.vector_unit import vector_unit
from tilewright.errors import ArgumentError

MOST_TILE = 256
"""Rows and columns of a tile that are tried."""
DEPTHS = 1, 2, 3, 4, 5, 6, 8
"""Tiles along K that come from the host together."""
SHOWN = 10
LEAST_BURST = 128
"""Bytes: what shorter ones cost is not known."""
ABOUT = 1.005
"""Longer runs and bursts of reads are worth so much: the clock takes them all for as good as they are full."""


@dataclass(frozen=True)
class Plan:
    """Designs for a product, the fastest first."""

    m: int
    k: int
    n: int
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
        title = f"{self.m} x {self.k} x {self.n} of {first.gemm.types.names} on {first.gemm.columns} columns of "
        return "\n".join([f"{title}{first.gemm.device}, {self.tried:,} compared, cycles:", *lines])


def make_plan(m: int, k: int, n: int, types: str, device: str, columns: int | None = None, **options: Any) -> Plan:
    """The best designs for m x k and k x n of `types`, an operand or an operand and the type of C, such as i8_i16."""
    operand, _, sums = types.partition("_")
    start = WholeArrayGemm(device, columns or min(MOST_COLUMNS, model(device).columns), operand, sums=sums or None)
    if n == 1:
        start = replace(start, b_col_maj=True)  # a vector is both
    start = replace(start, **options)
    start.types  # noqa: B018, complains about types, orders and columns that there is no product for
    if min(m, k, n) < 1:
        raise ArgumentError(f"there is no product of {m} x {k} and {k} x {n} elements")
    both = {(m, k, n), (n, k, m)} if start.is_symmetric else {(m, k, n)}  # `Gemm` does what is faster
    choices = sorted(choice for sizes in both for choice in _Search(start, *sizes).choices())
    if not choices:
        raise ArgumentError(f"no tile of {types} has room on {device}")
    best = list[Candidate]()
    for choice in choices:
        if len(best) == SHOWN and best[-1].cycles <= choice.bound_cycles:
            break
        design = replace(start, tile=TileShape(*choice.tile), c_depth=choice.c_depth)
        found = _with_runs(design, choice, is_any_k="any_k" not in options)
        best = sorted([*best, found], key=lambda candidate: candidate.cycles)[:SHOWN]
    return Plan(m, k, n, tuple(best), sum(len(choice.depths) for choice in choices))


def _with_runs(design: WholeArrayGemm, choice: _Choice, *, is_any_k: bool) -> Candidate:
    """The tiles of a choice with the longest bursts and runs of reads for which they are about as fast as with any."""
    k = choice.sizes[1]
    lengths = [length for length in model(design.device).burst_lengths if length >= LEAST_BURST]
    pairs = [(length, length) for length in lengths]
    if senders(design.columns) < design.columns:  # else as many channels bring A as B
        pairs += [(length, length // 2) for length in lengths]
    found = [
        Candidate(
            replace(
                design,
                k_mt=k_mt,
                read_burst=length,
                column_burst=shorter,
                any_k=design.any_k or (is_any_k and k % k_mt > 0),
            ),
            *choice.sizes,
        )
        for k_mt in choice.depths
        for length, shorter in pairs
    ]
    limit = min(candidate.cycles for candidate in found) * ABOUT
    fast = [candidate for candidate in found if candidate.cycles <= limit]
    return max(fast, key=lambda candidate: (*candidate.gemm.bursts, candidate.gemm.k_mt))


class _Choice(NamedTuple):
    """Tiles, the depths of pieces that there is room for, and the least bound of candidates with these."""

    bound_cycles: float
    sizes: tuple[int, int, int]
    tile: tuple[int, int, int]
    c_depth: int
    depths: tuple[int, ...]


class _Search:
    """Goes through the tiles that have room."""

    def __init__(self, start: WholeArrayGemm, m: int, k: int, n: int):
        self.start, self.m, self.k, self.n = start, m, k, n
        self.target, self.limits = model(start.device), HostLimits.of(start.device)
        self.sizes = element_bytes(start.operand), element_bytes(start.result)
        self.rows, _, self.columns = replace(start, tile=TileShape(1, 1, 1), k_mt=None).multiples
        self.l1 = self.target.local_memory_bytes - self.target.default_stack_bytes
        self.l2 = self.target.resources(TileType.MemTile).data_memory_bytes

    def choices(self) -> Iterator[_Choice]:
        """Tiles with all of K or with as much of it as a core takes, and shallower ones."""
        unit = vector_unit(self.target.arch)
        table = unit.emulated_blocks if self.start.block_floats else unit.blocks
        step_m, step_k, step_n = tile_steps(table[self.start.operand, self.start.result])
        if self.start.is_turned:
            step_m, step_n = step_n, step_m
        for tile_m in _sizes(step_m, -(-self.m // self.rows)):
            for tile_n in _sizes(step_n, -(-self.n // self.columns)):
                for c_depth in (1, 2):
                    room = self.l1 - core_bytes(TileShape(tile_m, 0, tile_n), c_depth, *self.sizes)
                    deepest = room // (BUFFERS * (tile_m + tile_n) * self.sizes[0]) // step_k * step_k
                    for tile_k in _depths(deepest, step_k, self.k):
                        if choice := self._choice(TileShape(tile_m, tile_k, tile_n), c_depth):
                            yield choice

    def _choice(self, tile: TileShape, c_depth: int) -> _Choice | None:
        """Pieces of several tiles along K, as far as there is room and K is as deep."""
        start, (size, size_c) = self.start, self.sizes
        names, macros = start.types.names, tuple(start.types.macros)
        turned = TileShape(tile.n, tile.k, tile.m) if start.is_turned else tile
        sizes = turned.m * tile.k, tile.k * turned.n, tile.m * tile.n
        product = kernel_cycles(self.target.arch, f"matmul_{names}", sizes, macros)
        step_m, step_n = self.rows * tile.m, self.columns * tile.n
        blocks = -(-self.m // step_m) * -(-self.n // step_n)
        depths, bounds = list[int](), list[float]()
        for depth in DEPTHS:
            k_mt = depth * tile.k
            if depth > 1 and k_mt - tile.k >= self.k:
                break
            if mem_tile_bytes(turned, k_mt, start.columns, size, size_c) > self.l2:
                break
            pieces = -(-self.k // k_mt)
            read = (step_m + step_n) * pieces * k_mt * size
            both = (read + step_m * step_n * size_c) / self.limits.both
            depths.append(k_mt)
            bounds.append(blocks * max(pieces * depth * product, read / self.limits.read, both))
        if not depths:
            return None
        place = (self.m, self.k, self.n), (tile.m, tile.k, tile.n)
        return _Choice(min(bounds), *place, c_depth, tuple(depths))


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
