"""The affine dialect, with the syntax and the checks of upstream MLIR."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Self, TypeVar, cast

from xdsl.dialects import affine as xdsl_affine
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    RangeOf,
    base,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._amend import amend, amended
from tilewright.dialects._ods import op_definition
from tilewright.dialects._regions import verify_flow
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    SQUARE,
    Integers,
    ensure_terminated,
    parse_indices,
    parse_mixed_indices,
    parse_optional_arrow_types,
    parse_optional_operands,
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
)
from tilewright.dialects.memref.access import ATOMIC_KINDS, AtomicKind, parse_cache_hint, print_cache_hint
from tilewright.dialects.memref.types import LOCALITY, memref_type, parse_memref_type
from tilewright.dialects.scf import parse_bindings, print_bindings, resolve_arguments
from tilewright.ir import affine_text
from tilewright.ir.affine_text import expr_text
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted

AttributeT = TypeVar("AttributeT", bound=Attribute)

MAP = described(base(AffineMapAttr), "AffineMap attribute")


class Subscripts:
    """Affine expressions of values, such as `%i + 3, symbol(%n) * 2`, read into a map and its operands.

    Each value becomes one dimension or symbol, in the order in which they are first written.
    """

    def __init__(self, parser: Parser):
        self.parser = parser
        self.dims: dict[tuple[str, int], UnresolvedOperand] = {}
        self.symbols: dict[tuple[str, int], UnresolvedOperand] = {}

    def parse_expr(self) -> AffineExpr:
        expr = self._parse_product()
        while True:
            if self.parser.parse_optional_characters("+") is not None:
                expr = affine_text.add(expr, self._parse_product())
            elif self.parser.parse_optional_characters("-") is not None:
                expr = affine_text.add(expr, affine_text.negate(self._parse_product()))
            else:
                return expr

    def _parse_product(self) -> AffineExpr:
        expr = self._parse_leaf()
        while True:
            for text, combine in _PRODUCTS.items():
                if self.parser.parse_optional_characters(text) is not None:
                    expr = combine(expr, self._parse_leaf())
                    break
            else:
                return expr

    def _parse_leaf(self) -> AffineExpr:
        parser = self.parser
        if parser.parse_optional_characters("-") is not None:
            return affine_text.negate(self._parse_leaf())
        if parser.parse_optional_characters("(") is not None:
            expr = self.parse_expr()
            parser.parse_characters(")")
            return expr
        if parser.parse_optional_keyword("symbol") is not None:
            parser.parse_characters("(")
            symbol = parser.parse_unresolved_operand()
            parser.parse_characters(")")
            return AffineExpr.symbol(_position(self.symbols, symbol))
        dim = parser.parse_optional_unresolved_operand()
        if dim is not None:
            return AffineExpr.dimension(_position(self.dims, dim))
        value = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if value is None:
            parser.raise_error("expected affine expression")
        return AffineExpr.constant(value)

    def map_of(self, results: Sequence[AffineExpr]) -> AffineMapAttr:
        return AffineMapAttr(AffineMap(len(self.dims), len(self.symbols), tuple(results)))

    def operands(self) -> list[SSAValue]:
        return resolve_all(self.parser, [*self.dims.values(), *self.symbols.values()], INDEX)


_PRODUCTS: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "*": affine_text.multiply,
    "floordiv": affine_text.floor_divide,
    "ceildiv": affine_text.ceil_divide,
    "mod": affine_text.modulo,
}


def _position(seen: dict[tuple[str, int], UnresolvedOperand], operand: UnresolvedOperand) -> int:
    """Which dimension or symbol an operand is, a new one if it has not been met."""
    key = (operand.operand_name, operand.index)
    seen.setdefault(key, operand)
    return list(seen).index(key)


def parse_subscripts(parser: Parser) -> tuple[AffineMapAttr, list[SSAValue]]:
    """`[%i + 3, symbol(%n)]`."""
    subscripts = Subscripts(parser)
    results = parser.parse_comma_separated_list(SQUARE, subscripts.parse_expr)
    return subscripts.map_of(results), subscripts.operands()


def print_subscripts(printer: Printer, map: AffineMapAttr, operands: Sequence[SSAValue]) -> None:
    """The inverse of `parse_subscripts`."""
    printer.print_string("[")
    print_applied(printer, map.data, map.data.results, operands)
    printer.print_string("]")


def print_applied(
    printer: Printer, map: AffineMap, results: Sequence[AffineExpr], operands: Sequence[SSAValue]
) -> None:
    """Some results of a map, with values in place of its dimensions and symbols."""

    def name_of(leaf: AffineDimExpr | AffineSymExpr) -> str:
        if isinstance(leaf, AffineSymExpr):
            return f"symbol(\0{map.num_dims + leaf.position}\0)"
        return f"\0{leaf.position}\0"

    text = ", ".join(expr_text(result, name_of) for result in results)
    for number, piece in enumerate(text.split("\0")):
        if number % 2:
            printer.print_ssa_value(operands[int(piece)])
        else:
            printer.print_string(piece)


def parse_map_operands(parser: Parser) -> tuple[list[SSAValue], list[SSAValue]]:
    """`(dims)[symbols]`, the symbols optional."""
    dims = parse_indices(parser, PAREN)
    return dims, resolve_all(parser, parse_optional_operands(parser, SQUARE), INDEX)


def print_map_operands(printer: Printer, num_dims: int, operands: Sequence[SSAValue]) -> None:
    """The inverse of `parse_map_operands`."""
    print_operands(printer, operands[:num_dims], "()")
    if len(operands) > num_dims:
        print_operands(printer, operands[num_dims:])


def parse_map(parser: Parser, expected: type[AttributeT]) -> AttributeT:
    """An affine map or set, inline or by its alias."""
    position = parser.pos
    attribute = parser.parse_attribute()
    if not isinstance(attribute, expected):
        parser.raise_error("invalid kind of attribute specified", position)
    return attribute


class _Applied(IRDLOperation):
    """A map and its operands: `#map(%a)[%b]`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        map = parse_map(parser, AffineMapAttr)
        dims, symbols = parse_map_operands(parser)
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
        map = cast(AffineMapAttr, self.properties["map"]).data
        if len(self.operands) != map.num_dims + map.num_symbols:
            raise VerifyException("operand count and affine map dimension and symbol count must match")
        if not map.results:
            raise VerifyException("affine map expect at least one result")
        verify_symbols(self.operands[map.num_dims :])


