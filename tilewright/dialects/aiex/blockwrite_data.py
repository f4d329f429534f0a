"""Data globals of block writes: the constant global that holds the words, and references to it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from struct import pack
from typing import NamedTuple

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute

from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects.memref.buffers import GetGlobalOp, GlobalOp
from tilewright.ir.interned import symbol_ref, unchecked


class DataGlobalRef(NamedTuple):
    """A data global as `memref.get_global` refers to it."""

    symbol: SymbolRefAttr
    type: Attribute

    @staticmethod
    def of(data: GlobalOp) -> DataGlobalRef:
        return DataGlobalRef(symbol_ref(data.sym_name, ()), data.type)

    def read(self) -> GetGlobalOp:
        return GetGlobalOp.create(properties={"name": self.symbol}, result_types=[self.type])


def words_to_bytes(words: Iterable[int]) -> bytes:
    """Words, of either sign, as they lie in memory."""
    patterns = [word & WORD_MASK for word in words]
    return pack(f"<{len(patterns)}I", *patterns)


def make_data_global(name: str, data: bytes) -> GlobalOp:
    """A global that holds words, given as they lie in memory."""
    count = len(data) // WORD_BYTES
    words = unchecked(DenseIntOrFPElementsAttr, type=_tensor_type(count), data=unchecked(BytesAttr, data=data))
    return GlobalOp.create(
        properties={
            "sym_name": unchecked(StringAttr, data=name),
            "sym_visibility": _PRIVATE,
            "type": _data_type(count),
            "initial_value": words,
            "constant": _CONSTANT,
        }
    )


_PRIVATE, _CONSTANT = StringAttr("private"), UnitAttr()


# configurations have thousands of globals, of few lengths
@cache
def _data_type(count: int) -> MemRefType:
    return MemRefType(i32, [count])


@cache
def _tensor_type(count: int) -> TensorType[IntegerType]:
    return TensorType(i32, [count])


def data_of_global(op: GlobalOp) -> bytes | None:
    """The contents of a global that a block write can have as its data."""
    value, type = op.initial_value, op.type
    if not isinstance(value, DenseIntOrFPElementsAttr) or len(type.get_shape()) != 1:
        return None
    return value.data.data if type == _data_type(type.get_shape()[0]) else None
