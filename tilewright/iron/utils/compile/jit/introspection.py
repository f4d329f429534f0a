"""Sorts the parameters of a design's function by their annotations."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Annotated, Any, cast, get_args, get_origin

import numpy as np

from tilewright.errors import CallError
from tilewright.iron.runtime.dispatch import check_dispatch_type
from tilewright.iron.utils.compile.jit.markers import COMPILE_TIME, DISPATCH_TIME, RUN_TIME, In, InOut, Out

_TENSORS = (In, Out, InOut)
_UNIONS = (typing.Union, types.UnionType)
EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function, by kind, in its order."""

    compile_time: tuple[str, ...]
    tensors: tuple[str, ...]
    scalars: tuple[str, ...]
    """Numbers of the run, and whatever has no annotation that says otherwise."""
    scalar_types: dict[str, Any]
    """What the sequence takes for each scalar; those that are missing cannot be passed to a sequence."""
    dispatch: dict[str, type[np.integer[Any]]]
    """Numbers of the calls that a design may be specialized for, with their types."""
    signature: inspect.Signature

    def default(self, name: str) -> Any:
        return self.signature.parameters[name].default


@cache
def parameters_of(function: Callable[..., Any]) -> Parameters:
    """The parameters of a function."""
    hints, signature = _hints(function), inspect.signature(function)
    found: dict[str, list[str]] = {"compile_time": [], "tensors": [], "scalars": []}
    scalar_types, dispatch = dict[str, Any](), dict[str, type[np.integer[Any]]]()
    for name, parameter in signature.parameters.items():
        annotation = hints.get(name, parameter.annotation)
        if _tagged(annotation, COMPILE_TIME) is not None:
            found["compile_time"].append(name)
        elif (tagged := _tagged(annotation, DISPATCH_TIME)) is not None:
            dispatch[name] = check_dispatch_type(function.__name__, name, tagged)
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                raise CallError(
                    f"DispatchTime[T] parameter {name!r} of {function.__name__!r} is not keyword-only: "
                    f"put a bare '*' before it: (a: In, b: Out, *, {name}: DispatchTime[...])"
                )
        elif annotation in _TENSORS:
            found["tensors"].append(name)
        else:
            found["scalars"].append(name)
            if (taken := _scalar_type(annotation)) is not None:
                scalar_types[name] = taken
    kinds = {kind: tuple(names) for kind, names in found.items()}
    return Parameters(**kinds, scalar_types=scalar_types, dispatch=dispatch, signature=signature)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations may be text, which may name what is local to the function around, or what is not there."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError):
        pass
    hints, known = dict[str, Any](), getattr(inspect.unwrap(function), "__globals__", dict[str, Any]())
    around = _locals_around(known)
    # one by one: those that mean nothing here stay as they are written, and the others count
    for name, written in getattr(function, "__annotations__", {}).items():
        with suppress(NameError, TypeError, AttributeError, SyntaxError):
            alone = SimpleNamespace(__annotations__={name: written})
            hints |= typing.get_type_hints(alone, known, around, include_extras=True)
    return hints


def _locals_around(known: Mapping[str, Any]) -> dict[str, Any]:
    """Local names of the functions of a module that are running, the innermost first: one of them has a decorator."""
    found, frame = dict[str, Any](), inspect.currentframe()
    while frame is not None:
        if frame.f_globals is known:
            found = frame.f_locals | found
        frame = frame.f_back
    return found


def _tagged(annotation: Any, tag: object) -> Any:
    """The type that a tag annotates, else None; also for `T | None`, which a default of None makes of an annotation."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0] if tag in get_args(annotation)[1:] else None
    parts = get_args(annotation) if get_origin(annotation) in _UNIONS else ()
    return next((found for part in parts if (found := _tagged(part, tag)) is not None), None)


def _scalar_type(annotation: Any) -> Any:
    """The type of a number that a sequence can take: NumPy's, and `int` for one of 32 bits."""
    annotation = annotation if (tagged := _tagged(annotation, RUN_TIME)) is None else tagged
    if annotation is int:
        return np.int32
    is_number = isinstance(annotation, type) and issubclass(annotation, np.integer | np.floating)
    return cast(Any, annotation) if is_number else None


def split_params(generator: Callable[..., Any]) -> tuple[list[str], list[str], list[str]]:
    """Names of compile-time parameters, of tensors, and of the others."""
    found = parameters_of(generator)
    return list(found.compile_time), list(found.tensors), list(found.scalars)
