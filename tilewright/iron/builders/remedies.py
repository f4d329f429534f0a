"""Remedies for a line that asks Python for a number of the program, which is not known yet.

The line is parsed again to see what it is: a choice, a loop, `and`, a call of `max`, and so on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice

from tilewright.iron.builders.location import syntax_tree, user_frame

FIRST_REMEDY = "use `with {p}if_(condition):` for a choice that the program makes"


@dataclass(frozen=True)
class Words:
    """What a program calls what remedies name."""

    loop: str = "range_"
    p: str = ""
    """What stands before the names of functions."""
    of: str = " of `tilewright.iron.math`"
    """What stands behind them."""
    print: str = "`print_(...)` of `tilewright.iron`"
    table: str = "a `Buffer(initial_value=...)`"


WORDS: ContextVar[Words] = ContextVar("words", default=Words())  # noqa: B039, it does not change


def worded(text: str) -> str:
    """A remedy in the words of the program that is being built."""
    return text.format_map(vars(WORDS.get()))


def truth_remedy() -> str:
    """What to write instead of what asked for a truth value."""
    return worded(next((text for node in _nodes_here() for applies, text in _REMEDIES if applies(node)), FIRST_REMEDY))


def number_remedy(python: str) -> str:
    """What to write instead of what asked for a Python number, with `int`, `float` or an index."""
    for node in _nodes_here():
        # `"%d" % value` asks with `int()`, as a text that is formatted does
        is_formatting = (
            isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        )
        if is_formatting or isinstance(node, ast.FormattedValue | ast.JoinedStr):
            return worded("print it when the program runs: {print}")
        if isinstance(node, ast.Subscript):
            return worded("put the numbers in {table}, which the program can index")
        name = _called(node)
        if name == "range":
            return worded("write `{loop}(...)` for a loop that the program runs")
        if name in ("int", "float"):
            return f"convert it when the program runs: `v.astype({'np.int32' if name == 'int' else 'np.float32'})`"
        if name in _MATH:
            return worded(f"write `{{p}}{name}`{{of}}, which the program computes when it runs")
    return f"{python} is for numbers that are known while the program is being built; `.astype(...)` converts others"


_MATH = frozenset(
    {
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf"),
        *("erfc", "exp", "exp2", "expm1", "floor", "fma", "log", "log10", "log1p", "log2", "pow"),
        *("sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
    }
)
"""Functions of Python's `math`."""


def _called(node: ast.AST) -> str | None:
    """The name of the function that is called."""
    match node.func if isinstance(node, ast.Call) else None:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


# the first that applies counts, so special cases stand before general ones
_REMEDIES: list[tuple[Callable[[ast.AST], bool], str]] = [
    (lambda n: _called(n) in ("max", "min"), "write `{p}maximum(a, b)` or `{p}minimum(a, b)`{of}"),
    (lambda n: _called(n) in ("any", "all", "sorted", "sum", "bool"), "combine conditions with `&` and `|`"),
    (lambda n: isinstance(n, ast.BoolOp) and isinstance(n.op, ast.And), "write `(a) & (b)` in place of `a and b`"),
    (lambda n: isinstance(n, ast.BoolOp), "write `(a) | (b)` in place of `a or b`"),
    (lambda n: isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not), "write `~condition` in place of `not`"),
    (
        lambda n: isinstance(n, ast.Compare) and len(n.ops) > 1,
        "write `(a < b) & (b < c)` in place of `a < b < c`",
    ),
    (
        lambda n: isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.In | ast.NotIn),
        "compare with each number: `(v == 1) | (v == 2)`",
    ),
    (lambda n: isinstance(n, ast.IfExp), "write `{p}where(condition, a, b)`{of}"),
    (lambda n: isinstance(n, ast.While), "loop with `{loop}`, and choose with `{p}if_` inside it"),
    (lambda n: isinstance(n, ast.Assert), "a program cannot check this while it is being built; print the number"),
    (
        lambda n: isinstance(n, ast.If) and bool(n.orelse),
        "write `with {p}if_(condition) as choice:`, and `with {p}else_(choice):` for the other side",
    ),
    (lambda n: isinstance(n, ast.If), "write `with {p}if_(condition, hasElse=False):` in place of `if`"),
]


def _nodes_here() -> Iterator[ast.AST]:
    """What the user's program is executing, from the innermost expression to its statement."""
    frame = user_frame()
    if frame is None:
        return
    # an entry for each instruction, which are two bytes each
    position = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if position is None or None in position:  # code without positions: `python -X no_debug_ranges`
        return
    tree = syntax_tree(frame.f_code.co_filename)
    if tree is not None:
        yield from reversed(list(_around(tree, position)))


def _around(tree: ast.AST, position: tuple[int | None, ...]) -> Iterator[ast.AST]:
    """The nodes that a position is in, from the outermost on."""
    line, end_line, column, end_column = (number or 0 for number in position)
    for node in ast.iter_child_nodes(tree):
        # cases of a `match` and the like have no position, but what is in them has
        if not isinstance(node, ast.stmt | ast.expr):
            yield from _around(node, position)
            continue
        starts = (node.lineno, node.col_offset) <= (line, column)
        if starts and (end_line, end_column) <= (node.end_lineno or 0, node.end_col_offset or 0):
            yield node
            yield from _around(node, position)
