"""C = A B on all rows of 1 to 8 columns, for any M, K and N: one build.

Each core has a tile of C. Tiles of A go along the rows of cores, those of B up the columns, both through mem tiles that
put their elements into the order which the kernel wants. The tiles of C of one column are put together in its mem tile.
How many tiles are added up for one tile of C, K / k, is a parameter that the sequence writes to each core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.designs.gemm_core import accumulate_tiles
from tilewright.designs.gemm_types import SUMS, USUAL_TILE, WORD, GemmTypes, TileShape, open_array
from tilewright.iron import Buffer, Kernel, ObjectFifo, Program, Runtime, TaskGroup, Worker
from tilewright.iron.controlflow import if_, range_
from tilewright.iron.device import Device, Tile
from tilewright.iron.open_sizes import Size, least, require_multiple

ROWS = 4
"""Cores of a column."""
MOST_REPEATS = 64
"""Times that one task can be repeated, with a step each time: 6 bits of a shim tile's descriptor."""


@dataclass(frozen=True)
class WholeArrayGemm:
    """A product on `columns` columns of a `device`; `operand` is i8, i16 or bf16, `tile` what a core has at a time."""

    device: str = "npu2"
    columns: int = 4
    operand: str = "i16"
    tile: TileShape = USUAL_TILE

    @property
    def multiples(self) -> tuple[int, int, int]:
        """What M, K and N are multiples of."""
        return ROWS * self.tile.m, self.tile.k, self.columns * self.tile.n

    def program(self, M: Size = np.int32, K: Size = np.int32, N: Size = np.int32) -> Program:
        """The design. `M`, `K` and `N` are built in where they are numbers, else arguments of the sequence."""
        return _Builder(self).program(M, K, N)


