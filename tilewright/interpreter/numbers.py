"""Numbers as a program has them: integers as Python's with their sign, other numbers as Python's floats.

A vector of any rank is a list of its elements in row-major order. A condition that holds is -1, which is one bit with a
sign. What MLIR leaves undefined gives 0, as in native code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from struct import Struct
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from tilewright.dialects import arith, index
from tilewright.dialects.aie.data_layout import INDEX_BITS, type_bytes
from tilewright.dialects.arith.casts import TruncFOp
from tilewright.dialects.arith.meaning import DIVISIONS, FLOAT_MEANING, MEANING, PREDICATES, RESIZES, SAME_IN_INDEX
from tilewright.dialects.vector.types import element_type
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.native.traps import Untranslatable
from tilewright.rewrite.folding.arith_floats import FLOATS
from tilewright.rewrite.folding.floats import from_bits, round_to, to_bits
from tilewright.rewrite.integers import UndefinedResult, integers, mask, signed

Number: TypeAlias = "int | float"
Function: TypeAlias = (
    "Callable[[], Any] | Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]"
)
"""Operands in, the result out; for several results a tuple."""
Call: TypeAlias = Callable[..., Any]
"""A function of as many operands as an operation has."""
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_FLOAT_CODES: dict[type[Attribute], str] = {Float16Type: "e", Float32Type: "f", Float64Type: "d"}
NEAREST_EVEN = 0
WIDEST = 64


class Kind:
    """Scalars of one type: how they are in memory, and what a number is as one of them."""

    def __init__(self, type: Attribute):
        self.type, self.size = type, type_bytes(type)

    def of(self, number: Any) -> Number:
        """The number of this kind that is meant by one."""
        raise NotImplementedError

    def read(self, memory: Any, offset: int) -> Any:
        raise NotImplementedError

    def write(self, memory: Any, offset: int, value: Any) -> None:
        raise NotImplementedError


class IntegerKind(Kind):
    """Integers; those of less than 8 bits take a byte each."""

    def __init__(self, type: IntegerType | IndexType):
        super().__init__(type)
        self.width = type.width.data if isinstance(type, IntegerType) else INDEX_BITS
        self._packed = Struct(f"<{_CODES[self.size]}") if self.width == 8 * self.size and self.size in _CODES else None

    def of(self, number: Any) -> int:
        return signed(int(number), self.width)

    def read(self, memory: Any, offset: int) -> int:
        if self._packed is not None:
            return self._packed.unpack_from(memory, offset)[0]
        return signed(int.from_bytes(bytes(memory[offset : offset + self.size]), "little"), self.width)

    def write(self, memory: Any, offset: int, value: int) -> None:
        if self._packed is not None:
            self._packed.pack_into(memory, offset, value)
        else:
            memory[offset : offset + self.size] = (value & mask(self.width)).to_bytes(self.size, "little")


class FloatKind(Kind):
    def __init__(self, type: AnyFloat):
        super().__init__(type)
        code = _FLOAT_CODES.get(type.__class__)
        if code is None and not isinstance(type, BFloat16Type):
            raise Untranslatable(f"no native type for {shown(type)}")
        self._packed = None if code is None else Struct(f"<{code}")
        # NumPy's types for functions of `math`; narrow numbers are computed as f32.
        self.wide = np.float64 if isinstance(type, Float64Type) else np.float32

    def of(self, number: Any) -> float:
        return round_to(float(number), cast(Any, self.type))

    def read(self, memory: Any, offset: int) -> float:
        if self._packed is not None:
            return self._packed.unpack_from(memory, offset)[0]
        bits = int.from_bytes(bytes(memory[offset : offset + self.size]), "little")
        return cast(float, from_bits(bits, cast(Any, self.type)))

    def write(self, memory: Any, offset: int, value: float) -> None:
        if self._packed is not None:
            self._packed.pack_into(memory, offset, value)
        else:
            memory[offset : offset + self.size] = cast(int, to_bits(value, cast(Any, self.type))).to_bytes(
                self.size, "little"
            )


class VectorKind(Kind):
    """Vectors, element after element."""

    def __init__(self, type: VectorType):
        super().__init__(type)
        if any(type.get_scalable_dims()):
            raise Untranslatable(f"the length of {type} is not known")
        self.element, self.count = kind_of(type.element_type), math.prod(type.get_shape())

    def of(self, number: Any) -> Any:
        return [self.element.of(number)] * self.count

    def read(self, memory: Any, offset: int) -> list[Number]:
        return [self.element.read(memory, offset + n * self.element.size) for n in range(self.count)]

    def write(self, memory: Any, offset: int, value: Sequence[Number]) -> None:
        for n, number in enumerate(value):
            self.element.write(memory, offset + n * self.element.size, number)


@cache
def kind_of(type: Attribute) -> Kind:
    """The kind that scalars or vectors of a type are of."""
    match type:
        case IntegerType() | IndexType():
            return IntegerKind(type)
        case VectorType():
            return VectorKind(type)
        case _ if isinstance(type, AnyFloat):
            return FloatKind(type)
        case _:
            raise Untranslatable(f"no native type for {shown(type)}")


def width_of(type: Attribute) -> int:
    """The bits of an integer, or of each of a vector's."""
    kind = kind_of(element_type(type))
    assert isinstance(kind, IntegerKind), "the verifier wants integers"
    return kind.width


