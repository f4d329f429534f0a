"""Affine expressions of values, and maps with their operands."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from xdsl.dialects import affine as xdsl_affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    MemRefType,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.irdl import (
    IRDLOperation,
    base,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    SQUARE,
    parse_indices,
    parse_operands,
    parse_optional_operands,
    print_operands,
    resolve_all,
)
from tilewright.ir.affine_text import ExpressionReader, expr_text
from tilewright.ir.constraints import described
from tilewright.ir.print_operations import PartDirective

if TYPE_CHECKING:
    from tilewright.ir.attribute_parser import AttributeParser

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
        # The grammar of affine maps, in which values stand for dimensions and symbols.
        self.parse_expr = ExpressionReader(cast("AttributeParser", parser), self._parse_leaf).read

    def _parse_leaf(self) -> AffineExpr | None:
        if self.parser.parse_optional_keyword("symbol") is not None:
            with self.parser.in_parens():
                symbol = self.parser.parse_unresolved_operand()
            return AffineExpr.symbol(_position(self.symbols, symbol))
        dim = self.parser.parse_optional_unresolved_operand()
        return None if dim is None else AffineExpr.dimension(_position(self.dims, dim))

    def map_of(self, results: Sequence[AffineExpr]) -> AffineMapAttr:
        return AffineMapAttr(AffineMap(len(self.dims), len(self.symbols), tuple(results)))

    @property
    def unresolved(self) -> list[UnresolvedOperand]:
        return [*self.dims.values(), *self.symbols.values()]

    def operands(self) -> list[SSAValue]:
        return resolve_all(self.parser, self.unresolved, INDEX)


def _position(seen: dict[tuple[str, int], UnresolvedOperand], operand: UnresolvedOperand) -> int:
    """Which dimension or symbol an operand is, a new one if it has not been met."""
    # A value that is written twice is one dimension.
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


@irdl_custom_directive
class AffineSubscripts(PartDirective):
    """`[%i + 3, symbol(%n)]` in a format."""

    operands: VariadicOperandVariable
    map: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        subscripts = Subscripts(parser)
        results = parser.parse_comma_separated_list(SQUARE, subscripts.parse_expr)
        self.operands.set(state, subscripts.unresolved)
        self.map.set(state, subscripts.map_of(results))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_subscripts(printer, cast(AffineMapAttr, self.map.get(op)), self.operands.get(op))


@irdl_custom_directive
class AppliedMap(PartDirective):
    """`#map(%a)[%b]` in a format."""

    map: AttributeVariable
    operands: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        map = parse_map(parser, AffineMapAttr)
        dims, symbols = parse_operands(parser, PAREN), parse_optional_operands(parser, SQUARE)
        # Memory has one list of operands, so only text can tell this mistake.
        if (map.data.num_dims, map.data.num_symbols) != (len(dims), len(symbols)):
            parser.raise_error("dimension or symbol index mismatch", position)
        self.map.set(state, map)
        self.operands.set(state, [*dims, *symbols])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        map = cast(AffineMapAttr, self.map.get(op))
        state.print_whitespace(printer)
        printer.print_attribute(map)
        print_map_operands(printer, map.data.num_dims, self.operands.get(op))


def print_applied(
    printer: Printer, map: AffineMap, results: Sequence[AffineExpr], operands: Sequence[SSAValue]
) -> None:
    """Some results of a map, with values in place of its dimensions and symbols."""

    def name_of(leaf: AffineDimExpr | AffineSymExpr) -> str:
        if isinstance(leaf, AffineSymExpr):
            # Marked, since values print themselves: the printer gives them their names.
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
            # xDSL's classes are the bases of ours.
            if isinstance(owner, xdsl_affine.ForOp | xdsl_affine.ParallelOp) and operand.type == INDEX:
                raise VerifyException("operand cannot be used as a symbol")
