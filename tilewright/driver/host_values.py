"""Arrays for the buffers of a runtime sequence, made as a text says: zeros, arange, random:SEED or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.driver.loaded_device import Array
from tilewright.errors import ArgumentError, near_match
from tilewright.native.host_arrays import dtype_of

SPECS = "zeros, arange, random:SEED, FILE.npy"
MOST_UNASKED_BYTES = 1 << 29
"""Of one array whose size is not said."""
Needs = Callable[[Mapping[str, int | float]], Mapping[int, int]]
"""For values of the scalars: how many bytes of which argument are used."""


class SpecError(ArgumentError):
    """A text that says nothing about what is in a buffer, or that does not say enough."""


def typed_buffer(name: str, spec: str, type: Any, needed_bytes: Callable[[], int]) -> Array:
    """A new array for an argument of a memref type, filled as `spec` says; as large as is needed if that is open."""
    try:
        shape: tuple[int, ...] = type.get_shape()
        dtype = dtype_of(type.element_type)
    except TypeError as error:
        raise ArgumentError(f"argument {name} is {type}: {error}") from error
    if spec.endswith(".npy"):
        return read_array(spec)
    if DYNAMIC_INDEX in shape:
        shape = (-(-needed_bytes() // dtype.itemsize),)
        if not shape[0]:
            raise SpecError(f"how large {name} must be cannot be told; give it as a file: --arg {name}=FILE.npy")
    if prod(shape) * dtype.itemsize > MOST_UNASKED_BYTES:
        size = f"{name} has {prod(shape) * dtype.itemsize} bytes, more than the {MOST_UNASKED_BYTES} that are made here"
        raise SpecError(f"{size}; give it as a file: --arg {name}=FILE.npy")
    return filled(name, spec, shape, dtype)


def filled(name: str, spec: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array, filled as `spec` says."""
    if dtype.names is not None:  # any bytes are numbers that share an exponent
        raw = filled(name, spec, (prod(shape) * dtype.itemsize,), np.dtype(np.uint8))
        return raw.view(dtype).reshape(shape)
    if spec == "zeros":
        return np.zeros(shape, dtype)
    if spec == "arange":
        return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)
    kind, _, seed = spec.partition(":")
    if kind != "random" or not seed.isdecimal():
        raise SpecError(f"--arg {name}: '{spec}' is none of {SPECS}")
    generator = np.random.default_rng(int(seed))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # all values of the type: kernels show what they do with the largest, too
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.standard_normal(shape).astype(dtype)


def read_array(path: str) -> Array:
    try:
        return np.ascontiguousarray(np.load(path, allow_pickle=False))  # pickles could run code
    except (OSError, ValueError, EOFError) as error:
        raise ArgumentError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error


def argument_values(
    op: RuntimeSequenceOp, scalars: Mapping[str, int | float], specs: Mapping[str, Any], needs: Needs
) -> list[Array | int | float]:
    """Values for the arguments of a sequence, in order; a spec may be an array already."""
    named = list(zip(op.argument_names, [argument.type for argument in op.body.block.args], strict=True))
    buffers = [name for name, type in named if isinstance(type, MemRefType)]
    check_known("--arg", specs, buffers)
    found = cache(lambda: needs(scalars))  # makes the whole stream, and only buffers of open size ask

    def value(number: int, name: str, type: Any) -> Array | int | float:
        if name not in buffers:
            return scalars[name]
        if name not in specs and op.control_packets is not None and op.control_packets.argument == number:
            return np.array(op.control_packets.words, np.int32)
        spec = specs.get(name, "zeros")
        return typed_buffer(name, spec, type, lambda: found().get(number, 0)) if isinstance(spec, str) else spec

    return [value(number, name, type) for number, (name, type) in enumerate(named)]


def check_known(flag: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Complain about the first name that no argument has."""
    names = [*known]
    if unknown := [name for name in given if name not in names]:
        there = ", ".join(names) or "none"
        raise SpecError(f"{flag}: no such argument: {unknown[0]}{near_match(unknown[0], names)}; there is {there}")
