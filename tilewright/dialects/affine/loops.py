"""Operations with regions."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from xdsl.dialects import affine as xdsl_affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IntegerAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.irdl import (
    RangeOf,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
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
from tilewright.dialects._regions import NoRegionArguments, verify_flow
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    TypedOperandsOp,
    ensure_terminated,
    parse_optional_arrow_types,
    print_attributes,
    print_operands,
    print_optional_arrow_types,
    segments,
)
from tilewright.dialects.affine.subscripts import (
    Subscripts,
    parse_map,
    parse_map_operands,
    print_applied,
    print_map_operands,
)
from tilewright.dialects.memref.access import ATOMIC_KINDS, AtomicKind
from tilewright.dialects.scf.bindings import parse_carried, print_bindings, resolve_arguments
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted


@derived_op_definition
class YieldOp(TypedOperandsOp, xdsl_affine.YieldOp):
    """The values that a region hands on."""

    traits = traits_def(IsTerminator(), ReturnLike(), Pure())

    def verify_(self) -> None:
        parent = self.parent_op()
        # Not by a trait: MLIR words this error differently.
        if not isinstance(parent, ForOp | IfOp | ParallelOp):
            raise VerifyException("only terminates affine.if/for/parallel regions")
        if len(parent.results) != len(self.operands):
            raise VerifyException("parent of yield must have same number of results as the yield operands")
        if tuple(parent.result_types) != tuple(self.operand_types):
            raise VerifyException("types mismatch between yield op and its parent")


class _Bound(NamedTuple):
    map: AffineMapAttr
    operands: Sequence[SSAValue]


def _parse_bound(parser: Parser, prefix: str, which: str) -> _Bound:
    """A bound of `affine.for`: a number, a value, or a map with its operands."""
    prefixed = parser.parse_optional_keyword(prefix) is not None
    operand = parser.parse_optional_operand(INDEX)
    if operand is not None:
        # A value is a symbol of the identity map, so it must be valid as one.
        return _Bound(AffineMapAttr(AffineMap(0, 1, (AffineExpr.symbol(0),))), [operand])
    value = parser.parse_optional_integer(allow_boolean=False)
    if value is not None:
        return _Bound(AffineMapAttr(AffineMap.constant_map(value)), [])
    position = parser.pos
    map = parse_map(parser, AffineMapAttr)
    dims, symbols = parse_map_operands(parser)
    if len(dims) != map.data.num_dims:
        parser.raise_error("dim operand count and affine map dim count must match", position)
    if len(symbols) != map.data.num_symbols:
        parser.raise_error("symbol operand count and affine map symbol count must match", position)
    # Of several bounds the greatest, or least, counts; the prefix says which.
    if len(map.data.results) > 1 and not prefixed:
        parser.raise_error(f"{which} loop bound affine map with multiple results requires '{prefix}' prefix", position)
    return _Bound(map, [*dims, *symbols])


def _print_bound(printer: Printer, bound: AffineMapAttr, operands: Sequence[SSAValue], prefix: str) -> None:
    map = bound.data
    if len(map.results) == 1:
        result = map.results[0]
        if not operands and isinstance(result, AffineConstantExpr):
            printer.print_string(str(result.value))
            return
        # The short form is for symbols: a dimension has to be told apart by its map.
        if map.num_dims == 0 and map.num_symbols == 1 and isinstance(result, AffineSymExpr):
            printer.print_ssa_value(operands[0])
            return
    else:
        # No result or several: never without the prefix.
        printer.print_string(f"{prefix} ")
    printer.print_attribute(bound)
    print_map_operands(printer, map.num_dims, operands)


@derived_op_definition
class ForOp(xdsl_affine.ForOp):
    """A loop between affine bounds that may carry values from one iteration to the next."""

    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = _parse_bound(parser, "max", "lower")
        parser.parse_keyword("to")
        upper = _parse_bound(parser, "min", "upper")
        # An attribute, unlike in `scf.for`: affine loops have constant steps.
        step = 1
        if parser.parse_optional_keyword("step") is not None:
            position = parser.pos
            step = parser.parse_integer(allow_boolean=False)
            if step < 0:
                parser.raise_error("expected step to be representable as a positive signed integer", position)
        position = parser.pos
        mismatch = "mismatch between the number of loop-carried values and results"
        arguments, initial, types = parse_carried(parser, "iter_args", mismatch)
        values = parser.resolve_operands(initial, types, position)
        body = parser.parse_region([variable.resolve(INDEX), *resolve_arguments(arguments, types)])
        ensure_terminated(body, YieldOp.create)
        return cls.create(
            operands=[*lower.operands, *upper.operands, *values],
            result_types=types,
            properties={
                "lowerBoundMap": lower.map,
                "upperBoundMap": upper.map,
                "step": IntegerAttr(step, INDEX),
                "operandSegmentSizes": segments(len(lower.operands), len(upper.operands), len(values)),
            },
            regions=[body],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        variable, *arguments = self.body.block.args
        printer.print_string(" ")
        # With its location where those are printed.
        printer.print_block_argument(variable, print_type=False)
        printer.print_string(" = ")
        _print_bound(printer, self.lowerBoundMap, self.lowerBoundOperands, "max")
        printer.print_string(" to ")
        _print_bound(printer, self.upperBoundMap, self.upperBoundOperands, "min")
        if self.step.value.data != 1:
            printer.print_string(f" step {self.step.value.data}")
        if arguments:
            printer.print_string(" iter_args")
            print_bindings(printer, arguments, self.inits)
            print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, False, False, bool(self.results))
        print_attributes(printer, self, ("lowerBoundMap", "upperBoundMap", "step"))

    def verify_(self) -> None:
        for which, map, operands in (
            ("lower", self.lowerBoundMap.data, self.lowerBoundOperands),
            ("upper", self.upperBoundMap.data, self.upperBoundOperands),
        ):
            if len(operands) != map.num_dims + map.num_symbols:
                raise VerifyException("operand count and affine map dimension and symbol count must match")
            if not map.results:
                raise VerifyException(f"expected {which} bound map to have at least one result")
        if len(self.inits) != len(self.results):
            raise VerifyException("mismatch between the number of loop-carried values and results")

    def verify_regions(self) -> None:
        # Generic text may have no arguments at all.
        variable, *arguments = self.body.block.args or (None,)
        if variable is None or variable.type != INDEX:
            raise VerifyException("expected body to have a single index argument for the induction variable")
        if len(arguments) != len(self.inits):
            raise VerifyException(
                f"different number of inits and region iter_args: {len(self.inits)} != {len(arguments)}"
            )
        for number, (init, argument) in enumerate(zip(self.inits, arguments, strict=True)):
            if init.type != argument.type:
                raise VerifyException(
                    f"{number}-th init and {number}-th region iter_arg have different type: "
                    f"{quoted(init.type)} != {quoted(argument.type)}"
                )


@derived_op_definition
class IfOp(xdsl_affine.IfOp):
    """One region or the other, by affine conditions."""

    then_region = region_def()
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), NoRegionArguments(), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parse_map(parser, AffineSetAttr)
        position = parser.pos
        dims, symbols = parse_map_operands(parser)
        if len(dims) != condition.data.num_dims:
            parser.raise_error("dim operand count and integer set dim count must match", position)
        if len(symbols) != condition.data.num_symbols:
            parser.raise_error("symbol operand count and integer set symbol count must match", position)
        types = parse_optional_arrow_types(parser)
        then = ensure_terminated(parser.parse_region(), YieldOp.create)
        otherwise = Region()
        if parser.parse_optional_keyword("else") is not None:
            otherwise = ensure_terminated(parser.parse_region(), YieldOp.create)
        return cls.create(
            operands=[*dims, *symbols],
            result_types=types,
            properties={"condition": condition},
            regions=[then, otherwise],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.condition)
        print_map_operands(printer, self.condition.data.num_dims, self.operands)
        # MLIR prints one type here without parentheses, unlike in `affine.for`.
        if len(self.results) == 1:
            printer.print_string(" -> ")
            printer.print_attribute(self.result_types[0])
        else:
            print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.then_region, False, False, bool(self.results))
        if self.else_region.blocks.first is not None:
            printer.print_string(" else ")
            printer.print_region(self.else_region, False, False, bool(self.results))
        print_attributes(printer, self, ("condition",))

    def verify_(self) -> None:
        if len(self.operands) != self.condition.data.num_dims + self.condition.data.num_symbols:
            raise VerifyException("operand count and integer set dimension and symbol count must match")

    def verify_regions(self) -> None:
        # There is no value to give where the condition does not hold.
        if self.results and self.else_region.blocks.first is None:
            verify_flow(self, "parent", (), self.result_types, source="parent")


class GroupedBounds(NamedTuple):
    """Bounds of several loops: results of a map, so many for each loop."""

    map: AffineMapAttr
    operands: Sequence[SSAValue]
    groups: Sequence[int]


def _parse_bounds(parser: Parser, prefix: str) -> GroupedBounds:
    """`(0, max(%a, %b + 1))`: expressions, or groups of them of which the greatest or least counts."""
    subscripts = Subscripts(parser)
    results: list[AffineExpr] = []

    # All expressions share one map; how many belong to each loop is kept beside it.
    def parse_group() -> int:
        if parser.parse_optional_keyword(prefix) is None:
            results.append(subscripts.parse_expr())
            return 1
        group = parser.parse_comma_separated_list(PAREN, subscripts.parse_expr)
        results.extend(group)
        return len(group)

    groups = parser.parse_comma_separated_list(PAREN, parse_group)
    return GroupedBounds(subscripts.map_of(results), subscripts.operands(), groups)


def _print_bounds(printer: Printer, bounds: GroupedBounds, prefix: str) -> None:
    """The inverse of `_parse_bounds`."""
    first = 0
    for number, size in enumerate(bounds.groups):
        if number:
            printer.print_string(", ")
        results = bounds.map.data.results[first : first + size]
        if size != 1:
            printer.print_string(f"{prefix}(")
        print_applied(printer, bounds.map.data, results, bounds.operands)
        if size != 1:
            printer.print_string(")")
        first += size


def _group_sizes(groups: Sequence[int]) -> Attribute:
    return DenseIntElementsAttr.from_list(TensorType(i32, [len(groups)]), groups)


@derived_op_definition
class ParallelOp(xdsl_affine.ParallelOp):
    """Loops between affine bounds whose iterations may run in any order."""

    reductions = prop_def(described(ArrayAttr.constr(RangeOf(IntegerAttr.constr(i64))), "Reduction ops"))
    steps = prop_def(described(ArrayAttr.constr(RangeOf(IntegerAttr.constr(i64))), "64-bit integer array attribute"))
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())

    @property
    def reduction_kinds(self) -> list[AtomicKind]:
        return [ATOMIC_KINDS[kind.value.data] for kind in self.reductions]

    @property
    def bounds(self) -> tuple[GroupedBounds, GroupedBounds]:
        """Lower and upper bounds with their operands."""
        # One list of operands for both maps, the lower's first.
        split = self.lowerBoundsMap.data.num_dims + self.lowerBoundsMap.data.num_symbols
        return (
            GroupedBounds(self.lowerBoundsMap, self.operands[:split], self.lowerBoundsGroups.get_values()),
            GroupedBounds(self.upperBoundsMap, self.operands[split:], self.upperBoundsGroups.get_values()),
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
        parser.parse_punctuation("=")
        lower = _parse_bounds(parser, "max")
        parser.parse_keyword("to")
        upper = _parse_bounds(parser, "min")
        steps = [1] * len(variables)
        if parser.parse_optional_keyword("step") is not None:
            steps = parser.parse_comma_separated_list(PAREN, parser.parse_integer)
        kinds: list[AtomicKind] = []
        if parser.parse_optional_keyword("reduce") is not None:
            kinds = parser.parse_comma_separated_list(PAREN, lambda: _parse_reduction(parser))
        types = parse_optional_arrow_types(parser)
        body = parser.parse_region([variable.resolve(INDEX) for variable in variables])
        ensure_terminated(body, YieldOp.create)
        return cls.create(
            operands=[*lower.operands, *upper.operands],
            result_types=types,
            properties={
                "reductions": ArrayAttr(IntegerAttr(ATOMIC_KINDS.index(kind), i64) for kind in kinds),
                "lowerBoundsMap": lower.map,
                "lowerBoundsGroups": _group_sizes(lower.groups),
                "upperBoundsMap": upper.map,
                "upperBoundsGroups": _group_sizes(upper.groups),
                "steps": ArrayAttr(IntegerAttr(step, i64) for step in steps),
            },
            regions=[body],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        lower, upper = self.bounds
        steps = [step.value.data for step in self.steps]
        printer.print_string(" ")
        print_operands(printer, self.body.block.args, "()")
        printer.print_string(" = (")
        _print_bounds(printer, lower, "max")
        printer.print_string(") to (")
        _print_bounds(printer, upper, "min")
        printer.print_string(")")
        # Steps of one go without saying, if all are.
        if any(step != 1 for step in steps):
            printer.print_string(f" step ({', '.join(map(str, steps))})")
        if self.results:
            kinds = ", ".join(f'"{kind}"' for kind in self.reduction_kinds)
            printer.print_string(f" reduce ({kinds})")
            print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, False, False, bool(self.results))
        print_attributes(
            printer,
            self,
            ("reductions", "lowerBoundsMap", "lowerBoundsGroups", "upperBoundsMap", "upperBoundsGroups", "steps"),
        )

    def verify_(self) -> None:
        lower, upper = self.bounds
        # A loop for each argument: four lists that have to be equally long.
        counts = len(self.body.block.args), len(lower.groups), len(upper.groups), len(self.steps)
        if len(set(counts)) != 1:
            raise VerifyException(
                f"the number of region arguments ({counts[0]}) and the number of map groups for lower ({counts[1]}) "
                f"and upper bound ({counts[2]}), and the number of steps ({counts[3]}) must all match"
            )
        for which, bounds in (("lower", lower), ("upper", upper)):
            if sum(bounds.groups) != len(bounds.map.data.results):
                raise VerifyException(f"expected {which} bounds map to have {len(bounds.map.data.results)} results")
            if len(bounds.operands) != bounds.map.data.num_dims + bounds.map.data.num_symbols:
                raise VerifyException("operand count and affine map dimension and symbol count must match")
        if len(self.reductions) != len(self.results):
            raise VerifyException("a reduction must be specified for each output")


def _parse_reduction(parser: Parser) -> AtomicKind:
    position = parser.pos
    text = parser.parse_str_literal()
    # Kinds of atomic updates: a reduction combines as those do.
    if text not in ATOMIC_KINDS:
        parser.raise_error(f'invalid reduction value: "{text}"', position)
    return AtomicKind(text)
