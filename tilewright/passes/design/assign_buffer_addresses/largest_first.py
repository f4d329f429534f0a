"""The order in which buffers are placed: by size, and equal ones as the C++ library's `std::sort` leaves them.

Upstream's addresses depend on that order, which is the program's only for up to 16 buffers. The algorithm is that of
GNU libstdc++: it partitions around medians of three until parts are small, then sorts by insertion, which keeps the
order of equal elements. Its way out of unlucky partitions, which takes thousands of buffers, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.aie.buffers import BufferOp

SMALL_PART = 16


def largest_first(buffers: Sequence[BufferOp]) -> list[BufferOp]:
    return [buffers[position] for position in descending_order([buffer.size_bytes for buffer in buffers])]


def descending_order(sizes: Sequence[int]) -> list[int]:
    """The positions of `sizes`, the greatest first."""
    order = [(-size, position) for position, size in enumerate(sizes)]
    parts = [(0, len(order))]
    while parts:
        start, end = parts.pop()
        if end - start > SMALL_PART:
            cut = _partition(order, start, end)
            parts += [(start, cut), (cut, end)]
    return [position for _, position in sorted(order, key=_rank)]


def _rank(entry: tuple[int, int]) -> int:
    return entry[0]


def _partition(order: list[tuple[int, int]], start: int, end: int) -> int:
    """Bring what ranks below the median of three before what ranks above it; gives where the second part begins."""
    _swap(order, start, _median(order, start + 1, start + (end - start) // 2, end - 1))
    pivot, low, high = _rank(order[start]), start + 1, end
    while True:
        while _rank(order[low]) < pivot:
            low += 1
        high -= 1
        while pivot < _rank(order[high]):
            high -= 1
        if low >= high:
            return low
        _swap(order, low, high)
        low += 1


def _median(order: list[tuple[int, int]], a: int, b: int, c: int) -> int:
    """The place of the middle one of three; of equal ones the one that the library takes."""
    first, second, third = (_rank(order[place]) for place in (a, b, c))
    if first < second:
        return b if second < third else c if first < third else a
    return a if first < third else c if second < third else b


def _swap(order: list[tuple[int, int]], a: int, b: int) -> None:
    order[a], order[b] = order[b], order[a]
