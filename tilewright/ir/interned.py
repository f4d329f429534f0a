"""Attributes of which programs hold many equal ones, each made and checked once: they never change."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute

AttributeT = TypeVar("AttributeT", bound=Attribute)

_KEPT = 1 << 13
"""How many of a kind are remembered: plenty for what repeats, little memory for what does not."""


def integer_array(type: IntegerType, values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    # by identity: hashing a type takes longer than all the rest, and nearly all are one of these objects
    if type is i64:
        return _i64_array(values)
    return _i32_array(values) if type is i32 else DenseArrayBase.from_list(type, values)


@lru_cache(_KEPT)
def _i64_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(_KEPT)
def _i32_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i32, values)


def unchecked(kind: type[AttributeT], **parts: object) -> AttributeT:
    """An attribute of parts that fit: xDSL's constructors check each, which takes ten times as long."""
    attr = object.__new__(kind)
    for name, part in parts.items():
        object.__setattr__(attr, name, part)  # attributes are frozen
    return attr


def array_numbers(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The integers of an array, which xDSL unpacks at each access."""
    # by identity: types are compared field by field, and nearly all are one of these objects
    if array.elt_type is i64 or array.elt_type is i32:
        return _unpacked("q" if array.elt_type is i64 else "i", array.data.data)
    return array.get_values()


@lru_cache(_KEPT)
def _unpacked(format: str, data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // struct.calcsize(f'<{format}')}{format}", data)


def wrapped_integer(value: int, type: IntegerType) -> IntegerAttr[IntegerType]:
    """The integer that the low bits of `value` stand for."""
    return i32_number(value) if type is i32 else _wrapped_integer(value, type)


@lru_cache(_KEPT)
def _wrapped_integer(value: int, type: IntegerType) -> IntegerAttr[IntegerType]:
    return i32_number(value) if type == i32 else IntegerAttr(value, type, truncate_bits=True)


@lru_cache(_KEPT)
def i32_number(value: int) -> IntegerAttr[I32]:
    """A 32-bit pattern as an attribute: lowered programs consist of little else."""
    number = unchecked(IntAttr, data=(int(value) + (1 << 31) & 0xFFFFFFFF) - (1 << 31))
    return cast("IntegerAttr[I32]", unchecked(IntegerAttr, value=number, type=i32))


@lru_cache(_KEPT)
def symbol_ref(root: StringAttr, nested: tuple[StringAttr, ...]) -> SymbolRefAttr:
    array = ArrayAttr(nested) if nested else _NOTHING
    return unchecked(SymbolRefAttr, root_reference=root, nested_references=array)


_NOTHING: ArrayAttr[StringAttr] = ArrayAttr(())
