"""Builders that only pass their arguments on: one row per operation, with upstream's order of arguments."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from tilewright.iron.builders.handles import value_of, view_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.types import convert_type


def builder(op_class: type[IRDLOperation], fields: str = "", *, optional: str = "", result: Any = None) -> Any:
    """A function that makes one kind of operation.

    `fields` are its arguments in order and `optional` those that may be left out, by the names of its definition
    (`name=field` where upstream calls a field otherwise). `result` is the type of its result; with `...` the first
    argument is that type.
    """
    required = [name.partition("=") for name in fields.split()]
    extra = [name.partition("=") for name in optional.split()]
    names = {name: field or name for name, _, field in (*required, *extra)}
    signature = _signature([name for name, _, _ in required], [name for name, _, _ in extra], result is ...)

    def make(*args: Any, **kwargs: Any) -> Any:
        bound = _bind(signature, op_class, args, kwargs)
        types = [convert_type(bound.pop("result_type"))] if result is ... else [] if result is None else [result]
        settings = {name: bound.pop(name, None) for name in ("loc", "ip")}
        op = build(op_class, results=types, **settings, **{names[name]: value for name, value in bound.items()})
        return value_of(op.results[0]) if op.results else view_of(op)

    make.__name__ = make.__qualname__ = op_class.name.partition(".")[2].replace(".", "_")
    make.__doc__ = f"`{op_class.name}`: {(op_class.__doc__ or '').strip()}"
    make.__signature__ = signature
    return make


def _signature(required: list[str], optional: list[str], typed: bool) -> Signature:
    positional = ["result_type", *required] if typed else required
    named = [*optional, "loc", "ip"]
    return Signature(
        [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in positional]
        + [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in named]
    )


def _bind(
    signature: Signature, op_class: type[IRDLOperation], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    try:
        return dict(signature.bind(*args, **kwargs).arguments)
    except TypeError as error:
        refuse(f"'{op_class.name}': {error}", (None, f"its arguments are {signature}"))


Builder = Callable[..., Any]
TypeLike = Attribute | type
