"""Cutting an access of four dimensions into ones that a shim descriptor can say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from xdsl.ir import SSAValue

from tilewright.device import MAX_TASK_REPEAT
from tilewright.passes.air.shim.patterns import MAX_STRIDE, largest_factor

DIMS = 4
WRAP_LIMITS = 64, 1024, 1024, 1024
"""Sizes that are too large by one, outermost first: the iteration counter has 6 bits, wraps have 10 (device/bd.py)."""
MAX_COPIES = 16
MOST_PIECES = 100_000
"""How many transfers may come of one whose steps are too long."""


@dataclass(frozen=True)
class AccessSpan:
    """One dimension with known size and stride; the offset counts strides."""

    offset: SSAValue | int
    size: int
    stride: int


class TooManyPieces(Exception):
    """A transfer is too long for a list of tasks; the text says how long that would be."""


class Uncuttable(Exception):
    """A dimension has no divisor that a descriptor can count."""

    def __init__(self, index: int, size: int, limit: int, alignment: int):
        least = max(2, alignment)
        super().__init__(
            f"cannot tile dim {index} of size {size} into shim-legal chunks: no factor in [{least}, {limit - 1}] "
            f"is a multiple of {alignment} elements. Reshape the transfer or pad the inner dimension."
        )


def is_linear(spans: Sequence[AccessSpan]) -> bool:
    """Whether an access is one run of elements, perhaps repeated as a whole."""
    body = list(spans)
    # these repeat the run, or do nothing
    while body and (body[0].size == 1 or body[0].stride == 0):
        del body[0]
    expected = 1
    for span in reversed(body):
        if span.size == 1:
            continue
        if span.stride != expected:
            return False
        expected *= span.size
    return True


def cut_wraps(spans: Sequence[AccessSpan], alignment: int) -> list[list[AccessSpan]]:
    """Accesses none of which has too many elements in a dimension; `alignment` elements make a word."""
    fits = all(span.size < limit for span, limit in zip(spans, WRAP_LIMITS, strict=True))
    # one run needs no wraps: the length of a buffer counts it
    if fits or is_linear(spans):
        return [list(spans)]
    parts = _split(list(spans), alignment)
    check_pieces(prod(span.size for span in parts[:-DIMS]))
    return list(_copies(parts))


def check_pieces(count: int) -> None:
    """Refuse to cut a transfer into more tasks than any sequence has."""
    if count > MOST_PIECES:
        raise TooManyPieces(f"would be cut into {count} transfers; at most {MOST_PIECES} are made")


def _split(spans: list[AccessSpan], alignment: int) -> list[AccessSpan]:
    """Two dimensions for each that is too large; one that has a single element makes room."""
    index = len(spans) - 1
    while index >= 0:
        span, limit = spans[index], WRAP_LIMITS[min(index, DIMS - 1)]
        if span.size < limit:
            index -= 1
            continue
        spans[index : index + 1] = _halves(index, span, limit, alignment if span.stride == 1 else 1)
        single = next((number for number, found in enumerate(spans) if (found.offset, found.size) == (0, 1)), None)
        if single is not None:
            del spans[single]
            index -= single <= index
        index = min(index, len(spans) - 1)
    return spans


def _halves(index: int, span: AccessSpan, limit: int, alignment: int) -> list[AccessSpan]:
    inner = largest_factor(span.size, limit - 1, alignment)
    if inner is None or inner == 1:
        raise Uncuttable(index, span.size, limit, alignment)
    outer = span.size // inner
    # the outer step would be too long: let the smaller factor be inside
    if span.stride * inner > MAX_STRIDE and index != 0:
        inner, outer = outer, inner
    return [AccessSpan(0, outer, span.stride * inner), replace(span, size=inner)]


def _copies(spans: list[AccessSpan]) -> Iterator[list[AccessSpan]]:
    """The accesses of four dimensions that one of more is; the outer counters go into the innermost offset."""
    outer, inner = spans[:-DIMS], spans[-DIMS:]
    last = inner[-1]
    for point in product(*(range(span.size) for span in outer)):
        moved = sum(number * span.stride for number, span in zip(point, outer, strict=True))
        moved += sum(span.offset * span.stride for span in outer if isinstance(span.offset, int))
        offset = last.offset + moved // max(1, last.stride) if isinstance(last.offset, int) else last.offset
        yield [*inner[:-1], replace(last, offset=offset)]


def cut_steps(spans: Sequence[AccessSpan]) -> list[list[AccessSpan]] | None:
    """An access for each step that is too long; None if there is none, or copies cannot replace it."""
    index = next((n for n, span in enumerate(spans) if span.stride > MAX_STRIDE and span.size > 1), None)
    if index is None or index in (0, DIMS - 1) or spans[0].stride != 0:
        return None
    span = spans[index]
    is_outermost = all(outer.size == 1 for outer in spans[:index])
    if not is_outermost or not isinstance(span.offset, int) or span.size > MAX_COPIES:
        return None
    return [
        [*spans[:index], replace(span, offset=span.offset + number, size=1), *spans[index + 1 :]]
        for number in range(span.size)
    ]


def cut_repeats(spans: Sequence[AccessSpan]) -> list[list[AccessSpan]]:
    """Accesses none of which is repeated more often than a task can be."""
    first = spans[0]
    # with a stride it is the iteration of the descriptor, which cut_wraps has cut
    if first.stride or first.size <= MAX_TASK_REPEAT:
        return [list(spans)]
    whole, rest = divmod(first.size, MAX_TASK_REPEAT)
    check_pieces(whole)
    sizes = [MAX_TASK_REPEAT] * whole + ([rest] if rest else [])
    return [[replace(first, size=size), *spans[1:]] for size in sizes]
