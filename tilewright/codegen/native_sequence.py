"""Calling a native generator from Python: scalars in, a fresh array of TXN words out."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, IntegerType, LocationAttr
from xdsl.ir import Attribute

from tilewright.dialects.aiex import guards
from tilewright.errors import CallError, Error, near_match
from tilewright.ir.diagnostics import place
from tilewright.ir.limits import MOST_STREAM_WORDS
from tilewright.native.host_arrays import shown

if TYPE_CHECKING:  # LLVM takes long to import, and RangeError is caught without it
    from tilewright.codegen.native_body import Generator

Words = npt.NDArray[np.uint32]
STAGING_WORDS = 4096  # streams up to this size are written to memory of the thread's own, then copied


class RangeError(Error, ValueError):
    """A sequence was asked for with values for which it has no valid stream; says which, why and where."""

    def __init__(self, text: str, arguments: Mapping[str, int], location: LocationAttr):
        self.arguments, self.location = dict(arguments), location
        given = ", ".join(f"{name} = {value}" for name, value in arguments.items())
        super().__init__(f"{place(location)}error: {text}" + (f" (with {given})" if given else ""))


class _Staging(threading.local):
    """Memory of one thread that generators write to, at a known address."""

    def __init__(self) -> None:
        words, failure = np.empty(STAGING_WORDS, dtype=np.uint32), ctypes.c_int64()
        self.parts = words, words.ctypes.data, failure, ctypes.addressof(failure)


_staging = _Staging()


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


class NativeSequence:
    """One runtime sequence, compiled: safe to call from several threads, every array it gives is the caller's own."""

    def __init__(self, generator: Generator, address: int, names: Sequence[str], keep_alive: object):
        self.generator = generator
        self.scalars = [ScalarArgument(name, arg.type) for name, arg in zip(names, generator.arguments, strict=True)]
        self._names = tuple(names)
        self._limits = [(scalar.name, *scalar.limits) for scalar in self.scalars]
        signature = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *(ctypes.c_int64 for _ in names)]
        # PYFUNCTYPE keeps the interpreter's lock: most calls are shorter than giving it up and taking it again.
        self._call = ctypes.PYFUNCTYPE(ctypes.c_int64, *signature)(address)
        self._usual_count = 0
        """How many words the last stream had: the next one is likely to have as many."""
        self._keep_alive = keep_alive

    def __call__(self, scalars: Mapping[str, int]) -> Words:
        """The stream for these values; RangeError where a value is outside what the hardware takes."""
        values = self._values(scalars)
        words, address, failure, failure_address = _staging.parts
        if self._usual_count > STAGING_WORDS:
            words = np.empty(self._usual_count, dtype=np.uint32)
            address = words.ctypes.data
        count = self._call(address, words.size, failure_address, *values)
        if count < 0:
            raise self._explain(-1 - count, failure.value, values)
        if count > MOST_STREAM_WORDS:
            text = f"the stream would have {count} words, and may have {MOST_STREAM_WORDS}: let it do less at a time"
            raise RangeError(text, dict(zip(self._names, values, strict=True)), self.generator.location)
        # What the generator wrote belongs to the thread and is copied; only a large stream is written in place.
        self._usual_count = count
        if count <= STAGING_WORDS or count < words.size:
            return words[:count].copy()
        if count > words.size:
            words = np.empty(count, dtype=np.uint32)
            self._call(words.ctypes.data, count, failure_address, *values)
        return words

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
        for scalar, argument in zip(self.scalars, self.generator.arguments, strict=True):
            low, high = scalar.limits
            if not low <= scalars[scalar.name] <= high:
                text = f"{scalar.name} = {scalars[scalar.name]} does not fit {scalar.type}: it holds [{low}:{high}]"
                raise RangeError(text, {}, argument.location)

    def _expected(self) -> str:
        return ", ".join(f"{scalar.name}: {scalar.type}" for scalar in self.scalars) or "no scalars"

    def _explain(self, number: int, value: int, values: Sequence[int]) -> RangeError:
        guard = self.generator.guards[number]
        used = {self._names[index]: values[index] for index in guard.arguments}
        text = f"{guard.subject} is {value} but {guard.text}" if guard.subject else guard.text
        return RangeError(text, used, guard.location)


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
