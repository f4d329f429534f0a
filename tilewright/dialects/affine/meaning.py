"""The meaning of affine expressions and of mixed-radix systems, written once over an abstract system of numbers.

    rewrite/affine_lowering.py       operations of `arith`, step by step as MLIR writes them
    native/affine_maps.py            LLVM instructions
    native/ranges.py                 ranges
    gpu/emulator/lower_memory.py     instructions of the emulator
    interpreter/affine_maps.py       Python's integers, which wrap around

On Python integers xDSL computes expressions: `AffineExpr.eval`. Digits of known numbers are not folded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

V = TypeVar("V")

OPERATIONS = {
    AffineBinaryOpKind.Add: "arith.addi",
    AffineBinaryOpKind.Mul: "arith.muli",
    AffineBinaryOpKind.FloorDiv: "arith.floordivsi",
    AffineBinaryOpKind.CeilDiv: "arith.ceildivsi",
}
"""The same on indices; only the remainder has no counterpart in `arith`: it is never below 0."""


class AffineNumbers(ABC, Generic[V]):
    """Indices, and the operands that a map is applied to: dimensions first, then symbols."""

    dims: int

    @abstractmethod
    def constant(self, number: int) -> V: ...

    @abstractmethod
    def operand(self, number: int) -> V: ...

    @abstractmethod
    def compute(self, name: str, a: V, b: V) -> V:
        """An operation of `arith` by its name."""

    @abstractmethod
    def modulo(self, a: V, b: V) -> V: ...

    def evaluate(self, expr: AffineExpr) -> V:
        match expr:
            case AffineConstantExpr():
                return self.constant(expr.value)
            case AffineDimExpr():
                return self.operand(expr.position)
            case AffineSymExpr():
                return self.operand(self.dims + expr.position)
            case AffineBinaryOpExpr():
                # Left before right: it is the order in which MLIR writes operations.
                lhs, rhs = self.evaluate(expr.lhs), self.evaluate(expr.rhs)
                # `arith.remsi` has the sign of the dividend.
                if expr.kind is AffineBinaryOpKind.Mod:
                    return self.modulo(lhs, rhs)
                return self.compute(OPERATIONS[expr.kind], lhs, rhs)
            case _:
                raise TypeError(f"{expr} is not an affine expression")

    def linearize(self, digits: Sequence[V], basis: Sequence[V]) -> V:
        """The number with these digits, the outermost first."""
        total, *inner = digits
        # The outermost size may be given or not: it does not matter for the sum.
        for digit, size in zip(inner, basis[len(basis) - len(inner) :], strict=True):
            total = self.compute("arith.addi", self.compute("arith.muli", total, size), digit)
        return total

    def delinearize(self, number: V, basis: Sequence[V], count: int) -> list[V]:
        """The digits of a number; the outermost is what remains, whatever its size."""
        digits = list[V]()
        for size in reversed(basis[len(basis) - count + 1 :]):
            digits.insert(0, self.modulo(number, size))
            number = self.compute("arith.floordivsi", number, size)
        return [number, *digits]
