"""Loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    traits_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, OpTrait, Pure, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._regions import NoRegionArguments
from tilewright.dialects._syntax import (
    TypedOperandsOp,
    ensure_terminated,
    is_plain_terminator,
    print_attributes,
    split_attributes,
)
from tilewright.dialects.scf.bindings import verify_cases

from .types import INTEGRAL_OR_OPAQUE


@op_definition
class YieldOp(TypedOperandsOp):
    """Ends a region; with a value in expressions and conditions."""

    name = "emitc.yield"
    result = opt_operand_def()
    traits = traits_def(
        IsTerminator(), Pure(), ParentOp("emitc.do", "emitc.expression", "emitc.for", "emitc.if", "emitc.switch")
    )

    def __init__(self, value: SSAValue | None = None):
        super().__init__(operands=[value])

    def verify_(self) -> None:
        parent = self.parent_op()
        # `emitc.do` yields its condition, and has no results.
        if self.result is not None and parent is not None and not parent.results and parent.name != "emitc.do":
            raise VerifyException("yields a value not returned by parent")
        if self.result is None and parent is not None and parent.results:
            raise VerifyException("does not yield a value to be returned by parent")


def _ends_with_yield() -> tuple[OpTrait, ...]:
    return (SingleBlockImplicitTerminator(YieldOp),)


def print_plain_region(printer: Printer, region: Region) -> None:
    """A region without arguments, and without its end where that says nothing."""
    # A terminator with attributes is printed, or they would be lost.
    end = region.blocks.last.last_op if region.blocks.last is not None else None
    printer.print_region(region, print_entry_block_args=False, print_block_terminators=not is_plain_terminator(end))


def parse_plain_region(parser: Parser) -> Region:
    return ensure_terminated(parser.parse_region(), YieldOp.create)


def body_of(ops: Sequence[Operation] = (), arguments: Sequence[Attribute] = ()) -> Region:
    """A region of one block that ends with `emitc.yield`."""
    return Region(Block([*ops, YieldOp()], arg_types=arguments))


@op_definition
class ForOp(IRDLOperation):
    """`for (type i = lower; i < upper; i += step)`"""

    name = "emitc.for"
    lower_bound = operand_def(INTEGRAL_OR_OPAQUE)
    upper_bound = operand_def(INTEGRAL_OR_OPAQUE)
    step = operand_def(INTEGRAL_OR_OPAQUE)
    body = region_def("single_block")
    traits = lazy_traits_def(_ends_with_yield)

    def __init__(self, lower: SSAValue, upper: SSAValue, step: SSAValue, body: Region):
        super().__init__(operands=[lower, upper, step], regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        bounds = [parser.parse_unresolved_operand()]
        # All three bounds have the type of the variable, which is written once.
        for word in ("to", "step"):
            parser.parse_keyword(word)
            bounds.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = [parser.resolve_operand(bound, type) for bound in bounds]
        body = ensure_terminated(parser.parse_region([variable.resolve(type)]), YieldOp.create)
        return cls.create(operands=operands, regions=[body], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        variable = self.body.block.args[0]
        for word, value in zip(("", "= ", "to ", "step "), (variable, *self.operands), strict=True):
            printer.print_string(f" {word}")
            printer.print_ssa_value(value)
        # Two spaces, as MLIR prints it.
        printer.print_string("  : ")
        printer.print_attribute(variable.type)
        printer.print_string(" ")
        print_plain_region(printer, self.body)
        print_attributes(printer, self)

    def verify_(self) -> None:
        arguments = self.body.block.args
        if len(arguments) != 1:
            raise VerifyException("expected body to have a single block argument for the induction variable")
        if any(type != arguments[0].type for type in self.operand_types):
            raise VerifyException("expected induction variable to be same type as bounds and step")


@op_definition
class IfOp(IRDLOperation):
    """`if (condition) { } else { }`; without an else branch its region is empty."""

    name = "emitc.if"
    condition = operand_def(i1)
    then_region = region_def()
    else_region = region_def()
    traits = lazy_traits_def(lambda: (*_ends_with_yield(), NoRegionArguments()))

    def __init__(self, condition: SSAValue, then_region: Region, else_region: Region | None = None):
        super().__init__(operands=[condition], regions=[then_region, else_region or Region()])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_operand(i1)
        then_region = parse_plain_region(parser)
        # The region is there in any case: without blocks there is no else.
        else_region = Region()
        if parser.parse_optional_keyword("else") is not None:
            else_region = parse_plain_region(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=[condition], regions=[then_region, else_region], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        printer.print_string(" ")
        print_plain_region(printer, self.then_region)
        if self.else_region.blocks:
            printer.print_string(" else ")
            print_plain_region(printer, self.else_region)
        print_attributes(printer, self)


@op_definition
class DoOp(IRDLOperation):
    """`do { } while (condition);`, the condition being an `emitc.expression` that its region yields."""

    name = "emitc.do"
    body = region_def("single_block")
    condition_region = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(self, body: Region, condition: Region):
        super().__init__(regions=[body, condition])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        body = parser.parse_region()
        # An empty body is a block without operations, not a region without blocks.
        if not body.blocks:
            body.add_block(Block())
        parser.parse_keyword("while")
        condition = parser.parse_region()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(regions=[body, condition], attributes=attributes.data if attributes else {})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_string(" while ")
        printer.print_region(self.condition_region)
        print_attributes(printer, self, keyword=True)

    def verify_(self) -> None:
        if any(isinstance(op, YieldOp) for op in self.body.block.ops):
            raise VerifyException("body region must not contain terminator")
        ops = list(self.condition_region.block.ops)
        # By name: expressions are defined on top of this module.
        if len(ops) != 2 or ops[0].name != "emitc.expression" or not isinstance(ops[1], YieldOp):
            raise VerifyException(
                "condition region must contain exactly two operations: 'emitc.expression' followed by 'emitc.yield', "
                f"but found {len(ops)} operations"
            )
        if list(ops[1].operands) != list(ops[0].results) or [r.type for r in ops[0].results] != [i1]:
            raise VerifyException("condition region must yield the i1 result of its expression")


@op_definition
class SwitchOp(IRDLOperation):
    """`switch (arg)` with cases that never fall through."""

    name = "emitc.switch"
    arg = operand_def(INTEGRAL_OR_OPAQUE)
    cases = prop_def(DenseArrayBase.constr(i64))
    default_region = region_def("single_block")
    case_regions = var_region_def("single_block")

    def __init__(self, arg: SSAValue, cases: Sequence[int], default: Region, regions: Sequence[Region]):
        super().__init__(
            operands=[arg],
            properties={"cases": DenseArrayBase.from_list(i64, cases)},
            regions=[default, regions],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        arg = parser.resolve_operand(operand, parser.parse_type())
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        values, regions = list[int](), list[Region]()
        while parser.parse_optional_keyword("case") is not None:
            values.append(parser.parse_integer(allow_boolean=False))
            regions.append(parse_plain_region(parser))
        parser.parse_keyword("default")
        # The default is the last in text and the first in memory.
        regions.insert(0, parse_plain_region(parser))
        properties = known | {"cases": DenseArrayBase.from_list(i64, values)}
        return cls.create(operands=[arg], properties=properties, attributes=attributes, regions=regions)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arg)
        printer.print_string(" : ")
        printer.print_attribute(self.arg.type)
        print_attributes(printer, self, ("cases",))
        printer.print_string(" ")
        _print_cases(printer, self, printer.print_region)

    def verify_(self) -> None:
        verify_cases(self.cases.get_values(), self.case_regions)


def _print_cases(printer: Printer, op: SwitchOp, print_region: Callable[..., None]) -> None:
    for value, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        printer._print_new_line()
        printer.print_string(f"case {value} ")
        print_region(region, print_entry_block_args=False)
    printer._print_new_line()
    printer.print_string("default ")
    print_plain_region(printer, op.default_region)


OPS = [DoOp, ForOp, IfOp, SwitchOp, YieldOp]
