"""What an operation's definition refuses is said in MLIR's words."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    SignlessIntegerConstraint,
    StringAttr,
    VectorType,
    container_of,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.irdl import AttrConstraint, EqAttrConstraint, base

from tilewright.ir.constraints import describe, described


@pytest.mark.parametrize(
    "constraint, words",
    [
        (EqAttrConstraint(IndexType()), "index"),
        (EqAttrConstraint(i1), "1-bit signless integer"),
        (EqAttrConstraint(IntegerType(8, Signedness.UNSIGNED)), "8-bit unsigned integer"),
        (EqAttrConstraint(f32), "32-bit float"),
        (base(MemRefType), "memref of any type values"),
        (VectorType.constr(i1), "vector of 1-bit signless integer values"),
        (MemRefType.constr(SignlessIntegerConstraint | AnyFloatConstr), None),
        (SignlessIntegerConstraint | base(IndexType), "signless integer or index"),
        (container_of(AnyFloatConstr), "floating-point-like"),
        (container_of(base(IntegerType) | base(IndexType)), "signless-integer-like"),
        (container_of(i1), "bool-like"),
        (IntegerAttr.constr(i32), "32-bit signless integer attribute"),
        (DenseArrayBase.constr(i64), "i64 dense array attribute"),
        (base(StringAttr), "string attribute"),
        (described(base(MemRefType), "a buffer"), "a buffer"),
    ],
    ids=str,
)
def test_describe(constraint: AttrConstraint, words: str | None):
    assert words is None or describe(constraint) == words


def test_a_description_can_carry_a_condition():
    square = described(base(MemRefType), "square buffer", lambda type: len(set(type.get_shape())) == 1)
    assert square.verifies(MemRefType(f32, [4, 4]))
    assert not square.verifies(MemRefType(f32, [4, 5]))
    assert not square.verifies(f32)
