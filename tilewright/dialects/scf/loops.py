"""Loops whose iterations follow each other."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Self

from xdsl.dialects import scf as xdsl_scf
from xdsl.dialects.builtin import (
    UnitAttr,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import ParentOp
from tilewright.dialects._regions import verify_flow
from tilewright.dialects._syntax import (
    INDEX,
    TypedOperandsOp,
    ensure_terminated,
    print_attributes,
    print_optional_arrow_types,
    resolve_all,
    split_attributes,
)
from tilewright.dialects.scf.bindings import (
    LOOP_TYPE,
    parse_bindings,
    parse_carried,
    print_bindings,
    resolve_arguments,
    terminator_of,
)
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted


@derived_op_definition
class YieldOp(TypedOperandsOp, xdsl_scf.YieldOp):
    """The values that a region hands on."""

    traits = traits_def(
        ParentOp("scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while"),
        IsTerminator(),
        ReturnLike(),
        Pure(),
    )


@derived_op_definition
class ForOp(xdsl_scf.ForOp):
    """A loop over a range of integers that may carry values from one iteration to the next."""

    lb = operand_def(LOOP_TYPE)
    ub = operand_def(LOOP_TYPE)
    step = operand_def(LOOP_TYPE)
    unsigned_cmp = opt_prop_def(UnitAttr, prop_name="unsignedCmp")
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unsigned = parser.parse_optional_keyword("unsigned") is not None
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        bounds = [parser.parse_unresolved_operand()]
        for word in ("to", "step"):
            parser.parse_keyword(word)
            bounds.append(parser.parse_unresolved_operand())
        position = parser.pos
        mismatch = "mismatch in number of loop-carried values and defined values"
        arguments, initial, types = parse_carried(parser, "iter_args", mismatch)
        # One type for bounds and variable; `index` is not written.
        type = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else INDEX
        operands = [*resolve_all(parser, bounds, type), *parser.resolve_operands(initial, types, position)]
        body = parser.parse_region([variable.resolve(type), *resolve_arguments(arguments, types)])
        ensure_terminated(body, YieldOp.create)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        if unsigned:
            properties["unsignedCmp"] = UnitAttr()
        return cls.create(
            operands=operands, result_types=types, properties=properties, attributes=attributes, regions=[body]
        )

    def print(self, printer: Printer) -> None:
        variable, *arguments = self.body.block.args
        printer.print_string(" unsigned " if self.unsigned_cmp is not None else " ")
        printer.print_ssa_value(variable)
        printer.print_string(" = ")
        printer.print_ssa_value(self.lb)
        printer.print_string(" to ")
        printer.print_ssa_value(self.ub)
        printer.print_string(" step ")
        printer.print_ssa_value(self.step)
        if arguments:
            printer.print_string(" iter_args")
            print_bindings(printer, arguments, self.iter_args)
            print_optional_arrow_types(printer, self.result_types)
        # Two spaces before the colon, as MLIR prints it.
        if variable.type != INDEX:
            printer.print_string("  : ")
            printer.print_attribute(variable.type)
        printer.print_string(" ")
        # The terminator is shown if it carries values.
        printer.print_region(self.body, False, False, bool(arguments))
        print_attributes(printer, self, ("unsignedCmp",))

    def verify_(self) -> None:
        if not self.lb.type == self.ub.type == self.step.type:
            raise VerifyException("failed to verify that all of {lowerBound, upperBound, step} have same type")
        if len(self.iter_args) != len(self.results):
            raise VerifyException("mismatch in number of loop-carried values and defined values")

    def verify_regions(self) -> None:
        if not self.body.block.args or self.body.block.args[0].type != self.lb.type:
            raise VerifyException("expected induction variable to be same type as bounds and step")
        arguments = self.body.block.args[1:]
        if len(arguments) != len(self.iter_args):
            raise VerifyException(
                f"different number of inits and region iter_args: {len(self.iter_args)} != {len(arguments)}"
            )
        end = terminator_of(self.body)
        assert end is not None
        # Raises in MLIR's words about control flow.
        if len(end.operands) != len(arguments):
            verify_flow(end, "Region #0", end.operand_types, [argument.type for argument in arguments])
        for number, values in enumerate(zip(self.iter_args, arguments, self.results, end.operands, strict=True)):
            # Compared in the order in which MLIR does, which decides about the error.
            init, argument, result, yielded = (value.type for value in values)
            for first, second, what, other in (
                (init, argument, "init", "region iter_arg"),
                (argument, yielded, "region iter_arg", "yielded value"),
                (init, result, "init", "result"),
            ):
                if first != second:
                    raise VerifyException(
                        f"{number}-th {what} and {number}-th {other} have different type: "
                        f"{quoted(first)} != {quoted(second)}"
                    )


@derived_op_definition
class ConditionOp(xdsl_scf.ConditionOp):
    """Whether an `scf.while` goes on, and the values it goes on or ends with."""


@derived_op_definition
class WhileOp(xdsl_scf.WhileOp):
    """A loop that goes on while the region before it says so."""

    before_region = region_def()
    after_region = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arguments: list[Parser.UnresolvedArgument] = []
        initial: list[UnresolvedOperand] = []
        # A loop that carries nothing has no list.
        if parser._current_token.text == "(":
            arguments, initial = parse_bindings(parser)
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_function_type()
        inputs = type.inputs.data
        if len(inputs) != len(initial):
            parser.raise_error(
                f"expected as many input types as operands (expected {len(initial)} got {len(inputs)})", position
            )
        operands = parser.resolve_operands(initial, inputs, position)
        before = parser.parse_region(resolve_arguments(arguments, inputs))
        parser.parse_keyword("do")
        after = parser.parse_region()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=operands,
            result_types=type.outputs.data,
            regions=[before, after],
            attributes=dict(attributes.data) if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.operands:
            print_bindings(printer, self.before_region.block.args, self.operands)
            printer.print_string(" ")
        printer.print_string(": ")
        printer.print_function_type(self.operand_types, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.before_region, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.after_region)
        print_attributes(printer, self, keyword=True)

    def verify_regions(self) -> None:
        condition, end = terminator_of(self.before_region), terminator_of(self.after_region)
        if not isinstance(condition, ConditionOp):
            raise _wrong_end("before", ConditionOp.name, condition)
        if not isinstance(end, YieldOp):
            raise _wrong_end("after", YieldOp.name, end)
        # All but the condition itself: they go to the body or out of the loop.
        passed = [value.type for value in condition.args]
        verify_flow(self, "Region #0", self.operand_types, self.before_region.block.arg_types, source="parent")
        verify_flow(condition, "parent", passed, self.result_types)
        verify_flow(condition, "Region #1", passed, self.after_region.block.arg_types)
        verify_flow(end, "Region #0", end.operand_types, self.before_region.block.arg_types)


def _wrong_end(region: str, expected: str, found: Operation | None) -> VerifyError:
    notes = () if found is None else ((found, "terminator here"),)
    return VerifyError(f"expects the '{region}' region to terminate with '{expected}'", *notes)
