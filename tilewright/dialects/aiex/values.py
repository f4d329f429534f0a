"""Numbers that are known or not: lists of integers and SSA values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.dialects.aie.lookup import constant_value


def constant_values(values: Sequence[SSAValue | int]) -> list[int | None]:
    """Each integer, and what each value is known to be."""
    return [value if isinstance(value, int) else constant_value(value) for value in values]
