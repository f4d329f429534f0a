"""What functions of the runtime take and give, in letters, for the program's side and for Python's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType, UnrankedMemRefType
from xdsl.ir import Attribute

from tilewright.dialects.llvm import LLVMPointerType, LLVMVoidType
from tilewright.gpu.host.letters import pointer_maker
from tilewright.native.values import F32, F64, I32, I64, POINTER

VOID = ir.VoidType()
_NATIVE = {"p": POINTER, "l": I64, "i": I32, "b": I32, "h": I32, "f": F32, "d": F64, "v": VOID}
"""LLVM's type for each letter; callers widen small integers, as C's conventions have it."""
_WORDS = {
    "p": "!llvm.ptr",
    "l": "i64",
    "i": "i32",
    "b": "i1",
    "h": "i16",
    "f": "f32",
    "d": "f64",
    "v": "()",
    "?": "a type that no function of the runtime has",
}
_WIDTHS = {1: "b", 8: "b", 16: "h", 32: "i", 64: "l"}


@dataclass(frozen=True)
class Signature:
    """`result(parameters)`, one letter each: p pointer, l i64, i i32, h i16, b i1, f f32, d f64, v nothing."""

    letters: str

    @property
    def result(self) -> str:
        return self.letters[0]

    @property
    def parameters(self) -> str:
        return self.letters[2:-1]

    def native(self) -> ir.FunctionType:
        return ir.FunctionType(_NATIVE[self.result], [_NATIVE[letter] for letter in self.parameters])

    def python(self) -> Any:
        """What makes a pointer out of a Python function."""
        return pointer_maker(self.letters)

    def __str__(self) -> str:
        return f"({', '.join(_WORDS[letter] for letter in self.parameters)}) -> {_WORDS[self.result]}"


def letters_of(type: Attribute) -> str:
    """The letter of a type in a program; `?` if there is none. A memref without rank is a rank and a pointer."""
    match type:
        case UnrankedMemRefType():
            return "lp"
        case LLVMPointerType():
            return "p"
        case IndexType():
            return "l"
        case IntegerType():
            return _WIDTHS.get(type.width.data, "?")
        case Float32Type():
            return "f"
        case Float64Type():
            return "d"
        case _:
            return "?"


def declared_signature(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> Signature:
    """What a declaration in a program says."""
    results = [type for type in outputs if not isinstance(type, LLVMVoidType)]
    result = "v" if not results else letters_of(results[0]) if len(results) == 1 else "?"
    return Signature(f"{result}({''.join(map(letters_of, inputs))})")
