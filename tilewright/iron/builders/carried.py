"""Variables that a loop of the program would have to carry from turn to turn.

Its body is run once while the program is built: `total += v` adds to what `total` was before the loop, whatever the
turn. That is found out by comparing the variables before and after the body, and by what the body does with them.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from xdsl.ir import Block, SSAValue

from tilewright.iron.builders.handles import Value
from tilewright.iron.builders.location import is_between, refuse, user_location
from tilewright.iron.builders.python_values import is_number
from tilewright.iron.builders.types import numpy_type


def names_in_use() -> Mapping[str, Any]:
    """The numbers that the user's function has in variables."""
    frame = _user_frame()
    variables: Mapping[str, Any] = {} if frame is None else dict(frame.f_locals)
    return {name: value for name, value in variables.items() if is_number(value) or isinstance(value, Value)}


def check_carried(before: Mapping[str, Any], body: Block) -> None:
    """Refuse a loop whose body goes on computing with what a variable was before the loop."""
    frame = _user_frame()
    if frame is None:
        return
    after = frame.f_locals
    changed = [name for name, value in before.items() if after.get(name) is not value]
    computed = [name for name in changed if isinstance(after.get(name), Value) and is_in(after[name].ssa, body)]
    if not computed:
        return
    loop = _loop(frame)
    for name in computed:
        if loop is not None and _is_read_first([loop.target, *loop.body], name):
            _refuse(name, _initial(name, before[name], after[name]), loop)


def _initial(name: str, before: Any, after: Value) -> str:
    """What a loop begins with: the variable, or a number of the type that it gets."""
    kind = numpy_type(after.type)
    if not is_number(before) or kind in (None, np.int32, np.float32):
        return name
    return f"{'' if kind is bfloat16 else 'np.'}{kind.__name__}({before})"


def _refuse(name: str, initial: str, loop: ast.For) -> None:
    turns, variable = ast.unparse(loop.iter), ast.unparse(loop.target)
    start = turns[:-1] if turns.endswith(")") else turns
    refuse(
        f"'{name}' does not go from one turn of this loop to the next: its body is built once",
        (None, f"carry it: `for {variable}, {name}, result in {start}, iter_args=[{initial}]):`"),
        (None, f"end the body with `yield_([{name}])`, and use `result` behind the loop"),
        at=user_location(),
    )


def is_in(value: SSAValue, block: Block) -> bool:
    """Whether a value is made in a block, or in what is nested there."""
    found: Block | None = value.owner if isinstance(value.owner, Block) else value.owner.parent_block()
    while found is not None and found is not block:
        found = found.parent_block()
    return found is not None


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_between(frame):
        frame = frame.f_back
    return frame


def _loop(frame: FrameType) -> ast.For | None:
    """The innermost `for` that a frame executes."""
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    except SyntaxError:
        return None
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and node.lineno <= frame.f_lineno]
    inside = [loop for loop in loops if frame.f_lineno <= (loop.end_lineno or 0)]
    return max(inside, key=lambda loop: loop.lineno, default=None)


def _is_read_first(nodes: list[Any], name: str) -> bool:
    """Whether the first thing that parts of a program do with a variable is to read it."""
    return next((isinstance(found, ast.Load) for found in _uses(nodes, name)), False)


def _uses(nodes: list[Any], name: str) -> Iterator[ast.expr_context]:
    """How a variable is used, in the order of execution."""
    for node in nodes:
        match node:
            case ast.Name():
                if node.id == name:
                    yield node.ctx
            case ast.AugAssign():
                yield from (ast.Load() for _ in _uses([node.target], name))
                yield from _uses([node.value], name)
            case ast.Assign():
                yield from _uses([node.value, *node.targets], name)
            case ast.AnnAssign():
                yield from _uses([part for part in (node.value, node.target) if part is not None], name)
            case ast.FunctionDef() | ast.Lambda() | ast.ClassDef():
                pass
            case _:
                yield from _uses(list(ast.iter_child_nodes(node)), name)
