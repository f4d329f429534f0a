"""Search of the expression behind a column: the simplest that gives the word of each file from its parameters.

An expression counts only if it says more than it costs: with few files nearly anything fits one of thousands of
expressions. So what is found needs evidence, bits of the column that it explains beyond those it was chosen by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, combinations_with_replacement
from math import gcd, log2
from typing import cast

import numpy as np
import numpy.typing as npt

from tilewright.lift.expressions import (
    Binary,
    Column,
    Columns,
    Condition,
    Fields,
    LargestDivisor,
    Parameter,
    ReciprocalBits,
    ShapeChoice,
    ShapeConstant,
    ShapeExpression,
    affine,
    varying,
)

Rows = npt.NDArray[np.bool_]
MOST_FEATURES = 6000
MOST_PAIRED = 48
MOST_DEPTH = 4
MOST_TRIES = 6
LEAST_POINTS = 4
MOST_ENTRIES = 64
FIELD_BORDERS = 20, 24, 8, 10, 12, 30
"""Bits at which registers often have another field."""
FILES_OF_ENTRY = 4
"""Shapes that each entry of a table stands for, on average: with fewer it would be a memory, not an explanation."""
MOST_KEY_COST = 5
SHORT_TABLE = 20
"""Cost of a table up to which nothing simpler is looked for."""
MOST_CUT = 12
"""Products of other expressions whose divisors are looked at."""
TURNS = 2, 4, 8
"""Buffers of a kind that take turns."""
MOST_ON_PARTS = 1600
MOST_TRUSTED = 3000
CERTAINTY_BITS = 2.0
"""Evidence beyond what choosing the expression took."""
LARGEST = 1 << 40
NEARLY_NOTHING = 1e-7


@dataclass(frozen=True)
class Feature:
    """A candidate: an expression and its values."""

    expression: ShapeExpression
    values: Column


class Explainer:
    """Explains columns over one set of files."""

    def __init__(self, columns: Columns, trusted: Iterable[ShapeExpression] = ()):
        self.columns = columns
        self._varying = varying(columns)
        self.count = len(next(iter(columns.values()), ()))
        self._known: dict[bytes, ShapeExpression | None] = {}
        self.trusted: dict[ShapeExpression, None] = dict.fromkeys(trusted)
        """Expressions that proved themselves, which need less evidence elsewhere."""
        self._all = np.ones(self.count, dtype=np.bool_)
        self._features = list(self._make())
        self._values = (
            np.stack([f.values for f in self._features])
            if self._features
            else np.zeros((0, self.count), dtype=np.int64)
        )
        self._keys = [
            (index, np.unique(feature.values, return_inverse=True)[1].reshape(-1))
            for index, feature in enumerate(self._features)
            if feature.expression.cost <= MOST_KEY_COST or index in self._turns
        ]
        """Simple features, and which files have the same value of them."""
        self._by_shape: dict[int, int] = {}
        # files of one shape are one piece of evidence
        stacked = np.stack([*columns.values()]) if columns else np.zeros((1, self.count), dtype=np.int64)
        self._point = np.unique(stacked, axis=1, return_inverse=True)[1].reshape(-1)
        self._points = len(np.unique(self._point))
        self._conditions = sorted(self._make_conditions(), key=lambda it: -int(it[1].sum()))

    def explain(self, column: Column) -> ShapeExpression | None:
        """The simplest expression for a column, or None."""
        key = column.tobytes()
        if key not in self._known:
            found = None if not agree(self._point, column) else self._explain(column)
            self._known[key] = found
            if found is not None and not isinstance(found, ShapeConstant) and len(self.trusted) < MOST_TRUSTED:
                self.trusted.setdefault(found)
        return self._known[key]

    def explain_simply(self, column: Column) -> ShapeExpression | None:
        """One expression for all files, or a table; without search for fields and conditions."""
        if not agree(self._point, column):
            return None
        return self._direct(column, self._all) or self._table(column)

    def _explain(self, column: Column) -> ShapeExpression | None:
        return (
            self._direct(column, self._all)
            or self._sum(column)
            or self._split(column, self._fitting, range(1, 32))
            or self._by_cases(column)
            or self._split(column, self._pieced, FIELD_BORDERS)
        )

    def _fitting(self, column: Column) -> ShapeExpression | None:
        return self._direct(column, self._all)

    def _pieced(self, column: Column) -> ShapeExpression | None:
        return self._direct(column, self._all) or self._by_cases(column)

    def _by_cases(self, column: Column) -> ShapeExpression | None:
        """A table, or conditions with an expression each where these say it in less."""
        table = self._table(column)
        if table is not None and table.cost <= SHORT_TABLE:
            return table
        found = [it for it in (table, self._listed(column, self._all, 0)) if it is not None]
        return min(found, key=lambda it: it.cost, default=None)

    # One expression for all rows

    def _direct(self, column: Column, rows: Rows) -> ShapeExpression | None:
        """A constant, or a feature with a factor and an offset."""
        values = column[rows]
        if (values == values[0]).all():
            return ShapeConstant(int(values[0]))
        if (exact := self._same(values, rows)) is not None:
            return exact
        shape, step, sign = _shape(values)
        index = self._alike(values, shape, rows)
        if index is None or self._evidence(column, rows, 2) < self._price(index):
            return None
        feature = self._features[index]
        of_feature = feature.values[rows]
        same, feature_step, feature_sign = _shape(of_feature)
        if same != shape:
            return None
        common = gcd(step, feature_step)
        scale, divisor = sign * feature_sign * step // common, feature_step // common
        if divisor == 1:
            return affine(feature.expression, scale, int(values[0]) - scale * int(of_feature[0]))
        rest = int(of_feature[0]) % divisor
        whole = Binary("//", affine(feature.expression, 1, -rest), ShapeConstant(divisor))
        return affine(whole, scale, int(values[0]) - scale * ((int(of_feature[0]) - rest) // divisor))

    def _same(self, values: Column, rows: Rows) -> ShapeExpression | None:
        """What proved itself elsewhere, as it stands: nothing about it is chosen here."""
        trusted = self._values[: self._trusted_count, rows]
        found: list[int] = np.flatnonzero((trusted == values).all(axis=1)).tolist()
        return self._features[found[0]].expression if found else None

    def _price(self, index: int) -> float:
        """Bits that it takes to choose a feature, and to be certain."""
        if index < self._trusted_count:
            return log2(index + 2) / 2
        return log2(index - self._trusted_count + 1) + CERTAINTY_BITS

    def _alike(self, values: Column, shape: bytes, rows: Rows) -> int | None:
        """The simplest feature that differs from the values by a factor and an offset; on parts, of simple ones."""
        if rows is self._all:
            return self._shapes().get(hash(shape))
        candidates = self._values[: self._trusted_count + MOST_ON_PARTS, rows]
        steps, wanted = candidates - candidates[:, :1], values - values[0]
        first = int(np.argmax(wanted != 0))
        # a product may overflow, so what is found is checked again
        fits = (steps * wanted[first] == wanted * steps[:, first : first + 1]).all(axis=1) & (steps[:, first] != 0)
        return int(np.argmax(fits)) if fits.any() else None

    def _shapes(self) -> dict[int, int]:
        """The simplest feature of each shape."""
        if not self._by_shape:
            steps = self._values - self._values[:, :1]
            steps //= np.gcd.reduce(steps, axis=1)[:, None]
            first = np.argmax(steps != 0, axis=1)
            steps *= np.sign(steps[np.arange(len(steps)), first])[:, None]
            for index, row in enumerate(steps):
                self._by_shape.setdefault(hash(row.tobytes()), index)
        return self._by_shape

    def _sum(self, column: Column) -> ShapeExpression | None:
        """All parameters and their products with a factor each; or two features of any kind."""
        few = self._features[self._trusted_count :][:MOST_PAIRED]
        monomials = [f for f in few if _is_monomial(f.expression)][:12]
        # words may be negative numbers
        for values in (column, np.where(column >> 31 == 1, column - (1 << 32), column)):
            if self._evidence(column, self._all, len(monomials) + 1) > CERTAINTY_BITS + len(monomials):
                factors = _solve([f.values for f in monomials], values)
                if factors is not None:
                    return _linear([f.expression for f in monomials], factors)
            if self._evidence(column, self._all, 3) > log2(len(few) ** 2 / 2 + 1) + CERTAINTY_BITS:
                for first, second in _pairs(np.stack([f.values for f in few]), values):
                    factors = _solve([few[first].values, few[second].values], values)
                    if factors is not None:
                        return _linear([few[first].expression, few[second].expression], factors)
        return None

    def _evidence(self, column: Column, rows: Rows, freedom: int) -> float:
        """Bits that a fit explains, beyond the points that its free numbers are chosen by."""
        points, first = np.unique(self._point[rows], return_index=True)
        _, counts = np.unique(column[rows][first], return_counts=True)
        shares = counts / len(points)
        entropy = float(-(shares * np.log2(shares)).sum())
        return max(len(points) - freedom, 0) * entropy

    # Several

    def _split(
        self, column: Column, explain: Callable[[Column], ShapeExpression | None], borders: Iterable[int]
    ) -> ShapeExpression | None:
        """The fields of a word, where each can be explained alone."""
        if (column < 0).any():
            return None
        changing = int(np.bitwise_or.reduce(column ^ column[0]))
        places = [bit for bit in (16, *borders) if changing >> bit and changing & (1 << bit) - 1]
        for place in dict.fromkeys(places):
            lower = explain(column & (1 << place) - 1)
            upper = explain(column >> place) if lower is not None else None
            if lower is not None and upper is not None:
                return Fields(((0, lower), (place, upper)))
        return None

    def _table(self, column: Column) -> ShapeExpression | None:
        """A number for each value of a simple feature."""
        for index, keys in self._keys:
            entries = int(keys.max()) + 1
            if not agree(keys, column) or entries > MOST_ENTRIES:
                continue
            numbers = np.zeros(entries, dtype=np.int64)
            numbers[keys] = column
            changes = 1 + int((numbers[1:] != numbers[:-1]).sum())
            if changes * FILES_OF_ENTRY > self._points:
                continue
            if self._evidence(column, self._all, changes) < changes + self._price(index):
                continue
            feature = self._features[index]
            return _cases(feature.expression, np.unique(feature.values).tolist(), numbers.tolist())
        return None

    def _listed(self, column: Column, rows: Rows, depth: int) -> ShapeExpression | None:
        """Conditions one after the other, each with an expression."""
        points = len(np.unique(self._point[rows]))
        found = self._direct(column, rows) if depth and points > 1 else None
        if found is not None or depth == MOST_DEPTH or points < LEAST_POINTS:
            return found
        tries = 0
        need = log2(len(self._conditions) + 1) / 2
        for condition, holds in self._conditions:
            inside, outside = holds & rows, rows & ~holds
            if not inside.any() or not outside.any():
                continue
            then = self._direct(column, inside)
            if then is None or len(np.unique(self._point[inside])) < (need if isinstance(then, ShapeConstant) else 3):
                continue
            otherwise = self._listed(column, outside, depth + 1)
            if otherwise is not None:
                return ShapeChoice(condition, then, otherwise)
            tries += 1
            if tries == MOST_TRIES:
                break
        return None

    def _make_conditions(self) -> Iterator[tuple[Condition, Rows]]:
        seen = set[bytes]()
        for condition in self._possible_conditions():
            rows = condition.holds(self.columns)
            if rows.any() and not rows.all() and rows.tobytes() not in seen:
                seen.add(rows.tobytes())
                yield condition, rows

    def _possible_conditions(self) -> Iterator[Condition]:
        for name, column in self._varying.items():
            values, parameter = np.unique(column).tolist()[:64], Parameter(name)
            for relation in ("<=", "==", ">"):
                yield from (Condition(parameter, relation, value) for value in values)
            for divisor in (1 << k for k in range(1, 13)):
                yield Condition(Binary("%", parameter, ShapeConstant(divisor)), "==", 0)

    # Candidates

    def _make(self) -> Iterator[Feature]:
        seen = dict[bytes, None]()
        rank = 0
        self._trusted_count = 0
        # Where a count has proved itself, buffers that take turns with it are the next thing to look at.
        turns = dict.fromkeys(turn for expression in self.trusted for turn in turns_of(expression))
        self._turns = set[int]()
        cut = dict.fromkeys(part for expression in self.trusted for part in parts_of(expression) if _is_size(part))
        for expression in (*self.trusted, *turns, *_candidates(self._varying, [*cut][:MOST_CUT])):
            values = expression.evaluate(self.columns)
            if len(values) == 0 or (values == values[0]).all() or np.abs(values).max() > LARGEST:
                continue
            key = values.tobytes()
            if key in seen:
                continue
            seen[key] = None
            if expression in turns:
                self._turns.add(rank)
            yield Feature(expression, values)
            rank += 1
            self._trusted_count += expression in self.trusted
            if rank >= MOST_FEATURES:
                return


def turns_of(expression: ShapeExpression) -> Iterator[ShapeExpression]:
    """Remainders of the counts in an expression."""
    for part in parts_of(expression):
        if isinstance(part, Binary) and part.operation == "ceildiv":
            yield from (Binary("%", part, ShapeConstant(number)) for number in TURNS)


def telling_parts(expression: ShapeExpression) -> Iterator[ShapeExpression]:
    """What in an expression is likely to tell kinds of streams from each other."""
    yield from turns_of(expression)
    yield from (part for part in parts_of(expression) if isinstance(part, LargestDivisor))


def parts_of(expression: ShapeExpression) -> Iterator[ShapeExpression]:
    """An expression, and all that it is made of."""
    yield expression
    for part in expression.parts:
        yield from parts_of(part)


def _is_size(part: ShapeExpression) -> bool:
    """Whether it is a product with a count in it, such as rows that are filled up to whole blocks."""
    counts = [it for it in part.parts if isinstance(it, Binary) and it.operation == "ceildiv"]
    return isinstance(part, Binary) and part.operation == "*" and bool(counts)


def _candidates(columns: Columns, cut: Iterable[ShapeExpression] = ()) -> Iterator[ShapeExpression]:
    """Expressions that shapes are turned into sizes by, simple ones first; `cut` are others to look for parts of."""
    parameters: list[ShapeExpression] = [Parameter(name) for name in columns]
    largest = max((int(np.abs(column).max(initial=0)) for column in columns.values()), default=0)
    powers = [1 << k for k in range(1, 17) if 1 << k <= max(largest, 2)]
    others = sorted(m << k for m in (3, 5, 7) for k in range(10) if m << k <= max(largest, 2))
    products = [Binary("*", a, b) for a, b in combinations_with_replacement(parameters, 2)]
    yield from parameters
    yield from products
    yield from map(ReciprocalBits, parameters)
    quotients = [Binary(op, p, ShapeConstant(c)) for c in powers for p in parameters for op in ("ceildiv", "//", "%")]
    yield from quotients
    yield from (Binary(op, a, b) for a in parameters for b in parameters if a != b for op in ("//", "ceildiv", "%"))
    yield from (Binary(op, a, b) for a, b in combinations(parameters, 2) for op in ("min", "max"))
    yield from (
        Binary(op, p, ShapeConstant(c)) for p in parameters for c in _bounds(p, columns) for op in ("min", "max")
    )
    yield from (Binary("*", q, p) for q in quotients for p in parameters if q.operation != "%")
    yield from (Binary("*", product, p) for product in products for p in parameters)
    limits = [size - less for size in (1 << k for k in range(5, 17)) for less in (0, 1)]
    divisors = [LargestDivisor(whole, limit) for limit in limits for whole in (*parameters, *products, *cut)]
    yield from divisors
    yield from (Binary("//", divisor.of, divisor) for divisor in divisors)
    yield from (Binary(op, p, ShapeConstant(c)) for c in others for p in parameters for op in ("ceildiv", "//", "%"))
    shares = [Binary("//", ShapeConstant(1 << k), p) for k in range(8, 21) for p in parameters]
    yield from shares
    sizes = [1 << k for k in range(1, 21)]
    yield from (Binary(op, p, ShapeConstant(c)) for p in products for c in sizes for op in ("ceildiv", "//", "%"))
    whole = [q for q in quotients if q.operation == "ceildiv"]
    # buffers that take turns
    counts = [*whole, *(Binary("ceildiv", p, ShapeConstant(c)) for p in products for c in sizes)]
    yield from (Binary("%", count, ShapeConstant(1 << k)) for count in counts for k in range(1, 5))
    yield from (Binary("*", a, b) for a, b in combinations(whole, 2))
    yield from (Binary(op, p, s) for s in shares for p in parameters for op in ("ceildiv", "min", "%"))
    yield from (Binary("ceildiv", q, ShapeConstant(c)) for q in products for c in others)
    yield from (
        Binary(op, q, ShapeConstant(c))
        for q in (*quotients, *shares)
        for c in (1, 2, 4, 8, 16, 32, 64)
        for op in ("min", "max")
    )


def _bounds(parameter: ShapeExpression, columns: Columns) -> list[int]:
    values = np.unique(parameter.evaluate(columns)).tolist()
    return values[1:-1][:40]


def _shape(values: Column) -> tuple[bytes, int, int]:
    """What columns have in common that are the same but for a factor and an offset; the factor and its sign."""
    steps = values - values[0]
    step = int(np.gcd.reduce(steps)) or 1
    first = steps[steps != 0]
    sign = -1 if len(first) and first[0] < 0 else 1
    return (steps // (step * sign)).tobytes(), step, sign


def _pairs(features: npt.NDArray[np.int64], values: Column) -> list[tuple[int, int]]:
    """Pairs of features that seem to give the values, with a factor each and an offset."""
    centered = (features - features.mean(axis=1, keepdims=True)).astype(float)
    scale = np.abs(centered).max(axis=1, keepdims=True)
    centered /= np.where(scale == 0, 1, scale)
    wanted = values - values.mean()
    products, with_wanted = centered @ centered.T, centered @ wanted
    own = np.diag(products)
    determinant = own[:, None] * own[None, :] - products**2
    safe = np.where(determinant > NEARLY_NOTHING, determinant, np.inf)
    first = (own[None, :] * with_wanted[:, None] - products * with_wanted[None, :]) / safe
    second = (own[:, None] * with_wanted[None, :] - products * with_wanted[:, None]) / safe
    whole = float(wanted @ wanted)
    rest = whole - first * with_wanted[:, None] - second * with_wanted[None, :]
    rows, columns = np.nonzero(np.triu(np.abs(rest) <= NEARLY_NOTHING * whole, 1))
    return [*zip(rows.tolist(), columns.tolist(), strict=True)][:MOST_PAIRED]


def _solve(features: list[Column], values: Column) -> list[int] | None:
    """Whole factors of features, and what is added, that give the values exactly."""
    matrix = np.stack([*features, np.ones(len(values), dtype=np.int64)], axis=1)
    scale = np.abs(matrix).max(axis=0).astype(float)
    solution = cast(npt.NDArray[np.float64], np.linalg.lstsq(matrix / scale, values.astype(float), rcond=None)[0])
    factors = np.rint(solution / scale)
    if not np.isfinite(factors).all() or np.abs(factors).max() > LARGEST:
        return None
    whole = factors.astype(np.int64)
    # the offset carries what rounding lost
    whole[-1] = values[0] - int((matrix[0, :-1] * whole[:-1]).sum())
    return whole.tolist() if (matrix @ whole == values).all() else None


def _linear(expressions: list[ShapeExpression], factors: list[int]) -> ShapeExpression:
    terms = [affine(e, f, 0) for e, f in zip(expressions, factors[:-1], strict=True) if f]
    if not terms:
        return ShapeConstant(factors[-1])
    total = reduce(lambda a, b: Binary("+", a, b), terms)
    return affine(total, 1, factors[-1])


def _is_monomial(expression: ShapeExpression) -> bool:
    match expression:
        case Parameter():
            return True
        case Binary(operation="*", left=left, right=right):
            return _is_monomial(left) and _is_monomial(right)
        case _:
            return False


def _cases(expression: ShapeExpression, keys: list[int], numbers: list[int]) -> ShapeExpression:
    """A number for each value of an expression, neighbours with the same number joined."""
    result: ShapeExpression = ShapeConstant(numbers[-1])
    for key, number, following in reversed([*zip(keys, numbers, numbers[1:], strict=False)]):
        if number != following:
            result = ShapeChoice(Condition(expression, "<=", key), ShapeConstant(number), result)
    return result


def agree(keys: Column, column: Column) -> bool:
    """Whether files with the same key have the same number."""
    number = np.zeros(int(keys.max(initial=0)) + 1, dtype=np.int64)
    number[keys] = column
    return bool((number[keys] == column).all())
