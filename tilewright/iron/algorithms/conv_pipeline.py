"""Loops over the rows of images, for workers' functions: what is acquired when, around a call that is yours.

All take `do_kernel`, which gets the rows and, last or before the border, the weights: an object of `of_wts`, held for
the whole image, or None without it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.iron.controlflow import range_

Call = Callable[..., Any]


@contextmanager
def _weights(of_wts: Any) -> Generator[Any]:
    """Hold the weights inside the block."""
    yield None if of_wts is None else of_wts.acquire(1)
    # not in a `finally`: after an error nothing is built any more
    if of_wts is not None:
        of_wts.release(1)


def _row(ends: Sequence[Any], call: Call, weights: Any) -> None:
    """One object of each end, acquired in order."""
    call(*[end.acquire(1) for end in ends], weights)
    for end in ends:
        end.release(1)


def row_at_a_time(of_in: Any, of_out: Any, *, n_rows: Any, do_kernel: Call, of_wts: Any = None) -> None:
    """`do_kernel(row in, row out, weights)` for each row."""
    row_at_a_time_tiled(of_in, of_out, n_rows=n_rows, n_tiles_per_row=None, do_kernel=do_kernel, of_wts=of_wts)


def row_at_a_time_tiled(
    of_in: Any, of_out: Any, *, n_rows: Any, n_tiles_per_row: Any, do_kernel: Call, of_wts: Any = None
) -> None:
    """`do_kernel(tile in, tile out, weights)` for each of the tiles of each row."""
    with _weights(of_wts) as weights:
        for _ in range_(n_rows):
            # no loop inside where rows are not cut
            if n_tiles_per_row is None:
                _row((of_in, of_out), do_kernel, weights)
                continue
            for _ in range_(n_tiles_per_row):
                _row((of_in, of_out), do_kernel, weights)


def row_at_a_time_with_skip(
    of_in: Any, of_out: Any, of_skip: Any, *, n_rows: Any, do_kernel: Call, of_wts: Any = None
) -> None:
    """`do_kernel(row in, row out, row to add, weights)` for each row."""
    with _weights(of_wts) as weights:
        for _ in range_(n_rows):
            _row((of_in, of_out, of_skip), do_kernel, weights)


def sliding_3row(of_in: Any, of_out: Any, *, n_out_rows: int, do_kernel: Call, of_wts: Any = None) -> None:
    """`do_kernel(above, at, below, row out, weights, border)` for each row, with the border's rows taken twice.

    `border` is 0 for the first row, 2 for the last, else 1.
    """

    def window(take: int, chosen: Sequence[int], border: int, done: int, weights: Any) -> None:
        rows, out = of_in.acquire(take), of_out.acquire(1)
        do_kernel(*[rows[n] for n in chosen], out, weights, border)
        if done:
            of_in.release(done)
        of_out.release(1)

    with _weights(of_wts) as weights:
        # rows are released one late, since the next window begins with the middle one of this
        window(2, (0, 0, 1), 0, 0, weights)
        for _ in range_(n_out_rows - 2):
            window(3, (0, 1, 2), 1, 1, weights)
        window(2, (0, 1, 1), 2, 2, weights)
