"""Loops in streams: blocks of operations that repeat, and whose words advance by the same step each time.

All files of a group have the same operations, so each word is a column: one number for each file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.lift.expressions import Column

Matrix = npt.NDArray[np.int64]
"""Words by files."""
LEAST_TURNS = 3
LOOKED_AT = 6
"""Files by which loops are found; they are confirmed by all."""
MOST_COMPARED = 3_000_000
MOST_PERIOD = 512


@dataclass(frozen=True, eq=False)
class Leaf:
    """One operation: its words in the first turn of all loops around it, and how they advance, innermost loop first."""

    number: int
    """Of the operation in its stream."""
    opcode: int
    words: Matrix
    steps: tuple[Matrix, ...] = ()
    is_alone: bool = False
    """Whether it has words that are no numbers of the program, so that it is part of no loop."""

    @cached_property
    def signature(self) -> object:
        if self.is_alone:
            return id(self)
        return self.opcode, len(self.words), *(step.tobytes() for step in self.steps)

    @property
    def leaves(self) -> Iterator[Leaf]:
        yield self

    @property
    def structure(self) -> object:
        """What files of any number of turns have in common."""
        return self.opcode, len(self.words), len(self.steps)


@dataclass(frozen=True, eq=False)
class RolledLoop:
    """Operations that are repeated."""

    count: Column
    body: list[Node] = field(default_factory=list["Node"])

    @cached_property
    def signature(self) -> object:
        return self.count.tobytes(), *(node.signature for node in self.body)

    @property
    def leaves(self) -> Iterator[Leaf]:
        for node in self.body:
            yield from node.leaves

    @property
    def structure(self) -> object:
        return tuple(node.structure for node in self.body)


Node: TypeAlias = Leaf | RolledLoop


def roll(nodes: Sequence[Node], depth: int = 0) -> list[Node]:
    """The same operations with loops, the longest repetitions first, and inside of these again.

    Args:
        nodes: operations, and loops of them
        depth: how many loops are around them
    """
    rolled = list(nodes)
    while True:
        found = _repetitions(rolled)
        if not found:
            return rolled
        for start, period, count in sorted(found, reverse=True):
            body = [_with_step(rolled[start + j], rolled[start + period + j], depth) for j in range(period)]
            files: int = next(body[0].leaves).words.shape[1]
            loop = RolledLoop(np.full(files, count, dtype=np.int64), roll(body, depth + 1))
            rolled[start : start + period * count] = [loop]


def _with_step(first: Node, second: Node, depth: int) -> Node:
    """A node with the step to the following one: outside of those of its own loops, inside of those around it."""
    if isinstance(first, Leaf):
        assert isinstance(second, Leaf)
        at = len(first.steps) - depth
        return replace(first, steps=(*first.steps[:at], second.words - first.words, *first.steps[at:]))
    assert isinstance(second, RolledLoop)
    return RolledLoop(first.count, [_with_step(a, b, depth) for a, b in zip(first.body, second.body, strict=True)])


def _repetitions(nodes: Sequence[Node]) -> list[tuple[int, int, int]]:
    """Start, period and count of repetitions that do not overlap, those that save most first."""
    kinds = _numbered([node.signature for node in nodes])
    sizes = np.array([sum(len(leaf.words) for leaf in node.leaves) for node in nodes], dtype=np.int64)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    pieces = [_words(node)[:, :LOOKED_AT] for node in nodes]
    longest = min(len(nodes) // LEAST_TURNS, MOST_PERIOD, max(MOST_COMPARED // max(len(nodes), 1), 16))
    found = list[tuple[int, int, int, int]]()
    for period in range(1, longest + 1):
        for start, count in _runs(kinds, pieces, period):
            saved = int(ends[start + period * count] - ends[start + period])
            found.append((saved, start, period, count))
    taken = np.zeros(len(nodes), dtype=np.bool_)
    chosen = list[tuple[int, int, int]]()
    # of two that save the same, the one with the shorter period says more
    for _, start, period, count in sorted(found, key=lambda it: (-it[0], it[2])):
        span = slice(start, start + period * count)
        if not taken[span].any() and _is_confirmed(nodes, start, period, count):
            taken[span] = True
            chosen.append((start, period, count))
    return chosen


def _runs(kinds: npt.NDArray[np.int64], pieces: Sequence[Matrix], period: int) -> Iterator[tuple[int, int]]:
    """Where operations of one period repeat with the same step: start and count."""
    same = kinds[:-period] == kinds[period:]
    steps = np.zeros(len(same), dtype=np.int64)
    for index in np.flatnonzero(same).tolist():
        steps[index] = hash((pieces[index + period] - pieces[index]).tobytes())
    goes_on = same[:-period] & same[period:] & (steps[:-period] == steps[period:])
    edges = np.flatnonzero(np.diff(np.concatenate(([0], goes_on.astype(np.int8), [0]))))
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        count = (end - start + 2 * period) // period
        if end - start >= period and count >= LEAST_TURNS:
            yield start, count


def _is_confirmed(nodes: Sequence[Node], start: int, period: int, count: int) -> bool:
    for first in range(start, start + period):
        words = [_words(nodes[first + period * turn]) for turn in range(count)]
        step = words[1] - words[0]
        if any((after - before != step).any() for before, after in pairwise(words)):
            return False
    return True


def _words(node: Node) -> Matrix:
    if isinstance(node, Leaf):
        return node.words
    return np.concatenate([leaf.words for leaf in node.leaves])


def _numbered(signatures: Sequence[object]) -> npt.NDArray[np.int64]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(signature, len(numbers)) for signature in signatures], dtype=np.int64)


def joined(parts: Sequence[Node]) -> Node:
    """The same node of several groups of files, side by side."""
    first = parts[0]
    if isinstance(first, Leaf):
        leaves = [part for part in parts if isinstance(part, Leaf)]
        steps = zip(*(leaf.steps for leaf in leaves), strict=True)
        words = np.concatenate([leaf.words for leaf in leaves], axis=1)
        return replace(first, words=words, steps=tuple(np.concatenate(step, axis=1) for step in steps))
    loops = [part for part in parts if isinstance(part, RolledLoop)]
    bodies = zip(*(loop.body for loop in loops), strict=True)
    return RolledLoop(np.concatenate([loop.count for loop in loops]), [joined(nodes) for nodes in bodies])
