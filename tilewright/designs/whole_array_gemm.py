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
from tilewright.designs.gemm_transfers import GemmTransfers, overlaps_columns
from tilewright.designs.gemm_types import (
    MOST_STEP_WORDS,
    ROWS,
    STEPS,
    SUMS,
    USUAL_TILE,
    WORD,
    GemmTypes,
    TileShape,
    element_bytes,
    open_array,
    senders,
)
from tilewright.device import model
from tilewright.iron import Buffer, Kernel, ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import else_, if_
from tilewright.iron.dataflow.objectfifo import ObjectFifoLink, StreamDims
from tilewright.iron.device import Device, Tile
from tilewright.iron.kernels.library import LibraryFunction
from tilewright.iron.open_sizes import Size, require_at_least, require_multiple

MOST_COLUMNS = 8


@dataclass(frozen=True)
class WholeArrayGemm:
    """A product on `columns` columns of a `device`; `operand` is i8, i16 or bf16, `tile` what a core has at a time.

    C has the type `sums`. A and B stand row by row, or with `a_col_maj` and `b_col_maj` column by column; they come in
    pieces of `k_mt` along K, the last of which may be shorter with `any_k`. Cores have `c_depth` tiles of C.
    `block_floats` multiplies bf16 as such; with `batched` there are many matrices. `read_burst`, `column_burst` and
    `write_burst` are the lengths of bursts of shim tiles.
    """

    device: str = "npu2"
    columns: int = 4
    operand: str = "i16"
    tile: TileShape = USUAL_TILE
    sums: str | None = None
    """The type of C, in which products are added up: i8, i16, i32, bf16 or f32; i32 or f32 unless it is given."""
    a_col_maj: bool = False
    """Whether A stands column by column in memory; the device needs a kernel for that unless B does as well."""
    b_col_maj: bool = False
    c_depth: int = 2
    """Tiles of C that a core has room for: with 2 it begins one while another leaves, with 1 they may be larger."""
    k_mt: int | None = None
    """How deep the pieces are that come from the host, a multiple of k: longer runs of memory are faster to read."""
    read_burst: int = 0
    """Bytes of the bursts that A and B are read in, 0 for the longest: what runs leave of one is lost in part."""
    column_burst: int = 0
    """Bytes of the bursts of what goes up the columns, B unless it is turned; 0 for the same. Shares are by bursts:
    with shorter ones, what goes along the rows is first, which fewer channels bring."""
    write_burst: int = 64
    """Bytes of the bursts of C: while it is written, short ones leave most of the way to what is read."""
    block_floats: bool = False
    """Whether bf16 is multiplied as block floating point, which npu2 can."""
    any_k: bool = False
    """Whether K need not be whole pieces: the last one overlaps the one before, and cores clear what they had of A."""
    batched: bool = False
    """Whether there are many matrices, one after the other: their number is one more argument of the sequence."""

    @property
    def multiples(self) -> tuple[int, int, int]:
        """What M, K and N of whole blocks are multiples of."""
        rows, columns = (self.columns, ROWS) if self.is_turned else (ROWS, self.columns)
        return rows * self.tile.m, self.k_mt or self.tile.k, columns * self.tile.n

    @property
    def is_turned(self) -> bool:
        """Whether it multiplies as C = (B' A')': columns of A and B are rows of the turned ones."""
        return self.a_col_maj and self.b_col_maj

    @property
    def bursts(self) -> tuple[int, int, int]:
        """Bytes of those of what goes along the rows, up the columns, and back."""
        along_rows = model(self.device).burst_bytes(self.read_burst)
        return along_rows, self.column_burst or along_rows, self.write_burst

    @property
    def is_symmetric(self) -> bool:
        """Whether rows of A and columns of B come: those of B and A do for C' = B' A', and the same build."""
        return self.b_col_maj and not self.a_col_maj

    @property
    def result(self) -> str:
        """The type of C."""
        return self.sums or SUMS[self.operand]

    @property
    def grains(self) -> tuple[int, int, int]:
        """What M, K and N are multiples of at least: a DMA moves words of 32 bits, and lines have to begin at one."""
        of_operand, of_result = (max(1, 4 // element_bytes(element)) for element in (self.operand, self.result))
        along_n = of_result if self.b_col_maj else max(of_operand, of_result)
        along_k = self.multiples[1]
        if self.any_k:  # without lines along K, cores clear whole blocks of what they had
            along_k = self.types.s if self.types.a_col_maj else of_operand
        return of_operand if self.a_col_maj else 1, along_k, along_n

    @property
    def least(self) -> tuple[int, int, int]:
        """What M, K and N are at least: rows and columns of cores may all overlap, each has a tile of C."""
        rows, columns = self.types.tile.m * ROWS, self.types.tile.n
        if self.types.can_overlap(self.columns):  # but do not begin at the same place: strides are not 0
            count, grain = senders(self.columns), self.grains[2 if self.is_turned else 0]
            rows = rows // count + (count - 1) * grain
        return (columns, self.multiples[1], rows) if self.is_turned else (rows, self.multiples[1], columns)

    def padded(self, m: int, k: int, n: int) -> tuple[int, int, int]:
        """The sizes that the device gets for m x k and k x n: at least a tile, and whole words."""
        every = zip((m, k, n), self.grains, self.least, strict=True)
        m, k, n = (max(-(-size // grain) * grain, least) for size, grain, least in every)
        if self.is_turned:
            return m, k, self._overlapping(n, self.grains[2])
        return self._overlapping(m, self.grains[0], n), k, n

    def _overlapping(self, rows: int, grain: int, line: int = 1) -> int:
        """As many rows as tiles that overlap evenly have, or a block where they would be too far apart."""
        block, others = ROWS * self.types.tile.m, senders(self.columns) - 1
        if rows >= block:
            return rows
        of_sender = block // (others + 1)
        while (rows - of_sender) % others:
            rows += grain
        step_words = (rows - of_sender) // others * line * element_bytes(self.result) // 4
        return rows if step_words < MOST_STEP_WORDS else block

    @cached_property
    def types(self) -> GemmTypes:
        """Tiles and blocks of the cores; a complaint about what no kernel is for."""
        arch, (m, k, n) = model(self.device).arch, (self.tile.m, self.tile.k, self.tile.n)
        if not 1 <= self.columns <= min(MOST_COLUMNS, model(self.device).columns):
            raise ValueError(f"{self.device} has {model(self.device).columns} columns; a product takes 1 to 8 of them")
        depth, rest = divmod(self.multiples[1], k)
        if rest or depth < 1:
            raise ValueError(f"k_mt is a multiple of k, which is {k}, not {self.k_mt}")
        turned = self.is_turned
        tile = TileShape(n, k, m) if turned else self.tile
        orders = {"a_col_maj": self.a_col_maj and not turned, "b_col_maj": self.b_col_maj and not turned}
        options: Any = {**orders, "c_col_maj": turned, "depth": depth, "emulated": self.block_floats}
        return GemmTypes.of(arch, self.operand, tile, self.sums, **options)

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
        # columns of blocks stand together where tiles stand column by column
        height = self.tile.m if self.types.a_col_maj else self.types.r
        return partial(accumulate_with_rest, depth=self.tile.k, height=height, width=self.types.s)

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
        checks = zip((M, K, N), self.gemm.grains, self.gemm.least, "MKN", strict=True)
        for size, grain, least_size, name in checks:
            require_multiple(size, grain, name)
            require_at_least(size, least_size, name)
        for parameter in self.steps.values():  # cores read them after their first tiles, which are sent later
            parameter[0] = K // self.k_mt * self.types.depth
            if self.gemm.any_k:
                pieces = (K + self.k_mt - 1) // self.k_mt
                parameter[1] = (pieces - K // self.k_mt) * self.types.depth
                parameter[2] = pieces * self.k_mt - K
        if self.gemm.is_turned:
            arrays, sizes = (arrays[1], arrays[0], arrays[2]), (N, K, M)
        transfers = partial(GemmTransfers, self.gemm, arrays, sizes, fifos, batches)
        is_narrow = overlaps_columns(self.gemm, sizes[0], sizes[2])
        if not self.gemm.any_k:
            _in_each_case(is_narrow, lambda narrow: transfers(has_rest=False, is_narrow=narrow).emit())
            return
        _in_each_case(
            K % self.k_mt > 0,
            lambda rest: _in_each_case(is_narrow, lambda narrow: transfers(has_rest=rest, is_narrow=narrow).emit()),
        )


def _in_each_case(condition: Any, emit: Callable[[bool], None]) -> None:
    """Emit what is to be done where a condition holds and where it does not, or one of them if that is known."""
    if isinstance(condition, bool):
        emit(condition)
        return
    with if_(condition) as choice:
        emit(True)
    with else_(choice):
        emit(False)
