"""Control flow that the program itself takes: loops and choices.

A loop's body is run once while the program is built: `total += v` adds to what `total` was before the loop, whatever
the turn. That is found out by comparing the variables before and after the body, and by what the body does with them.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects import scf
from tilewright.dialects._syntax import INDEX
from tilewright.ir.diagnostics import Diagnostic, Severity, diagnose
from tilewright.iron.builders.handles import OpView, RegionView, Value, ssa_of, value_of
from tilewright.iron.builders.location import UPSTREAM, refuse, syntax_tree, user_frame, user_location
from tilewright.iron.builders.module import deferred_errors
from tilewright.iron.builders.operations import InsertionPoint, build, is_inside, is_terminated
from tilewright.iron.builders.remedies import worded
from tilewright.iron.builders.scalars import as_index, constant
from tilewright.iron.builders.types import is_list, is_number, numpy_type
from tilewright.support.tracebacks import user_stack_level


def for_(
    start: Any,
    stop: Any = None,
    step: Any = None,
    iter_args: Sequence[Any] | None = None,
    insert_yield: bool = True,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Generator[Any]:
    """`scf.for` as a Python loop whose body runs once: `for i in range_(n):`.

    With `iter_args` it gives `(i, arguments, results)`, where one argument or result stands for itself, and the body
    ends with `yield_([...])` (`insert_yield=False` leaves even an empty one to the body). What goes in first may be
    Python numbers: integers are i32, floats f32, and `np.int8(0)` is what it says.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    bounds = [_bound(number) for number in (start, stop, 1 if step is None else step)]
    # a value of the program, or a Python number
    carries = "what the loop carries"
    initial = [constant(v).ssa if is_number(v) else ssa_of(v, carries) for v in iter_args or ()]
    before = names_in_use()
    types = [value.type for value in initial]
    body = Block(arg_types=[INDEX, *types])
    op = build(
        scf.ForOp,
        results=types,
        regions=[Region(body)],
        lb=bounds[0],
        ub=bounds[1],
        step=bounds[2],
        iter_args=initial,
        loc=loc,
        ip=ip,
    )
    variable, *carried = map(value_of, body.args)
    errors = deferred_errors()
    try:
        with InsertionPoint(body):
            yield (variable, _one_or_all(carried), _one_or_all([*map(value_of, op.results)])) if types else variable
            check_carried(before, body)
            if insert_yield and not is_terminated(body):
                _check_yield(op, types)
                yield_([])
    # a loop that is left early is closed by the garbage collector, where nothing can be raised
    except GeneratorExit:
        errors.append(_left_early(op))


def _check_yield(loop: Operation, types: Sequence[Attribute]) -> None:
    if types:
        values = ", ".join(f"value{number}" for number in range(len(types))) if len(types) > 1 else "value"
        refuse(
            f"this loop carries {len(types)} value{'s' if len(types) > 1 else ''}, but its body hands on none",
            (None, f"end the body with `yield_([{values}])`, what the next turn begins with"),
            at=loop.location,
        )


def _left_early(loop: Operation) -> Diagnostic:
    text = "`break` and `return` do not leave a loop of the program"
    remedy = "this loop always runs to its end; use `if_` inside it to skip work"
    return diagnose(Severity.ERROR, loop, text).note(loop, remedy)


def _bound(given: Any) -> Value:
    if not isinstance(given, int | np.integer | Value | OpView):
        remedy = "bounds and steps are whole numbers, of Python or of the program; a quotient is one with `//`"
        refuse(f"MLIR SCF for loops can only use integer types, not {type(given)}", (None, remedy))
    return as_index(given)


