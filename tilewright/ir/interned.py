"""Attributes of which programs hold many equal ones, each made and checked once: they never change."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr

_KEPT = 1 << 13
"""How many of a kind are remembered: plenty for what repeats, little memory for what does not."""


@lru_cache(_KEPT)
def integer_array(type: IntegerType, values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(type, values)


@lru_cache(_KEPT)
def wrapped_integer(value: int, type: IntegerType) -> IntegerAttr[IntegerType]:
    """The integer that the low bits of `value` stand for."""
    return IntegerAttr(value, type, truncate_bits=True)


@lru_cache(_KEPT)
def symbol_ref(root: StringAttr, nested: tuple[StringAttr, ...]) -> SymbolRefAttr:
    return SymbolRefAttr(root, ArrayAttr(nested))
