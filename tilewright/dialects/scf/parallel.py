"""Loops whose iterations may run side by side."""
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
    TensorType,
    i64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._mixed_indices import parse_mixed_indices, print_mixed_indices, verify_mixed
from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    Integers,
    ensure_terminated,
    parse_indices,
    parse_operands,
    parse_optional_arrow_types,
    parse_typed_operands,
    print_attributes,
    print_operands,
    print_optional_arrow_types,
    print_types,
    segments,
    split_attributes,
)
from tilewright.dialects.scf.bindings import parse_carried, print_bindings, resolve_arguments, terminator_of
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted


@derived_op_definition
class ReduceReturnOp(xdsl_scf.ReduceReturnOp):
    """The combined value of a reduction."""

    def verify_(self) -> None:
        block = self.parent
        # Both arguments have the type of the value that is reduced.
        expected = block.args[0].type if block is not None and block.args else self.result.type
        if self.result.type != expected:
            raise VerifyException(f"must have type {quoted(expected)} (the type of the reduction inputs)")


@derived_op_definition
class ReduceOp(xdsl_scf.ReduceOp):
    """How the values of parallel iterations are combined."""

    traits = lazy_traits_def(
        lambda: (
            RecursiveMemoryEffect(),
            HasParent(ParallelOp),
            IsTerminator(),
            SingleBlockImplicitTerminator(ReduceReturnOp),
        )
    )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: Sequence[SSAValue] = ()
        if parser.parse_optional_punctuation("(") is not None:
            operands = parse_typed_operands(parser)
            parser.parse_punctuation(")")
        regions: list[Region] = []
        # Without operands there are no regions.
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


@derived_op_definition
class ParallelOp(xdsl_scf.ParallelOp):
    """Loops over ranges whose iterations may run in any order."""

    traits = traits_def(SingleBlockImplicitTerminator(ReduceOp), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
        bounds: list[list[SSAValue]] = []
        parser.parse_punctuation("=")
        # Lower bounds follow the equals sign.
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
        # A loop without results has an empty `scf.reduce`.
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
        # MLIR prints one type here without parentheses, unlike in `scf.for`.
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
        reduce = terminator_of(self.body)
        if not isinstance(reduce, ReduceOp):
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
                    # MLIR reports it at the terminator, though the loop's verifier finds it.
                    at=reduce,
                    bare=True,
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


# By name: the tensor dialect is not loaded for programs without it.
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
            # The normalized form leaves out both; memory holds all three.
            lower = _constant_bounds(0, len(variables))
            step = _constant_bounds(1, len(variables))
        position = parser.pos
        arguments, initial, types = parse_carried(parser, "shared_outs")
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
        # What stands for a dynamic bound is none of these numbers.
        return set(self.static_lower_bound.get_values()) <= {0} and set(self.static_step.get_values()) <= {1}

    def verify_(self) -> None:
        for name, values, dynamic in (
            ("lower bound", self.static_lower_bound, self.dynamic_lower_bound),
            ("upper bound", self.static_upper_bound, self.dynamic_upper_bound),
            ("step", self.static_step, self.dynamic_step),
        ):
            expected = len(self.body.block.args) - len(self.outputs)
            if len(values) != expected:
                raise VerifyError(f"expected {expected} {name} values, got {len(values)}", bare=True)
            verify_mixed(dynamic, values, name)
        if len(self.results) != len(self.outputs):
            raise VerifyException(f"produces {len(self.results)} results, but has only {len(self.outputs)} outputs")
        for number, (argument, type) in enumerate(
            # Lists of different lengths differ where one has ended.
            zip_longest(self.body.block.args, (INDEX,) * self.rank + tuple(value.type for value in self.outputs))
        ):
            if argument.type != type:
                kind = "an index" if number < self.rank else f"type {quoted(type)}"
                raise VerifyException(f"expects {number}-th block argument to be {kind}")
        if self.mapping is not None and len(self.mapping) != self.rank:
            raise VerifyException("mapping attribute size must match op rank")


def _constant_bounds(value: int, count: int) -> tuple[list[SSAValue], Integers]:
    return [], DenseArrayBase.from_list(i64, [value] * count)