@amend
class ApplyOp(_Applied, xdsl_affine.ApplyOp):
    """The value of an affine expression."""

    def verify_(self) -> None:
        super().verify_()
        if len(self.map.data.results) != 1:
            raise VerifyException("mapping must produce one value")


@amend
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


@amend
class YieldOp(xdsl_affine.YieldOp):
    """The values that a region hands on."""

    traits = traits_def(IsTerminator(), ReturnLike(), Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=parse_typed_operands(parser), attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)
        print_typed_operands(printer, self.operands)

    def verify_(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, xdsl_affine.ForOp | xdsl_affine.IfOp | xdsl_affine.ParallelOp):
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
        if map.num_dims == 0 and map.num_symbols == 1 and isinstance(result, AffineSymExpr):
            printer.print_ssa_value(operands[0])
            return
    else:
        printer.print_string(f"{prefix} ")
    printer.print_attribute(bound)
    print_map_operands(printer, map.num_dims, operands)


@amend
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
        step = 1
        if parser.parse_optional_keyword("step") is not None:
            position = parser.pos
            step = parser.parse_integer(allow_boolean=False)
            if step < 0:
                parser.raise_error("expected step to be representable as a positive signed integer", position)
        arguments: list[Parser.UnresolvedArgument] = []
        initial: list[UnresolvedOperand] = []
        types: list[Attribute] = []
        position = parser.pos
        if parser.parse_optional_keyword("iter_args") is not None:
            arguments, initial = parse_bindings(parser)
            types = parse_optional_arrow_types(parser)
            if len(arguments) != len(types):
                parser.raise_error("mismatch between the number of loop-carried values and results", position)
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
        printer.print_ssa_value(variable)
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


@amend
class IfOp(xdsl_affine.IfOp):
    """One region or the other, by affine conditions."""

    then_region = region_def()
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())

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
        if any(region.blocks.first and region.blocks.first.args for region in self.regions):
            raise VerifyException("child region can not have block arguments")

    def verify_regions(self) -> None:
        if self.results and self.else_region.blocks.first is None:
            verify_flow("parent", "parent", (), self.result_types)


