"""Python values and arguments: numbers and lists told apart, others refused about the user's line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from tilewright.iron.builders.location import refuse


def is_boolean(value: object) -> TypeGuard[bool]:
    """Whether a value is a truth value of Python or NumPy."""
    return isinstance(value, bool | np.bool_)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy; booleans are."""
    return isinstance(value, int | np.integer)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number of Python or NumPy."""
    return isinstance(value, int | float | np.number | np.bool_)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def as_list(given: Any, what: str) -> list[Any]:
    """A list or a tuple, as a list."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not is_list(given):
        refuse(f"expected a list as {what}, not {given!r}")
    return [*given]


def as_int(given: Any, what: str) -> int:
    """A whole number."""
    if not is_integer(given):
        refuse(f"expected a whole number as {what}, not {given!r}")
    return int(given)


def bind(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], name: str) -> None:
    """Refuse arguments that a function does not take."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        refuse(f"{name}: {error}", (None, f"its arguments are {signature}"))


def call_body(body: Callable[..., Any], *args: Any) -> Any:
    """Run a function that writes a body; one with other parameters than the body has values is refused."""
    try:
        inspect.signature(body).bind(*args)
    except TypeError:
        names = ", ".join(inspect.signature(body).parameters)
        refuse(f"the body has {len(args)} arguments, but '{body.__name__}' takes ({names})")
    return body(*args)
