"""The scalars of a runtime sequence: what callers give for them, and which of them are refused and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, IntegerType, LocationAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.aiex import guards
from tilewright.errors import CallError, Error, near_match
from tilewright.ir.diagnostics import place
from tilewright.ir.limits import MOST_STREAM_WORDS
from tilewright.native.host_arrays import shown

Words = npt.NDArray[np.uint32]


class RangeError(Error, ValueError):
    """A sequence was asked for with values for which it has no valid stream; says which, why and where."""

    def __init__(self, text: str, arguments: Mapping[str, int], location: LocationAttr):
        self.arguments, self.location = dict(arguments), location
        given = ", ".join(f"{name} = {value}" for name, value in arguments.items())
        super().__init__(f"{place(location)}error: {text}" + (f" (with {given})" if given else ""))


@dataclass(frozen=True)
class SequenceGuard:
    """A check in the generated code: what it is about, what it demands, and the arguments that decide it."""

    subject: str
    text: str
    location: LocationAttr
    arguments: tuple[int, ...] = ()


@dataclass(frozen=True)
class ScalarArgument:
    """One scalar argument: its name, and the values that its type holds (read as signed or unsigned)."""

    name: str
    type: Attribute

    @property
    def limits(self) -> tuple[int, int]:
        match self.type:
            case IntegerType():
                return guards.any_limits(self.type)
            case IndexType():
                return -(1 << 63), (1 << 63) - 1
            case _:
                raise TypeError(f"argument {self.name} of type {self.type} is no scalar that a sequence can take")


def arguments_behind(value: SSAValue, arguments: Sequence[BlockArgument]) -> tuple[int, ...]:
    """Which scalar arguments a value is computed from."""
    found: set[int] = set()
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, BlockArgument) and current in arguments:
            found.add(arguments.index(current))
        owner = current.owner if isinstance(current.owner, Operation) else current.owner.parent_op()
        if owner is not None and owner.name != "aie.runtime_sequence":
            waiting += owner.operands
            last = owner.regions[-1].blocks.last if owner.regions else None
            waiting += last.last_op.operands if last and last.last_op else ()
    return tuple(sorted(found))


class ScalarSequence:
    """A runtime sequence that gives words for its scalars: what callers give for these is checked here."""

    def __init__(self, names: Sequence[str], arguments: Sequence[BlockArgument]):
        self.arguments = arguments
        self.scalars = [ScalarArgument(name, arg.type) for name, arg in zip(names, arguments, strict=True)]
        self._names = tuple(names)
        self._limits = [(scalar.name, *scalar.limits) for scalar in self.scalars]

    def __call__(self, scalars: Mapping[str, int]) -> Words:
        """The stream for these values; RangeError where a value is outside what the hardware takes."""
        raise NotImplementedError

    def _values(self, scalars: Mapping[str, int]) -> list[int]:
        """What is given, in the order of the arguments, as integers that these hold."""
        values = list[int]()
        for name, low, high in self._limits:
            value = scalars.get(name)
            # The usual case takes no call: scripts ask for many streams one after the other.
            if type(value) is not int:
                self._check_names(scalars)
                value = integer_of(name, value, self._expected())
            if not low <= value <= high:
                self._refuse(scalars)
            values.append(value)
        if len(scalars) != len(values):
            self._check_names(scalars)
        return values

    def _check_names(self, scalars: Iterable[str]) -> None:
        if unknown := sorted(set(scalars) - set(self._names)):
            hint = near_match(unknown[0], self._names)
            raise CallError(f"unknown argument {', '.join(unknown)}{hint}; the sequence takes {self._expected()}")

    def _refuse(self, scalars: Mapping[str, int]) -> None:
        for scalar, argument in zip(self.scalars, self.arguments, strict=True):
            low, high = scalar.limits
            if not low <= scalars[scalar.name] <= high:
                text = f"{scalar.name} = {scalars[scalar.name]} does not fit {scalar.type}: it holds [{low}:{high}]"
                raise RangeError(text, {}, argument.location)

    def _expected(self) -> str:
        return ", ".join(f"{scalar.name}: {scalar.type}" for scalar in self.scalars) or "no scalars"

    def _explain(self, guard: SequenceGuard, value: int, values: Sequence[int]) -> RangeError:
        used = {self._names[index]: values[index] for index in guard.arguments}
        text = f"{guard.subject} is {value} but {guard.text}" if guard.subject else guard.text
        return RangeError(text, used, guard.location)

    def _check_count(self, count: int, values: Sequence[int], location: LocationAttr) -> None:
        if count > MOST_STREAM_WORDS:
            text = f"the stream would have {count} words, and may have {MOST_STREAM_WORDS}: let it do less at a time"
            raise RangeError(text, dict(zip(self._names, values, strict=True)), location)


def integer_of(name: str, value: object, expected: str) -> int:
    """What counts as an integer, such as one of NumPy's, as a plain one; `CallError` for anything else."""
    match value:
        case None:
            raise CallError(f"missing value for argument '{name}'; the sequence takes {expected}")
        case np.bool_():
            return int(value)
        case SupportsIndex():
            try:
                return index(value)
            except TypeError:
                pass  # arrays have `__index__`, but only those with a single integer can do it
        case _:
            pass
    raise CallError(f"argument {name} = {shown(value)} is no integer; the sequence takes {expected}")
