"""The meaning of operations on numbers, written once over abstract systems of numbers.

`Integers` and `Floats` are such systems: they say how they add, divide, shift and compare. `MEANING` and
`FLOAT_MEANING` have a row for each operation. The systems live with their users:

    rewrite/integers.py, folding/arith_floats.py  Python's numbers: folding, evaluation, interpreters
    native/integers.py, native/floats.py          LLVM instructions
    passes/cpp/convert_aiex_to_emitc/arith.py     C++ operators, on integers
    native/ranges.py, lint_queue_depth/values.py  ranges and known bits; they know some of the operations only
    gpu/emulator/write_numbers.py                 lanes, as Python expressions on NumPy's arrays

All of them agree where MLIR defines the result. Where it does not, they differ:

                                  folding        interpreter   LLVM, C++   lanes
    division by zero              stays          refused       refused *   fault
    quotient that does not fit    stays; `index` wraps it
                                                 0             0           fault
    shift by the width or more    stays          0             0           0, or the sign for shrsi
    ceildivsi of, or by, the      stays, as in MLIR, whose folder negates both
    smallest integer                             quotient      quotient    quotient

* by the generators of sequences; host programs of AIR stop at both, and in code of cores it gives 0.

Of two zeros `maxnumf` and `minnumf` give either one. MLIR's own folding of `index.ceildivs` gives the smallest
integer's quotient the wrong sign; ours does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

V = TypeVar("V")

PREDICATES: tuple[str, ...] = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Of `arith.cmpi` and `index.cmp`, in the order of their numbers."""
COMPARISONS: tuple[tuple[str, bool | None], ...] = (
    *(("==", None), ("!=", None)),
    *(("<", True), ("<=", True), (">", True), (">=", True)),
    *(("<", False), ("<=", False), (">", False), (">=", False)),
)
"""The operator of each predicate, and whether it heeds the sign (None: makes no difference)."""
FLOAT_COMPARISONS = (
    *((operator, True) for operator in ("==", ">", ">=", "<", "<=", "!=", "ord")),
    *((operator, False) for operator in ("==", ">", ">=", "<", "<=", "!=", "uno")),
)
"""`arith.cmpf`'s predicates 1 to 14: the operator, and whether a NaN makes it false; 0 is never true and 15 always."""
RESIZES = {
    "arith.trunci": False,
    "arith.extui": False,
    "arith.extsi": True,
    "arith.index_cast": True,
    "arith.index_castui": False,
}
"""Conversions between widths, and whether a number that becomes wider keeps its sign."""


class Integers(ABC, Generic[V]):
    """Integers that wrap around at their width; both operands have the same. A condition is a number of one bit."""

    @abstractmethod
    def constant(self, number: int, like: V) -> V:
        """A number of the width that another has."""

    @abstractmethod
    def combine(self, operator: str, a: V, b: V) -> V:
        """`+`, `-`, `*`, `&`, `|` or `^`, for which the sign makes no difference."""

    @abstractmethod
    def divide(self, operator: str, a: V, b: V, signed: bool) -> V:
        """`/` towards zero, or `%`, with the sign of the dividend, where they are defined."""

    @abstractmethod
    def shift(self, operator: str, a: V, b: V, signed: bool) -> V:
        """`<<` or `>>`, where they are defined."""

    @abstractmethod
    def compare(self, operator: str, a: V, b: V, signed: bool | None) -> V: ...

    @abstractmethod
    def select(self, condition: V, a: V, b: V) -> V: ...

    @abstractmethod
    def where_divisible(self, a: V, b: V, signed: bool, compute: Callable[[V, V], V]) -> V:
        """`compute`, but not where the divisor is zero or the quotient does not fit: MLIR leaves that undefined."""

    @abstractmethod
    def where_shiftable(self, a: V, b: V, signed: bool, compute: Callable[[V, V], V]) -> V:
        """`compute`, but not where the shift is by the width or more."""

    # Of `index.cmp` and `llvm.icmp` too: their predicates have the same numbers.
    def cmpi(self, predicate: int, a: V, b: V) -> V:
        operator, signed = COMPARISONS[predicate]
        return self.compare(operator, a, b, signed)

    # What the rows below are made of, for systems that have a shorter way

    def both(self, a: V, b: V) -> V:
        return self.combine("&", a, b)

    def differ(self, a: V, b: V) -> V:
        return self.compare("!=", a, b, None)

    def compare_signs(self, a: V, b: V, zero: V, same: bool) -> V:
        """Whether two numbers have the same sign, or different ones."""
        return self.compare(">=" if same else "<", self.combine("^", a, b), zero, True)

    def step_if(self, condition: V, number: V, operator: str) -> V:
        """The number after this one, or that before it, where a condition holds."""
        return self.select(condition, self.combine(operator, number, self.constant(1, number)), number)

    def divide_rounded(self, a: V, b: V, up: bool, signed: bool) -> V:
        """The quotient towards zero is off by one if something remains and the exact one lies on the other side."""
        quotient, remainder = self.divide("/", a, b, signed), self.divide("%", a, b, signed)
        # The remainder has the dividend's sign: with the divisor's it tells the sign of the exact quotient.
        zero = self.constant(0, remainder)
        off = self.differ(remainder, zero)
        if signed:
            # Upwards, a positive quotient was cut; downwards, a negative one.
            off = self.both(off, self.compare_signs(remainder, b, zero, same=up))
        return self.step_if(off, quotient, "+" if up else "-")

    def extreme(self, operator: str, a: V, b: V, signed: bool) -> V:
        return self.select(self.compare(operator, a, b, signed), a, b)


