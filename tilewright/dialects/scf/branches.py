"""Regions that run once or not at all."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Self

from xdsl.dialects import scf as xdsl_scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Region
from xdsl.irdl import (
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursivelySpeculatable, RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._regions import NoRegionArguments, verify_flow
from tilewright.dialects._syntax import (
    INDEX,
    ensure_terminated,
    is_plain_terminator,
    parse_optional_arrow_types,
    parse_types,
    print_attributes,
    print_optional_arrow_types,
    print_types,
)
from tilewright.dialects.scf.bindings import terminator_of, verify_cases
from tilewright.dialects.scf.loops import YieldOp
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted


@derived_op_definition
class IfOp(xdsl_scf.IfOp):
    """One region or the other, by a condition."""

    true_region = region_def()
    false_region = region_def()
    traits = traits_def(
        SingleBlockImplicitTerminator(YieldOp),
        NoRegionArguments(),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
    )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_operand(i1)
        types = parse_optional_arrow_types(parser)
        then = ensure_terminated(parser.parse_region(), YieldOp.create)
        # The region is there in any case: without blocks there is no else.
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
        # By hand: the definition allows empty regions, which the else branch needs.
        if self.true_region.blocks.first is None:
            raise VerifyException("region #0 ('thenRegion') failed to verify constraint: region with 1 blocks")
        if self.results and self.false_region.blocks.first is None:
            raise VerifyException("must have an else block if defining values")

    def verify_regions(self) -> None:
        for region in self.regions:
            # An empty else region has none.
            if (end := terminator_of(region)) is not None:
                verify_flow(end, "parent", end.operand_types, self.result_types)


@derived_op_definition
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
        # Otherwise the region alone, after one space.
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
            # Other blocks end with branches.
            if isinstance(block.last_op, YieldOp):
                verify_flow(block.last_op, "parent", block.last_op.operand_types, self.result_types)


@derived_op_definition
class IndexSwitchOp(xdsl_scf.IndexSwitchOp):
    """One of several regions, chosen by a number."""

    cases = prop_def(DenseArrayBase.constr(i64))
    default_region = region_def("single_block")
    case_regions = var_region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        argument = parser.parse_operand(INDEX)
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            # Without parentheses, unlike everywhere else in this dialect.
            types = parse_types(parser)
        values: list[int] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword("case") is not None:
            values.append(parser.parse_integer(allow_boolean=False))
            # Cases have to write their terminator; the default may leave it out.
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
        # Only a terminator that gives no values goes without saying.
        hidden = is_plain_terminator(terminator_of(self.default_region))
        printer.print_region(self.default_region, print_block_terminators=not hidden)

    def verify_(self) -> None:
        values = self.cases.get_values()
        verify_cases(values, self.case_regions)
        names = ("default region", *(f"case region #{number}" for number in range(len(values))))
        for name, region in zip(names, self.regions, strict=True):
            end = terminator_of(region)
            if not isinstance(end, YieldOp):
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
