"""Loops and choices that the program takes when it runs, not Python while it is built."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from tilewright.iron.builders.control import else_, for_, if_
from tilewright.iron.builders.control import yield_ as _yield
from tilewright.iron.runtime.dmataskhandle import Task

__all__ = ["else_", "if_", "range_", "yield_"]


def range_(
    *args: Any, iter_args: Sequence[Any] | None = None, insert_yield: bool = True, **kwargs: Any
) -> Generator[Any]:
    """`for i in range_(n):`, a loop of the program; bounds may be its values.

    What is in `iter_args` goes from each turn to the next, as the body's `yield_` says; tasks can be among it. With
    `insert_yield=False` a loop without `iter_args` has to say `yield_` as well.
    """
    # a task is a class of ours around a value; loops carry values
    is_task = [isinstance(arg, Task) for arg in iter_args or ()]
    plain = None if iter_args is None else [_handle(arg) for arg in iter_args]
    for given in for_(*args, iter_args=plain, insert_yield=insert_yield, **kwargs):
        if any(is_task):
            variable, carried, results = given
            yield variable, _tasks(carried, is_task), _tasks(results, is_task)
        else:
            yield given


def yield_(values: Sequence[Any] = ()) -> None:
    """Have a loop carry `values` to its next turn; tasks can be among them."""
    _yield([_handle(value) for value in values])


def _handle(value: Any) -> Any:
    return value.handle if isinstance(value, Task) else value


def _tasks(values: Any, is_task: Sequence[bool]) -> Any:
    """Tasks again, where tasks were given; one value stands for itself."""
    if len(is_task) == 1:
        return Task(values)
    return tuple(Task(value) if task else value for value, task in zip(values, is_task, strict=True))
