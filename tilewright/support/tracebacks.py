"""Tracebacks as users read them: their own lines, without those of this package.

What stands at the border between a user's program and this package is decorated with `at_user_line`. An error that
leaves it shows one line of ours, that of the border. `TILEWRIGHT_TRACEBACK=1` in the environment shows all of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from itertools import islice
from types import FrameType, FunctionType, TracebackType
from typing import ParamSpec, TypeVar

from tilewright.errors import Error

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

SHOW_ALL = "TILEWRIGHT_TRACEBACK"
_OURS = ("tilewright.", "xdsl.", "contextlib", "functools", "runpy")


def at_user_line(function: Callable[P, R]) -> Callable[P, R]:
    """Let errors that leave a function show the user's lines alone."""

    @wraps(function)
    def border(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest and IPython leave this frame out
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if not _is_users(error) or os.environ.get(SHOW_ALL, "0") not in ("", "0"):
                raise
            shown = error.with_traceback(_users(error.__traceback__))
            if not _is_users_cause(error):
                shown.__cause__, shown.__suppress_context__ = None, True  # it would show our frames again
        try:
            raise shown
        finally:
            del shown  # its traceback has this frame

    return border


def user_facing(cls: type[T]) -> type[T]:
    """Let errors that leave the methods of a class show the user's lines alone."""
    for name, method in [*vars(cls).items()]:  # a copy: setting a name changes the original
        if isinstance(method, FunctionType) and (not name.startswith("_") or name in _CALLED_BY_USERS):
            setattr(cls, name, at_user_line(method))
    return cls


_OPERATORS = (
    "init call enter exit getitem setitem iter len bool int float index format array array_ufunc eq ne lt le gt ge add "
    "radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow and rand or ror xor "
    "rxor lshift rlshift rshift rrshift neg pos abs invert floor ceil trunc round"
)
_CALLED_BY_USERS = frozenset(f"__{name}__" for name in _OPERATORS.split())
"""What Python calls for users' expressions."""


def _is_users(error: Exception) -> bool:
    """Whether an error is about a user's program: raised for its author, or by one of its lines."""
    last = _last(error.__traceback__)
    return isinstance(error, Error) or (last is not None and not _is_ours(last.tb_frame))


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _is_users_cause(error: Exception) -> bool:
    """Whether an error came of another one that a user's line raised; ours say all there is to say themselves."""
    cause = error.__cause__
    return isinstance(cause, Exception) and not isinstance(cause, Error) and _is_users(cause)


def _users(trace: TracebackType | None) -> TracebackType | None:
    """A traceback with the frames of users' programs only."""
    frames = list[TracebackType]()
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        # tracebacks are linked from the outermost call inwards
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def users_traceback(error: Exception) -> Exception:
    """An error that ends a user's program, with the lines of the program alone, as are those that it came of."""
    if os.environ.get(SHOW_ALL, "0") not in ("", "0"):
        return error
    seen, open = set[int](), list[BaseException | None]([error])
    while open:
        found = open.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        open += [found.__cause__, found.__context__]
        last = _last(found.__traceback__)
        # the message alone would not say that it is no error of the program's own
        if last is not None and _is_ours(last.tb_frame) and not isinstance(found, Error | ImportError | SyntaxError):
            place = f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
            found.add_note(f"raised inside tilewright, {place}; {SHOW_ALL}=1 in the environment shows all lines")
        found.__traceback__ = _users(found.__traceback__)
    return error


def users_place(error: BaseException) -> tuple[str, int, int] | None:
    """File, line and column of the user's line that an error came through last, if there is one."""
    found, trace = None, error.__traceback__
    while trace is not None:
        found, trace = (found if _is_ours(trace.tb_frame) else trace), trace.tb_next
    if found is None:
        return None
    code = found.tb_frame.f_code
    column = next(islice(code.co_positions(), found.tb_lasti // 2, None), (None,) * 4)[2]
    return code.co_filename, found.tb_lineno, 1 if column is None else column + 1


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_OURS)


def user_stack_level() -> int:
    """The `stacklevel` for which a warning that the caller gives points at the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    return level
