"""Names that the user's program has for the arguments of a sequence."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from tilewright.ir.diagnostics import file_position
from tilewright.iron.builders.location import syntax_tree, user_location


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of a function's first parameters; those behind a `*args` are numbered."""
    names = list[str]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}{number}" for number in range(count - len(names))]
        else:
            names.append(parameter.name)
    return names[:count]


def with_target_names(count: int) -> list[str]:
    """The names in `with rt.sequence(...) as (A, B):`, the statement that is being executed; none if they differ."""
    position = file_position(user_location())
    target = None if position is None else _target(*position[:2])
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [] if target is None else [target]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == count else []


def _target(file: str, line: int) -> ast.expr | None:
    """What a `with` on a line binds."""
    tree = syntax_tree(file)
    items = [item for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items] if tree else []
    found = (item for item in items if item.context_expr.lineno <= line <= (item.context_expr.end_lineno or 0))
    return next((item.optional_vars for item in found), None)
