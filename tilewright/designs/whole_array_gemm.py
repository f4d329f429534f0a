"""C = A B on all rows of 1 to 8 columns, for any M, K and N: one build.

Each core has a tile of C. Tiles of A go along the rows of cores, those of B up the columns, both through mem tiles that
put their elements into the order which the kernel wants. The tiles of C of one column are put together in its mem tile.
How many tiles are added up for one tile of C, K / k, is a parameter that the sequence writes to each core.

Where M or N is not a whole number of blocks, the last block begins earlier: it overlaps the one before, and computes
some elements again. Nothing has to be padded for that, and no descriptor is special.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tilewright.designs.gemm_core import accumulate_tiles, accumulate_with_rest
from tilewright.designs.gemm_types import STEPS, SUMS, USUAL_TILE, WORD, GemmTypes, TileShape, element_bytes, open_array
from tilewright.device import model
from tilewright.iron import Buffer, Kernel, ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import else_, if_, range_, yield_
from tilewright.iron.dataflow.objectfifo import ObjectFifoLink, StreamDims
from tilewright.iron.device import Device, Tile
from tilewright.iron.kernels.library import LibraryFunction
from tilewright.iron.open_sizes import Size, least, most, require_at_least, require_multiple

ROWS = 4
"""Cores of a column."""
MOST_COLUMNS = 8
MOST_REPEATS = 64
"""Times that one task can be repeated, with a step each time: 6 bits of a shim tile's descriptor."""
MOST_STEP_WORDS = 1 << 20
"""How far such a step goes at most: 20 bits of it."""


