"""Trees of conditions on parameters, which say which of several kinds of stream a file is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, starmap
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.lift.expressions import Binary, Column, Columns, Condition, Parameter, ShapeConstant, ShapeExpression

MOST_BOUNDS = 48


@dataclass(frozen=True)
class ShapeBranch:
    """A condition, and what holds on either side."""

    condition: Condition
    then: Decision
    otherwise: Decision


Decision: TypeAlias = "ShapeBranch | int"


def decide(columns: Columns, kinds: Column, telling: Iterable[ShapeExpression] = ()) -> Decision:
    """A tree that gives the kind of each file; where parameters do not tell, the most frequent one.

    `telling` are expressions that are likely to tell.
    """
    if (kinds == kinds[0]).all():
        return int(kinds[0])
    candidates = list(_candidates(columns, [*telling][:MOST_BOUNDS]))
    return _grow(candidates, kinds, np.arange(len(kinds)), frozenset())


def follow(decision: Decision, columns: Columns) -> Column:
    """The kind of each file."""
    if isinstance(decision, int):
        return ShapeConstant(decision).evaluate(columns)
    holds = decision.condition.holds(columns)
    return np.where(holds, follow(decision.then, columns), follow(decision.otherwise, columns))


Candidate: TypeAlias = "tuple[Condition, npt.NDArray[np.bool_]]"


def _grow(
    candidates: Sequence[Candidate], kinds: Column, rows: npt.NDArray[np.int64], asked: frozenset[ShapeExpression]
) -> Decision:
    """The tree for some files; what was `asked` of them before costs less to ask again, with another bound."""
    found, counts = np.unique(kinds[rows], return_counts=True)
    usual = int(found[np.argmax(counts)])
    if len(found) == 1:
        return usual
    best: tuple[float, Condition, npt.NDArray[np.bool_]] | None = None
    for condition, holds in candidates:
        inside = holds[rows]
        if inside.all() or not inside.any():
            continue
        # a condition has to earn what it costs to say
        cost = condition.cost - (condition.expression.cost if condition.expression in asked else 0)
        score = _entropy(kinds[rows[inside]]) + _entropy(kinds[rows[~inside]]) + cost
        if best is None or score < best[0]:
            best = score, condition, inside
    if best is None:
        return usual
    _, condition, inside = best
    asked |= {condition.expression}
    then, otherwise = (_grow(candidates, kinds, rows[side], asked) for side in (inside, ~inside))
    return then if then == otherwise else ShapeBranch(condition, then, otherwise)


def _entropy(kinds: Column) -> float:
    """Bits that it takes to tell the kinds of some files."""
    _, counts = np.unique(kinds, return_counts=True)
    return float(-(counts * np.log2(counts / len(kinds))).sum())


def _candidates(columns: Columns, telling: Sequence[ShapeExpression]) -> Iterator[Candidate]:
    seen = set[bytes]()
    for condition in (*_conditions(columns), *(it for part in telling for it in _bounded(part, columns, ("==", "<=")))):
        holds = condition.holds(columns)
        if holds.tobytes() not in seen and not holds.all() and holds.any():
            seen.add(holds.tobytes())
            yield condition, holds


def _conditions(columns: Columns) -> Iterator[Condition]:
    parameters: list[ShapeExpression] = [Parameter(name) for name in columns]
    products = [Binary("*", a, b) for a, b in combinations(parameters, 2)]
    quotients = [Binary(op, a, b) for a in parameters for b in parameters if a != b for op in ("//", "%")]
    for parameter in parameters:
        yield from _bounded(parameter, columns, ("<=", "=="))
    for parameter in parameters:
        for divisor in (1 << k for k in range(1, 14)):
            yield Condition(Binary("%", parameter, ShapeConstant(divisor)), "==", 0)
        for divisor in (3, 5, 7):
            yield from (Condition(Binary("%", parameter, ShapeConstant(divisor << k)), "==", 0) for k in range(10))
    for product in products:
        yield from _bounded(product, columns, ("<=",))
        for divisor in (1 << k for k in range(6, 20)):
            yield Condition(Binary("%", product, ShapeConstant(divisor)), "==", 0)
    for quotient in quotients:
        yield from _bounded(quotient, columns, ("<=",))


def _bounded(expression: ShapeExpression, columns: Columns, relations: Sequence[str]) -> Iterator[Condition]:
    values = np.unique(expression.evaluate(columns))
    if len(values) > MOST_BOUNDS:
        values = values[np.linspace(0, len(values) - 1, MOST_BOUNDS).astype(np.int64)]
    for relation in relations:
        bounds = values.tolist() if relation == "==" else starmap(roundest, pairwise(values.tolist()))
        yield from (Condition(expression, relation, bound) for bound in bounds)


def roundest(least: int, end: int) -> int:
    """The number from `least` on and below `end` with most zeros behind: limits of programs are of that kind."""
    for bit in range(max(abs(least), abs(end)).bit_length(), 0, -1):
        if (number := -(-least >> bit) << bit) < end:
            return number
    return least