Meaning: TypeAlias = Callable[[Integers[Any], Any, Any], Any]


def _division(operator: str, signed: bool) -> Meaning:
    return lambda n, a, b: n.where_divisible(a, b, signed, lambda a, b: n.divide(operator, a, b, signed))


def _rounded_division(up: bool, signed: bool) -> Meaning:
    return lambda n, a, b: n.where_divisible(a, b, signed, lambda a, b: n.divide_rounded(a, b, up, signed))


def _shift(operator: str, signed: bool) -> Meaning:
    return lambda n, a, b: n.where_shiftable(a, b, signed, lambda a, b: n.shift(operator, a, b, signed))


MEANING: dict[str, Meaning] = {
    "arith.addi": lambda n, a, b: n.combine("+", a, b),
    "arith.subi": lambda n, a, b: n.combine("-", a, b),
    "arith.muli": lambda n, a, b: n.combine("*", a, b),
    "arith.andi": lambda n, a, b: n.combine("&", a, b),
    "arith.ori": lambda n, a, b: n.combine("|", a, b),
    "arith.xori": lambda n, a, b: n.combine("^", a, b),
    "arith.divsi": _division("/", signed=True),
    "arith.divui": _division("/", signed=False),
    "arith.remsi": _division("%", signed=True),
    "arith.remui": _division("%", signed=False),
    "arith.floordivsi": _rounded_division(up=False, signed=True),
    "arith.ceildivsi": _rounded_division(up=True, signed=True),
    "arith.ceildivui": _rounded_division(up=True, signed=False),
    "arith.shli": _shift("<<", signed=False),
    "arith.shrui": _shift(">>", signed=False),
    "arith.shrsi": _shift(">>", signed=True),
    "arith.maxsi": lambda n, a, b: n.extreme(">", a, b, signed=True),
    "arith.minsi": lambda n, a, b: n.extreme("<", a, b, signed=True),
    "arith.maxui": lambda n, a, b: n.extreme(">", a, b, signed=False),
    "arith.minui": lambda n, a, b: n.extreme("<", a, b, signed=False),
}
"""What operations on two integers compute, in any system."""
# By name, since all of them, and no others, have one of these words in theirs.
DIVISIONS = frozenset(name for name in MEANING if "div" in name or "rem" in name)
DIVISION_BY_ZERO = "division by zero"
"""Why a generator refuses its arguments where a divisor is."""

SAME_IN_INDEX = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "mul": "arith.muli",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
    "divs": "arith.divsi",
    "divu": "arith.divui",
    "rems": "arith.remsi",
    "remu": "arith.remui",
    "ceildivs": "arith.ceildivsi",
    "ceildivu": "arith.ceildivui",
    "floordivs": "arith.floordivsi",
    "shl": "arith.shli",
    "shrs": "arith.shrsi",
    "shru": "arith.shrui",
    "maxs": "arith.maxsi",
    "maxu": "arith.maxui",
    "mins": "arith.minsi",
    "minu": "arith.minui",
}
"""Operations of `index`, by their names there, and the same ones of `arith`."""
SAME_IN_LLVM = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "mul": "arith.muli",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
    "sdiv": "arith.divsi",
    "udiv": "arith.divui",
    "srem": "arith.remsi",
    "urem": "arith.remui",
    "shl": "arith.shli",
    "ashr": "arith.shrsi",
    "lshr": "arith.shrui",
}


class Floats(ABC, Generic[V]):
    """Numbers of a floating-point type, rounded to nearest, ties to even. A condition is what integers have."""

    @abstractmethod
    def combine(self, operator: str, a: V, b: V) -> V:
        """`+`, `-`, `*`, `/`, or `%` with the sign of the dividend."""

    @abstractmethod
    def negate(self, a: V) -> V: ...

    @abstractmethod
    def extreme(self, operator: str, a: V, b: V, numbers: bool) -> V:
        """The greater (`>`) or the lesser (`<`), -0 below +0. With a NaN that, or the other if only `numbers` count."""

    @abstractmethod
    def compare(self, operator: str, a: V, b: V, ordered: bool) -> Any:
        """With `ord` and `uno` too, which ask for NaNs alone; what a NaN gives is whether it is not `ordered`."""

    @abstractmethod
    def truth(self, answer: bool, like: V) -> Any:
        """A condition that is known."""

    def cmpf(self, predicate: int, a: V, b: V) -> Any:
        if not 1 <= predicate <= len(FLOAT_COMPARISONS):
            # The first predicate is never true, the last one always.
            return self.truth(predicate != 0, a)
        operator, ordered = FLOAT_COMPARISONS[predicate - 1]
        return self.compare(operator, a, b, ordered)


FLOAT_MEANING: dict[str, Callable[[Floats[Any], Any, Any], Any]] = {
    "arith.addf": lambda n, a, b: n.combine("+", a, b),
    "arith.subf": lambda n, a, b: n.combine("-", a, b),
    "arith.mulf": lambda n, a, b: n.combine("*", a, b),
    "arith.divf": lambda n, a, b: n.combine("/", a, b),
    "arith.remf": lambda n, a, b: n.combine("%", a, b),
    "arith.maximumf": lambda n, a, b: n.extreme(">", a, b, numbers=False),
    "arith.minimumf": lambda n, a, b: n.extreme("<", a, b, numbers=False),
    "arith.maxnumf": lambda n, a, b: n.extreme(">", a, b, numbers=True),
    "arith.minnumf": lambda n, a, b: n.extreme("<", a, b, numbers=True),
}
"""What operations on two numbers compute, in any system."""
