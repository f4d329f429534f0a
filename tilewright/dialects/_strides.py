"""The strides and the offset of a memref, where its layout has any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import MemRefType, NoneAttr, ShapedType, StridedLayoutAttr
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)


class Strided(NamedTuple):
    """Strides per dimension and the offset, in elements; None stands for a dynamic one."""

    strides: tuple[int | None, ...]
    offset: int | None


def strided_form(type: MemRefType) -> Strided | None:
    """The strides and the offset of a memref type; None if its layout is not strided."""
    match type.layout:
        case NoneAttr():
            return Strided(ShapedType.strides_for_shape(type.get_shape()), 0)
        case StridedLayoutAttr():
            return Strided(tuple(type.layout.get_strides()), type.layout.get_offset())
        case layout:
            map = layout.get_affine_map()
            # a map of several results has no single stride for a dimension
            terms = _Terms([0] * map.num_dims)
            if len(map.results) != 1 or not terms.add(map.results[0], 1):
                return None
            return Strided(tuple(terms.strides), terms.offset)


class _Terms:
    """An affine expression taken apart into one factor per dimension and a constant."""

    def __init__(self, strides: list[int | None]):
        self.strides = strides
        self.offset: int | None = 0

    def add(self, expr: AffineExpr, factor: int | None) -> bool:
        """Add `expr * factor`; False if `expr` is not linear in the dimensions."""
        match expr:
            case AffineConstantExpr():
                self.offset = _sum(self.offset, expr.value, factor)
                return True
            case AffineSymExpr():
                self.offset = None  # symbols of a layout have no values here
                return True
            case AffineDimExpr():
                self.strides[expr.position] = _sum(self.strides[expr.position], 1, factor)
                return True
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
                return self.add(expr.lhs, factor) and self.add(expr.rhs, factor)
            # the constant of a product is on the right: xDSL puts it there
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=value)):
                return self.add(expr.lhs, None if factor is None else factor * value)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineSymExpr()):
                return self.add(expr.lhs, None)
            case _:
                return False


def _sum(old: int | None, value: int, factor: int | None) -> int | None:
    return None if old is None or factor is None else old + value * factor


def compatible(first: Sequence[int | None], second: Sequence[int | None]) -> bool:
    """Whether two lists agree wherever both are static."""
    return len(first) == len(second) and all(
        a is None or b is None or a == b for a, b in zip(first, second, strict=True)
    )
