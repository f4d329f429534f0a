"""Work of a core for one tile of a product."""

from __future__ import annotations

from typing import Any

from tilewright.iron.controlflow import if_, range_


def accumulate_tiles(a: Any, b: Any, c: Any, steps: Any, zero: Any, matmul: Any) -> None:
    """Add up products of tiles from two fifos. How many is a parameter, which is there once the first tiles are."""
    _accumulate(a, b, c, steps, zero, matmul)
    c.release(1)


def accumulate_with_rest(
    a: Any, b: Any, c: Any, steps: Any, zero: Any, matmul: Any, clear: Any, *, depth: int, height: int, width: int
) -> None:
    """The same, and a last piece, some of whose first columns have been multiplied already: they count as zeros."""
    result = _accumulate(a, b, c, steps, zero, matmul)
    for tile in range_(steps[1]):
        left, right = a.acquire(1), b.acquire(1)
        known = steps[2] - tile * depth
        with if_(known < depth, hasElse=False):
            with if_(known > 0, hasElse=False):
                clear(left, depth, height, width, known)
            matmul(left, right, result)
        a.release(1)
        b.release(1)
    c.release(1)


def _accumulate(a: Any, b: Any, c: Any, steps: Any, zero: Any, matmul: Any) -> Any:
    result = c.acquire(1)
    zero(result)
    left, right = a.acquire(1), b.acquire(1)
    count = steps[0]  # not before: the sequence writes it right before it sends the first tiles
    matmul(left, right, result)
    a.release(1)
    b.release(1)
    for _ in range_(1, count):
        matmul(a.acquire(1), b.acquire(1), result)
        a.release(1)
        b.release(1)
    return result
