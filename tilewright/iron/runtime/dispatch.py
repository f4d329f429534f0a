"""Numbers that calls of a design give: parameters of its function, which become arguments of the runtime sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, cast

import numpy as np

from tilewright.errors import ArgumentError, CallError
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import SCALAR_TYPES, is_boolean, is_integer


class DispatchParameter(type):
    """The NumPy type that a design's function gets for a number of the calls.

    There is one for each parameter, so that the sequence knows which argument is which, whatever their order. It has
    no value while the design is built.
    """

    parameter: str
    scalar_type: type[np.integer[Any]]

    def __new__(mcs, parameter: str, scalar_type: type[np.integer[Any]]) -> DispatchParameter:
        made = super().__new__(mcs, scalar_type.__name__, (scalar_type,), {})
        made.parameter, made.scalar_type = parameter, scalar_type
        return made

    def __init__(self, parameter: str, scalar_type: type[np.integer[Any]]):
        super().__init__(parameter)

    def __repr__(self) -> str:
        return f"DispatchTime[np.{self.scalar_type.__name__}] {self.parameter!r}"

    def _refuse(self, *_: object) -> NoReturn:
        refuse(
            f"{self.parameter!r} is a number of each call: it has no value while the design is built",
            (None, f"put it into Runtime(function, [..., {self.parameter}, ...]), and compute in that function"),
            (None, f"where the design depends on it, annotate it CompileTime, or specialize({self.parameter}=...)"),
        )

    __bool__ = __int__ = __index__ = __float__ = __call__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = __or__ = __ror__ = _refuse
    __xor__ = __rxor__ = __neg__ = __pos__ = __abs__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def check_dispatch_type(function: str, parameter: str, annotated: Any) -> type[np.integer[Any]]:
    """The type in `DispatchTime[T]`; a complaint about one that sequences do not take."""
    shown = getattr(annotated, "__name__", annotated)
    if not (isinstance(annotated, type) and issubclass(annotated, np.integer) and annotated in SCALAR_TYPES):
        raise CallError(
            f"{function!r}: DispatchTime[{shown}] of {parameter!r} is no type of a sequence's number: "
            "use an integer type of NumPy, such as np.int32"
        )
    return cast("type[np.integer[Any]]", annotated)


def dispatch_value(parameter: str, scalar_type: type[np.integer[Any]], value: Any) -> int:
    """What a call gives for a parameter; a complaint if its type does not hold that."""
    if not is_integer(value) or is_boolean(value):
        raise CallError(f"{parameter!r} is an integer, np.{scalar_type.__name__}, not {value!r}")
    limits = np.iinfo(scalar_type)
    if not limits.min <= value <= limits.max:
        raise ArgumentError(
            f"{parameter} = {value} is out of range: np.{scalar_type.__name__} holds [{limits.min}:{limits.max}]"
        )
    return int(value)


def argument_names(given: Sequence[Any], names: Sequence[str]) -> list[str]:
    """The names of a sequence's arguments: those of its function, but numbers of the calls have their own."""
    own = [argument.parameter for argument in given if isinstance(argument, DispatchParameter)]
    for parameter in own:
        if own.count(parameter) > 1:
            refuse(
                f"{parameter!r} is more than once among the arguments of the sequence", (None, "use the one it gets")
            )
    # an argument of that name stands back
    free = [f"{name}_" if name in own else name for name in names]
    pairs = zip(given, free, strict=True)
    return [argument.parameter if isinstance(argument, DispatchParameter) else name for argument, name in pairs]
