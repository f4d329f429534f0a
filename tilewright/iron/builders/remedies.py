"""Remedies for a line that asks Python for a number of the program, which is not known yet.

The line is parsed again to see what it is: a choice, a loop, `and`, a call of `max`, and so on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import islice

from tilewright.iron.builders.location import syntax_tree, user_frame

FIRST_REMEDY = "use `with if_(condition):` for a choice that the program makes"


def truth_remedy() -> str:
    """What to write instead of what asked for a truth value."""
    return next((text for node in _nodes_here() for applies, text in _REMEDIES if applies(node)), FIRST_REMEDY)


def number_remedy(python: str) -> str:
    """What to write instead of what asked for a Python number, with `int`, `float` or an index."""
    for node in _nodes_here():
        # `"%d" % value` asks with `int()`, as a text that is formatted does
        is_formatting = (
            isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        )
        if is_formatting or isinstance(node, ast.FormattedValue | ast.JoinedStr):
            return "print it when the program runs: `print_(...)` of `tilewright.iron`"
        if isinstance(node, ast.Subscript):
            return "put the numbers in a `Buffer(initial_value=...)`, which the program can index"
        name = _called(node)
        if name == "range":
            return "write `range_(...)` for a loop that the program runs"
        if name in ("int", "float"):
            return f"convert it when the program runs: `v.astype({'np.int32' if name == 'int' else 'np.float32'})`"
        if name in _MATH:
            return f"write `{name}` of `tilewright.iron.math`, which the program computes when it runs"
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
    (lambda n: _called(n) in ("max", "min"), "write `maximum(a, b)` or `minimum(a, b)` of `tilewright.iron.math`"),
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
    (lambda n: isinstance(n, ast.IfExp), "write `where(condition, a, b)` of `tilewright.iron.math`"),
    (lambda n: isinstance(n, ast.While), "loop with `range_`, and choose with `if_` inside it"),
    (lambda n: isinstance(n, ast.Assert), "a program cannot check this while it is being built; print the number"),
    (
        lambda n: isinstance(n, ast.If) and bool(n.orelse),
        "write `with if_(condition) as choice:`, and `with else_(choice):` for the other side",
    ),
    (lambda n: isinstance(n, ast.If), "write `with if_(condition, hasElse=False):` in place of `if`"),
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