def on_elements(type: Attribute, function: Function) -> Call:
    """A function of scalars as one of what a type has: of vectors, element by element."""
    on_scalars: Call = function
    if not isinstance(type, VectorType):
        return on_scalars

    def on_vectors(*vectors: Sequence[Any]) -> list[Any]:
        return [on_scalars(*lane) for lane in zip(*vectors, strict=True)]

    return on_vectors


def integer_function(name: str, width: int) -> Callable[[int, int], int]:
    """An operation of `arith` on two integers."""
    if name in DIVISIONS:
        _want_at_most_64_bits(width)
    meaning = partial(MEANING[name], integers(width))

    def compute(a: int, b: int) -> int:
        try:
            return signed(meaning(a, b), width)
        except UndefinedResult:
            return 0

    return compute


def float_function(name: str, type: AnyFloat) -> Callable[[float, float], float]:
    meaning = partial(FLOAT_MEANING[name], FLOATS)
    return lambda a, b: round_to(meaning(a, b), cast(Any, type))


def combining(name: str, type: Attribute) -> Callable[[Any, Any], Any]:
    """A binary operation of `arith` by its name, on scalars of an element type."""
    return float_function(name, type) if isinstance(type, AnyFloat) else integer_function(name, width_of(type))


def _binary(name: str) -> Callable[[Operation], Call]:
    def make(op: Operation) -> Call:
        type = op.results[0].type
        return on_elements(type, combining(name, element_type(type)))

    return make


def _constant(op: Operation) -> Function:
    kind = kind_of(op.results[0].type)
    match op.properties["value"]:
        case IntegerAttr() | FloatAttr() as number:
            value = kind.of(number.value.data)
        case DenseIntOrFPElementsAttr() as numbers if isinstance(kind, VectorKind):
            found = [kind.element.of(number) for number in numbers.get_values()]
            value = found * kind.count if len(found) == 1 else found
        case _:
            fail_op(op, "has no native translation: its value is no number and no list of numbers")
    return lambda: value


def truth(holds: object) -> int:
    """One bit."""
    return -1 if holds else 0


def _cmpi(op: arith.CmpiOp | index.CmpOp) -> Call:
    predicate = PREDICATES.index(op.pred.data) if isinstance(op, index.CmpOp) else op.predicate.value.data
    compare = integers(width_of(op.lhs.type)).cmpi
    return on_elements(op.lhs.type, lambda a, b: truth(compare(predicate, a, b)))


def _cmpf(op: arith.CmpfOp) -> Call:
    predicate = op.predicate.value.data
    return on_elements(op.lhs.type, lambda a, b: truth(FLOATS.cmpf(predicate, a, b)))


def _select(op: Operation) -> Function:
    if isinstance(op.operands[0].type, VectorType):
        return lambda conditions, yes, no: [
            a if condition else b for condition, a, b in zip(conditions, yes, no, strict=True)
        ]
    return lambda condition, yes, no: yes if condition else no


def _resize(is_signed: bool) -> Callable[[Operation], Call]:
    def make(op: Operation) -> Call:
        source, target = integers(width_of(op.operands[0].type)), width_of(op.results[0].type)
        return on_elements(op.results[0].type, lambda a: signed(source.read(a, is_signed), target))

    return make


def _change_sign(op: Operation) -> Function:
    source, result = op.operands[0].type, op.results[0].type
    are_integers = all(isinstance(type, IntegerType | IndexType) for type in (source, result))
    if not are_integers or width_of(source) != width_of(result):
        raise Untranslatable(f"{shown(source)} is no {shown(result)}")
    return lambda a: a


def _extf(op: Operation) -> Function:
    for type in (op.operands[0].type, op.results[0].type):
        kind_of(type)
    return lambda a: a


