"""The meaning of integer operations, written once over an abstract system of numbers.

`Integers` has one method for each operation of `arith`, by its name there. A system says how it adds, divides and
compares; whatever can be computed from that is defined here. The systems live with their users:

    rewrite/integers.py                           Python integers: folding, evaluation, the interpreter
    native/integers.py                            LLVM instructions
    passes/cpp/convert_aiex_to_emitc/arith.py     C++ operators
    native/ranges.py, lint_queue_depth/values.py  ranges and known bits; they know some of the operations only
    gpu/emulator/write_numbers.py                 lanes, in NumPy; one instruction for each operation of `index`

All of them agree where MLIR defines the result. Where it does not, they differ:

                                  folding        interpreter   LLVM, C++   lanes
    division by zero              stays          0             0           fault
    quotient that does not fit    stays; `index` wraps it
                                                 0             0           fault
    shift by the width or more    stays          0             0           0, or the sign for shrsi
    ceildivsi of, or by, the      stays, as MLIR (its folder negates both)
    smallest integer                             the quotient  as there    as there
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")

PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Of `arith.cmpi` and `index.cmp`, in the order of their numbers."""
COMPARISONS: tuple[tuple[str, bool | None], ...] = (
    *(("==", None), ("!=", None)),
    *(("<", True), ("<=", True), (">", True), (">=", True)),
    *(("<", False), ("<=", False), (">", False), (">=", False)),
)
"""The operator of each predicate, and whether it heeds the sign (None: makes no difference)."""

INDEX_NAMES = {
    "add": "addi",
    "sub": "subi",
    "mul": "muli",
    "and": "andi",
    "or": "ori",
    "xor": "xori",
    "divs": "divsi",
    "divu": "divui",
    "rems": "remsi",
    "remu": "remui",
    "ceildivs": "ceildivsi",
    "ceildivu": "ceildivui",
    "floordivs": "floordivsi",
    "shl": "shli",
    "shrs": "shrsi",
    "shru": "shrui",
    "maxs": "maxsi",
    "maxu": "maxui",
    "mins": "minsi",
    "minu": "minui",
}
"""Operations of `index` by their names there: those of `arith` that they are."""
BINARY = {f"arith.{name}": name for name in INDEX_NAMES.values()}
DIVISIONS = frozenset(name for name in BINARY if "div" in name or "rem" in name)
RESIZES = {
    "arith.trunci": False,
    "arith.extui": False,
    "arith.extsi": True,
    "arith.index_cast": True,
    "arith.index_castui": False,
}
"""Conversions between widths, and whether a number that becomes wider keeps its sign."""


class Integers(ABC, Generic[V]):
    """Integers that wrap around at their width; both operands have the same."""

    @abstractmethod
    def constant(self, number: int, like: V) -> V:
        """A number of the width that another has."""

    @abstractmethod
    def addi(self, a: V, b: V) -> V: ...

    @abstractmethod
    def subi(self, a: V, b: V) -> V: ...

    @abstractmethod
    def muli(self, a: V, b: V) -> V: ...

    @abstractmethod
    def andi(self, a: V, b: V) -> V: ...

    @abstractmethod
    def ori(self, a: V, b: V) -> V: ...

    @abstractmethod
    def xori(self, a: V, b: V) -> V: ...

    @abstractmethod
    def quotient(self, a: V, b: V, signed: bool) -> V:
        """Rounded towards zero; called where `divided` says so."""

    @abstractmethod
    def remainder(self, a: V, b: V, signed: bool) -> V:
        """With the sign of the dividend."""

    @abstractmethod
    def shift_left(self, a: V, b: V, signed: bool) -> V: ...

    @abstractmethod
    def shift_right(self, a: V, b: V, signed: bool) -> V: ...

    @abstractmethod
    def compare(self, symbol: str, a: V, b: V, signed: bool | None) -> V:
        """A condition, which is a number of one bit."""

    @abstractmethod
    def select(self, condition: V, a: V, b: V) -> V: ...

    @abstractmethod
    def divided(self, a: V, b: V, signed: bool, compute: Callable[[V, V, bool], V]) -> V:
        """`compute`, but not where the divisor is zero or the result does not fit: MLIR leaves that undefined."""

    @abstractmethod
    def shifted(self, a: V, b: V, signed: bool, compute: Callable[[V, V, bool], V]) -> V:
        """`compute`, but not where the shift is by the width or more."""

    # Parts of the definitions below that a system may say in a shorter way

    def both(self, a: V, b: V) -> V:
        return self.andi(a, b)

    def signs_agree(self, a: V, b: V, expected: bool) -> V:
        """Whether two numbers have the same sign, or do not if that is expected."""
        return self.compare(">=" if expected else "<", self.xori(a, b), self.constant(0, a), True)

    def step_if(self, condition: V, number: V, up: bool) -> V:
        """The next number where a condition holds."""
        return self.select(condition, (self.addi if up else self.subi)(number, self.constant(1, number)), number)

    def extreme(self, symbol: str, a: V, b: V, signed: bool) -> V:
        return self.select(self.compare(symbol, a, b, signed), a, b)

    # Definitions

    def rounded(self, a: V, b: V, signed: bool, up: bool) -> V:
        """The quotient towards zero is off by one if something remains and the exact one lies on the other side."""
        quotient, remainder = self.quotient(a, b, signed), self.remainder(a, b, signed)
        off = self.compare("!=", remainder, self.constant(0, remainder), None)
        if signed:
            off = self.both(off, self.signs_agree(remainder, b, expected=up))
        return self.step_if(off, quotient, up)

    def floor(self, a: V, b: V, signed: bool) -> V:
        return self.rounded(a, b, signed, up=False)

    def ceil(self, a: V, b: V, signed: bool) -> V:
        return self.rounded(a, b, signed, up=True)

    def divsi(self, a: V, b: V) -> V:
        return self.divided(a, b, True, self.quotient)

    def divui(self, a: V, b: V) -> V:
        return self.divided(a, b, False, self.quotient)

    def remsi(self, a: V, b: V) -> V:
        return self.divided(a, b, True, self.remainder)

    def remui(self, a: V, b: V) -> V:
        return self.divided(a, b, False, self.remainder)

    def floordivsi(self, a: V, b: V) -> V:
        return self.divided(a, b, True, self.floor)

    def ceildivsi(self, a: V, b: V) -> V:
        return self.divided(a, b, True, self.ceil)

    def ceildivui(self, a: V, b: V) -> V:
        return self.divided(a, b, False, self.ceil)

    def shli(self, a: V, b: V) -> V:
        return self.shifted(a, b, False, self.shift_left)

    def shrui(self, a: V, b: V) -> V:
        return self.shifted(a, b, False, self.shift_right)

    def shrsi(self, a: V, b: V) -> V:
        return self.shifted(a, b, True, self.shift_right)

    def maxsi(self, a: V, b: V) -> V:
        return self.extreme(">", a, b, True)

    def minsi(self, a: V, b: V) -> V:
        return self.extreme("<", a, b, True)

    def maxui(self, a: V, b: V) -> V:
        return self.extreme(">", a, b, False)

    def minui(self, a: V, b: V) -> V:
        return self.extreme("<", a, b, False)

    def cmpi(self, predicate: int, a: V, b: V) -> V:
        symbol, signed = COMPARISONS[predicate]
        return self.compare(symbol, a, b, signed)
