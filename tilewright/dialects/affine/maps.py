"""Operations on indices."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

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
from xdsl.ir import Operation, SSAValue
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
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._mixed_indices import MixedInParens
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    Integers,
)
from tilewright.dialects._type_directives import SomeTypes
from tilewright.dialects.affine.subscripts import MAP, AppliedMap, verify_symbols


class _Applied(IRDLOperation):
    """The demands on a map and its operands."""

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

    custom_directives = (AppliedMap,)
    assembly_format = "custom<AppliedMap>($map, $mapOperands) attr-dict"

    def verify_(self) -> None:
        _verify_applied(self)
        if len(self.map.data.results) != 1:
            raise VerifyException("mapping must produce one value")


@derived_op_definition
class MinOp(_Applied, xdsl_affine.MinOp):
    """The least of some affine expressions."""

    traits = traits_def(Pure())
    custom_directives = (AppliedMap,)
    assembly_format = "custom<AppliedMap>($map, $arguments) attr-dict"


@op_definition
class MaxOp(_Applied):
    """The greatest of some affine expressions."""

    name = "affine.max"
    arguments = var_operand_def(IndexType)
    map = prop_def(MAP)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    custom_directives = (AppliedMap,)
    assembly_format = "custom<AppliedMap>($map, $arguments) attr-dict"


@op_definition
class DelinearizeIndexOp(IRDLOperation):
    """The digits of a number in a mixed-radix system."""

    name = "affine.delinearize_index"
    linear_index = operand_def(IndexType)
    dynamic_basis = var_operand_def(IndexType)
    static_basis = prop_def(DenseArrayBase.constr(i64))
    multi_index = var_result_def(IndexType)
    traits = traits_def(Pure())
    custom_directives = (MixedInParens, SomeTypes)
    assembly_format = (
        "$linear_index `into` custom<MixedInParens>($dynamic_basis, $static_basis) attr-dict "
        "`:` custom<SomeTypes>(type($multi_index))"
    )

    def verify_(self) -> None:
        _verify_basis(self.static_basis, self.dynamic_basis)
        # The outermost digit has no bound: its basis may be left out.
        if len(self.results) - len(self.static_basis) not in (0, 1):
            raise VerifyException("should return an index for each basis element and up to one extra index")


@irdl_custom_directive
class Disjoint(CustomDirective):
    """A keyword for what is `false` in memory where it is missing, and a unit where it is not."""

    attribute: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("disjoint") is not None:
            self.attribute.set(state, UnitAttr())

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if isinstance(self.attribute.get(op), UnitAttr):
            state.print_whitespace(printer)
            printer.print_string("disjoint")


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
    custom_directives = (Disjoint, MixedInParens)
    assembly_format = (
        "custom<Disjoint>($disjoint) ` ` `[` $multi_index `]` "
        "`by` custom<MixedInParens>($dynamic_basis, $static_basis) attr-dict `:` type($linear_index)"
    )

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