@dataclass(frozen=True)
class WholeArrayGemm:
    """A product on `columns` columns of a `device`; `operand` is i8, i16 or bf16, `tile` what a core has at a time.

    C has the type `sums`. A and B stand row by row, or with `a_col_maj` and `b_col_maj` column by column; they come in
    pieces of `k_mt` along K, the last of which may be shorter with `any_k`. Cores have `c_depth` tiles of C.
    `block_floats` multiplies bf16 as such; with `batched` there are many matrices.
    """

    device: str = "npu2"
    columns: int = 4
    operand: str = "i16"
    tile: TileShape = USUAL_TILE
    sums: str | None = None
    """The type of C, in which products are added up: i8, i16, i32, bf16 or f32; i32 or f32 unless it is given."""
    a_col_maj: bool = False
    """Whether A stands column by column in memory; then B has to as well, since kernels take rows of one of them."""
    b_col_maj: bool = False
    c_depth: int = 2
    """Tiles of C that a core has room for: with 2 it begins one while another leaves, with 1 they may be larger."""
    k_mt: int | None = None
    """How deep the pieces are that come from the host, a multiple of k: longer runs of memory are faster to read."""
    block_floats: bool = False
    """Whether bf16 is multiplied as block floating point, which npu2 can."""
    any_k: bool = False
    """Whether K need not be whole pieces: the last one overlaps the one before, and cores clear what they had of A."""
    batched: bool = False
    """Whether there are many matrices, one after the other: their number is one more argument of the sequence."""

    @property
    def multiples(self) -> tuple[int, int, int]:
        """What M, K and N of whole blocks are multiples of."""
        rows, columns = (self.columns, ROWS) if self.a_col_maj else (ROWS, self.columns)
        return rows * self.tile.m, self.k_mt or self.tile.k, columns * self.tile.n

    @property
    def result(self) -> str:
        """The type of C."""
        return self.sums or SUMS[self.operand]

    @property
    def grains(self) -> tuple[int, int, int]:
        """What M, K and N are multiples of at least: a DMA moves words of 32 bits, and lines have to begin at one."""
        of_operand, of_result = (max(1, 4 // element_bytes(element)) for element in (self.operand, self.result))
        along_n = of_result if self.b_col_maj else max(of_operand, of_result)
        along_k = of_operand if self.any_k else self.multiples[1]  # A or B has lines along it
        return of_operand if self.a_col_maj else 1, along_k, along_n

    def padded(self, m: int, k: int, n: int) -> tuple[int, int, int]:
        """The sizes that the device gets for m x k and k x n: at least a block, and whole words."""
        every = zip((m, k, n), self.grains, self.multiples, strict=True)
        m, k, n = (max(-(-size // grain) * grain, block) for size, grain, block in every)
        return m, k, n

    @cached_property
    def types(self) -> GemmTypes:
        """Tiles and blocks of the cores; a complaint about what no kernel is for."""
        arch, (m, k, n) = model(self.device).arch, (self.tile.m, self.tile.k, self.tile.n)
        if not 1 <= self.columns <= min(MOST_COLUMNS, model(self.device).columns):
            raise ValueError(f"{self.device} has {model(self.device).columns} columns; a product takes 1 to 8 of them")
        depth, rest = divmod(self.multiples[1], k)
        if rest or depth < 1:
            raise ValueError(f"k_mt is a multiple of k, which is {k}, not {self.k_mt}")
        if self.a_col_maj and not self.b_col_maj:
            raise ValueError(
                "a product of columns of A and rows of B has no kernel; bring one of them in the other order"
            )
        # Cores take rows on the left. Columns of A and B are rows of the turned ones, and C = (B' A')'.
        tile = TileShape(n, k, m) if self.a_col_maj else self.tile
        orders = {"b_col_maj": self.b_col_maj and not self.a_col_maj, "c_col_maj": self.a_col_maj, "depth": depth}
        return GemmTypes.of(arch, self.operand, tile, self.sums, emulated=self.block_floats, **orders)

    def program(self, M: Size = np.int32, K: Size = np.int32, N: Size = np.int32) -> Program:
        """The design. `M`, `K` and `N` are built in where they are numbers, else arguments of the sequence."""
        return _Builder(self).program(M, K, N)


class _Builder:
    """Puts a design together."""

    def __init__(self, gemm: WholeArrayGemm):
        self.gemm, self.columns = gemm, gemm.columns
        self.device = Device(gemm.device)
        self.types = gemm.types
        self.tile, self.k_mt = self.types.tile, gemm.multiples[1]
        self.senders = senders(self.columns)
        """Columns that bring in A; each has so many rows of cores:"""
        self.rows_each = ROWS // self.senders
        self.steps = {place: self._parameter(*place) for place in self._places()}

    def _places(self) -> list[tuple[int, int]]:
        return [(column, row) for column in range(self.columns) for row in range(ROWS)]

    def _parameter(self, column: int, row: int) -> Buffer:
        return Buffer(STEPS if self.gemm.any_k else WORD, name=f"steps_{column}_{row}", use_write_rtp=True)

    def program(self, M: Size, K: Size, N: Size) -> Program:
        sent_a, a = self._bring_a()
        sent_b, b = self._bring_b()
        results, c = self._fetch_c()
        types, kernels = self.types, self._kernels()
        from_stream = types.a_from_stream(), types.b_from_stream()
        workers = [
            Worker(
                self._core,
                [
                    a[row].cons(dims_from_stream=from_stream[0]),
                    b[column].cons(dims_from_stream=from_stream[1]),
                    c[column][row],
                    self.steps[column, row],
                    *kernels,
                ],
                tile=Tile(column, 2 + row),  # above the shim tile and the mem tile
                dynamic_objfifo_lowering=True,
            )
            for column, row in self._places()
        ]
        arrays = [open_array(types.operand), open_array(types.operand), open_array(types.sums)]
        sequence, sizes = (self._batches, [M, K, N, np.int32]) if self.gemm.batched else (self._sequence, [M, K, N])
        runtime = Runtime(sequence, [*arrays, *sizes, sent_a, sent_b, results])
        return Program(self.device, runtime, workers)

    @property
    def _core(self) -> Callable[..., None]:
        if not self.gemm.any_k:
            return accumulate_tiles
        return partial(accumulate_with_rest, depth=self.tile.k, height=self.types.r, width=self.types.s)

    def _kernels(self) -> list[Kernel]:
        """To clear a tile of C, to add a product to it, and to clear columns of a tile of A where that is needed."""
        types, name = self.types, f"matmul_{self.types.names}"
        arguments = [types.a(), types.b(), types.c()]
        kernels = [Kernel(f"zero_{types.sums}", "mm.o", [types.c()]), Kernel(name, "mm.o", arguments)]
        if types.macros:
            source, flags = f"aie_kernels/{self.device.arch.name.lower()}/mm.cc", [f"-D{each}" for each in types.macros]
            kernels[1] = LibraryFunction(name, source, arguments, flags, object_file="mm.o")
        if self.gemm.any_k:
            kernels.append(Kernel(f"zero_columns_{types.operand}", "mm.o", [types.a(), *[np.int32] * 4]))
        return kernels

    # Streams.

    def _bring_a(self) -> tuple[list[Any], list[ObjectFifo]]:
        """From the host to the rows of cores: what the host fills, and a fifo for each row."""
        filled, rows = list[Any](), list[ObjectFifo]()
        depth, dims = self.types.depth, self.types.a_to_blocks()
        for sender in range(self.senders):
            column = sender * self.columns // self.senders  # spread out: a shim tile has few channels
            fifo = ObjectFifo(self.types.a(self.rows_each, depth), name=f"A_L3L2_{sender}")
            names = [f"A_L2L1_{sender * self.rows_each + row}" for row in range(self.rows_each)]
            rows += self._pass_on(fifo, names, Tile(column, 1), (self.types.a(1, depth), self.types.a()), dims)
            filled.append(fifo.prod(tile=Tile(column, 0)))
        return filled, rows

    def _bring_b(self) -> tuple[list[Any], list[ObjectFifo]]:
        filled, columns = list[Any](), list[ObjectFifo]()
        whole, dims = self.types.b(self.types.depth), self.types.b_to_blocks()
        for column in range(self.columns):
            fifo, names = ObjectFifo(whole, name=f"B_L3L2_{column}"), [f"B_L2L1_{column}"]
            columns += self._pass_on(fifo, names, Tile(column, 1), (whole, self.types.b()), dims)
            filled.append(fifo.prod(tile=Tile(column, 0)))
        return filled, columns

    def _pass_on(
        self, fifo: ObjectFifo, names: list[str], tile: Tile, types: tuple[Any, Any], dims: StreamDims
    ) -> list[ObjectFifo]:
        """Objects go on in parts, a fifo each; types are those of a part, and of the tiles that its consumers take."""
        taken = None if self.types.depth == 1 else types[1]
        parts = [ObjectFifo(types[0], name=name, dims_to_stream=dims, consumer_obj_type=taken) for name in names]
        offsets = [number * part.shape[0] for number, part in enumerate(parts)]
        ObjectFifoLink(fifo.cons(), [part.prod() for part in parts], tile, [], offsets)
        return parts

    def _fetch_c(self) -> tuple[list[Any], list[list[Any]]]:
        """From the cores to the host: what the host drains, and the producing ends of each column."""
        drained, columns = list[Any](), list[list[Any]]()
        for column in range(self.columns):
            to_lines = self.types.c_from_blocks()  # of each of the tiles that are joined
            fifo = ObjectFifo(self.types.c(ROWS), name=f"C_L2L3_{column}", dims_to_stream=to_lines)
            joined = fifo.prod().join(
                [self.tile.m * self.tile.n * row for row in range(ROWS)],
                obj_types=[self.types.c()] * ROWS,
                names=[f"C_L1L2_{column}_{row}" for row in range(ROWS)],
                tile=Tile(column, 1),
            )
            columns.append([part.prod(depth=self.gemm.c_depth) for part in joined])
            drained.append(fifo.cons(tile=Tile(column, 0)))
        return drained, columns

    # What the host does.

    def _sequence(self, A: Any, B: Any, C: Any, M: Any, K: Any, N: Any, a: Any, b: Any, c: Any) -> None:
        self._multiply((A, B, C), (M, K, N), (a, b, c), 1)

    def _batches(self, A: Any, B: Any, C: Any, M: Any, K: Any, N: Any, batches: Any, a: Any, b: Any, c: Any) -> None:
        require_at_least(batches, 1, "batches")
        self._multiply((A, B, C), (M, K, N), (a, b, c), batches)

    def _multiply(self, arrays: Sequence[Any], sizes: Sequence[Any], fifos: Sequence[Any], batches: Any) -> None:
        M, K, N = sizes
        checks = zip((M, K, N), self.gemm.grains, self.gemm.multiples, "MKN", strict=True)
        for size, grain, block, name in checks:
            require_multiple(size, grain, name)
            require_at_least(size, block, name)
        for parameter in self.steps.values():  # cores read them after their first tiles, which are sent later
            parameter[0] = K // self.k_mt * self.types.depth
            if self.gemm.any_k:
                pieces = _ceil(K, self.k_mt)
                parameter[1] = (pieces - K // self.k_mt) * self.types.depth
                parameter[2] = pieces * self.k_mt - K
        if self.gemm.a_col_maj:
            arrays, sizes = (arrays[1], arrays[0], arrays[2]), (N, K, M)
        given = self, arrays, sizes, fifos, batches
        if not self.gemm.any_k or isinstance(K, int):
            _Transfers(*given, has_rest=bool(self.gemm.any_k and K % self.k_mt)).emit()
            return
        with if_(K % self.k_mt == 0) as choice:
            _Transfers(*given, has_rest=False).emit()
        with else_(choice):
            _Transfers(*given, has_rest=True).emit()


class _Transfers:
    """Starts all that a row of blocks of C needs: those beside each other, as far as one task can be repeated."""

    def __init__(
        self,
        to: _Builder,
        arrays: Sequence[Any],
        sizes: Sequence[Any],
        fifos: Sequence[Any],
        batches: Any,
        *,
        has_rest: bool,
    ):
        self.to, self.arrays, self.fifos = to, arrays, fifos
        self.M, self.K, self.N = sizes
        self.step_m, self.step_n = ROWS * to.tile.m, to.columns * to.tile.n
        self.down, self.across = _ceil(self.M, self.step_m), self.N // self.step_n
        self.pieces: list[tuple[Any, Any]] = [(self.K // to.k_mt, 0)]
        """How many pieces a task brings, and from where on along K."""
        if has_rest:
            self.pieces.append((1, self.K - to.k_mt))
        # a task that repeats would bring the pieces of several blocks before the rest of the first
        self.most = 1 if has_rest else self._most_repeats()
        # one more for what is left of N
        chunks = _ceil(self.across, self.most) + _ceil(self.N, self.step_n) - self.across
        self.turns_each = self.down * chunks
        self.turns = self.turns_each * batches

    def emit(self) -> None:
        """Have two turns under way at a time, and wait for nothing but C."""
        under_way = self.start(0)
        for turn, before, last in range_(1, self.turns, iter_args=under_way):
            now = self.start(turn)  # while the blocks before are multiplied
            self.finish(before)
            yield_(now)
            under_way = last
        self.finish(under_way)

    def _most_repeats(self) -> Any:
        """64, or 1 where the step from block to block is too long for a descriptor."""
        length = self._step_elements() * element_bytes(self.to.types.operand) // 4
        of_result = self._result_step() * element_bytes(self.to.types.sums) // 4
        fits = least(least((MOST_STEP_WORDS - 1) // length, (MOST_STEP_WORDS - 1) // of_result), 1)
        return fits * (MOST_REPEATS - 1) + 1

    def _step_elements(self) -> Any:
        return self.step_n * self.K if self.to.types.b_col_maj else self.step_n

    def _result_step(self) -> Any:
        return self.step_n * self.M if self.to.types.c_col_maj else self.step_n

    def start(self, turn: Any) -> list[Any]:
        """The transfers of a turn, C's last."""
        number = 0
        if self.to.gemm.batched:
            number, turn = turn // self.turns_each, turn % self.turns_each
        chunk, row = turn // self.down, turn % self.down
        i = least(row * self.step_m, self.M - self.step_m)
        j = least(chunk * self.most * self.step_n, self.N - self.step_n)
        # none are left of those that are whole: it is the last one, which overlaps
        count = most(least(self.across - chunk * self.most, self.most), 1)
        return [*self._send_a(number, i, count), *self._send_b(number, j, count), *self._fetch_c(number, i, j, count)]

    def finish(self, tasks: Sequence[Any]) -> None:
        """Wait for C: once it is there, A and B have been used up."""
        for task in tasks[-self.to.columns :]:
            task.await_()
        for task in tasks:
            task.free()

    def _send_a(self, number: Any, i: Any, count: Any) -> list[Any]:
        A, K, k_mt, rows = self.arrays[0], self.K, self.to.k_mt, self.to.rows_each * self.to.tile.m
        return [
            fifo.fill(
                A,
                sizes=[count, pieces, rows, k_mt],
                strides=[0, k_mt, K, 1],
                offset=(number * self.M + i + sender * rows) * K + first,
                managed=False,
            )
            for sender, fifo in enumerate(self.fifos[0])
            for pieces, first in self.pieces
        ]

    def _send_b(self, number: Any, j: Any, count: Any) -> list[Any]:
        B, K, N, k_mt, n = self.arrays[1], self.K, self.N, self.to.k_mt, self.to.tile.n
        shape, strides, line, along_k = [k_mt, n], [self.step_n, N * k_mt, N, 1], 1, N
        if self.to.types.b_col_maj:
            shape, strides, line, along_k = [n, k_mt], [self.step_n * K, k_mt, K, 1], K, 1
        return [
            fifo.fill(
                B,
                sizes=[count, pieces, *shape],
                strides=strides,
                offset=number * K * N + (j + column * n) * line + first * along_k,
                managed=False,
            )
            for column, fifo in enumerate(self.fifos[1])
            for pieces, first in self.pieces
        ]

    def _fetch_c(self, number: Any, i: Any, j: Any, count: Any) -> list[Any]:
        C, M, N, (m, n) = self.arrays[2], self.M, self.N, (self.to.tile.m, self.to.tile.n)
        tasks, matrix = list[Any](), number * M * N
        for column, fifo in enumerate(self.fifos[2]):
            j_column = j + column * n
            if self.to.types.c_col_maj:
                sizes, strides, at = [count, ROWS, n, m], [self.step_n * M, m, M, 1], j_column * M + i
            else:
                sizes, strides, at = [count, 1, self.step_m, n], [self.step_n, 0, N, 1], i * N + j_column
            tasks.append(fifo.drain(C, sizes=sizes, strides=strides, offset=matrix + at, wait=True, managed=False))
        return tasks


def senders(columns: int) -> int:
    """Of so many columns, those that bring in A: each for as many rows of cores."""
    return max(count for count in (1, 2, ROWS) if count <= columns)


def _ceil(size: Any, step: Any) -> Any:
    return (size + (step - 1)) // step
