"""Recognises a design's function: its code, and every value that the code can see.

Two functions with the same fingerprint build the same design. What cannot be recognised has none; then the design is
built again to see what it is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import marshal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(Ellipsis),
    Enum,
    range,
    slice,
    Path,
    np.generic,
    np.dtype,
)
_OURS = ("tilewright.", "numpy", "ml_dtypes")
"""Modules whose functions are known by name: they do not change while a program runs."""
_MARSHAL_VERSION = 4


class Unrecognised(TypeError):
    """A value that may differ without showing it."""


def fingerprint(*values: Any) -> str | None:
    """A digest of values, or None if one of them cannot be recognised."""
    digest = hashlib.sha256()
    try:
        for part in _parts(values, ()):
            digest.update(part)
    except (Unrecognised, RecursionError):
        return None
    return digest.hexdigest()


def _parts(value: Any, around: tuple[int, ...]) -> Iterator[bytes]:
    """Bytes that differ if values do; `around` are the objects that this one is inside of."""
    if id(value) in around:  # functions refer to themselves, and lists may
        yield b"itself"
        return
    yield f"{type(value).__module__}.{type(value).__qualname__}:".encode()
    inside = (*around, id(value))
    for each in _contents(value):
        if isinstance(each, bytes):
            yield b"%d:%b" % (len(each), each)  # with its length, so that no two lists run together to the same
        else:
            yield from _parts(each, inside)


def _contents(value: Any) -> Iterable[Any]:
    """Bytes, and the values that a value is made of."""
    found = next((contents for kinds, contents in _CONTENTS if isinstance(value, kinds)), _object_contents)
    return found(value)


def _qualified_name(value: Any) -> list[bytes]:
    return [f"{value.__module__}.{value.__qualname__}".encode()]


def _unrecognised(value: Any) -> Any:
    raise Unrecognised(f"cannot recognise {value!r}")


def _cell_contents(cell: CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not bound yet
        return [None]


def _module_contents(module: ModuleType) -> Iterator[bytes]:
    yield module.__name__.encode()
    file = getattr(module, "__file__", None)
    if file and not module.__name__.startswith(_OURS) and Path(file).is_file():
        # its functions may be changed between two calls, as in a notebook that loads it again
        stat = Path(file).stat()
        yield repr((stat.st_mtime_ns, stat.st_size)).encode()


def _function_contents(function: FunctionType) -> Iterator[Any]:
    yield from _qualified_name(function)
    if (function.__module__ or "").startswith(_OURS):
        return
    yield code_identity(function.__code__)
    yield function.__defaults__
    yield function.__kwdefaults__
    yield from function.__closure__ or ()
    yield from _named(function.__globals__, sorted(_global_names(function.__code__)))


def _named(namespace: Mapping[str, Any], names: Sequence[str]) -> Iterator[Any]:
    """What names stand for, and what they stand for inside of modules that may change."""
    for name in names:
        if name in namespace:
            value = namespace[name]
            yield name
            yield value
            if isinstance(value, ModuleType) and _may_change(value):
                yield from _named(vars(value), [other for other in names if other != name])


def _may_change(module: ModuleType) -> bool:
    """Whether it is one of the user's, not of Python or of a package."""
    top, file = module.__name__.partition(".")[0], str(getattr(module, "__file__", None) or "")
    installed = top in sys.stdlib_module_names or "site-packages" in file
    return not installed and not f"{module.__name__}.".startswith(_OURS)


def _object_contents(value: Any) -> Iterator[Any]:
    """What an object holds, unless its class says how to recognise it."""
    digest: Callable[[], str] | None = getattr(value, "content_digest", None)
    if digest is not None:
        yield digest()
    elif hasattr(value, "recognised_by"):
        yield value.recognised_by
    elif dataclasses.is_dataclass(value) or type(value).__module__.startswith("tilewright."):
        yield vars(value) if hasattr(value, "__dict__") else _unrecognised(value)
    elif isinstance(wrapped := getattr(value, "__wrapped__", None), FunctionType):
        yield wrapped
    else:
        _unrecognised(value)


# the first that a value is an instance of counts
_CONTENTS: list[tuple[Any, Callable[[Any], Iterable[Any]]]] = [
    (_PLAIN, lambda plain: [repr(plain).encode()]),
    (np.ndarray, lambda array: [repr((array.dtype, array.shape)).encode(), array.tobytes()]),
    ((tuple, list), lambda values: values),
    (Mapping, lambda mapping: [part for pair in mapping.items() for part in pair]),
    # a set has no order, and that of hashes differs from process to process
    ((set, frozenset), lambda values: sorted(fingerprint(value) or _unrecognised(value) for value in values)),
    ((type, BuiltinFunctionType), _qualified_name),
    (ModuleType, _module_contents),
    (FunctionType, _function_contents),
    (partial, lambda bound: [bound.func, bound.args, bound.keywords]),
    (CellType, _cell_contents),
]
"""What values of some types are made of; `_object_contents` tells of all others."""


def _global_names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_global_names, inner))  # functions inside see the same globals


def code_identity(code: CodeType) -> bytes:
    """What a function does, wherever it is written."""
    return marshal.dumps(_without_place(code), _MARSHAL_VERSION)


def _without_place(constant: Any) -> Any:
    if isinstance(constant, tuple):
        return tuple(_without_place(part) for part in cast("tuple[Any, ...]", constant))
    if not isinstance(constant, CodeType):
        return constant
    constants = tuple(_without_place(part) for part in constant.co_consts)
    return constant.replace(co_consts=constants, co_filename="", co_firstlineno=1, co_linetable=b"")
