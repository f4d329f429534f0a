"""The transfers of a product on the whole array: which parts of A, B and C go when, for sizes that are open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.designs.gemm_types import MOST_STEP_WORDS, ROWS, element_bytes, senders
from tilewright.iron.controlflow import range_, yield_
from tilewright.iron.open_sizes import least, most, require_zero

if TYPE_CHECKING:
    from tilewright.designs.whole_array_gemm import WholeArrayGemm

MOST_REPEATS = 64
"""Times that one task can be repeated, with a step each time: 6 bits of a shim tile's descriptor."""


class GemmTransfers:
    """Starts all that a row of blocks of C needs: those beside each other, as far as one task can be repeated.

    M, K and N are those of the product that cores do, which may be a turned one. With `has_rest` a last piece along K
    overlaps the one before. With `is_narrow` columns of cores overlap, see `overlaps_columns`.
    """

    def __init__(
        self,
        gemm: WholeArrayGemm,
        arrays: Sequence[Any],
        sizes: Sequence[Any],
        fifos: Sequence[Any],
        batches: Any,
        *,
        has_rest: bool,
        is_narrow: bool,
    ):
        self.gemm, self.types, self.tile = gemm, gemm.types, gemm.types.tile
        self.arrays, self.fifos, self.is_narrow = arrays, fifos, is_narrow
        self.M, self.K, self.N = sizes
        self.k_mt, self.senders = gemm.multiples[1], senders(gemm.columns)
        self.rows_each = ROWS // self.senders
        self.step_m, self.step_n = ROWS * self.tile.m, gemm.columns * self.tile.n
        self._overlap_rows()
        self.down, self.across = _ceil(self.M, self.step_m), self.N // self.step_n
        self.pieces: list[tuple[Any, Any]] = [(self.K // self.k_mt, 0)]
        """How many pieces a task brings, and from where on along K."""
        if has_rest:
            self.pieces.append((1, self.K - self.k_mt))
        # a task that repeats would bring the pieces of several blocks before the rest of the first
        self.most = 1 if has_rest or is_narrow or self._repeats_pieces else self._most_repeats()
        # one more for what is left of N
        chunks = _ceil(self.across, self.most) + _ceil(self.N, self.step_n) - self.across
        self.turns_each = self.down * chunks
        self.turns = self.turns_each * batches

    def _overlap_rows(self) -> None:
        """Where M is less than a block, rows of cores begin closer together than tiles are high."""
        self.rows = self.rows_each * self.tile.m
        """Of A, that a task brings; those of the next begin so far after them:"""
        self.apart: Any = self.rows
        self.is_low: Any = 0
        """Whether M is less than a block, as a number."""
        if self.types.can_overlap(self.gemm.columns):
            others = self.senders - 1
            self.is_low = 1 - least(self.M // self.step_m, 1)
            self.apart = least((self.M - self.rows) // others, self.rows)
            name = f"{'N' if self.gemm.is_turned else 'M'} less {self.rows} modulo {others}"
            require_zero((self.M - self.rows) % others * self.is_low, name)

    @property
    def _repeats_pieces(self) -> bool:
        """Whether tiles of A for several rows of cores stand side by side: then its tasks repeat for pieces."""
        return self.types.a_col_maj and self.rows_each > 1

    def _most_repeats(self) -> Any:
        """64, or 1 where the step from block to block is too long for a descriptor."""
        step = self.step_n * self.K if self.types.b_col_maj else self.step_n
        step_of_c = self.step_n * self.M if self.types.c_col_maj else self.step_n
        words = step * element_bytes(self.types.operand) // 4, step_of_c * element_bytes(self.types.sums) // 4
        fits = least(least((MOST_STEP_WORDS - 1) // words[0], (MOST_STEP_WORDS - 1) // words[1]), 1)
        return fits * (MOST_REPEATS - 1) + 1

    # The order.

    def emit(self) -> None:
        """Have two turns under way at a time, and wait for nothing but C."""
        under_way = self._start(0)
        for turn, before, last in range_(1, self.turns, iter_args=under_way):
            now = self._start(turn)  # while the blocks before are multiplied
            self._finish(turn - 1, before)
            yield_(now)
            under_way = last
        self._finish(self.turns - 1, under_way)

    def _start(self, turn: Any) -> list[Any]:
        """The transfers of a turn, C's last."""
        number, i, j, count = self._place(turn)
        tasks = [*self._send_a(number, i, count), *self._send_b(number, j, count)]
        if not self.is_narrow:
            tasks += [self._fetch_c(column, number, i, j, count) for column in range(self.gemm.columns)]
        return tasks

    def _finish(self, turn: Any, tasks: Sequence[Any]) -> None:
        """Wait for C: once it is there, A and B have been used up."""
        if self.is_narrow:  # one column after the other: they write some elements of C again
            for column in range(self.gemm.columns):
                task = self._fetch_c(column, *self._place(turn))
                task.await_()
                task.free()
        else:
            for task in tasks[-self.gemm.columns :]:
                task.await_()
        for task in tasks:
            task.free()

    def _place(self, turn: Any) -> tuple[Any, Any, Any, Any]:
        """Which matrix a turn is for, the first row and column of C, and how many blocks beside each other."""
        number = 0
        if self.gemm.batched:
            number, turn = turn // self.turns_each, turn % self.turns_each
        chunk, row = turn // self.down, turn % self.down
        i = most(least(row * self.step_m, self.M - self.step_m), 0)
        j = most(least(chunk * self.most * self.step_n, self.N - self.step_n), 0)
        # none are left of those that are whole: it is the last one, which overlaps
        count = most(least(self.across - chunk * self.most, self.most), 1)
        return number, i, j, count

    # The parts of matrices.

    def _send_a(self, number: Any, i: Any, count: Any) -> list[Any]:
        M, K, k_mt, m = self.M, self.K, self.k_mt, self.tile.m
        line, along_k = (1, M) if self.types.a_col_maj else (K, 1)
        tasks = list[Any]()
        for sender, fifo in enumerate(self.fifos[0]):
            start = number * M * K + (i + sender * self.apart) * line
            for pieces, first in self.pieces:
                sizes, strides = [count, pieces, self.rows, k_mt], [0, k_mt, K, 1]
                if self._repeats_pieces:
                    sizes, strides = [pieces, self.rows_each, k_mt, m], [k_mt * M, m, M, 1]
                elif self.types.a_col_maj:
                    sizes, strides = [count, pieces, k_mt, m], [0, k_mt * M, M, 1]
                tasks.append(self._fill(fifo, 0, sizes, strides, start + first * along_k))
        return tasks

    def _send_b(self, number: Any, j: Any, count: Any) -> list[Any]:
        K, N, k_mt, n = self.K, self.N, self.k_mt, self.tile.n
        shape, strides, line, along_k = [k_mt, n], [self.step_n, N * k_mt, N, 1], 1, N
        if self.types.b_col_maj:
            shape, strides, line, along_k = [n, k_mt], [self.step_n * K, k_mt, K, 1], K, 1
        tasks = list[Any]()
        for column, fifo in enumerate(self.fifos[1]):
            start = number * K * N + self._of_column(j, column) * line
            for pieces, first in self.pieces:
                sizes = [count, pieces, *shape]
                tasks.append(self._fill(fifo, 1, sizes, strides, start + first * along_k))
        return tasks

    def _fill(self, fifo: Any, operand: int, sizes: Sequence[Any], strides: Sequence[Any], offset: Any) -> Any:
        options: Any = {"managed": False, "burst_length": self.gemm.bursts[operand]}
        return fifo.fill(self.arrays[operand], sizes=sizes, strides=strides, offset=offset, **options)

    def _fetch_c(self, column: int, number: Any, i: Any, j: Any, count: Any) -> Any:
        M, N, m, n = self.M, self.N, self.tile.m, self.tile.n
        j_column = self._of_column(j, column)
        if self.types.c_col_maj:
            apart = self.apart if self.rows_each == 1 else m
            sizes, strides, at = [count, ROWS, n, m], [self.step_n * M, apart, M, 1], j_column * M + i
        else:
            groups = self.is_low * (self.senders - 1) + 1  # of rows, that are not below each other
            lines = self.step_m - self.is_low * (self.step_m - self.rows)
            sizes, strides = [count, groups, lines, n], [self.step_n, self.is_low * self.apart * N, N, 1]
            at = i * N + j_column
        options: Any = {"wait": True, "managed": False, "burst_length": self.gemm.write_burst}
        return self.fifos[2][column].drain(
            self.arrays[2], sizes=sizes, strides=strides, offset=number * M * N + at, **options
        )

    def _of_column(self, j: Any, column: int) -> Any:
        """Where a column of cores begins in B and C; those past the last element overlap the ones before."""
        place = j + column * self.tile.n
        return least(place, self.N - self.tile.n) if self.is_narrow else place


def overlaps_columns(gemm: WholeArrayGemm, m: Any, n: Any) -> Any:
    """Whether columns of cores write the same elements of C in the same turn, or in turns that follow each other.

    That is, N is less than a block, or no whole blocks, and there is one row of them.
    """
    rows, columns = ROWS * gemm.types.tile.m, gemm.columns * gemm.types.tile.n
    if isinstance(m, int) and isinstance(n, int):
        return n % columns > 0 and (n < columns or m <= rows)
    one_of_both = 2 - least(n // columns, 1) - least(_ceil(m, rows) - 1, 1)
    return least(n % columns, 1) * one_of_both > 0


def turn_blocks(gemm: WholeArrayGemm, m: int, k: int, n: int, *, has_rest: bool) -> int:
    """Blocks that a turn of `GemmTransfers` has for sizes that are known; the last one may have fewer."""
    types, step_n = gemm.types, gemm.columns * gemm.types.tile.n
    repeats_pieces = types.a_col_maj and senders(gemm.columns) < ROWS
    if has_rest or repeats_pieces or overlaps_columns(gemm, m, n):
        return 1
    words = (
        step_n * (k if types.b_col_maj else 1) * element_bytes(types.operand) // 4,
        step_n * (m if types.c_col_maj else 1) * element_bytes(types.sums) // 4,
    )
    return max(1, min(n // step_n, MOST_REPEATS if max(words) < MOST_STEP_WORDS else 1))


def _ceil(size: Any, step: Any) -> Any:
    return (size + (step - 1)) // step
