"""Fields of instructions that are numbers of the program, or values that are known only at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, base, opt_prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device.layout import WORD_BITS
from tilewright.dialects.aie.lookup import constant_value
from tilewright.ir.constraints import described

WORD_VALUE = described(SignlessIntegerConstraint | base(IndexType), "signless integer or index")
"""What words of instructions are made of: narrow values have no sign, of wide ones the low 32 bits count."""

Number: TypeAlias = "int | SSAValue"


def known_word(value: SSAValue) -> int | None:
    """The number that a value of an instruction is known to be: one of fewer than 32 bits has no sign."""
    number = constant_value(value)
    return None if number is None else _unsigned_if_narrow(number, value.type)


def _unsigned_if_narrow(number: int, type: Attribute) -> int:
    if isinstance(type, IntegerType) and type.bitwidth < WORD_BITS:
        return number & (1 << type.bitwidth) - 1
    return number


class RuntimeFields(IRDLOperation):
    """An instruction whose fields are properties, or values; the property of a field that is a value is 0."""

    values = var_operand_def(WORD_VALUE)
    runtime_fields = opt_prop_def(ArrayAttr[StringAttr])  # the names of the values, in their order

    OTHER_OPERANDS: ClassVar[int] = 0
    """Operands besides the values."""
    RUNTIME_FIELDS: ClassVar[Sequence[str]]
    """The fields that values can be given for. Values without names are for the first of them."""
    SHOWN_BESIDE: ClassVar[Sequence[str]] = ()
    """Fields whose numbers are written beside their values."""
    KEEPS_ORDER: ClassVar[bool] = False
    """Whether the text has the values in the order of the fields."""

    @property
    def has_values(self) -> bool:
        return len(self._operands) > self.OTHER_OPERANDS

    @property
    def runtime(self) -> dict[str, SSAValue]:
        """The fields that are values."""
        if not self.has_values:
            return {}
        return dict(zip(self._value_names, self.values, strict=False))

    @property
    def _value_names(self) -> Sequence[str]:
        if self.runtime_fields is None:
            return self.RUNTIME_FIELDS[: len(self.values)]
        return [name.data for name in self.runtime_fields]

    def number(self, name: str) -> Number:
        """A field: its number with sign if that is known, else its value."""
        if self.has_values and (value := self.runtime.get(name)) is not None:
            known = known_word(value)
            return value if known is None else known
        attr = self.properties.get(name)
        if not isinstance(attr, IntegerAttr):
            return 0
        type = cast(Any, attr).type
        return attr.value.data if type is i32 else _unsigned_if_narrow(attr.value.data, type)

    def known_number(self, name: str) -> int | None:
        number = self.number(name)
        return number if isinstance(number, int) else None

    def verify_runtime_fields(self) -> None:
        if not self.has_values and self.runtime_fields is None:
            return  # nearly all
        names = self._value_names
        if len(names) != len(self.values) or len(set(names)) != len(names):
            raise VerifyException(f"has {len(self.values)} runtime values for {len(set(names))} fields")
        if unknown := [name for name in names if name not in self.RUNTIME_FIELDS]:
            raise VerifyException(f"has no field '{unknown[0]}' that can be a runtime value")
        if (self.runtime_fields is not None) != self._needs_names(names):
            raise VerifyException("names its runtime values where it has some, and nowhere else")
        if self.KEEPS_ORDER and list(names) != [name for name in self.RUNTIME_FIELDS if name in names]:
            raise VerifyException("has its runtime values in another order than their fields")
        for name in names:
            attr = self.properties.get(name)
            if name not in self.SHOWN_BESIDE and isinstance(attr, IntegerAttr) and attr.value.data != 0:
                raise VerifyException(f"has '{name}' both as a number and as a value")

    def _needs_names(self, names: Sequence[str]) -> bool:
        return bool(names)


def field_names(names: Sequence[str]) -> dict[str, Attribute]:
    """The property that names the values, where there are some."""
    return {"runtime_fields": ArrayAttr([StringAttr(name) for name in names])} if names else {}


def parse_typed_operand(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def print_typed_operand(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)
