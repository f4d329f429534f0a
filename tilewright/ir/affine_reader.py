"""Affine expressions, maps and sets, simplified while they are read, as MLIR does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet

from tilewright.ir.affine_text import add, ceil_divide, floor_divide, is_symbolic, modulo, multiply, negate
from tilewright.ir.token_parser import DIGITS, IDENTIFIER_STARTS, integer_value
from tilewright.ir.type_parser import TypeParser

_PRODUCTS: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "*": multiply,
    "floordiv": floor_divide,
    "ceildiv": ceil_divide,
    "mod": modulo,
}
_ZERO = AffineExpr.constant(0)
_CONSTANT_BITS = 63


Leaf: TypeAlias = Callable[[], AffineExpr | None]
"""Reads what an expression is about: a dimension, a symbol, a value."""


def read_affine_map(parser: TypeParser) -> AffineMap:
    dimensions, symbols, leaf = _read_space(parser)
    if parser.parse_optional_characters("->") is None:
        parser._fail_expecting("expected '->' or ':'")
    expressions = _ExpressionReader(parser, leaf)
    results = parser.parse_list(parser.Delimiter.PAREN, expressions.read, context_msg=" in affine map range")
    return AffineMap(dimensions, symbols, tuple(results))


def read_affine_set(parser: TypeParser) -> AffineSet:
    dimensions, symbols, leaf = _read_space(parser)
    parser.parse_characters(":", " in integer set")
    expressions = _ExpressionReader(parser, leaf)
    constraints = parser.parse_list(
        parser.Delimiter.PAREN, expressions.read_constraint, context_msg=" in integer set constraint list"
    )
    return AffineSet(dimensions, symbols, tuple(constraints))


def read_affine_map_of_values(parser: TypeParser) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
    """`[%i + 1, %j]`: each value is a symbol of the map, numbered as they come."""
    symbols: dict[str, AffineExpr] = {}
    operands: list[SSAValue[IndexType]] = []

    def leaf() -> AffineExpr | None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return None
        if operand.operand_name not in symbols:
            symbols[operand.operand_name] = AffineExpr.symbol(len(symbols))
            operands.append(parser.resolve_operand(operand, IndexType()))
        return symbols[operand.operand_name]

    results = parser.parse_list(parser.Delimiter.SQUARE, _ExpressionReader(parser, leaf).read)
    return AffineMap(0, len(symbols), tuple(results)), operands


def _read_space(parser: TypeParser) -> tuple[int, int, Leaf]:
    """`(dimensions)[symbols]`, and what reads their names in the expressions that follow."""
    names: dict[str, AffineExpr] = {}
    tokens = parser.tokens

    def declare(make: Callable[[int], AffineExpr], before: int) -> None:
        start = parser.pos
        name = parser.parse_optional_identifier()
        if name is None:
            parser._fail_expecting("expected bare identifier")
        if name in names:
            parser._fail(start, f"redefinition of identifier '{name}'")
        names[name] = make(len(names) - before)

    paren, square = parser.Delimiter.PAREN, parser.Delimiter.SQUARE
    parser.parse_list(paren, lambda: declare(AffineExpr.dimension, 0), context_msg=" in dimensional identifier list")
    dimensions = len(names)
    if tokens.texts[tokens.index] == "[":
        parser.parse_list(square, lambda: declare(AffineExpr.symbol, dimensions), context_msg=" in symbol list")

    def leaf() -> AffineExpr | None:
        text = tokens.texts[tokens.index]
        if text[0] not in IDENTIFIER_STARTS or text in _PRODUCTS:
            return None
        if text not in names:
            parser._fail(parser.pos, "use of undeclared identifier")
        tokens.index += 1
        return names[text]

    return dimensions, len(names) - dimensions, leaf


class _ExpressionReader:
    """Reads expressions with the tokens of a parser."""

    def __init__(self, parser: TypeParser, leaf: Leaf):
        self.parser = parser
        self.tokens = parser.tokens
        self.leaf = leaf

    def read_constraint(self) -> AffineConstraintExpr:
        """`expr >= expr` and the like, kept as a comparison with zero."""
        left = self.read()
        tokens = self.tokens
        comparison = "".join(tokens.texts[tokens.index : tokens.index + 2])
        if comparison not in (">=", "<=", "=="):
            self.parser._fail_expecting("expected '== affine-expr' or '>= affine-expr' at end of affine constraint")
        tokens.index += 2
        right = self.read()
        if comparison == "<=":
            left, right = right, left
        kind = AffineConstraintKind.eq if comparison == "==" else AffineConstraintKind.ge
        return AffineConstraintExpr(kind, add(left, negate(right)), _ZERO, canonicalize=False)

    def read(self) -> AffineExpr:
        depth = self.parser.depth
        found = self._parse_product()
        while (sign := self.tokens.texts[self.tokens.index]) in ("+", "-"):
            self.parser._descend()
            self.tokens.index += 1
            operand = self._parse_product(is_right=True)
            found = add(found, operand if sign == "+" else negate(operand))
        self.parser.depth = depth
        return found

    def _parse_product(self, is_right: bool = False) -> AffineExpr:
        depth = self.parser.depth
        found = self._parse_operand(is_right)
        while (name := self.tokens.texts[self.tokens.index]) in _PRODUCTS:
            start = self.parser.pos
            self.parser._descend()
            self.tokens.index += 1
            operand = self._parse_operand(is_right=True)
            self._check_affine(start, name, found, operand)
            found = _PRODUCTS[name](found, operand)
        self.parser.depth = depth
        return found

    def _check_affine(self, start: int, name: str, left: AffineExpr, right: AffineExpr) -> None:
        if name == "*" and not is_symbolic(left) and not is_symbolic(right):
            self.parser._fail(
                start,
                "non-affine expression: at least one of the multiply operands has to be either a constant or symbolic",
            )
        if name != "*" and not is_symbolic(right):
            self.parser._fail(
                start, f"non-affine expression: right operand of {name} has to be either a constant or symbolic"
            )

    def _parse_operand(self, is_right: bool = False) -> AffineExpr:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] in DIGITS and "." not in text:
            value = integer_value(text)
            if value.bit_length() > _CONSTANT_BITS:
                self.parser._fail(self.parser.pos, "constant too large for index")
            tokens.index += 1
            return AffineExpr.constant(value)
        if text == "-" or text == "(":
            self.parser._descend()
            tokens.index += 1
            found = negate(self._parse_operand(is_right=True)) if text == "-" else self.read()
            if text == "(":
                self.parser.parse_characters(")")
            self.parser.depth -= 1
            return found
        leaf = self.leaf()
        if leaf is None:
            if text in _PRODUCTS:
                self.parser._fail(self.parser.pos, "missing left operand of binary operator")
            self.parser._fail(
                self.parser.pos,
                "missing right operand of binary operator" if is_right else "expected affine expression",
            )
        return leaf
