"""Steps of a stream as people read them: what repeats over tiles is said once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tilewright.device import DmaDirection
from tilewright.device.layout import WORD_BYTES
from tilewright.txn.stream import Indices
from tilewright.txn.transfers import Intent, Step

MOST_PERIOD = 96
"""Steps that a repetition may have."""
MOST_LISTED = 4
_TILE = re.compile(r"(\w+)\((\d+),(\d+)\)")


class Repetition(NamedTuple):
    """Steps that come several times, but for their tiles and offsets."""

    start: int
    period: int
    turns: int


class ArgumentUse(NamedTuple):
    """Bytes that a stream moves to and from an argument, and how many transfers do it."""

    read: int
    written: int
    transfers: int


def argument_uses(intent: Intent) -> dict[int, ArgumentUse]:
    """By argument: what is moved."""
    sums = Counter[tuple[int, int]]()
    for step in intent.transfers:
        for part in step.parts:
            if part.host is not None:
                column = 1 if step.channel.direction is DmaDirection.S2MM else 0
                sums[part.host.argument, column] += WORD_BYTES * part.words * step.repeat
                sums[part.host.argument, 2] += 1
    arguments = sorted({argument for argument, _ in sums})
    return {argument: ArgumentUse(*(sums[argument, column] for column in range(3))) for argument in arguments}


def transfer_counts(intent: Intent) -> dict[str, int]:
    """Steps by kind, bytes by argument, and descriptors that nothing uses."""
    counts = {f"{kind}_steps": number for kind, number in Counter(step.kind.value for step in intent.steps).items()}
    for argument, use in argument_uses(intent).items():
        counts[f"bytes_read_of_argument_{argument}"] = use.read
        counts[f"bytes_written_of_argument_{argument}"] = use.written
    return counts | {"unused_descriptors": intent.unused}


def intent_lines(intent: Intent) -> Iterator[str]:
    """A summary, then the steps, with the numbers of their operations."""
    transfers = intent.transfers
    unknown = sum(any(part.descriptor is None for part in step.parts) for step in transfers)
    yield f"{intent.model}: {counted(len(intent.steps), 'step')}, {counted(len(transfers), 'transfer')}"
    for argument, use in argument_uses(intent).items():
        by = counted(use.transfers, "transfer")
        yield f"argument {argument}: {use.read} bytes read, {use.written} written, by {by}"
    if unknown:
        yield f"{counted(unknown, 'transfer')} with descriptors that were written before this stream"
    if intent.unused:
        yield f"{counted(intent.unused, 'descriptor')} written and not used here"
    width = len(str(intent.steps[-1].operation)) if intent.steps else 1
    at, steps = 0, intent.steps
    for start, period, count in repetitions(steps):
        yield from (f"{step.operation:{width}}  {step.sentence}" for step in steps[at:start])
        at = start + period * count
        yield f"{steps[start].operation:{width}}  {count} times, up to operation {steps[at - 1].operation}:"
        for index in range(start, start + period):
            yield f"{'':{width}}    {said_of(steps[index:at:period])}"
    yield from (f"{step.operation:{width}}  {step.sentence}" for step in steps[at:])


def repetitions(steps: Sequence[Step]) -> list[Repetition]:
    """Repetitions one after the other, each the one that leaves least to be said."""
    numbers = dict[tuple[str, str], int]()
    kinds = np.array(
        [numbers.setdefault((step.place.partition("(")[0], step.text), len(numbers)) for step in steps], dtype=np.int64
    )
    saved, periods = np.zeros(len(steps), dtype=np.int64), np.ones(len(steps), dtype=np.int64)
    for period in range(1, min(MOST_PERIOD, len(steps) // 2) + 1):
        covered = _same_from(kinds, period) // period * period
        better = covered > saved[: len(covered)]
        saved[: len(covered)][better] = covered[better]
        periods[: len(covered)][better] = period
    found, at = list[Repetition](), 0
    ahead = np.flatnonzero(saved)
    while (index := int(np.searchsorted(ahead, at))) < len(ahead):
        start = int(ahead[index])
        period = int(periods[start])
        count = int(saved[start]) // period + 1
        found.append(Repetition(start, period, count))
        at = start + period * count
    return found


def _same_from(kinds: Indices, period: int) -> Indices:
    """How many steps from each on are like those one period later."""
    differs = np.flatnonzero(np.append(kinds[:-period] != kinds[period:], True))
    places = np.arange(len(kinds) - period)
    return differs[np.searchsorted(differs, places)] - places


def said_of(steps: Sequence[Step]) -> str:
    """One sentence for steps that differ in tile and offset."""
    text = steps[0].text
    offsets = [step.offset for step in steps if step.offset is not None]
    if offsets:
        text = text.replace("{}", _numbers(offsets))
    return f"{places_text([step.place for step in steps])} {text}".strip()


def counted(count: int, unit: str) -> str:
    """`1 step`, `2 steps`, `2 blocks of data`."""
    first, *rest = unit.split(" ")
    return " ".join([str(count), first if count == 1 else f"{first}s", *rest])


def places_text(places: Sequence[str]) -> str:
    """`shim(0..7,0)` for a rectangle of tiles; a list of others."""
    kinds = dict[str, dict[str, None]]()
    for place in places:
        kinds.setdefault(place.partition("(")[0], {})[place] = None
    return ", ".join(map(_kind_text, map(list, kinds.values())))


def _kind_text(places: list[str]) -> str:
    found = [match for place in places if (match := _TILE.fullmatch(place))]
    if len(found) == len(places) > 1:
        columns, rows = (sorted({int(match[group]) for match in found}) for group in (2, 3))
        if len(columns) * len(rows) == len(found) and all(map(_is_range, (columns, rows))):
            return f"{found[0][1]}({_range(columns)},{_range(rows)})"
    more = f", ... ({len(places)} tiles)" if len(places) > MOST_LISTED else ""
    return ", ".join(places[:MOST_LISTED]) + more


def _is_range(numbers: list[int]) -> bool:
    return numbers[-1] - numbers[0] == len(numbers) - 1


def _range(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"


def _numbers(numbers: list[int]) -> str:
    if len(set(numbers)) == 1:
        return str(numbers[0])
    steps = {after - before for before, after in pairwise(numbers)}
    if len(steps) == 1:
        return f"{numbers[0]} ({steps.pop():+d} each time)"
    shown = ", ".join(map(str, numbers[:MOST_LISTED]))
    return f"{shown}, ..." if len(numbers) > MOST_LISTED else shown
