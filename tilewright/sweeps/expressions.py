"""Expressions of sweeps: arithmetic and comparisons over parameters and fields, such as `m * n <= 4096`.

They come from files, so they are read and carried out here, and can do nothing else.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tilewright.errors import ArgumentError, UnknownNameError, near_match

Value: TypeAlias = "int | float | str | bool | tuple[Any, ...] | None"
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, values: value in values,
    ast.NotIn: lambda value, values: value not in values,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}
KNOWN = "numbers, texts, names, + - * / // %, comparisons, and, or, not, in, `a if b else c`, min, max and abs"


class FieldExpression:
    """An expression over names, which may have dots in them."""

    def __init__(self, text: str):
        self.text = text
        try:
            self._tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ArgumentError(f"'{text}' is no expression: {getattr(error, 'msg', error)}") from error
        self.names = frozenset(self._names(self._tree))

    def __repr__(self) -> str:
        return f"FieldExpression({self.text!r})"

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """The value for these values of the names."""
        try:
            return self._value(self._tree, values)
        except UnknownNameError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ArgumentError(f"'{self.text}' cannot be computed: {error}") from error

    def _names(self, node: ast.expr) -> set[str]:
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return set()
            case ast.Name() | ast.Attribute():
                return {self._dotted(node)}
            case ast.BinOp(op=op) if type(op) in BINARY:
                parts = [node.left, node.right]
            case ast.UnaryOp(op=op) if type(op) in UNARY:
                parts = [node.operand]
            case ast.BoolOp():
                parts = node.values
            case ast.Compare() if all(type(op) in COMPARISONS for op in node.ops):
                parts = [node.left, *node.comparators]
            case ast.IfExp():
                parts = [node.test, node.body, node.orelse]
            case ast.Tuple() | ast.List():
                parts = node.elts
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
                parts = node.args
            case _:
                raise ArgumentError(f"'{self.text}': '{ast.unparse(node)}' is not possible here; there is {KNOWN}")
        return set[str]().union(*map(self._names, parts))

    def _dotted(self, node: ast.expr) -> str:
        match node:
            case ast.Name():
                return node.id
            case ast.Attribute():
                return f"{self._dotted(node.value)}.{node.attr}"
            case _:
                raise ArgumentError(f"'{self.text}': '{ast.unparse(node)}' is no name")

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name() | ast.Attribute():
                return self._named(self._dotted(node), values)
            case ast.BinOp():
                return BINARY[type(node.op)](self._value(node.left, values), self._value(node.right, values))
            case ast.UnaryOp():
                return UNARY[type(node.op)](self._value(node.operand, values))
            case ast.BoolOp():
                check = all if isinstance(node.op, ast.And) else any
                return check(self._value(part, values) for part in node.values)
            case ast.Compare():
                every = [self._value(part, values) for part in (node.left, *node.comparators)]
                pairs = zip(node.ops, every, every[1:], strict=False)
                return all(COMPARISONS[type(op)](left, right) for op, left, right in pairs)
            case ast.IfExp():
                return self._value(node.body if self._value(node.test, values) else node.orelse, values)
            case ast.Tuple() | ast.List():
                return tuple(self._value(part, values) for part in node.elts)
            case ast.Call(func=ast.Name(id=name)):
                return FUNCTIONS[name](*(self._value(part, values) for part in node.args))
            case _:
                raise AssertionError(node)

    def _named(self, name: str, values: Mapping[str, Any]) -> Any:
        if name not in values:
            raise UnknownNameError(f"'{self.text}': there is no '{name}'{near_match(name, values)}")
        return values[name]
