"""Annotations that say when an argument of a design is known.

`In`, `Out` and `InOut` are tensors of each call. `CompileTime[T]` is part of the design: another value is another
design. `DispatchTime[T]` is a number of each call: the sequence has it as an argument, and one design serves all
values, unless `specialize` makes it part of the design. `RunTime[T]` is one that always is a number of the call.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

T = TypeVar("T")


class CompileTimeTag:
    """Marks what `CompileTime` annotates."""


class RunTimeTag:
    """Marks what `RunTime` annotates."""


class DispatchTimeTag:
    """Marks what `DispatchTime` annotates."""


COMPILE_TIME, RUN_TIME, DISPATCH_TIME = CompileTimeTag(), RunTimeTag(), DispatchTimeTag()

CompileTime = Annotated[T, COMPILE_TIME]
"""Known when the design is compiled."""

RunTime = Annotated[T, RUN_TIME]
"""A number that is known when the design runs; the function gets its type, to put among the sequence's arguments."""

DispatchTime = Annotated[T, DISPATCH_TIME]
"""A number that calls give by name, of one of NumPy's integer types. The function gets its type, to put among the
sequence's arguments: or, where `iron.jit(function, name=value)` or `design.specialize(name=value)` has made it part of
the design, the number."""


class In:
    """A tensor that the design reads."""


class Out:
    """A tensor that the design writes."""


class InOut:
    """A tensor that the design reads and writes."""