def _truncf(op: TruncFOp) -> Call:
    if op.roundingmode is not None and op.roundingmode.value.data != NEAREST_EVEN:
        fail_op(op, "has no native translation: only rounding to nearest even is known here")
    return on_elements(op.results[0].type, kind_of(element_type(op.results[0].type)).of)


def bitcast(op: Operation) -> Call:
    """The same bytes as another type."""
    source, target = kind_of(op.operands[0].type), kind_of(op.results[0].type)

    def cast_bits(value: Any) -> Any:
        memory = bytearray(max(source.size, target.size))
        source.write(memory, 0, value)
        return target.read(memory, 0)

    return cast_bits


def _want_at_most_64_bits(width: int) -> None:
    if width > WIDEST:
        raise Untranslatable("there are only integers of up to 64 bits for divisions and conversions")


def _to_float(is_signed: bool) -> Callable[[Operation], Call]:
    def make(op: Operation) -> Call:
        source, target = integers(width_of(op.operands[0].type)), element_type(op.results[0].type)
        _want_at_most_64_bits(source.width)
        return on_elements(
            op.results[0].type, lambda a: round_to(Fraction(source.read(a, is_signed)), cast(Any, target))
        )

    return make


def _to_integer(is_signed: bool) -> Callable[[Operation], Call]:
    """Rounds toward zero; what does not fit becomes the nearest number that does, a NaN becomes 0."""

    def make(op: Operation) -> Call:
        width = width_of(op.results[0].type)
        _want_at_most_64_bits(width)
        low, high = (-(1 << width - 1), mask(width - 1)) if is_signed else (0, mask(width))

        def convert(a: float) -> int:
            if math.isnan(a):
                return 0
            whole = (low if a < 0 else high) if math.isinf(a) else min(max(math.trunc(a), low), high)
            return signed(whole, width)

        return on_elements(op.results[0].type, convert)

    return make


def _extended(is_signed: bool) -> Callable[[Operation], Call]:
    """Both halves of a product."""

    def make(op: Operation) -> Call:
        numbers = integers(width_of(op.results[0].type))

        def halves(a: int, b: int) -> tuple[int, int]:
            full = numbers.read(a, is_signed) * numbers.read(b, is_signed)
            return signed(full, numbers.width), signed(full >> numbers.width, numbers.width)

        return pairs(op.results[0].type, halves)

    return make


def _add_extended(op: Operation) -> Call:
    numbers = integers(width_of(op.results[0].type))

    def add(a: int, b: int) -> tuple[int, int]:
        total = numbers.read(a, False) + numbers.read(b, False)
        return signed(total, numbers.width), truth(total >> numbers.width)

    return pairs(op.results[0].type, add)


def pairs(type: Attribute, function: Call) -> Call:
    """A function with two results, on what a type has."""
    if not isinstance(type, VectorType):
        return function
    return lambda *values: tuple(map(list, zip(*(function(*lane) for lane in zip(*values, strict=True)), strict=True)))


def _negate(op: Operation) -> Call:
    return on_elements(op.results[0].type, FLOATS.negate)


def _poison(op: Operation) -> Function:
    """A value that no program may rely on: always the same one, so that two runs are alike."""
    value = kind_of(op.results[0].type).of(0)
    return lambda: value


COMPUTE: dict[str, Callable[[Any], Function]] = {
    **{name: _binary(name) for name in (*MEANING, *FLOAT_MEANING)},
    **{f"index.{name}": _binary(same) for name, same in SAME_IN_INDEX.items()},
    **dict.fromkeys(("arith.constant", "index.constant", "index.bool.constant"), _constant),
    "arith.negf": _negate,
    "arith.cmpi": _cmpi,
    "index.cmp": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "index.sizeof": lambda op: lambda: INDEX_BITS,
    **{name: _resize(is_signed) for name, is_signed in RESIZES.items()},
    "index.casts": _resize(is_signed=True),
    "index.castu": _resize(is_signed=False),
    "builtin.unrealized_conversion_cast": _change_sign,
    "arith.extf": _extf,
    "arith.truncf": _truncf,
    "arith.bitcast": bitcast,
    "arith.sitofp": _to_float(is_signed=True),
    "arith.uitofp": _to_float(is_signed=False),
    "arith.fptosi": _to_integer(is_signed=True),
    "arith.fptoui": _to_integer(is_signed=False),
    "arith.mulsi_extended": _extended(is_signed=True),
    "arith.mului_extended": _extended(is_signed=False),
    "arith.addui_extended": _add_extended,
    "ub.poison": _poison,
}
"""By operation: what gives the function that computes its results."""
