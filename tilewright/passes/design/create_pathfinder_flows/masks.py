"""Tells packet ids apart with few rules, each of which looks at some bits of an id.

A rule is a mask and a value: it takes the ids that have the value in the masked bits. Rules for some ids must leave
alone the others that come through the same port; ids that never come there may match either way. As in Quine and
McCluskey's method, the widest possible rules are found first, then the fewest of them that suffice, and each is
narrowed again to what it is needed for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

Pair = tuple[int, int]


def cover(wanted: Sequence[int], others: Collection[int], bits: int) -> list[Pair]:
    """The fewest (mask, value) pairs that match every wanted id and none of the others."""
    wanted = list(dict.fromkeys(wanted))
    widest = _widest(wanted, others, bits)
    matched = [frozenset(id for id in wanted if id & mask == value) for mask, value in widest]
    chosen = [widest[number] for number in _fewest(matched, frozenset(wanted), len(wanted) + 1) or ()]
    taken: dict[Pair, list[int]] = {}
    for id in wanted:
        taken.setdefault(next(pair for pair in chosen if id & pair[0] == pair[1]), []).append(id)
    return [_narrowed(taken[pair], bits) for pair in chosen if pair in taken]


def _widest(wanted: Sequence[int], others: Collection[int], bits: int) -> list[Pair]:
    """Pairs that match a wanted id and no other one, and would match another without any one bit of their mask."""

    def is_clear(mask: int, value: int) -> bool:
        return all(id & mask != value for id in others)

    found: list[Pair] = []
    for mask in range(1 << bits):
        for value in sorted({id & mask for id in wanted}):
            fewer = ((mask & ~bit, value & ~bit) for bit in (1 << n for n in range(bits)) if mask & bit)
            if is_clear(mask, value) and not any(is_clear(*pair) for pair in fewer):
                found.append((mask, value))
    return found


def _fewest(matched: Sequence[frozenset[int]], left: frozenset[int], limit: int) -> list[int] | None:
    """The first smallest choice of sets, below a limit, that together contain what is left."""
    if not left:
        return [] if limit > 0 else None
    if limit <= 1:
        return None
    scarcest = min(sorted(left), key=lambda id: sum(id in ids for ids in matched))
    best: list[int] | None = None
    for number, ids in enumerate(matched):
        if scarcest in ids:
            rest = _fewest(matched, left - ids, limit - 1)
            if rest is not None:
                best = [number, *rest]
                limit = len(best)
    return best


def _narrowed(ids: Sequence[int], bits: int) -> Pair:
    """The pair with the most masked bits that matches these ids."""
    mask = (1 << bits) - 1
    for id in ids:
        mask &= ~(id ^ ids[0])
    return mask, ids[0] & mask
