"""Affine expressions, maps and sets, simplified while they are read, as MLIR does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet

from tilewright.ir.affine_text import add, ceil_divide, floor_divide, is_symbolic, modulo, multiply, negate
from tilewright.ir.elements_parser import ElementsParser
from tilewright.ir.token_parser import DIGITS, IDENTIFIER_STARTS, integer_value

_PRODUCTS: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "*": multiply,
    "floordiv": floor_divide,
    "ceildiv": ceil_divide,
    "mod": modulo,
}
_ZERO = AffineExpr.constant(0)
_CONSTANT_BITS = 63


class AffineParser(ElementsParser):
    """The part of the reader that knows affine maps."""

    _leaf: Callable[[], AffineExpr | None]
    """Reads what the expression at hand is about: a dimension, a symbol, a value."""

    def _parse_builtin_affine_map(self) -> AffineMapAttr:
        self.parse_characters("<", " in affine map")
        found = self.parse_affine_map()
        self.parse_characters(">", " in affine map")
        return AffineMapAttr(found)

    def _parse_builtin_affine_set(self) -> AffineSetAttr:
        self.parse_characters("<", " in integer set")
        found = self.parse_affine_set()
        self.parse_characters(">", " in integer set")
        return AffineSetAttr(found)

    def parse_affine_map(self) -> AffineMap:
        dimensions, symbols = self._parse_space()
        if self.parse_optional_characters("->") is None:
            self._fail_expecting("expected '->' or ':'")
        results = self.parse_list(self.Delimiter.PAREN, self._parse_sum, context_msg=" in affine map range")
        return AffineMap(dimensions, symbols, tuple(results))

    def parse_affine_set(self) -> AffineSet:
        dimensions, symbols = self._parse_space()
        self.parse_characters(":", " in integer set")
        constraints = self.parse_list(
            self.Delimiter.PAREN, self._parse_constraint, context_msg=" in integer set constraint list"
        )
        return AffineSet(dimensions, symbols, tuple(constraints))

    def _parse_space(self) -> tuple[int, int]:
        """`(dimensions)[symbols]`, whose names the expressions that follow can use."""
        names: dict[str, AffineExpr] = {}

        def declare(make: Callable[[int], AffineExpr], before: int) -> None:
            start = self.pos
            name = self.parse_optional_identifier()
            if name is None:
                self._fail_expecting("expected bare identifier")
            if name in names:
                self._fail(start, f"redefinition of identifier '{name}'")
            names[name] = make(len(names) - before)

        paren, square = self.Delimiter.PAREN, self.Delimiter.SQUARE
        self.parse_list(paren, lambda: declare(AffineExpr.dimension, 0), context_msg=" in dimensional identifier list")
        dimensions = len(names)
        if self.tokens.texts[self.tokens.index] == "[":
            self.parse_list(square, lambda: declare(AffineExpr.symbol, dimensions), context_msg=" in symbol list")

        def leaf() -> AffineExpr | None:
            text = self.tokens.texts[self.tokens.index]
            if text[0] not in IDENTIFIER_STARTS or text in _PRODUCTS:
                return None
            if text not in names:
                self._fail(self.pos, "use of undeclared identifier")
            self.tokens.index += 1
            return names[text]

        self._leaf = leaf
        return dimensions, len(names) - dimensions

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
        symbols: dict[str, AffineExpr] = {}
        operands: list[SSAValue[IndexType]] = []

        def leaf() -> AffineExpr | None:
            operand = self.parse_optional_unresolved_operand()
            if operand is None:
                return None
            if operand.operand_name not in symbols:
                symbols[operand.operand_name] = AffineExpr.symbol(len(symbols))
                operands.append(self.resolve_operand(operand, IndexType()))
            return symbols[operand.operand_name]

        self._leaf = leaf
        results = self.parse_list(self.Delimiter.SQUARE, self._parse_sum)
        return AffineMap(0, len(symbols), tuple(results)), operands

    def _parse_constraint(self) -> AffineConstraintExpr:
        """`expr >= expr` and the like, kept as a comparison with zero."""
        left = self._parse_sum()
        tokens = self.tokens
        comparison = "".join(tokens.texts[tokens.index : tokens.index + 2])
        if comparison not in (">=", "<=", "=="):
            self._fail_expecting("expected '== affine-expr' or '>= affine-expr' at end of affine constraint")
        tokens.index += 2
        right = self._parse_sum()
        if comparison == "<=":
            left, right = right, left
        kind = AffineConstraintKind.eq if comparison == "==" else AffineConstraintKind.ge
        return AffineConstraintExpr(kind, add(left, negate(right)), _ZERO, canonicalize=False)

    def _parse_sum(self) -> AffineExpr:
        depth = self.depth
        found = self._parse_product()
        while (sign := self.tokens.texts[self.tokens.index]) in ("+", "-"):
            self._descend()
            self.tokens.index += 1
            operand = self._parse_product(is_right=True)
            found = add(found, operand if sign == "+" else negate(operand))
        self.depth = depth
        return found

    def _parse_product(self, is_right: bool = False) -> AffineExpr:
        depth = self.depth
        found = self._parse_operand(is_right)
        while (name := self.tokens.texts[self.tokens.index]) in _PRODUCTS:
            start = self.pos
            self._descend()
            self.tokens.index += 1
            operand = self._parse_operand(is_right=True)
            self._check_affine(start, name, found, operand)
            found = _PRODUCTS[name](found, operand)
        self.depth = depth
        return found

    def _check_affine(self, start: int, name: str, left: AffineExpr, right: AffineExpr) -> None:
        if name == "*" and not is_symbolic(left) and not is_symbolic(right):
            self._fail(
                start,
                "non-affine expression: at least one of the multiply operands has to be either a constant or symbolic",
            )
        if name != "*" and not is_symbolic(right):
            self._fail(start, f"non-affine expression: right operand of {name} has to be either a constant or symbolic")

    def _parse_operand(self, is_right: bool = False) -> AffineExpr:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] in DIGITS and "." not in text:
            value = integer_value(text)
            if value.bit_length() > _CONSTANT_BITS:
                self._fail(self.pos, "constant too large for index")
            tokens.index += 1
            return AffineExpr.constant(value)
        if text == "-" or text == "(":
            self._descend()
            tokens.index += 1
            found = negate(self._parse_operand(is_right=True)) if text == "-" else self._parse_sum()
            if text == "(":
                self.parse_characters(")")
            self.depth -= 1
            return found
        leaf = self._leaf()
        if leaf is None:
            if text in _PRODUCTS:
                self._fail(self.pos, "missing left operand of binary operator")
            self._fail(
                self.pos, "missing right operand of binary operator" if is_right else "expected affine expression"
            )
        return leaf
