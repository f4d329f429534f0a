"""Differences of two streams by what they are for: transfers against transfers, whatever descriptors they use.

Steps are aligned channel by channel and register by register, each in its own order, so that a stream with more turns
of a loop, or with other numbers of descriptors, is still compared with its like.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, TypeAlias

from tilewright.txn.analysis import changes
from tilewright.txn.intent_text import counted, places_text, said_of
from tilewright.txn.stream import Stream, TxnError
from tilewright.txn.transfers import MORE_PARTS, Intent, Step, StepKind, intent_of

MOST_PAIRS, MOST_STEPS = 3, 12
"""Values of a change, and steps of one stream only, that are shown."""
Fact: TypeAlias = "int | str | None"
UNITS = {
    StepKind.TRANSFER: "transfer",
    StepKind.WAIT: "wait",
    StepKind.DATA: "block of data",
    StepKind.SETTING: "setting",
    StepKind.OTHER: "operation",
}


@dataclass(frozen=True)
class IntentChange:
    """Something that is another value in one stream than in the other."""

    kind: StepKind
    what: str
    pairs: dict[tuple[Fact, Fact], int]
    """What it is in each, and in how many steps."""
    places: tuple[str, ...]

    @property
    def steps(self) -> int:
        return sum(self.pairs.values())

    def __str__(self) -> str:
        return f"{self.what} {self._values()} in {counted(self.steps, UNITS[self.kind])}"

    def _values(self) -> str:
        if len(self.pairs) > 1 and (rule := _rule([*self.pairs])):
            return rule
        shown = ", ".join(f"{_said(a)} -> {_said(b)}" for a, b in [*self.pairs][:MOST_PAIRS])
        return f"{shown} and {len(self.pairs) - MOST_PAIRS} more" if len(self.pairs) > MOST_PAIRS else shown

    def to_json(self) -> dict[str, Any]:
        pairs = [{"left": a, "right": b, "steps": count} for (a, b), count in self.pairs.items()]
        return {"kind": self.kind.value, "what": self.what, "values": pairs, "places": [*self.places]}


@dataclass(frozen=True)
class IntentDifference:
    """What tells two streams apart."""

    changes: list[IntentChange]
    only_left: list[list[Step]]
    """Steps that the other stream has not, those that differ in tile and offset alone together."""
    only_right: list[list[Step]]
    is_reordered: bool

    @property
    def is_same_program(self) -> bool:
        """Whether both do the same steps, be it with other values."""
        return not self.only_left and not self.only_right

    def lines(self) -> Iterator[str]:
        """A summary, and what there is behind it."""
        head = "same program" if self.is_same_program else "other programs"
        if self.is_reordered:
            head += ", in another order"
        missing = [
            f"{counted(sum(map(len, found)), 'step')} only in the {which}"
            for found, which in ((self.only_left, "first"), (self.only_right, "second"))
            if found
        ]
        if len(self.changes) == 1 and not missing:
            yield f"{head}, {self.changes[0]}"
            return
        yield ", ".join([head, *missing, *([f"{len(self.changes)} things differ"] if self.changes else [])])
        for change in self.changes:
            yield f"  {change} of {places_text(change.places)}" if any(change.places) else f"  {change}"
        for sign, found in (("-", self.only_left), ("+", self.only_right)):
            yield from (f"  {sign} {said_of(steps)}" for steps in found[:MOST_STEPS])
            if len(found) > MOST_STEPS:
                yield f"  {sign} and {len(found) - MOST_STEPS} more kinds of steps"

    def to_json(self) -> dict[str, Any]:
        return {
            "same_program": self.is_same_program,
            "reordered": self.is_reordered,
            "changes": [change.to_json() for change in self.changes],
            "only_left": [step.to_json() for steps in self.only_left for step in steps],
            "only_right": [step.to_json() for steps in self.only_right for step in steps],
        }


def meaning_of(left: Stream, right: Stream) -> tuple[str, ...]:
    """The lines of the difference; none where a device is not known."""
    try:
        return tuple(compare(intent_of(left), intent_of(right)).lines())
    except TxnError:
        return ()


def compare(left: Intent, right: Intent) -> IntentDifference:
    """Align the steps of two streams and gather what differs."""
    rows = _by_key(left.steps), _by_key(right.steps)
    found = defaultdict[tuple[StepKind, str], Counter[tuple[Fact, Fact]]](Counter)
    places = defaultdict[tuple[StepKind, str], dict[str, None]](dict[str, None])
    alone = defaultdict[Hashable, list[Step]](list), defaultdict[Hashable, list[Step]](list)
    for key in dict.fromkeys([*rows[0], *rows[1]]):
        for a, b in _pairs(rows[0].get(key, []), rows[1].get(key, [])):
            if a is None or b is None:
                step = a or b
                assert step is not None
                alone[a is None][step.place.partition("(")[0], step.text].append(step)
                continue
            for what, *values in _changed(a, b):
                found[a.kind, what][values[0], values[1]] += 1
                places[a.kind, what][a.place] = None
    gathered = [IntentChange(kind, what, dict(p), tuple(places[kind, what])) for (kind, what), p in found.items()]
    same_steps = not alone[0] and not alone[1]
    is_reordered = same_steps and [step.key for step in left.steps] != [step.key for step in right.steps]
    return IntentDifference(gathered, [*alone[0].values()], [*alone[1].values()], is_reordered)


def _by_key(steps: Sequence[Step]) -> dict[Hashable, list[Step]]:
    found = defaultdict[Hashable, list[Step]](list)
    for step in steps:
        found[step.key].append(step)
    return found


def _pairs(left: list[Step], right: list[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    if len(left) == len(right):
        yield from zip(left, right, strict=True)
        return
    for i, j, k, m in changes([*map(_content, left)], [*map(_content, right)]):
        yield from zip_longest(left[i:k], right[j:m])


def _content(step: Step) -> Hashable:
    return tuple(step.facts().items()), tuple(step.data)


def _changed(left: Step, right: Step) -> Iterator[tuple[str, Fact, Fact]]:
    a, b = left.facts(), right.facts()
    label = _label(left)
    for name in dict.fromkeys([*a, *b]):
        # that there are more descriptors is said once
        if a.get(name) != b.get(name) and (not name.startswith(MORE_PARTS) or (name in a and name in b)):
            yield f"{label}{name}", a.get(name), b.get(name)
    for index, (x, y) in enumerate(zip(left.data, right.data, strict=False)):
        if x != y:
            yield f"{label}word {index}", x, y


def _label(step: Step) -> str:
    """The register that a step is about; the facts of a transfer speak for themselves."""
    return "" if step.kind is StepKind.TRANSFER else f"{step.key[-1]} "


def _rule(pairs: Sequence[tuple[Fact, Fact]]) -> str | None:
    """What leads from all values of one side to those of the other."""
    numbers = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    if len(numbers) < len(pairs):
        return None
    if len(steps := {b - a for a, b in numbers}) == 1:
        return f"{steps.pop():+d}"
    ratios = {Fraction(b, a) for a, b in numbers if a} if all(b == 0 for a, b in numbers if not a) else set[Fraction]()
    return f"* {ratios.pop()}" if len(ratios) == 1 else None


def _said(fact: Fact) -> str:
    return "nothing" if fact is None else str(fact)
