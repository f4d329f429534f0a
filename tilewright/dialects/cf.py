"""The cf dialect, with the syntax and the checks of upstream MLIR."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects import cf as xdsl_cf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntElementsAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    i32,
)
from xdsl.ir import Block, SSAValue
from xdsl.irdl import opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect, derived_op_definition
from tilewright.dialects._syntax import (
    parse_typed_operands,
    print_attributes,
    print_values_and_types,
    segments,
    split_attributes,
)
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted


def parse_target(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    """`^bb1(%a, %b : type, type)`, or just the block."""
    block = parser.parse_successor()
    operands: Sequence[SSAValue] = ()
    if parser.parse_optional_punctuation("(") is not None:
        operands = parse_typed_operands(parser)
        parser.parse_punctuation(")")
    return block, operands


def print_target(printer: Printer, block: Block, operands: Sequence[SSAValue]) -> None:
    """The inverse of `parse_target`."""
    printer.print_block_name(block)
    if operands:
        printer.print_string("(")
        print_values_and_types(printer, operands)
        printer.print_string(")")


def verify_target(number: int, block: Block, operands: Sequence[SSAValue]) -> None:
    """What a branch passes to its successor must be what the block takes."""
    if len(operands) != len(block.args):
        raise VerifyError(
            f"branch has {len(operands)} operands for successor #{number}, but target block has {len(block.args)}",
            bare=True,
        )
    for position, (operand, argument) in enumerate(zip(operands, block.args, strict=True)):
        if operand.type != argument.type:
            raise VerifyError(f"type mismatch for bb argument #{position} of successor #{number}", bare=True)


@derived_op_definition
class BranchOp(xdsl_cf.BranchOp):
    """Go on in another block."""

    def verify_(self) -> None:
        verify_target(0, self.successors[0], self.operands)


@derived_op_definition
class ConditionalBranchOp(xdsl_cf.ConditionalBranchOp):
    """Go on in one block or the other."""

    branch_weights = opt_prop_def(DenseArrayBase.constr(i32))
    assembly_format = """
    $cond (`weights` `(` $branch_weights^ `)`)? `,`
    $then_block (`(` $then_arguments^ `:` type($then_arguments) `)`)? `,`
    $else_block (`(` $else_arguments^ `:` type($else_arguments) `)`)? attr-dict
    """

    def verify_(self) -> None:
        verify_target(0, self.then_block, self.then_arguments)
        verify_target(1, self.else_block, self.else_arguments)


def case_numbers(op: SwitchOp) -> tuple[int, ...]:
    """The numbers that a switch has cases for, signed."""
    return op.case_values.get_values() if op.case_values is not None else ()


@derived_op_definition
class SwitchOp(xdsl_cf.SwitchOp):
    """Go on in one of several blocks, chosen by a number."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        flag = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, IntegerType):
            parser.raise_error(
                f"invalid kind of type specified: expected builtin.integer, but found {quoted(type)}", position
            )
        type = cast(IntegerType, type)
        parser.parse_punctuation(",")
        parser.parse_punctuation("[")
        values: list[int] = []
        parser.parse_keyword("default")
        parser.parse_punctuation(":")
        targets = [parse_target(parser)]
        while parser.parse_optional_punctuation(",") is not None:
            values.append(parser.parse_integer(allow_boolean=False))
            parser.parse_punctuation(":")
            targets.append(parse_target(parser))
        parser.parse_punctuation("]")
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        counts = [len(operands) for _, operands in targets]
        properties |= {
            "case_operand_segments": DenseArrayBase.from_list(i32, counts[1:]),
            "operandSegmentSizes": segments(1, counts[0], sum(counts[1:])),
        }
        if values:
            # cases may be written with either sign; they are kept as the bits that they stand for
            wrapped = [IntegerAttr(value, type, truncate_bits=True).value.data for value in values]
            properties["case_values"] = DenseIntElementsAttr.from_list(VectorType(type, [len(values)]), wrapped)
        return cls.create(
            operands=[parser.resolve_operand(flag, type), *(operand for _, group in targets for operand in group)],
            successors=[block for block, _ in targets],
            properties=properties,
            attributes=attributes,
        )

    @property
    def targets(self) -> list[tuple[Block, Sequence[SSAValue]]]:
        """Each successor with the operands for it, the default first."""
        return [(self.default_block, self.default_operands), *zip(self.case_blocks, self.case_operand, strict=True)]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.flag)
        printer.print_string(" : ")
        printer.print_attribute(self.flag.type)
        printer.print_string(", [")
        labels = ["default"]
        if numbers := case_numbers(self):
            # upstream shows the bits without a sign
            width = cast(IntegerType, self.flag.type).width.data
            labels += [str(number % (1 << width)) for number in numbers]
        for number, (label, target) in enumerate(zip(labels, self.targets, strict=True)):
            if number:
                printer.print_string(",")
            printer._print_new_line()
            printer.print_string(f"  {label}: ")
            print_target(printer, *target)
        if len(labels) > 1:  # upstream ends the line only where there are cases
            printer._print_new_line()
        printer.print_string("]")
        print_attributes(printer, self, ("case_values", "case_operand_segments"))

    def verify_(self) -> None:
        if len(self.case_operand) != len(self.case_blocks):
            raise VerifyException(f"has {len(self.case_operand)} groups of operands for {len(self.case_blocks)} cases")
        for number, (block, operands) in enumerate(self.targets):
            verify_target(number, block, operands)
        if self.case_values is None:  # the default is the only case
            return
        type, count = self.case_values.get_element_type(), len(self.case_blocks)
        if self.flag.type != type:
            raise VerifyException(
                f"'flag' type ({quoted(self.flag.type)}) should match case value type ({quoted(type)})"
            )
        if len(self.case_values) != count:
            raise VerifyException(
                f"number of case values ({len(self.case_values)}) should match number of case destinations ({count})"
            )


@derived_op_definition
class AssertOp(xdsl_cf.AssertOp):
    """Stop the program with a message unless a condition holds."""


CF = derived_dialect(xdsl_cf.Cf, [AssertOp, BranchOp, ConditionalBranchOp, SwitchOp])
