"""Visits of an end of a channel: which ranks come there, for which channel of a bundle, and how often.

Integers that decide about it are computed from what is known: the rank, a turn of a loop, a place in a herd.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tilewright.dialects import arith, scf
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, RankOp
from tilewright.dialects.arith.meaning import MEANING, RESIZES
from tilewright.dialects.gpu.ids import GlobalIdOp, LaneIdOp, ThreadIdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.limits import MOST_CHANNEL_VISITS
from tilewright.rewrite.folding.constants import int_width, scalar_int
from tilewright.rewrite.folding.predicates import EQ, NE
from tilewright.rewrite.integers import compute, integers, signed

Element: TypeAlias = "tuple[int, ...]"
Workers: TypeAlias = "tuple[tuple[Hierarchy, tuple[int, ...]], ...]"
"""Where in the launch and the herd around it: the ids that decide about the channel; none if all come together."""
Point: TypeAlias = "tuple[int, ...]"
MAX_WORLD = 4096
"""Ranks that are tried one by one; larger worlds are searched for equalities only."""


@dataclass(frozen=True)
class Visit:
    """A rank that comes to an end of one channel of a bundle."""

    rank: int
    element: Element
    workers: Workers
    times: int | None
    """How often; None if that is not known."""


@dataclass(frozen=True)
class _State:
    """What is known on the way from the rank to the end."""

    rank: int
    known: Mapping[SSAValue, int]
    workers: Workers = ()
    times: int | None = 1

    def setting(self, values: Sequence[SSAValue], numbers: Sequence[int]) -> _State:
        return replace(self, known={**self.known, **dict(zip(values, numbers, strict=True))})

    def often(self, times: int | None) -> _State:
        return replace(self, times=None if times is None or self.times is None else self.times * times)


class Visits:
    """Goes through all ranks, and all turns of the loops that matter, of one end."""

    def __init__(self, end: ChannelEnd):
        rank = parent_of_type(end, RankOp)
        assert rank is not None, "the verifier wants ends of these channels in ranks"
        self.end, self.rank = end, rank
        self._path = _path(rank, end)
        self._turns_left = MOST_CHANNEL_VISITS
        self._relevant = self._find_relevant()
        self._check_lanes()
        self._check_workers()

    def _find_relevant(self) -> set[SSAValue]:
        """What decides which channel is used, and by whom."""
        values = list(self.end.indices_in_bundle)
        for op, _ in self._path:
            if isinstance(op, scf.IfOp):
                values.append(op.cond)
            elif isinstance(op, scf.ForOp):
                values += [op.lb, op.ub, op.step]
        return sources(values)

    @property
    def depends_on_element(self) -> bool:
        """Whether each processing element of the herd comes for itself."""
        herds = [op for op, _ in self._path if isinstance(op, HerdOp)]
        return any(identity in self._relevant for herd in herds for identity in herd.ids)

    def _check_lanes(self) -> None:
        """All lanes of a wave come together."""
        for value in self._relevant:
            if isinstance(value.owner, LaneIdOp | ThreadIdOp | GlobalIdOp):
                fail_op(
                    self.end,
                    "is reached by some lanes of a wave only, or for different channels by them; all lanes take part",
                    (value, "it depends on this"),
                )

    def _check_workers(self) -> None:
        """One block of a launch comes to a channel, and either one processing element or the whole herd."""
        for op, _ in self._path:
            if not isinstance(op, LaunchOp | HerdOp):
                continue
            several = [number for number, size in enumerate(op.extents) if evaluate(size, {}) != 1]
            missing = [number for number in several if op.ids[number] not in self._relevant]
            if isinstance(op, LaunchOp) and missing:
                fail_op(
                    self.end,
                    "is done by every block of a launch of more than one, in no order",
                    (op, "make this launch one block, or index a bundle of channels by its ids"),
                )
            if isinstance(op, HerdOp) and missing and len(missing) != len(several):
                fail_op(
                    self.end,
                    "uses one channel for several processing elements of a herd, and not for all",
                    (op, "index a bundle of channels by all ids of the herd, or by none of them"),
                )

    def in_world(self, sizes: Sequence[int]) -> list[Visit]:
        """All visits in a world of this shape."""
        found: dict[tuple[int, Element, Workers], Visit] = {}
        for number, point in points(sizes):
            self._count(self.rank, 1)
            known: dict[SSAValue, int] = dict(zip(self.rank.ids, point, strict=True))
            known |= zip(self.rank.extents, sizes, strict=True)
            for state in self._states(_State(number, known), 0):
                self._add(found, state)
        return list(found.values())

    @property
    def are_too_many(self) -> bool:
        """Whether the worlds that were asked for have more than can be gone through."""
        return self._turns_left < 0

    def _count(self, op: Operation, turns: int) -> None:
        """Go through so many turns of a loop or places of a hierarchy, unless these are too many."""
        # counted before they are gone through: a loop may run for 10^12 turns
        self._turns_left -= turns
        if self.are_too_many:
            fail_op(
                self.end,
                f"is come to by more than {MOST_CHANNEL_VISITS} ranks, workers and turns of loops together",
                (op, "make this smaller, or do not let the channel or a condition depend on it"),
            )

    def _add(self, found: dict[tuple[int, Element, Workers], Visit], state: _State) -> None:
        element = self._element(state)
        key = state.rank, element, state.workers
        before = found.get(key)
        times = state.times
        if before is not None:
            times = None if times is None or before.times is None else times + before.times
        found[key] = Visit(state.rank, element, state.workers, times)

    def _element(self, state: _State) -> Element:
        numbers = [evaluate(index, state.known) for index in self.end.indices_in_bundle]
        known = [number for number in numbers if number is not None]
        if len(known) != len(numbers):
            fail_op(
                self.end,
                f"chooses its channel by index {numbers.index(None)}, which cannot be told when compiling",
                (self.end, "compute it from the rank, from constants, and from loops with constant bounds"),
            )
        return tuple(known)

    def _states(self, state: _State, depth: int) -> Iterator[_State]:
        """The states in which the end is reached, through the rest of the path."""
        if depth == len(self._path):
            yield state
            return
        op, region = self._path[depth]
        for inner in self._entered(op, region, state):
            yield from self._states(inner, depth + 1)

    def _entered(self, op: Operation, region: Region, state: _State) -> Iterator[_State]:
        """The states in the body of an operation."""
        if isinstance(op, scf.IfOp):
            outcome = evaluate(op.cond, state.known)
            if outcome is None:
                yield state.often(None)
            # an i1 that holds is -1 here, as integers have signs
            elif bool(outcome & 1) == (region is op.true_region):
                yield state
        elif isinstance(op, scf.ForOp):
            yield from self._turns(op, state)
        elif isinstance(op, Hierarchy):
            yield from self._places(op, state)
        else:
            # regions of any other operation run any number of times, as far as is known here
            yield state if op.name == "air.execute" else state.often(None)

    def _turns(self, op: scf.ForOp, state: _State) -> Iterator[_State]:
        lower, upper, step = (evaluate(bound, state.known) for bound in (op.lb, op.ub, op.step))
        if lower is None or upper is None or step is None or step <= 0:
            yield state.often(None)
            return
        variable, count = op.body.block.args[0], max(0, -(-(upper - lower) // step))
        # turns that do not differ in what matters: one state stands for all of them
        if variable not in self._relevant:
            if count:
                yield state.often(count)
            return
        self._count(op, count)
        for turn in range(lower, upper, step):
            yield state.setting([variable], [turn])

    def _places(self, op: Hierarchy, state: _State) -> Iterator[_State]:
        """The places of a hierarchy that matter; the others of a herd come together, and count as one."""
        chosen = [number for number, identity in enumerate(op.ids) if identity in self._relevant]
        sizes = [evaluate(op.extents[number], state.known) for number in chosen]
        known = [size for size in sizes if size is not None]
        if len(known) != len(sizes):
            fail_op(
                self.end,
                f"chooses its channel by an id of {op.name}, whose size cannot be told when compiling",
                (op, "give it a constant size"),
            )
        # a hierarchy whose ids do not matter is one place, however large it is
        if chosen:
            self._count(op, prod(known))
        for place in product(*(range(size) for size in known)):
            inner = state.setting([op.ids[number] for number in chosen], place)
            yield replace(inner, workers=(*inner.workers, (op, place)))


def are_unordered(one: Workers, other: Workers) -> bool:
    """Whether nothing says which of two comes first: they are at different places of one launch or herd."""
    places = dict(one)
    return any(places.get(level, place) != place for level, place in other)


def _path(rank: RankOp, op: Operation) -> list[tuple[Operation, Region]]:
    """What lies between a rank and an operation in it, from the outside in, each with the region that leads on."""
    found: list[tuple[Operation, Region]] = []
    while (parent := op.parent_op()) is not rank:
        region = op.parent_region()
        assert parent is not None and region is not None
        found.append((parent, region))
        op = parent
    return found[::-1]


def rank_of(op: Operation) -> int | None:
    """The number of the one rank that `op` runs on; None if that is not known."""
    ranks = possible_ranks(op)
    return ranks[0] if ranks is not None and len(ranks) == 1 else None


def possible_ranks(op: Operation) -> list[int] | None:
    """The ranks that `op` runs on as far as the conditions around it tell; None in a world of unknown size."""
    rank = parent_of_type(op, RankOp)
    if rank is None:
        return None
    ifs = [(parent, region) for parent, region in reversed(_path(rank, op)) if isinstance(parent, scf.IfOp)]
    # each with how it must come out for `op` to run, the nearest first
    conditions = [(parent.cond, region is parent.true_region) for parent, region in ifs]
    sizes = [scalar_int(size) for size in rank.extents]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes) and prod(known) <= MAX_WORLD:
        return [number for number, point in points(known) if _runs_at(conditions, rank, point)]
    # worlds of unknown or great size are not gone through, but `if rank == 3` tells it all the same
    compared = _compared_rank(conditions, rank)
    return None if compared is None else [compared]


def points(sizes: Sequence[int]) -> Iterator[tuple[int, Point]]:
    """The ranks of a world, by their numbers and their places; the first dimension counts fastest."""
    for number, place in enumerate(product(*(range(size) for size in reversed(sizes)))):
        yield number, place[::-1]


def _runs_at(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp, point: Point) -> bool:
    """Whether no condition keeps a point from running; one that depends on other things does not."""
    known = dict[SSAValue, int](zip(rank.ids, point, strict=True))
    outcomes = [(evaluate(value, known), outcome) for value, outcome in conditions]
    return all(found is None or bool(found & 1) == outcome for found, outcome in outcomes)


def _compared_rank(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp) -> int | None:
    """The number that the id is compared with, for a line of ranks of unknown length."""
    if len(rank.extents) != 1:
        return None
    for value, outcome in conditions:
        owner = value.owner
        if not isinstance(owner, arith.CmpiOp) or owner.predicate.value.data != (EQ if outcome else NE):
            continue
        sides = [(owner.lhs, owner.rhs), (owner.rhs, owner.lhs)]
        numbers = [scalar_int(number) for side, number in sides if outermost(side) is rank.ids[0]]
        if numbers and numbers[0] is not None:
            return numbers[0]
    return None


def outermost(value: SSAValue) -> SSAValue:
    """What a value is outside of the bodies that it was passed to."""
    while isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        outer = parent.tied_operand(value) if isinstance(parent, Hierarchy) else None
        if outer is None:
            break
        value = outer
    return value


_AGREEMENTS = {"gpu.all_reduce", "gpu.shuffle", "gpu.subgroup_reduce"}
"""After these, lanes may have the same value whatever each of them had before."""


def sources(values: Sequence[SSAValue]) -> set[SSAValue]:
    """What values are computed from: arguments that nothing outside defines, and results without operands."""
    found: set[SSAValue] = set()
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = outermost(pending.pop())
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if not isinstance(owner, Operation) or owner.regions or owner.name in _AGREEMENTS or not owner.operands:
            found.add(value)
        else:
            pending += owner.operands
    return found


def evaluate(value: SSAValue, known: Mapping[SSAValue, int]) -> int | None:
    """What a value is, given others; None if it depends on more than those."""
    return _evaluated(value, known, {})


def _evaluated(value: SSAValue, known: Mapping[SSAValue, int], seen: dict[SSAValue, int | None]) -> int | None:
    value = outermost(value)
    if value in known:
        return known[value]
    if value not in seen:
        # noted before its operands are looked at, so that no expression is gone through twice
        seen[value] = scalar_int(value)
        op = value.owner
        if seen[value] is None and isinstance(op, Operation):
            seen[value] = _computed(op, [_evaluated(operand, known, seen) for operand in op.operands])
    return seen[value]


def _computed(op: Operation, operands: Sequence[int | None]) -> int | None:
    # the branch that is not taken need not be known
    if isinstance(op, arith.SelectOp) and operands[0] is not None:
        return operands[1 if operands[0] & 1 else 2]
    known = [operand for operand in operands if operand is not None]
    if not known or len(known) != len(operands) or len(op.results) != 1:
        return None
    width, result_width = int_width(op.operands[0].type), int_width(op.results[0].type)
    if width is None or result_width is None:
        return None
    found = _number(op, known, width)
    return None if found is None else signed(found, result_width)


def _number(op: Operation, operands: Sequence[int], width: int) -> int | None:
    """The result, which may have more bits than there is room for."""
    match op, operands:
        case arith.CmpiOp(), [left, right]:
            return integers(width).cmpi(op.predicate.value.data, left, right)
        case _, [number] if op.name in RESIZES:
            return integers(width).read(number, RESIZES[op.name])
        case _, [left, right] if op.name in MEANING:
            return compute(op.name, left, right, width)
        case _:
            return None
