"""The scf dialect, with the syntax and the checks of upstream MLIR."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Self

from xdsl.dialects import scf as xdsl_scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    SignlessIntegerConstraint,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._amend import amend, amended
from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._regions import verify_flow
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    Integers,
    ensure_terminated,
    is_plain_terminator,
    parse_indices,
    parse_mixed_indices,
    parse_operands,
    parse_optional_arrow_types,
    parse_typed_operands,
    parse_types,
    print_attributes,
    print_mixed_indices,
    print_operands,
    print_optional_arrow_types,
    print_typed_operands,
    print_types,
    resolve_all,
    segments,
    split_attributes,
)
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted

LOOP_TYPE = described(SignlessIntegerConstraint | base(IndexType), "signless integer or index")


def parse_bindings(parser: Parser) -> tuple[list[Parser.UnresolvedArgument], list[UnresolvedOperand]]:
    """`(%argument = %value, ...)`."""

    def parse_binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return argument, parser.parse_unresolved_operand()

    pairs = parser.parse_comma_separated_list(PAREN, parse_binding)
    return [argument for argument, _ in pairs], [value for _, value in pairs]


def print_bindings(printer: Printer, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    """The inverse of `parse_bindings`."""
    printer.print_string("(")
    for position, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        if position:
            printer.print_string(", ")
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
    printer.print_string(")")


def resolve_arguments(
    arguments: Sequence[Parser.UnresolvedArgument], types: Sequence[Attribute]
) -> list[Parser.Argument]:
    return [argument.resolve(type) for argument, type in zip(arguments, types, strict=True)]


def _terminator(region: Region) -> Operation | None:
    """What ends the last block of a region."""
    block = region.blocks.last
    return None if block is None else block.last_op


@amend
class YieldOp(xdsl_scf.YieldOp):
    """The values that a region hands on."""

    traits = traits_def(
        IsTerminator(),
        ReturnLike(),
        ParentOp("scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while"),
        Pure(),
    )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        operands = parse_typed_operands(parser)
        return cls.create(operands=operands, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)
        print_typed_operands(printer, self.operands)


@amend
class ForOp(xdsl_scf.ForOp):
    """A loop over a range of integers that may carry values from one iteration to the next."""

    lb = operand_def(LOOP_TYPE)
    ub = operand_def(LOOP_TYPE)
    step = operand_def(LOOP_TYPE)
    unsigned_cmp = opt_prop_def(UnitAttr, prop_name="unsignedCmp")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unsigned = parser.parse_optional_keyword("unsigned") is not None
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        bounds = [parser.parse_unresolved_operand()]
        for word in ("to", "step"):
            parser.parse_keyword(word)
            bounds.append(parser.parse_unresolved_operand())
        arguments: list[Parser.UnresolvedArgument] = []
        initial: list[UnresolvedOperand] = []
        types: list[Attribute] = []
        position = parser.pos
        if parser.parse_optional_keyword("iter_args") is not None:
            arguments, initial = parse_bindings(parser)
            types = parse_optional_arrow_types(parser)
            if len(arguments) != len(types):
                parser.raise_error("mismatch in number of loop-carried values and defined values", position)
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
        if variable.type != INDEX:
            printer.print_string("  : ")
            printer.print_attribute(variable.type)
        printer.print_string(" ")
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
        end = _terminator(self.body)
        assert end is not None
        if len(end.operands) != len(arguments):
            verify_flow(end, "Region #0", end.operand_types, [argument.type for argument in arguments])
        for number, values in enumerate(zip(self.iter_args, arguments, self.results, end.operands, strict=True)):
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


@amend
class IfOp(xdsl_scf.IfOp):
    """One region or the other, by a condition."""

    true_region = region_def()
    false_region = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_operand(i1)
        types = parse_optional_arrow_types(parser)
        then = ensure_terminated(parser.parse_region(), YieldOp.create)
        otherwise = Region()
        if parser.parse_optional_keyword("else") is not None:
            otherwise = ensure_terminated(parser.parse_region(), YieldOp.create)
        return cls.create(
            operands=[condition],
            result_types=types,
            regions=[then, otherwise],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.true_region, False, False, bool(self.results))
        if self.false_region.blocks.first is not None:
            printer.print_string(" else ")
            printer.print_region(self.false_region, False, False, bool(self.results))
        print_attributes(printer, self)

    def verify_(self) -> None:
        if self.true_region.blocks.first is None:
            raise VerifyException("region #0 ('thenRegion') failed to verify constraint: region with 1 blocks")
        if self.results and self.false_region.blocks.first is None:
            raise VerifyException("must have an else block if defining values")

    def verify_regions(self) -> None:
        for region in self.regions:
            if (end := _terminator(region)) is not None:
                verify_flow(end, "parent", end.operand_types, self.result_types)


@amend
class ConditionOp(xdsl_scf.ConditionOp):
    """Whether an `scf.while` goes on, and the values it goes on or ends with."""


@amend
class WhileOp(xdsl_scf.WhileOp):
    """A loop that goes on while the region before it says so."""

    before_region = region_def()
    after_region = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arguments: list[Parser.UnresolvedArgument] = []
        initial: list[UnresolvedOperand] = []
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
        condition, end = _terminator(self.before_region), _terminator(self.after_region)
        if not isinstance(condition, xdsl_scf.ConditionOp):
            raise _wrong_end("before", xdsl_scf.ConditionOp.name, condition)
        if not isinstance(end, xdsl_scf.YieldOp):
            raise _wrong_end("after", xdsl_scf.YieldOp.name, end)
        passed = [value.type for value in condition.args]
        verify_flow(condition, "parent", passed, self.result_types)
        verify_flow(condition, "Region #1", passed, self.after_region.block.arg_types)
        verify_flow(end, "Region #0", end.operand_types, self.before_region.block.arg_types)


def _wrong_end(region: str, expected: str, found: Operation | None) -> VerifyError:
    notes = () if found is None else ((found, "terminator here"),)
    return VerifyError(f"expects the '{region}' region to terminate with '{expected}'", *notes)


@amend
class ReduceReturnOp(xdsl_scf.ReduceReturnOp):
    """The combined value of a reduction."""

    def verify_(self) -> None:
        block = self.parent
        expected = block.args[0].type if block is not None and block.args else self.result.type
        if self.result.type != expected:
            raise VerifyException(f"must have type {quoted(expected)} (the type of the reduction inputs)")


@amend
class ReduceOp(xdsl_scf.ReduceOp):
    """How the values of parallel iterations are combined."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: Sequence[SSAValue] = ()
        if parser.parse_optional_punctuation("(") is not None:
            operands = parse_typed_operands(parser)
            parser.parse_punctuation(")")
        regions: list[Region] = []
        if (region := parser.parse_optional_region()) is not None:
            regions.append(region)
            while parser.parse_optional_punctuation(",") is not None:
                regions.append(parser.parse_region())
        return cls.create(operands=operands, regions=regions, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string("(")
            printer.print_list(self.operands, printer.print_ssa_value)
            printer.print_string(" : ")
            print_types(printer, self.operand_types)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_list(self.regions, printer.print_region)
        print_attributes(printer, self)

    def verify_regions(self) -> None:
        if len(self.regions) != len(self.operands):
            raise VerifyException(
                f"expects number of operands: {len(self.operands)} to be the same as number of reduction regions: "
                f"{len(self.regions)}"
            )
        for number, (value, region) in enumerate(zip(self.operands, self.regions, strict=True)):
            if region.blocks.first is None:
                raise VerifyException(f"{number}-th reduction has an empty reduction body")
            if tuple(region.blocks.first.arg_types) != (value.type, value.type):
                raise VerifyException(
                    f"expected two block arguments with type {quoted(value.type)} in the {number}-th reduction region"
                )


@amend
class ParallelOp(xdsl_scf.ParallelOp):
    """Loops over ranges whose iterations may run in any order."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
        bounds: list[list[SSAValue]] = []
        parser.parse_punctuation("=")
        for word in (None, "to", "step"):
            if word is not None:
                parser.parse_keyword(word)
            position = parser.pos
            bounds.append(parse_indices(parser, PAREN))
            if len(bounds[-1]) != len(variables):
                parser.raise_error(f"expected {len(variables)} operands", position)
        initial: list[UnresolvedOperand] = []
        if parser.parse_optional_keyword("init") is not None:
            initial = parse_operands(parser, PAREN)
        position = parser.pos
        types = parse_optional_arrow_types(parser)
        if len(initial) != len(types):
            parser.raise_error(
                f"number of operands and types do not match: got {len(initial)} operands and {len(types)} types",
                position,
            )
        values = parser.resolve_operands(initial, types, position)
        body = parser.parse_region([variable.resolve(INDEX) for variable in variables])
        ensure_terminated(body, ReduceOp.create)
        return cls.create(
            operands=[*(bound for group in bounds for bound in group), *values],
            result_types=types,
            properties={"operandSegmentSizes": segments(*(len(group) for group in bounds), len(values))},
            regions=[body],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_operands(printer, self.body.block.args, "()")
        for word, values in ((" = ", self.lowerBound), (" to ", self.upperBound), (" step ", self.step)):
            printer.print_string(word)
            print_operands(printer, values, "()")
        if self.initVals:
            printer.print_string(" init ")
            print_operands(printer, self.initVals, "()")
        if len(self.results) == 1:
            printer.print_string(" -> ")
            printer.print_attribute(self.result_types[0])
        else:
            print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        print_attributes(printer, self)

    def verify_(self) -> None:
        if not self.step:
            raise VerifyException("needs at least one tuple element for lowerBound, upperBound and step")
        variables = self.body.block.args
        if len(variables) != len(self.step):
            raise VerifyException(
                f"expects the same number of induction variables: {len(variables)} "
                f"as bound and step values: {len(self.step)}"
            )
        if any(variable.type != INDEX for variable in variables):
            raise VerifyException("expects arguments for the induction variable to be of index type")
        if len(self.results) != len(self.initVals):
            raise VerifyException(
                f"expects number of results: {len(self.results)} to be the same as number of initial values: "
                f"{len(self.initVals)}"
            )

    def verify_regions(self) -> None:
        reduce = _terminator(self.body)
        if not isinstance(reduce, xdsl_scf.ReduceOp):
            raise VerifyException("expects body to terminate with 'scf.reduce'")
        if len(reduce.regions) != len(self.results):
            raise VerifyException(
                f"expects number of results: {len(self.results)} to be the same as number of reductions: "
                f"{len(reduce.regions)}"
            )
        for number, (operand, result) in enumerate(zip(reduce.operands, self.results, strict=True)):
            if operand.type != result.type:
                raise VerifyError(
                    f"'scf.reduce' op expects type of {number}-th reduction operand: {quoted(operand.type)} to be the "
                    f"same as the {number}-th result type: {quoted(result.type)}",
                    at=reduce,
                    bare=True,
                )


@amend
class ExecuteRegionOp(xdsl_scf.ExecuteRegionOp):
    """A region that runs once, and may hold several blocks where its surroundings may not."""

    no_inline = opt_prop_def(UnitAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        types = parse_optional_arrow_types(parser)
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("no_inline") is not None:
            properties["no_inline"] = UnitAttr()
        region = parser.parse_region()
        return cls.create(
            result_types=types,
            properties=properties,
            regions=[region],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        if len(self.results) == 1:
            printer.print_string(" -> ")
            printer.print_attribute(self.result_types[0])
        else:
            print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" no_inline " if self.no_inline is not None else " ")
        printer.print_region(self.region, print_entry_block_args=False)
        print_attributes(printer, self, ("no_inline",))

    def verify_(self) -> None:
        entry = self.region.blocks.first
        if entry is None:
            raise VerifyException("region needs to have at least one block")
        if entry.args:
            raise VerifyException("region cannot have any arguments")

    def verify_regions(self) -> None:
        for block in self.region.blocks:
            if isinstance(block.last_op, xdsl_scf.YieldOp):
                verify_flow(block.last_op, "parent", block.last_op.operand_types, self.result_types)


@amend
class IndexSwitchOp(xdsl_scf.IndexSwitchOp):
    """One of several regions, chosen by a number."""

    cases = prop_def(DenseArrayBase.constr(i64))
    default_region = region_def("single_block")
    case_regions = var_region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        argument = parser.parse_operand(INDEX)
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            types = parse_types(parser)
        values: list[int] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword("case") is not None:
            values.append(parser.parse_integer(allow_boolean=False))
            regions.append(parser.parse_region())
        parser.parse_keyword("default")
        default = ensure_terminated(parser.parse_region(), YieldOp.create)
        return cls.create(
            operands=[argument],
            result_types=types,
            properties={"cases": DenseArrayBase.from_list(i64, values)},
            attributes=attributes,
            regions=[default, *regions],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arg)
        print_attributes(printer, self, ("cases",))
        if self.results:
            printer.print_string(" -> ")
            print_types(printer, self.result_types)
        printer.print_string(" ")
        for value, region in zip(self.cases.get_values(), self.case_regions, strict=True):
            printer._print_new_line()
            printer.print_string(f"case {value} ")
            printer.print_region(region, print_entry_block_args=False)
        printer._print_new_line()
        printer.print_string("default ")
        hidden = is_plain_terminator(_terminator(self.default_region))
        printer.print_region(self.default_region, print_block_terminators=not hidden)

    def verify_(self) -> None:
        values = self.cases.get_values()
        if len(values) != len(self.case_regions):
            raise VerifyException(f"has {len(self.case_regions)} case regions but {len(values)} case values")
        seen: set[int] = set()
        for value in values:
            if value in seen:
                raise VerifyException(f"has duplicate case value: {value}")
            seen.add(value)
        names = ("default region", *(f"case region #{number}" for number in range(len(values))))
        for name, region in zip(names, self.regions, strict=True):
            end = _terminator(region)
            if not isinstance(end, xdsl_scf.YieldOp):
                raise VerifyException(
                    f"expected region to end with scf.yield, but got {end.name if end else 'nothing'}"
                )
            if len(end.operands) != len(self.results):
                raise VerifyError(
                    f"expected each region to return {len(self.results)} values, "
                    f"but {name} returns {len(end.operands)}",
                    (end, "see yield operation here"),
                )
            for number, (expected, found) in enumerate(zip(self.result_types, end.operand_types, strict=True)):
                if expected != found:
                    raise VerifyError(
                        f"expected result #{number} of each region to be {quoted(expected)}",
                        (end, f"{name} returns {quoted(found)} here"),
                    )


@op_definition
class InParallelOp(IRDLOperation):
    """How the threads of an `scf.forall` combine their results."""

    name = "scf.forall.in_parallel"
    region = region_def("single_block")
    traits = traits_def(IsTerminator(), NoTerminator(), ParentOp("scf.forall"), Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        region = parser.parse_region()
        if region.blocks.first is None:
            region.add_block(Block())
        return cls.create(regions=[region], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.region, False, False, False)
        print_attributes(printer, self)

    @classmethod
    def empty(cls) -> Self:
        return cls.create(regions=[Region(Block())])

    def verify_(self) -> None:
        for op in self.region.block.ops:
            if op.name not in PARALLEL_COMBINING_OPS:
                raise VerifyException("expected only ParallelCombiningOpInterface ops")


PARALLEL_COMBINING_OPS = frozenset({"tensor.parallel_insert_slice"})


@op_definition
class ForallOp(IRDLOperation):
    """A loop whose iterations are independent threads."""

    name = "scf.forall"
    dynamic_lower_bound = var_operand_def(IndexType)
    dynamic_upper_bound = var_operand_def(IndexType)
    dynamic_step = var_operand_def(IndexType)
    outputs = var_operand_def(base(TensorType))
    static_lower_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticLowerBound")
    static_upper_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticUpperBound")
    static_step = prop_def(DenseArrayBase.constr(i64), prop_name="staticStep")
    mapping = opt_prop_def(ArrayAttr)
    res = var_result_def()
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = lazy_traits_def(lambda: (SingleBlockImplicitTerminator(InParallelOp), RecursiveMemoryEffect()))

    @property
    def rank(self) -> int:
        return len(self.static_upper_bound)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
        if parser.parse_optional_punctuation("=") is not None:
            lower = parse_mixed_indices(parser, PAREN)
            parser.parse_keyword("to")
            upper = parse_mixed_indices(parser, PAREN)
            parser.parse_keyword("step")
            step = parse_mixed_indices(parser, PAREN)
        else:
            parser.parse_keyword("in")
            upper = parse_mixed_indices(parser, PAREN)
            lower = _constant_bounds(0, len(variables))
            step = _constant_bounds(1, len(variables))
        arguments: list[Parser.UnresolvedArgument] = []
        initial: list[UnresolvedOperand] = []
        types: list[Attribute] = []
        position = parser.pos
        if parser.parse_optional_keyword("shared_outs") is not None:
            arguments, initial = parse_bindings(parser)
            types = parse_optional_arrow_types(parser)
        outputs = parser.resolve_operands(initial, types, position)
        body = parser.parse_region(
            [*(variable.resolve(INDEX) for variable in variables), *resolve_arguments(arguments, types)]
        )
        ensure_terminated(body, InParallelOp.empty)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        properties |= {
            "staticLowerBound": lower[1],
            "staticUpperBound": upper[1],
            "staticStep": step[1],
            "operandSegmentSizes": segments(len(lower[0]), len(upper[0]), len(step[0]), len(outputs)),
        }
        return cls.create(
            operands=[*lower[0], *upper[0], *step[0], *outputs],
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        arguments = self.body.block.args
        printer.print_string(" ")
        print_operands(printer, arguments[: self.rank], "()")
        if self.is_normalized:
            printer.print_string(" in ")
            print_mixed_indices(printer, self.dynamic_upper_bound, self.static_upper_bound, "()")
        else:
            printer.print_string(" = ")
            print_mixed_indices(printer, self.dynamic_lower_bound, self.static_lower_bound, "()")
            printer.print_string(" to ")
            print_mixed_indices(printer, self.dynamic_upper_bound, self.static_upper_bound, "()")
            printer.print_string(" step ")
            print_mixed_indices(printer, self.dynamic_step, self.static_step, "()")
        if self.outputs:
            printer.print_string(" shared_outs")
            print_bindings(printer, arguments[self.rank :], self.outputs)
            print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, False, False, bool(self.results))
        print_attributes(printer, self, ("staticLowerBound", "staticUpperBound", "staticStep"))

    @property
    def is_normalized(self) -> bool:
        """Whether every dimension starts at zero and goes up by one."""
        return set(self.static_lower_bound.get_values()) <= {0} and set(self.static_step.get_values()) <= {1}

    def verify_(self) -> None:
        for name, values in (
            ("lower bound", self.static_lower_bound),
            ("upper bound", self.static_upper_bound),
            ("step", self.static_step),
        ):
            expected = len(self.body.block.args) - len(self.outputs)
            if len(values) != expected:
                raise VerifyError(f"expected {expected} {name} values, got {len(values)}", bare=True)
        if len(self.results) != len(self.outputs):
            raise VerifyException(f"produces {len(self.results)} results, but has only {len(self.outputs)} outputs")
        for number, (argument, type) in enumerate(
            zip_longest(self.body.block.args, (INDEX,) * self.rank + tuple(value.type for value in self.outputs))
        ):
            if argument.type != type:
                kind = "an index" if number < self.rank else f"type {quoted(type)}"
                raise VerifyException(f"expects {number}-th block argument to be {kind}")
        if self.mapping is not None and len(self.mapping) != self.rank:
            raise VerifyException("mapping attribute size must match op rank")


def _constant_bounds(value: int, count: int) -> tuple[list[SSAValue], Integers]:
    return [], DenseArrayBase.from_list(i64, [value] * count)


SCF = amended(
    xdsl_scf.Scf,
    [
        ConditionOp,
        ExecuteRegionOp,
        ForOp,
        ForallOp,
        IfOp,
        InParallelOp,
        IndexSwitchOp,
        ParallelOp,
        ReduceOp,
        ReduceReturnOp,
        WhileOp,
        YieldOp,
    ],
)
