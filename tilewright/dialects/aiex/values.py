"""Numbers that are known or not: lists of integers and SSA values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.aie.lookup import constant_value


def constant_values(values: Sequence[SSAValue | int]) -> list[int | None]:
    """Each integer, and what each value is known to be."""
    return [value if isinstance(value, int) else constant_value(value) for value in values]


def mixed_values(static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue], what: str) -> list[SSAValue | int]:
    """A list whose entries are integers or values: `static` has a marker where the next of `dynamic` belongs."""
    integers = static.get_values()
    expected = integers.count(DYNAMIC_INDEX)
    if expected != len(dynamic):
        raise VerifyException(f"expected {expected} dynamic {what} values")
    remaining = iter(dynamic)
    return [next(remaining) if integer == DYNAMIC_INDEX else integer for integer in integers]
