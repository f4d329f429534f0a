"""The base of all errors that are raised for users, and those about what a program was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)


class Error(Exception):
    """Something that a user can put right, or a run that did not end well; never a defect of ours."""

    def __reduce__(self) -> tuple[Any, ...]:
        # an exception is pickled as its class called with `args`, which only fits constructors that take a text
        return restored, (type(self), self.args, self.__dict__)


def restored(cls: type[E], args: tuple[object, ...], state: Mapping[str, object]) -> E:
    """An error as it was pickled, without calling its constructor."""
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class ArgumentError(Error, ValueError):
    """A value that a function, a sequence or a command cannot take; says which, why, and what it can."""


class UnknownNameError(ArgumentError, KeyError):
    """A name that nothing has; says which there are."""

    def __str__(self) -> str:  # a KeyError shows the repr of its text
        return str(self.args[0]) if self.args else ""