class _Bounds(NamedTuple):
    map: AffineMapAttr
    operands: Sequence[SSAValue]
    groups: Sequence[int]


def _parse_bounds(parser: Parser, prefix: str) -> _Bounds:
    """`(0, max(%a, %b + 1))`: expressions, or groups of them of which the greatest or least counts."""
    subscripts = Subscripts(parser)
    results: list[AffineExpr] = []

    def parse_group() -> int:
        if parser.parse_optional_keyword(prefix) is None:
            results.append(subscripts.parse_expr())
            return 1
        group = parser.parse_comma_separated_list(PAREN, subscripts.parse_expr)
        results.extend(group)
        return len(group)

    groups = parser.parse_comma_separated_list(PAREN, parse_group)
    return _Bounds(subscripts.map_of(results), subscripts.operands(), groups)


def _print_bounds(printer: Printer, bounds: _Bounds, prefix: str) -> None:
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


@amend
class ParallelOp(xdsl_affine.ParallelOp):
    """Loops between affine bounds whose iterations may run in any order."""

    reductions = prop_def(described(ArrayAttr.constr(RangeOf(IntegerAttr.constr(i64))), "Reduction ops"))
    steps = prop_def(described(ArrayAttr.constr(RangeOf(IntegerAttr.constr(i64))), "64-bit integer array attribute"))
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())

    @property
    def reduction_kinds(self) -> list[AtomicKind]:
        return [ATOMIC_KINDS[kind.value.data] for kind in self.reductions]

    @property
    def bounds(self) -> tuple[_Bounds, _Bounds]:
        """Lower and upper bounds with their operands."""
        split = self.lowerBoundsMap.data.num_dims + self.lowerBoundsMap.data.num_symbols
        return (
            _Bounds(self.lowerBoundsMap, self.operands[:split], self.lowerBoundsGroups.get_values()),
            _Bounds(self.upperBoundsMap, self.operands[split:], self.upperBoundsGroups.get_values()),
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
    if text not in ATOMIC_KINDS:
        parser.raise_error(f'invalid reduction value: "{text}"', position)
    return AtomicKind(text)


class _Access(IRDLOperation):
    """What reads and writes at affine subscripts have in common."""

    HAS_VALUE: ClassVar = False
    """Whether the operands begin with a value to be written."""
    HAS_VECTOR: ClassVar = False
    """Whether a vector's type stands behind the memref's."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = None
        if cls.HAS_VALUE:
            value = parser.parse_unresolved_operand()
            parser.parse_punctuation(",")
        buffer = parser.parse_unresolved_operand()
        map, indices = parse_subscripts(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parse_memref_type(parser)
        element: Attribute = type.element_type
        if cls.HAS_VECTOR:
            parser.parse_punctuation(",")
            element = _parse_vector_type(parser)
        operands = [parser.resolve_operand(buffer, type), *indices]
        if value is not None:
            operands.insert(0, parser.resolve_operand(value, element))
        return cls.create(
            operands=operands,
            result_types=[] if cls.HAS_VALUE else [element],
            properties={"map": map},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        operands = list(self.operands)
        printer.print_string(" ")
        value = operands.pop(0) if self.HAS_VALUE else self.results[0]
        if self.HAS_VALUE:
            printer.print_ssa_value(value)
            printer.print_string(", ")
        buffer = operands.pop(0)
        printer.print_ssa_value(buffer)
        print_subscripts(printer, cast(AffineMapAttr, self.properties["map"]), operands)
        print_attributes(printer, self, ("map",))
        printer.print_string(" : ")
        printer.print_attribute(buffer.type)
        if self.HAS_VECTOR:
            printer.print_string(", ")
            printer.print_attribute(value.type)

    def verify_(self) -> None:
        operands = list(self.operands)
        value = operands.pop(0) if self.HAS_VALUE else self.results[0]
        type = memref_type(operands.pop(0))
        if self.HAS_VECTOR:
            if cast(VectorType, value.type).element_type != type.element_type:
                raise VerifyException("requires memref and vector types of the same elemental type")
        elif value.type != type.element_type:
            what = "value to store must have the same type as memref element type"
            raise VerifyException(what if self.HAS_VALUE else "result type must match element type of memref")
        verify_subscripts(cast(AffineMapAttr, self.properties["map"]), type, operands)


def _parse_vector_type(parser: Parser) -> VectorType:
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, VectorType):
        parser.raise_error(
            f"invalid kind of type specified: expected builtin.vector, but found {quoted(type)}", position
        )
    return cast(VectorType, type)


def verify_subscripts(map: AffineMapAttr, type: MemRefType, operands: Sequence[SSAValue]) -> None:
    """A map into a memref gives an index for each dimension, and has an operand for each input."""
    if len(map.data.results) != type.get_num_dims():
        raise VerifyException("affine map num results must equal memref rank")
    if len(operands) != map.data.num_dims + map.data.num_symbols:
        raise VerifyException("expects as many subscripts as affine map inputs")
    verify_symbols(operands[map.data.num_dims :])


def verify_symbols(operands: Sequence[SSAValue]) -> None:
    """Symbols do not change inside a loop, so they are not its variables."""
    for operand in operands:
        if isinstance(operand, BlockArgument):
            owner = operand.owner.parent_op()
            if isinstance(owner, xdsl_affine.ForOp | xdsl_affine.ParallelOp) and operand.type == INDEX:
                raise VerifyException("operand cannot be used as a symbol")


@amend
class LoadOp(_Access, xdsl_affine.LoadOp):
    """Read one element of a buffer."""

    memref = operand_def(MemRefType)
    result = result_def()
    traits = traits_def(MemoryReadEffect())


@amend
class StoreOp(_Access, xdsl_affine.StoreOp):
    """Write one element of a buffer."""

    HAS_VALUE: ClassVar = True
    value = operand_def()
    memref = operand_def(MemRefType)
    traits = traits_def(MemoryWriteEffect())


@amend
class VectorLoadOp(_Access, xdsl_affine.VectorLoadOp):
    """Read neighbouring elements of a buffer into a vector."""

    HAS_VECTOR: ClassVar = True
    memref = operand_def(MemRefType)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())


@amend
class VectorStoreOp(_Access, xdsl_affine.VectorStoreOp):
    """Write a vector into neighbouring elements of a buffer."""

    HAS_VALUE: ClassVar = True
    HAS_VECTOR: ClassVar = True
    value = operand_def(VectorType)
    memref = operand_def(MemRefType)
    traits = traits_def(MemoryWriteEffect())


@op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will be used soon."""

    name = "affine.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(MAP)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(LOCALITY, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parser.parse_unresolved_operand()
        map, indices = parse_subscripts(parser)
        properties = parse_cache_hint(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=[parser.resolve_operand(buffer, parse_memref_type(parser)), *indices],
            properties={"map": map, **properties},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        print_subscripts(printer, self.map, self.indices)
        print_cache_hint(printer, self)
        print_attributes(printer, self, ("map", "isWrite", "localityHint", "isDataCache"))
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    def verify_(self) -> None:
        verify_subscripts(self.map, memref_type(self.memref), self.indices)


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
        if len(self.results) - len(self.static_basis) not in (0, 1):
            raise VerifyException("should return an index for each basis element and up to one extra index")


@op_definition
class LinearizeIndexOp(IRDLOperation):
    """The number with the given digits in a mixed-radix system."""

    name = "affine.linearize_index"
    multi_index = var_operand_def(IndexType)
    dynamic_basis = var_operand_def(IndexType)
    static_basis = prop_def(DenseArrayBase.constr(i64))
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
        if len(self.multi_index) - len(self.static_basis) not in (0, 1):
            raise VerifyException("should be passed a basis element for each index except possibly the first")


def _verify_basis(static: Integers, dynamic: Sequence[SSAValue]) -> None:
    if len(dynamic) != static.get_values().count(DYNAMIC_INDEX):
        raise VerifyException(
            "mismatch between dynamic and static basis (kDynamic marker but no corresponding dynamic basis entry)"
        )


@op_definition
class DmaStartOp(IRDLOperation):
    """Start a copy between memories; the tag tells when it is done."""

    name = "affine.dma_start"
    all_operands = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    MAPS: ClassVar = ("src_map", "dst_map", "tag_map")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffers: list[UnresolvedOperand] = []
        places: list[tuple[AffineMapAttr, list[SSAValue]]] = []
        for number in range(3):
            if number:
                parser.parse_punctuation(",")
            buffers.append(parser.parse_unresolved_operand())
            places.append(parse_subscripts(parser))
        rest: list[SSAValue] = []
        while parser.parse_optional_punctuation(",") is not None:
            rest.append(parser.parse_operand(INDEX))
        if len(rest) not in (1, 3):
            parser.raise_error("expected two stride related operands")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parse_types(parser)
        if len(types) != 3:
            parser.raise_error("expected three types", position)
        operands: list[SSAValue] = []
        for buffer, type, (_, indices) in zip(buffers, types, places, strict=True):
            operands += [parser.resolve_operand(buffer, type), *indices]
        maps = {name: map for name, (map, _) in zip(cls.MAPS, places, strict=True)}
        return cls.create(operands=[*operands, *rest], attributes=attributes | maps)

    def _map(self, name: str) -> AffineMap:
        attribute = self.attributes.get(name)
        if not isinstance(attribute, AffineMapAttr):
            raise VerifyException(f"requires attribute '{name}'")
        return attribute.data

    @property
    def parts(self) -> tuple[list[list[SSAValue]], list[SSAValue]]:
        """Source, destination and tag, each with the operands of its map, and what follows them."""
        rest = list(self.operands)
        parts: list[list[SSAValue]] = []
        for name in self.MAPS:
            map = self._map(name)
            length = 1 + map.num_dims + map.num_symbols
            parts.append(rest[:length])
            del rest[:length]
        return parts, rest

    def print(self, printer: Printer) -> None:
        parts, rest = self.parts
        printer.print_string(" ")
        for number, (name, (buffer, *indices)) in enumerate(zip(self.MAPS, parts, strict=True)):
            if number:
                printer.print_string(", ")
            printer.print_ssa_value(buffer)
            print_subscripts(printer, AffineMapAttr(self._map(name)), indices)
        for operand in rest:
            printer.print_string(", ")
            printer.print_ssa_value(operand)
        printer.print_op_attributes({k: v for k, v in self.attributes.items() if k not in self.MAPS})
        printer.print_string(" : ")
        print_types(printer, [part[0].type for part in parts])

    def verify_(self) -> None:
        parts, rest = self.parts
        for what, part in zip(("source", "destination", "tag"), parts, strict=True):
            if not part or not isinstance(part[0].type, MemRefType):
                raise VerifyException(f"expected DMA {what} to be of memref type")
            if any(index.type != INDEX for index in part[1:]):
                raise VerifyException(f"{what} index to dma_start must have 'index' type")
        if len(rest) not in (1, 3):
            raise VerifyException("incorrect number of operands")


@op_definition
class DmaWaitOp(IRDLOperation):
    """Wait for the copy that a tag stands for."""

    name = "affine.dma_wait"
    all_operands = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tag = parser.parse_unresolved_operand()
        map, indices = parse_subscripts(parser)
        parser.parse_punctuation(",")
        count = parser.parse_operand(INDEX)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(tag, parse_memref_type(parser))
        return cls.create(operands=[value, *indices, count], attributes=attributes | {"tag_map": map})

    def print(self, printer: Printer) -> None:
        tag, *indices, count = self.operands
        printer.print_string(" ")
        printer.print_ssa_value(tag)
        print_subscripts(printer, cast(AffineMapAttr, self.attributes["tag_map"]), indices)
        printer.print_string(", ")
        printer.print_ssa_value(count)
        printer.print_op_attributes({k: v for k, v in self.attributes.items() if k != "tag_map"})
        printer.print_string(" : ")
        printer.print_attribute(tag.type)

    def verify_(self) -> None:
        if not isinstance(self.attributes.get("tag_map"), AffineMapAttr):
            raise VerifyException("requires attribute 'tag_map'")
        if len(self.operands) < 2 or not isinstance(self.operands[0].type, MemRefType):
            raise VerifyException("expected DMA tag to be of memref type")


AFFINE = amended(
    xdsl_affine.Affine,
    [
        ApplyOp,
        DelinearizeIndexOp,
        DmaStartOp,
        DmaWaitOp,
        ForOp,
        IfOp,
        LinearizeIndexOp,
        LoadOp,
        MaxOp,
        MinOp,
        ParallelOp,
        PrefetchOp,
        StoreOp,
        VectorLoadOp,
        VectorStoreOp,
        YieldOp,
    ],
)
