"""Collectives of 2 to 8 ranks, for arrays of any shape and type.

Each takes the arrays of all ranks and gives those that they end with. "line" (see `by_lines`) is for little data,
"bandwidth" (see `by_bandwidth`) for much; which one runs is chosen by size unless given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.air.dtypes import KNOWN
from tilewright.air.functions import Jit
from tilewright.air.library.by_bandwidth import REDUCTIONS, by_bandwidth
from tilewright.air.library.by_lines import by_lines
from tilewright.air.library.meetings import MOST_RANKS
from tilewright.errors import ArgumentError

Numbers = npt.NDArray[Any]
SMALL_BYTES = 2048
"""From more on, an array goes by bandwidth."""
PROGRAMS: dict[str, Jit] = {"line": by_lines, "bandwidth": by_bandwidth}
REDUCING = "reduce_scatter", "all_reduce"
LEAST_HEAP_BYTES = 1 << 28
"""Of the symmetric heap; larger arrays take more, in powers of two, since each size is a build."""
OWN_HEAP_BYTES = 1 << 20
"""That collectives need beside arrays, to tell each other how far they are."""


def all_gather(parts: Sequence[Numbers], algorithm: str | None = None, **options: Any) -> list[Numbers]:
    """Everyone gets the arrays of all: rank `r` ends with `[part of rank 0, part of rank 1, ...]`.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    sent, ranks = _stacked(parts), len(parts)
    return _run("all_gather", sent, (ranks, sent[0].size), sent.shape, algorithm, options)


def broadcast(value: Numbers, ranks: int, root: int = 0, algorithm: str | None = None, **options: Any) -> list[Numbers]:
    """Each of `ranks` gets the array of rank `root`, which is `value`; `algorithm` as in `all_gather`."""
    given = np.asarray(value)
    _check_ranks(ranks)
    if not 0 <= root < ranks:
        raise ArgumentError(f"root {root} is none of {ranks} ranks")
    sent = np.zeros((ranks, *given.shape), given.dtype)
    sent[root] = given
    return _run("broadcast", sent, (1, given.size), given.shape, algorithm, options, root)


def all_to_all(parts: Sequence[Numbers], algorithm: str | None = None, **options: Any) -> list[Numbers]:
    """Rank `r` ends with what the others have for it: element `s` of it was element `r` of rank `s`.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    sent = _blocks(parts)
    return _run("all_to_all", sent, (len(parts), sent[0, 0].size), sent.shape[1:], algorithm, options)


def reduce_scatter(
    parts: Sequence[Numbers], operation: str = "sum", algorithm: str | None = None, **options: Any
) -> list[Numbers]:
    """Rank `r` ends with the sum, or another `operation`, of element `r` of all ranks' arrays.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    _check_operation(operation)
    sent = _blocks(parts)
    shape = sent.shape[2:]
    return _run("reduce_scatter", sent, (1, sent[0, 0].size), shape, algorithm, options, operation=operation)


def all_reduce(
    parts: Sequence[Numbers], operation: str = "sum", algorithm: str | None = None, **options: Any
) -> list[Numbers]:
    """Everyone ends with the sum, or another `operation`, of the arrays of all ranks.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    _check_operation(operation)
    sent = _stacked(parts)
    shape = sent.shape[1:]
    return _run("all_reduce", sent, (1, sent[0].size), shape, algorithm, options, operation=operation)


def _check_ranks(ranks: int) -> None:
    if not 2 <= ranks <= MOST_RANKS:
        raise ArgumentError(f"collectives are for 2 to {MOST_RANKS} ranks, not {ranks}")


def _check_operation(operation: str) -> None:
    if operation not in REDUCTIONS:
        raise ArgumentError(f"there is no reduction '{operation}'; there is {', '.join(REDUCTIONS)}")


def _stacked(parts: Sequence[Numbers]) -> Numbers:
    _check_ranks(len(parts))
    arrays = [np.asarray(part) for part in parts]
    if len({(array.shape, array.dtype) for array in arrays}) != 1:
        raise ArgumentError("the arrays of all ranks have one shape and one type")
    return np.stack(arrays)


def _blocks(parts: Sequence[Numbers]) -> Numbers:
    sent = _stacked(parts)
    if sent.ndim < 2 or sent.shape[1] != len(parts):
        raise ArgumentError(f"each array has one element of its first dimension for each of {len(parts)} ranks")
    return sent


def _run(
    name: str,
    sent: Numbers,
    received: tuple[int, int],
    shape: tuple[int, ...],
    algorithm: str | None,
    options: dict[str, Any],
    root: int = 0,
    operation: str = "sum",
) -> list[Numbers]:
    """Call the program of a collective: rank `r` sends row `r`, cut in blocks for the ranks where it has such."""
    if algorithm is None:
        algorithm = "line" if sent[0].nbytes <= SMALL_BYTES else "bandwidth"
    if algorithm not in PROGRAMS:
        raise ArgumentError(f"there is no algorithm '{algorithm}'; there is {', '.join(PROGRAMS)}")
    if sent.dtype.hasobject or (name in REDUCING and sent.dtype not in KNOWN):
        raise ArgumentError(f"a GPU has no numbers of type {sent.dtype}; give floats or integers of 8 to 64 bits")
    ranks = sent.shape[0]
    if not sent.size:
        return [np.zeros(shape, sent.dtype) for _ in range(ranks)]
    flat = np.ascontiguousarray(sent.reshape(ranks, -1))
    result = np.zeros(received, sent.dtype)
    if name not in REDUCING:
        # what is only moved needs no type: one build serves all of them
        word = np.dtype(np.uint32 if received[1] * sent.itemsize % 4 == 0 else np.uint8)
        flat, result = flat.view(word), result.view(word)
    options = {"heap_bytes": heap_bytes(flat[0].nbytes + result.nbytes), **options}
    program: Jit = PROGRAMS[algorithm].options(ranks=ranks, **options)
    done = program.run(flat, result, root, kind=name, operation=operation)
    return [np.asarray(report.arrays[1]).view(sent.dtype).reshape(shape) for report in done.ranks]


def heap_bytes(needed: int) -> int:
    """The size of a symmetric heap that has room for so many bytes."""
    return max(LEAST_HEAP_BYTES, 1 << (needed + OWN_HEAP_BYTES).bit_length())
