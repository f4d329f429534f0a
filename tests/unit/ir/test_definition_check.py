"""Operations are checked once for each shape; a check that outlives them must not take one for another."""

from __future__ import annotations

import gc

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.arith import AddiOp
from tilewright.ir.definition_check import DefinitionCheck


def addition(*types: Attribute) -> AddiOp:
    values = test.TestOp(result_types=types[:2]).results
    return AddiOp.create(operands=values, result_types=types[2:])


def test_a_check_that_lasts_sees_every_operation() -> None:
    """Types are made anew each time: sooner or later a wrong one lies where a right one was."""
    checks = DefinitionCheck(is_lasting=True)
    refused = 0
    for number in range(2000):
        width = 8 + number % 3
        types = [IntegerType(bits) for bits in (width, width, width + number % 2)]
        op = addition(*types)
        try:
            checks.check(AddiOp.get_irdl_definition(), op)
        except VerifyException:
            refused += 1
            assert number % 2
        del op, types
        if number % 500 == 0:
            gc.collect()
    assert refused == 1000


def test_shapes_that_are_known_are_not_taken_for_others() -> None:
    checks = DefinitionCheck()
    right, wrong = addition(i32, i32, i32), addition(i32, i32, i64)
    definition = AddiOp.get_irdl_definition()
    for _ in range(2):
        checks.check(definition, right)
        with pytest.raises(VerifyException):
            checks.check(definition, wrong)
    other = addition(i32, i32, i32)
    other.properties["overflowFlags"] = IntegerAttr(1, i32)
    with pytest.raises(VerifyException):
        checks.check(definition, other)
