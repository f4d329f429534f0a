"""Operators joined into one C++ expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, cast

from xdsl.dialects.builtin import FunctionType, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, lazy_traits_def, opt_prop_def, region_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, OpTrait, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import parse_bare_operands, print_attributes

from .control import YieldOp
from .operators import CExpression
from .types import EMITC_TYPE, LVALUE_OR_EMITC_TYPE

if TYPE_CHECKING:
    from tilewright.ir.printer import Printer as OurPrinter


def _traits() -> tuple[OpTrait, ...]:
    return IsolatedFromAbove(), SingleBlockImplicitTerminator(YieldOp)


@op_definition
class ExpressionOp(IRDLOperation):
    """A tree of operators over the operands, written inline where it is used unless `do_not_inline`."""

    name = "emitc.expression"
    defs = var_operand_def(LVALUE_OR_EMITC_TYPE)
    do_not_inline = opt_prop_def(UnitAttr)
    result = result_def(EMITC_TYPE)
    region = region_def("single_block")
    traits = lazy_traits_def(_traits)

    def __init__(self, operands: Sequence[SSAValue], type: Attribute, region: Region):
        super().__init__(operands=[operands], result_types=[type], regions=[region])

    @property
    def root(self) -> Operation:
        """The operator whose value is the value of the whole."""
        end = self.region.block.last_op
        assert end is not None
        return cast(Operation, end.operands[0].owner)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = parse_bare_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        inline = parser.parse_optional_keyword("noinline") is None
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, FunctionType):
            parser.raise_error("expected function type", position)
        values = parser.resolve_operands(operands, type.inputs.data, position)
        region = _parse_isolated(parser, values, {operand.operand_name for operand in operands})
        return cls.create(
            operands=values,
            result_types=type.outputs.data,
            properties={} if inline else {"do_not_inline": UnitAttr()},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """As MLIR prints it: inside, the operands go by the names that they have outside."""
        # The names of arguments are never printed: inside stand the operands' own.
        for argument, operand in zip(self.region.block.args, self.operands, strict=True):
            cast("OurPrinter", printer).name_like(argument, operand)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, ("do_not_inline",))
        printer.print_string(" : ")
        printer.print_attribute(FunctionType.from_lists(self.operand_types, self.result_types))
        printer.print_string(" ")
        printer.print_region(self.region, print_entry_block_args=False)

    def verify_(self) -> None:
        block = self.region.block
        end = block.last_op
        if not isinstance(end, YieldOp) or end.result is None:
            raise VerifyException("must yield a value at termination")
        if not isinstance(end.result.owner, Operation):
            raise VerifyException("yielded value has no defining op")
        if end.result.type != self.result.type:
            raise VerifyException("requires yielded type to match return type")
        for op in block.ops:
            if op is end:
                continue
            if not op.has_trait(CExpression):
                raise VerifyException("contains an unsupported operation")
            if len(op.results) != 1:
                raise VerifyException("requires exactly one result for each operation")
            # An operator whose value is not used would be lost in the C++ expression.
            if op.results[0].first_use is None:
                raise VerifyException("contains an unused operation")


def _parse_isolated(parser: Parser, values: Sequence[SSAValue], names: set[str]) -> Region:
    """A region that sees the values named and no others; each becomes an argument of it."""
    # Names around are hidden, as the body is isolated from them.
    outer = parser.ssa_values
    parser.ssa_values = {name: outer[name] for name in names if name in outer}
    region = parser.parse_region()
    parser.ssa_values = outer
    if region.blocks:
        for index, value in enumerate(values):
            # In memory the body has arguments; only text uses the operands directly.
            argument = region.block.insert_arg(value.type, index)
            for op in region.block.ops:
                op.operands = [argument if operand is value else operand for operand in op.operands]
    return region


OPS = [ExpressionOp]
