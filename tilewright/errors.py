"""The base of all errors that are raised for users, and those about what a program was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
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


class CallError(ArgumentError, TypeError):
    """Arguments that are missing, too many, unknown or of another kind: what Python itself raises a `TypeError` for."""


class InUseError(Error, RuntimeError):
    """Something that only one thread at a time can use is in use."""


class UnknownNameError(ArgumentError, KeyError):
    """A name that nothing has; says which there are."""

    def __str__(self) -> str:  # a KeyError shows the repr of its text
        return str(self.args[0]) if self.args else ""


class MissingResultsWarning(UserWarning):
    """Results that had not come when the sequence ended, which did not wait for them; says of which argument."""


class CacheWarning(UserWarning):
    """The cache is not used, because others could have written what is in it. Things only take longer."""


class KernelWarning(UserWarning):
    """The source of a kernel does not compile here, and the library's kernel of that name is used; says why."""


def near_match(name: object, known: Iterable[str]) -> str:
    """The question behind a name that nothing has, if it is close to one that something has."""
    close = get_close_matches(str(name), list(known), 1)
    return f", did you mean {close[0]!r}?" if close else ""