def _one_or_all(values: list[Value]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


def yield_(values: Sequence[Any] | Any = (), *, loc: Any = None, ip: Any = None) -> None:
    """`scf.yield`: what a loop carries to its next turn, or what a choice results in."""
    build(scf.YieldOp, arguments=list(values if is_list(values) else [values]), loc=loc, ip=ip)


class IfOp(OpView):
    """An `scf.if` under construction."""

    OP = scf.IfOp

    @property
    def thenRegion(self) -> RegionView:
        return self.regions[0]

    @property
    def elseRegion(self) -> RegionView:
        return self.regions[1]


def make_if(cond: Any, has_else: bool, results: Sequence[Any] = (), loc: Any = None, ip: Any = None) -> IfOp:
    condition = ssa_of(cond, "the condition")
    if condition.type != i1:
        refuse(f"a condition is a comparison, of type i1, not {condition.type}", (None, "such as `v != 0`"))
    # MLIR tells a choice without an other side by a region without blocks
    regions = [Region(Block()), Region(Block()) if has_else else Region()]
    return IfOp(build(scf.IfOp, results=list(results), regions=regions, cond=condition, loc=loc, ip=ip))


@contextmanager
def if_(cond: Any, hasElse: bool = True, insert_yield: bool = True, loc: Any = None, ip: Any = None) -> Generator[IfOp]:
    """`with if_(cond) as choice:`, and then `with else_(choice):`, which `hasElse=False` leaves out.

    With `insert_yield=False` both sides have to say `yield_`.
    """
    op = make_if(cond, hasElse, loc=loc, ip=ip)
    with InsertionPoint(op.thenRegion.blocks[0]):
        yield op
        if insert_yield:
            yield_([])
    if hasElse and insert_yield:
        with InsertionPoint(op.elseRegion.blocks[0]):
            yield_([])


@contextmanager
def else_(if_op: IfOp, insert_yield: bool = True) -> Generator[None]:
    """The other side of a choice, `if_op`, which `if_` has made; `insert_yield` is as there."""
    if not len(if_op.elseRegion.blocks):
        refuse("this choice has no other side", (if_op.location, "it is made here with hasElse=False"))
    # `if_` has ended that side already
    with InsertionPoint.at_block_terminator(if_op.elseRegion.blocks[0]):
        yield


def names_in_use() -> Mapping[str, Any]:
    """The numbers that the user's function has in variables."""
    frame = user_frame()
    variables: Mapping[str, Any] = {} if frame is None else dict(frame.f_locals)
    return {name: value for name, value in variables.items() if is_number(value) or isinstance(value, Value)}


class LoopWarning(UserWarning):
    """A loop of the program computes with what a variable was before it."""


def check_carried(before: Mapping[str, Any], body: Block) -> None:
    """Refuse a loop whose body goes on computing with what a variable was before the loop."""
    frame = user_frame()
    if frame is None:
        return
    after = frame.f_locals
    changed = [name for name, value in before.items() if after.get(name) is not value]
    computed = [name for name in changed if isinstance(after.get(name), Value) and is_in(after[name].ssa, body)]
    # the source is read only for loops that may be wrong: parsing it takes long
    loop = _loop(frame) if computed else None
    for name in computed:
        if loop is not None and _is_read_first([loop.target, *loop.body], name):
            _refuse(name, _initial_text(name, before[name], after[name]), loop)


def _initial_text(name: str, before: Any, after: Value) -> str:
    """What a loop begins with: the variable, or a number of the type that it gets."""
    kind = numpy_type(after.type)
    # i32 and f32 are what a Python number becomes without being told
    if not is_number(before) or kind in (None, np.int32, np.float32):
        return name
    return f"{'' if kind is bfloat16 else 'np.'}{kind.__name__}({before})"


def _refuse(name: str, initial: str, loop: ast.For) -> None:
    turns, variable = ast.unparse(loop.iter), ast.unparse(loop.target)
    start = turns[:-1] if turns.endswith(")") else turns
    text = f"'{name}' does not go from one turn of this loop to the next: its body is built once"
    # mlir-aie builds such loops, and what its programs say is what they get
    if UPSTREAM in sys.modules:
        warnings.warn(f"{text}; `range_(..., iter_args=[...])` carries it", LoopWarning, user_stack_level())
        return
    refuse(
        text,
        (None, f"carry it: `for {variable}, {name}, result in {start}, iter_args=[{initial}]):`"),
        (None, f"end the body with `{worded('{p}')}yield_([{name}])`, and use `result` behind the loop"),
        at=user_location(),
    )


def is_in(value: SSAValue, block: Block) -> bool:
    """Whether a value is made in a block, or in what is nested there."""
    return is_inside(value.owner if isinstance(value.owner, Block) else value.owner.parent_block(), block)


def _loop(frame: FrameType) -> ast.For | None:
    """The innermost `for` that a frame executes."""
    tree = syntax_tree(frame.f_code.co_filename)
    if tree is None:
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
            # Python evaluates the right side first
            case ast.Assign():
                yield from _uses([node.value, *node.targets], name)
            case ast.AnnAssign():
                yield from _uses([part for part in (node.value, node.target) if part is not None], name)
            # what is only defined here is executed elsewhere, if at all
            case ast.FunctionDef() | ast.Lambda() | ast.ClassDef():
                pass
            case _:
                yield from _uses(list(ast.iter_child_nodes(node)), name)
