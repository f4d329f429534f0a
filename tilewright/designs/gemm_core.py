"""Work of a core for one tile of a product."""

from __future__ import annotations

from typing import Any

from tilewright.iron.controlflow import range_


def accumulate_tiles(a: Any, b: Any, c: Any, steps: Any, zero: Any, matmul: Any) -> None:
    """Add up products of tiles from two fifos. How many is a parameter, which is there once the first tiles are."""
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
    c.release(1)
