"""Affine expressions, maps and sets: built as MLIR builds them, written as MLIR writes them.

MLIR simplifies an expression while it is put together, so two spellings that it takes for the same map print alike.
`add`, `multiply`, `modulo`, `floor_divide` and `ceil_divide` follow the same rules; `rebuilt` applies them to an
expression that was put together in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from tilewright.ir.lexer import DIGITS, IDENTIFIER_STARTS, integer_value

if TYPE_CHECKING:
    from tilewright.ir.attribute_parser import AttributeParser

ADD, MUL, MOD, FLOORDIV, CEILDIV = (
    AffineBinaryOpKind.Add,
    AffineBinaryOpKind.Mul,
    AffineBinaryOpKind.Mod,
    AffineBinaryOpKind.FloorDiv,
    AffineBinaryOpKind.CeilDiv,
)
SPELLING = {ADD: " + ", MUL: " * ", MOD: " mod ", FLOORDIV: " floordiv ", CEILDIV: " ceildiv "}

NameOf = Callable[[AffineDimExpr | AffineSymExpr], str]


def constant_of(expr: AffineExpr) -> int | None:
    return expr.value if isinstance(expr, AffineConstantExpr) else None


def is_symbolic(expr: AffineExpr) -> bool:
    """Whether no dimension occurs in the expression."""
    match expr:
        case AffineDimExpr():
            return False
        case AffineBinaryOpExpr():
            return is_symbolic(expr.lhs) and is_symbolic(expr.rhs)
        case _:
            return True


def known_divisor(expr: AffineExpr) -> int:
    """The largest number that is known to divide the expression whatever its dimensions and symbols are."""
    match expr:
        case AffineConstantExpr():
            return abs(expr.value)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            # MLIR's getLargestKnownDivisor; what is not known to divide is divided by 1 at least.
            return known_divisor(expr.lhs) * known_divisor(expr.rhs)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add | AffineBinaryOpKind.Mod):
            return gcd(known_divisor(expr.lhs), known_divisor(expr.rhs))
        case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=by)) if by and known_divisor(expr.lhs) % by == 0:
            return abs(known_divisor(expr.lhs) // by)
        case _:
            return 1


def _operands_of(expr: AffineExpr, kind: AffineBinaryOpKind) -> tuple[AffineExpr, AffineExpr] | None:
    return (expr.lhs, expr.rhs) if isinstance(expr, AffineBinaryOpExpr) and expr.kind is kind else None


def _product_by_constant(expr: AffineExpr) -> tuple[AffineExpr, int]:
    """The expression as something times a constant."""
    product = _operands_of(expr, MUL)
    if product is not None and (factor := constant_of(product[1])) is not None:
        return product[0], factor
    return expr, 1


def _out_of_order(lhs: AffineExpr, rhs: AffineExpr) -> bool:
    """Whether two dimensions, or two symbols, stand in the order that MLIR turns round."""
    match lhs, rhs:
        case (AffineDimExpr(), AffineDimExpr()) | (AffineSymExpr(), AffineSymExpr()):
            return lhs.position > rhs.position
        case _:
            return False


def add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    return _simpler_sum(lhs, rhs) or AffineBinaryOpExpr(ADD, lhs, rhs)


def _simpler_sum(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """What MLIR makes of the sum, unless it is just their addition."""
    left, right = constant_of(lhs), constant_of(rhs)
    if left is not None and right is not None:
        return AffineConstantExpr(left + right)
    if left is not None or (is_symbolic(lhs) and not is_symbolic(rhs)) or _out_of_order(lhs, rhs):
        return add(rhs, lhs)
    if right == 0:
        return lhs
    left_sum = _operands_of(lhs, ADD)
    left_term = constant_of(left_sum[1]) if left_sum else None
    if left_sum is not None and left_term is not None and right is not None:
        return add(left_sum[0], AffineConstantExpr(left_term + right))
    (left_factor, left_times), (right_factor, right_times) = _product_by_constant(lhs), _product_by_constant(rhs)
    # `d0 * 2 + d0` is `d0 * 3`: also where one of the factors is 1 and not written.
    if left_factor == right_factor:
        return multiply(left_factor, AffineConstantExpr(left_times + right_times))
    # Constants go to the right end, where the next one joins them.
    if left_sum is not None and left_term is not None:
        return add(add(left_sum[0], rhs), left_sum[1])
    return _sum_with_quotient(lhs, rhs)


def _sum_with_quotient(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """`x - (x floordiv q) * q` is `x mod q`, also where x is the last term of a longer sum on the left."""
    product = _operands_of(rhs, MUL)
    if product is None:
        return None
    # Symbols may divide too: `x - (x floordiv s0) * s0`, held as a product by -1.
    negated = _operands_of(product[0], MUL) if constant_of(product[1]) == -1 else None
    if negated is not None:
        return modulo(lhs, negated[1]) if _operands_of(negated[0], FLOORDIV) == (lhs, negated[1]) else None
    quotient = _operands_of(product[0], FLOORDIV)
    if quotient is None:
        return None
    divisor = constant_of(quotient[1])
    if divisor is not None and divisor > 0 and quotient[0] == lhs and constant_of(product[1]) == -divisor:
        return modulo(lhs, quotient[1])
    terms = _operands_of(lhs, ADD)
    simpler = _simpler_sum(terms[1], rhs) if terms else None
    return add(terms[0], simpler) if terms and simpler else None


def negate(expr: AffineExpr) -> AffineExpr:
    return multiply(expr, AffineConstantExpr(-1))


def multiply(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    left, right = constant_of(lhs), constant_of(rhs)
    if left is not None and right is not None:
        return AffineConstantExpr(left * right)
    if left is not None or (is_symbolic(lhs) and not is_symbolic(rhs)) or _out_of_order(lhs, rhs):
        return multiply(rhs, lhs)
    if right == 1:
        return lhs
    if right == 0:
        return rhs
    left_product = _operands_of(lhs, MUL)
    if left_product is not None and (factor := constant_of(left_product[1])) is not None:
        if right is not None:
            return multiply(left_product[0], AffineConstantExpr(factor * right))
        return multiply(multiply(left_product[0], rhs), left_product[1])
    return AffineBinaryOpExpr(MUL, lhs, rhs)


def modulo(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    by = constant_of(rhs)
    # Undefined in MLIR, so it is left as it is written.
    if by is None or by < 1:
        return AffineBinaryOpExpr(MOD, lhs, rhs)
    if (value := constant_of(lhs)) is not None:
        return AffineConstantExpr(value % by)
    if known_divisor(lhs) % by == 0:
        return AffineConstantExpr(0)
    if (terms := _operands_of(lhs, ADD)) is not None:
        # A term that the divisor divides does not change the remainder.
        if known_divisor(terms[0]) % by == 0:
            return modulo(terms[1], rhs)
        if known_divisor(terms[1]) % by == 0:
            return modulo(terms[0], rhs)
    inner = _operands_of(lhs, MOD)
    if inner is not None and (inner_by := constant_of(inner[1])) is not None and inner_by % by == 0:
        return modulo(inner[0], rhs)
    return AffineBinaryOpExpr(MOD, lhs, rhs)


def _known_quotient(lhs: AffineExpr, by: int) -> AffineExpr | None:
    """`lhs` divided by a number, if nothing has to be rounded."""
    if by == 1:
        return lhs
    factor, times = _product_by_constant(lhs)
    return multiply(factor, AffineConstantExpr(times // by)) if factor is not lhs and times % by == 0 else None


def floor_divide(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    by = constant_of(rhs)
    if by is None or by == 0:
        return AffineBinaryOpExpr(FLOORDIV, lhs, rhs)
    if (value := constant_of(lhs)) is not None:
        return AffineConstantExpr(value // by)
    if (quotient := _known_quotient(lhs, by)) is not None:
        return quotient
    terms = _operands_of(lhs, ADD)
    # Rounding down distributes over a sum only if one of the terms is divided without remainder.
    if terms is not None and any(known_divisor(term) % by == 0 for term in terms):
        return add(floor_divide(terms[0], rhs), floor_divide(terms[1], rhs))
    return AffineBinaryOpExpr(FLOORDIV, lhs, rhs)


def ceil_divide(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    by = constant_of(rhs)
    if by is None or by == 0:
        return AffineBinaryOpExpr(CEILDIV, lhs, rhs)
    if (value := constant_of(lhs)) is not None:
        # Python rounds down, so rounding up is rounding down the negative.
        return AffineConstantExpr(-(-value // by))
    return _known_quotient(lhs, by) or AffineBinaryOpExpr(CEILDIV, lhs, rhs)


BUILD = {ADD: add, MUL: multiply, MOD: modulo, FLOORDIV: floor_divide, CEILDIV: ceil_divide}


def rebuilt(expr: AffineExpr) -> AffineExpr:
    """The expression as MLIR would hold it."""
    if isinstance(expr, AffineBinaryOpExpr):
        return BUILD[expr.kind](rebuilt(expr.lhs), rebuilt(expr.rhs))
    return expr


def _plain_name(leaf: AffineDimExpr | AffineSymExpr) -> str:
    return f"d{leaf.position}" if isinstance(leaf, AffineDimExpr) else f"s{leaf.position}"


def expr_text(expr: AffineExpr, name_of: NameOf = _plain_name) -> str:
    """The expression with as few parentheses as MLIR uses."""
    return _text(rebuilt(expr), name_of, tight=False)


def _text(expr: AffineExpr, name_of: NameOf, tight: bool) -> str:
    """`tight`: an operator around this expression binds at least as strongly as any inside it."""
    if not isinstance(expr, AffineBinaryOpExpr):
        return name_of(expr) if isinstance(expr, AffineDimExpr | AffineSymExpr) else str(constant_of(expr))
    text = _sum_text(expr, name_of) if expr.kind is ADD else _product_text(expr, name_of)
    return f"({text})" if tight else text


def _product_text(expr: AffineBinaryOpExpr, name_of: NameOf) -> str:
    left = _text(expr.lhs, name_of, tight=True)
    if expr.kind is MUL and constant_of(expr.rhs) == -1:
        return f"-{left}"
    return left + SPELLING[expr.kind] + _text(expr.rhs, name_of, tight=True)


def _sum_text(expr: AffineBinaryOpExpr, name_of: NameOf) -> str:
    """Adding what is negative reads as a subtraction."""
    left = _text(expr.lhs, name_of, tight=False)
    if (term := constant_of(expr.rhs)) is not None and term < 0:
        return f"{left} - {-term}"
    factor, times = _product_by_constant(expr.rhs)
    if factor is not expr.rhs and times < -1:
        return f"{left} - {_text(factor, name_of, tight=True)} * {-times}"
    # `a - (b + c)` needs its parentheses, `a - b * 2` none.
    if factor is not expr.rhs and times == -1:
        return f"{left} - {_text(factor, name_of, tight=_operands_of(factor, ADD) is not None)}"
    return f"{left} + {_text(expr.rhs, name_of, tight=False)}"


def _space_text(num_dims: int, num_symbols: int) -> str:
    dims = ", ".join(f"d{i}" for i in range(num_dims))
    symbols = ", ".join(f"s{i}" for i in range(num_symbols))
    return f"({dims})[{symbols}]" if num_symbols else f"({dims})"


def map_text(map: AffineMap) -> str:
    """`(d0)[s0] -> (d0 + s0)`"""
    return f"{_space_text(map.num_dims, map.num_symbols)} -> ({', '.join(expr_text(r) for r in map.results)})"


def set_text(set: AffineSet) -> str:
    """`(d0) : (d0 - 1 >= 0)`"""
    constraints = ", ".join(_constraint_text(constraint) for constraint in set.constraints)
    return f"{_space_text(set.num_dims, set.num_symbols)} : ({constraints})"


def _constraint_text(constraint: AffineConstraintExpr) -> str:
    lhs, rhs = rebuilt(constraint.lhs), rebuilt(constraint.rhs)
    # MLIR has only `==` and `>=`; xDSL keeps `<=`.
    if constraint.kind is AffineConstraintKind.le:
        difference = add(rhs, _opposite(lhs))
    else:
        difference = add(lhs, negate(rhs))
    return f"{expr_text(difference)} {'==' if constraint.kind is AffineConstraintKind.eq else '>='} 0"


def _opposite(expr: AffineExpr) -> AffineExpr:
    """Minus the expression: `b - a` for `a - b`, as MLIR turns `a <= b` into `b - a >= 0`."""
    terms = _operands_of(expr, ADD)
    return add(negate(terms[1]), negate(terms[0])) if terms else negate(expr)


def is_identity(map: AffineMap) -> bool:
    """Whether the map gives back its dimensions in order, as the layout of a plain memref does."""
    return (
        map.num_symbols == 0
        and len(map.results) == map.num_dims
        and all(isinstance(r, AffineDimExpr) and r.position == i for i, r in enumerate(map.results))
    )


def applied_map_text(map: AffineMap, operands: Sequence[str]) -> str:
    """The results of a map, comma-separated, with names of values in place of dimensions and symbols."""

    def name_of(leaf: AffineDimExpr | AffineSymExpr) -> str:
        if isinstance(leaf, AffineDimExpr):
            return operands[leaf.position]
        return f"symbol({operands[map.num_dims + leaf.position]})"

    return ", ".join(expr_text(result, name_of) for result in map.results)


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


def read_affine_map(parser: AttributeParser) -> AffineMap:
    dimensions, symbols, leaf = _read_space(parser)
    if parser.parse_optional_characters("->") is None:
        parser._fail_expecting("expected '->' or ':'")
    expressions = ExpressionReader(parser, leaf)
    results = parser.parse_list(parser.Delimiter.PAREN, expressions.read, context_msg=" in affine map range")
    return AffineMap(dimensions, symbols, tuple(results))


def read_affine_set(parser: AttributeParser) -> AffineSet:
    dimensions, symbols, leaf = _read_space(parser)
    parser.parse_characters(":", " in integer set")
    expressions = ExpressionReader(parser, leaf)
    constraints = parser.parse_list(
        parser.Delimiter.PAREN, expressions.read_constraint, context_msg=" in integer set constraint list"
    )
    return AffineSet(dimensions, symbols, tuple(constraints))


def _read_space(parser: AttributeParser) -> tuple[int, int, Leaf]:
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
        # Symbols are numbered from 0 again.
        names[name] = make(len(names) - before)

    paren, square = parser.Delimiter.PAREN, parser.Delimiter.SQUARE
    parser.parse_list(paren, lambda: declare(AffineExpr.dimension, 0), context_msg=" in dimensional identifier list")
    dimensions = len(names)
    if tokens.texts[tokens.index] == "[":
        parser.parse_list(square, lambda: declare(AffineExpr.symbol, dimensions), context_msg=" in symbol list")

    def leaf() -> AffineExpr | None:
        text = tokens.texts[tokens.index]
        # `mod` and its like are operators, even where a dimension could stand.
        if text[0] not in IDENTIFIER_STARTS or text in _PRODUCTS:
            return None
        if text not in names:
            parser._fail(parser.pos, "use of undeclared identifier")
        tokens.index += 1
        return names[text]

    return dimensions, len(names) - dimensions, leaf


class ExpressionReader:
    """Reads expressions with the tokens of a parser."""

    def __init__(self, parser: AttributeParser, leaf: Leaf):
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
        # Turned round: MLIR keeps no `<=`.
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
        # Each of them is a level: Python's stack has to last for the expression.
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
