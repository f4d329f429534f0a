"""The index dialect: arithmetic on numbers of the machine's index width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, IntegerType, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    EqAttrConstraint,
    IRDLOperation,
    base,
    irdl_attr_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, ConstantLike, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import parse_enum_word, print_attributes
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted

INDEX_TYPE = IndexType()
INTEGER_OR_INDEX = described(base(IndexType) | base(IntegerType), "integer or index")


class CmpPredicate(StrEnum):
    """How `index.cmp` compares."""

    # s and u: an index has no sign of its own
    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SLE = "sle"
    SGT = "sgt"
    SGE = "sge"
    ULT = "ult"
    ULE = "ule"
    UGT = "ugt"
    UGE = "uge"


@irdl_attr_definition
class CmpPredicateAttr(EnumAttribute[CmpPredicate], SpacedOpaqueSyntaxAttribute):
    name = "index.cmp_predicate"


class _Binary(IRDLOperation):
    """`%a, %b`, both and the result of type `index`."""

    lhs = operand_def(IndexType)
    rhs = operand_def(IndexType)
    result = result_def(IndexType)
    assembly_format = "$lhs `,` $rhs attr-dict"


class _Pure(_Binary):
    traits = traits_def(Pure())


class _Commutative(_Pure):
    traits = traits_def(Commutative())


class _Division(_Binary):
    # not Pure: a division that moved in front of the check for zero would be undefined
    traits = traits_def(NoMemoryEffect())


@op_definition
class AddOp(_Commutative):
    name = "index.add"


@op_definition
class SubOp(_Pure):
    name = "index.sub"


@op_definition
class MulOp(_Commutative):
    name = "index.mul"


@op_definition
class DivSOp(_Division):
    name = "index.divs"


@op_definition
class DivUOp(_Division):
    name = "index.divu"


@op_definition
class CeilDivSOp(_Division):
    name = "index.ceildivs"


@op_definition
class CeilDivUOp(_Division):
    name = "index.ceildivu"


@op_definition
class FloorDivSOp(_Division):
    name = "index.floordivs"


@op_definition
class RemSOp(_Division):
    name = "index.rems"


@op_definition
class RemUOp(_Division):
    name = "index.remu"


@op_definition
class MaxSOp(_Commutative):
    name = "index.maxs"


@op_definition
class MaxUOp(_Commutative):
    name = "index.maxu"


@op_definition
class MinSOp(_Commutative):
    name = "index.mins"


@op_definition
class MinUOp(_Commutative):
    name = "index.minu"


@op_definition
class ShlOp(_Pure):
    name = "index.shl"


@op_definition
class ShrSOp(_Pure):
    name = "index.shrs"


@op_definition
class ShrUOp(_Pure):
    name = "index.shru"


@op_definition
class AndOp(_Commutative):
    name = "index.and"


@op_definition
class OrOp(_Commutative):
    name = "index.or"


@op_definition
class XOrOp(_Commutative):
    name = "index.xor"


class _Cast(IRDLOperation):
    """Between an index and an integer."""

    input = operand_def(INTEGER_OR_INDEX)
    output = result_def(INTEGER_OR_INDEX)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($output)"

    def verify_(self) -> None:
        source, target = self.input.type, self.output.type
        # between two integers arith casts, and an index needs no cast to itself
        if isinstance(source, IndexType) == isinstance(target, IndexType):
            raise VerifyException(
                f"operand type {quoted(source)} and result type {quoted(target)} are cast incompatible"
            )


@op_definition
class CastSOp(_Cast):
    """Extends with copies of the sign."""

    name = "index.casts"


@op_definition
class CastUOp(_Cast):
    """Extends with zeros."""

    name = "index.castu"


@op_definition
class CmpOp(IRDLOperation):
    """Compare two indices."""

    name = "index.cmp"
    pred = prop_def(CmpPredicateAttr)
    lhs = operand_def(IndexType)
    rhs = operand_def(IndexType)
    result = result_def(i1)
    traits = traits_def(Pure())
    assembly_format = "$pred `(` $lhs `,` $rhs `)` attr-dict"


@op_definition
class SizeOfOp(IRDLOperation):
    """The width of an index in bits."""

    name = "index.sizeof"
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict"


@op_definition
class ConstantOp(IRDLOperation):
    """A number."""

    name = "index.constant"
    value = prop_def(described(IntegerAttr.constr(EqAttrConstraint(INDEX_TYPE)), "index attribute"))
    result = result_def(IndexType)
    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "attr-dict $value"

    def result_names(self) -> Sequence[str | None]:
        return (f"idx{self.value.value.data}",)  # as upstream names them


@op_definition
class BoolConstantOp(IRDLOperation):
    """A truth value."""

    name = "index.bool.constant"
    value = prop_def(described(base(BoolAttr), "bool attribute", lambda attribute: attribute.type == i1))
    result = result_def(i1)
    traits = traits_def(Pure(), ConstantLike())

    WORDS: ClassVar = ("false", "true")  # at the place of the number that stands for each

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        value = parse_enum_word(parser, cls.WORDS, "value") == "true"
        return cls.create(result_types=[i1], properties={"value": BoolAttr.from_bool(value)}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self, ("value",))
        printer.print_string(f" {self.word}")

    @property
    def word(self) -> str:
        return self.WORDS[self.value.value.data != 0]  # true is -1 in one bit

    def result_names(self) -> Sequence[str | None]:
        return (self.word,)


INDEX = Dialect(
    "index",
    [
        AddOp,
        AndOp,
        BoolConstantOp,
        CastSOp,
        CastUOp,
        CeilDivSOp,
        CeilDivUOp,
        CmpOp,
        ConstantOp,
        DivSOp,
        DivUOp,
        FloorDivSOp,
        MaxSOp,
        MaxUOp,
        MinSOp,
        MinUOp,
        MulOp,
        OrOp,
        RemSOp,
        RemUOp,
        ShlOp,
        ShrSOp,
        ShrUOp,
        SizeOfOp,
        SubOp,
        XOrOp,
    ],
    [CmpPredicateAttr],
)