class _Builder:
    """Puts a design together."""

    def __init__(self, gemm: WholeArrayGemm):
        self.gemm, self.tile, self.columns = gemm, gemm.tile, gemm.columns
        self.device = Device(gemm.device)
        if gemm.columns not in (1, 2, 4, 8) or gemm.columns > self.device.cols:
            raise ValueError(f"{gemm.device} has {self.device.cols} columns; a product takes 1, 2, 4 or 8 of them")
        self.types = GemmTypes.of(self.device.arch, gemm.operand, gemm.tile)
        self.senders = min(ROWS, self.columns)
        """Columns that bring in A; each has so many rows of cores:"""
        self.rows_each = ROWS // self.senders
        self.steps = {place: self._parameter(*place) for place in self._places()}

    def _places(self) -> list[tuple[int, int]]:
        return [(column, row) for column in range(self.columns) for row in range(ROWS)]

    def _parameter(self, column: int, row: int) -> Buffer:
        return Buffer(WORD, name=f"steps_{column}_{row}", use_write_rtp=True)

    def program(self, M: Size, K: Size, N: Size) -> Program:
        sent_a, a = self._bring_a()
        sent_b, b = self._bring_b()
        results, c = self._fetch_c()
        names, types = self.types.names, self.types
        zero = Kernel(f"zero_{SUMS[types.operand]}", "mm.o", [types.c()])
        matmul = Kernel(f"matmul_{names}", "mm.o", [types.a(), types.b(), types.c()])
        workers = [
            Worker(
                accumulate_tiles,
                [a[row].cons(), b[column].cons(), c[column][row], self.steps[column, row], zero, matmul],
                tile=Tile(column, 2 + row),  # above the shim tile and the mem tile
                dynamic_objfifo_lowering=True,
            )
            for column, row in self._places()
        ]
        arrays = [open_array(types.operand), open_array(types.operand), open_array(SUMS[types.operand])]
        runtime = Runtime(self._sequence, [*arrays, M, K, N, sent_a, sent_b, results])
        return Program(self.device, runtime, workers)

    # Streams.

    def _bring_a(self) -> tuple[list[Any], list[ObjectFifo]]:
        """From the host to the rows of cores: what the host fills, and a fifo for each row."""
        filled, rows = list[Any](), list[ObjectFifo]()
        for sender in range(self.senders):
            column = sender * self.columns // self.senders  # spread out: a shim tile has few channels
            fifo = ObjectFifo(self.types.a(self.rows_each), name=f"A_L3L2_{sender}")
            first = sender * self.rows_each
            rows += fifo.cons().split(
                [self.tile.m * self.tile.k * row for row in range(self.rows_each)],
                obj_types=[self.types.a()] * self.rows_each,
                names=[f"A_L2L1_{first + row}" for row in range(self.rows_each)],
                dims_to_stream=[self.types.a_to_blocks()] * self.rows_each,
                tile=Tile(column, 1),
            )
            filled.append(fifo.prod(tile=Tile(column, 0)))
        return filled, rows

    def _bring_b(self) -> tuple[list[Any], list[ObjectFifo]]:
        filled, columns = list[Any](), list[ObjectFifo]()
        for column in range(self.columns):
            fifo = ObjectFifo(self.types.b(), name=f"B_L3L2_{column}")
            forwarded = fifo.cons().forward(
                obj_type=self.types.b(),
                name=f"B_L2L1_{column}",
                dims_to_stream=self.types.b_to_blocks(),
                tile=Tile(column, 1),
            )
            columns.append(forwarded)
            filled.append(fifo.prod(tile=Tile(column, 0)))
        return filled, columns

    def _fetch_c(self) -> tuple[list[Any], list[list[Any]]]:
        """From the cores to the host: what the host drains, and the producing ends of each column."""
        drained, columns = list[Any](), list[list[Any]]()
        for column in range(self.columns):
            to_rows = self.types.c_from_blocks()  # of each of the tiles that are joined
            fifo = ObjectFifo(self.types.c(ROWS), name=f"C_L2L3_{column}", dims_to_stream=to_rows)
            joined = fifo.prod().join(
                [self.tile.m * self.tile.n * row for row in range(ROWS)],
                obj_types=[self.types.c()] * ROWS,
                names=[f"C_L1L2_{column}_{row}" for row in range(ROWS)],
                tile=Tile(column, 1),
            )
            columns.append([part.prod() for part in joined])
            drained.append(fifo.cons(tile=Tile(column, 0)))
        return drained, columns

    # What the host does.

    def _sequence(self, A: Any, B: Any, C: Any, M: Any, K: Any, N: Any, a: Any, b: Any, c: Any) -> None:
        for size, multiple, name in zip((M, K, N), self.gemm.multiples, "MKN", strict=True):
            require_multiple(size, multiple, name)
        for parameter in self.steps.values():
            parameter[0] = K // self.tile.k  # cores read it after their first tiles, which are sent later
        step_m, _, step_n = self.gemm.multiples
        transfers = _Transfers(self, (A, B, C), K, N, (a, b, c))
        for j in range_(0, N // step_n, MOST_REPEATS):
            count = least(N // step_n - j, MOST_REPEATS)
            for i in range_(0, M // step_m, 2):
                first = transfers.start(i, j, count)
                with if_(i + 1 < M // step_m, hasElse=False):  # another one is under way meanwhile
                    transfers.start(i + 1, j, count).finish()
                first.finish()


@dataclass(frozen=True)
class _Transfers:
    """Starts all that a row of tiles of C needs."""

    to: _Builder
    arrays: Sequence[Any]
    K: Any
    N: Any
    fifos: Sequence[Any]

    def start(self, i: Any, j: Any, count: Any) -> TaskGroup:
        """For the i-th rows of C, and `count` blocks of columns from the j-th on."""
        group, (m, k, n) = TaskGroup(), (self.to.tile.m, self.to.tile.k, self.to.tile.n)
        (A, B, C), K, N = self.arrays, self.K, self.N
        step_m, _, step_n = self.to.gemm.multiples
        rows = self.to.rows_each * m
        for sender, fifo in enumerate(self.fifos[0]):
            at = (i * step_m + sender * rows) * K
            fifo.fill(A, sizes=[count, K // k, rows, k], strides=[0, k, K, 1], offset=at, group=group)
        for column, fifo in enumerate(self.fifos[1]):
            at = j * step_n + column * n
            fifo.fill(B, sizes=[count, K // k, k, n], strides=[step_n, N * k, N, 1], offset=at, group=group)
        for column, fifo in enumerate(self.fifos[2]):
            at = i * step_m * N + j * step_n + column * n
            fifo.drain(C, sizes=[count, 1, step_m, n], strides=[step_n, 0, N, 1], offset=at, wait=True, group=group)
        return group
