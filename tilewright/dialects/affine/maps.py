"""Operations on indices."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects import affine as xdsl_affine
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    BoolAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._mixed_indices import parse_mixed_indices, print_mixed_indices
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    Integers,
    parse_indices,
    parse_types,
    print_attributes,
    print_operands,
    print_types,
    segments,
)
from tilewright.dialects.affine.subscripts import MAP, parse_map, parse_map_operands, print_map_operands, verify_symbols


class _Applied(IRDLOperation):
    """A map and its operands: `#map(%a)[%b]`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        map = parse_map(parser, AffineMapAttr)
        dims, symbols = parse_map_operands(parser)
        # Memory has one list of operands, so only text can tell this mistake.
        if (map.data.num_dims, map.data.num_symbols) != (len(dims), len(symbols)):
            parser.raise_error("dimension or symbol index mismatch", position)
        return cls.create(
            operands=[*dims, *symbols],
            result_types=[INDEX],
            properties={"map": map},
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        map = cast(AffineMapAttr, self.properties["map"])
        printer.print_string(" ")
        printer.print_attribute(map)
        print_map_operands(printer, map.data.num_dims, self.operands)
        print_attributes(printer, self, ("map",))

    def verify_(self) -> None:
        _verify_applied(self)


def _verify_applied(op: Operation) -> None:
    map = cast(AffineMapAttr, op.properties["map"]).data
    if len(op.operands) != map.num_dims + map.num_symbols:
        raise VerifyException("operand count and affine map dimension and symbol count must match")
    if not map.results:
        raise VerifyException("affine map expect at least one result")
    # Dimensions may be loop variables, symbols may not.
    verify_symbols(op.operands[map.num_dims :])


@derived_op_definition
class ApplyOp(_Applied, xdsl_affine.ApplyOp):
    """The value of an affine expression."""

    def verify_(self) -> None:
        _verify_applied(self)
        if len(self.map.data.results) != 1:
            raise VerifyException("mapping must produce one value")


@derived_op_definition
class MinOp(_Applied, xdsl_affine.MinOp):
    """The least of some affine expressions."""

    traits = traits_def(Pure())


@op_definition
class MaxOp(_Applied):
    """The greatest of some affine expressions."""

    name = "affine.max"
    arguments = var_operand_def(IndexType)
    map = prop_def(MAP)
    result = result_def(IndexType)
    traits = traits_def(Pure())


@op_definition
class DelinearizeIndexOp(IRDLOperation):
    """The digits of a number in a mixed-radix system."""

    name = "affine.delinearize_index"
    linear_index = operand_def(IndexType)
    dynamic_basis = var_operand_def(IndexType)
    static_basis = prop_def(DenseArrayBase.constr(i64))
    multi_index = var_result_def(IndexType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = parser.parse_operand(INDEX)
        parser.parse_keyword("into")
        dynamic, static = parse_mixed_indices(parser, PAREN)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=[index, *dynamic],
            result_types=parse_types(parser),
            properties={"static_basis": static},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.linear_index)
        printer.print_string(" into ")
        print_mixed_indices(printer, self.dynamic_basis, self.static_basis, "()")
        print_attributes(printer, self, ("static_basis",))
        printer.print_string(" : ")
        print_types(printer, self.result_types)

    def verify_(self) -> None:
        _verify_basis(self.static_basis, self.dynamic_basis)
        # The outermost digit has no bound: its basis may be left out.
        if len(self.results) - len(self.static_basis) not in (0, 1):
            raise VerifyException("should return an index for each basis element and up to one extra index")


@op_definition
class LinearizeIndexOp(IRDLOperation):
    """The number with the given digits in a mixed-radix system."""

    name = "affine.linearize_index"
    multi_index = var_operand_def(IndexType)
    dynamic_basis = var_operand_def(IndexType)
    static_basis = prop_def(DenseArrayBase.constr(i64))
    # As in the generic form of MLIR: a unit where it is set, `false` where it is not.
    disjoint = prop_def(base(UnitAttr) | base(IntegerAttr), default_value=BoolAttr.from_bool(False))
    linear_index = result_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("disjoint") is not None:
            properties["disjoint"] = UnitAttr()
        indices = parse_indices(parser)
        parser.parse_keyword("by")
        dynamic, properties["static_basis"] = parse_mixed_indices(parser, PAREN)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        properties["operandSegmentSizes"] = segments(len(indices), len(dynamic))
        return cls.create(
            operands=[*indices, *dynamic],
            result_types=[parser.parse_type()],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" disjoint " if isinstance(self.disjoint, UnitAttr) else " ")
        print_operands(printer, self.multi_index)
        printer.print_string(" by ")
        print_mixed_indices(printer, self.dynamic_basis, self.static_basis, "()")
        print_attributes(printer, self, ("static_basis", "disjoint"))
        printer.print_string(" : ")
        printer.print_attribute(self.linear_index.type)

    def verify_(self) -> None:
        _verify_basis(self.static_basis, self.dynamic_basis)
        # As above: the first digit may go without.
        if len(self.multi_index) - len(self.static_basis) not in (0, 1):
            raise VerifyException("should be passed a basis element for each index except possibly the first")


def _verify_basis(static: Integers, dynamic: Sequence[SSAValue]) -> None:
    if len(dynamic) != static.get_values().count(DYNAMIC_INDEX):
        raise VerifyException(
            "mismatch between dynamic and static basis (kDynamic marker but no corresponding dynamic basis entry)"
        )
