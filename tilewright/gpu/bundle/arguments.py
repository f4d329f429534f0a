"""Arrays and numbers that a bundle's entry is called with."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.gpu.bundle.manifest import Manifest, Parameter
from tilewright.gpu.device import DeviceError
from tilewright.support.output_files import array_files, write_files

Array = npt.NDArray[Any]


@dataclass
class Arguments:
    """The arrays, in memory that all processes share, and the bits of the numbers, each in order."""

    arrays: list[Array] = field(default_factory=list[Array])
    numbers: list[int] = field(default_factory=list[int])


def prepare_arguments(manifest: Manifest, specs: Sequence[str]) -> Arguments:
    """What the command line asks for: a number, a .npy file, zeros, arange or random:SEED for each parameter."""
    if len(specs) > len(manifest.parameters):
        names = ", ".join(parameter.name for parameter in manifest.parameters) or "nothing"
        raise DeviceError(f"@{manifest.entry} takes {names}, got {len(specs)} arguments")
    found = Arguments()
    for number, parameter in enumerate(manifest.parameters):
        spec = specs[number] if number < len(specs) else None
        if parameter.shape is not None:
            found.arrays.append(_array(parameter, spec or "zeros"))
        elif spec is None:
            raise DeviceError(f"@{manifest.entry} takes {parameter.name}, a {parameter.type}; give it: --arg NUMBER")
        else:
            found.numbers.append(_bits(parameter, spec))
    return found


def _array(parameter: Parameter, spec: str) -> Array:
    shape, type = parameter.shape or (), np.dtype(parameter.type)
    kind, _, seed = spec.partition(":")
    if kind in ("zeros", "arange", "random"):
        if -1 in shape:
            raise DeviceError(f"{parameter.name} has no size of its own: give it an array, --arg FILE.npy")
        if kind == "random":
            drawn = np.random.default_rng(int(seed or 0)).random(shape)
            values = (drawn if type.kind == "f" else 100 * drawn).astype(type)
        else:
            values = (np.arange(prod(shape)) * (kind == "arange")).astype(type).reshape(shape)
    else:
        values = _read(parameter, spec)
    memory = mmap.mmap(-1, max(values.nbytes, 1))
    copy = np.frombuffer(memory, values.dtype, values.size).reshape(values.shape)
    copy[...] = values
    return copy


def _is_like(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether elements can be taken as they are: of the same type, integers of either sign, or without a type."""
    kinds = {given.kind, wanted.kind}
    return (
        given.itemsize == wanted.itemsize and given.isnative and (len(kinds) == 1 or kinds <= {*"iub"} or "V" in kinds)
    )


def _read(parameter: Parameter, path: str) -> Array:
    shape, type = parameter.shape or (), np.dtype(parameter.type)
    try:
        values: Array = np.ascontiguousarray(np.load(path))
    except (OSError, ValueError) as error:
        raise DeviceError(f"{parameter.name}: cannot read {path}: {error}") from error
    fits = len(shape) == values.ndim and all(w in (-1, s) for w, s in zip(shape, values.shape, strict=True))
    if not fits or not _is_like(values.dtype, type):
        raise DeviceError(f"{parameter.name} is {shape} of {type}, {path} has {values.shape} of {values.dtype}")
    return values


def _bits(parameter: Parameter, text: str) -> int:
    try:
        if parameter.type == "float32":
            return struct.unpack("<I", struct.pack("<f", float(text)))[0]
        if parameter.type == "float64":
            return struct.unpack("<Q", struct.pack("<d", float(text)))[0]
        return int(text, 0) % (1 << 64)
    except ValueError as error:
        raise DeviceError(f"{parameter.name} is a {parameter.type}, got '{text}'") from error


def entry_parts(manifest: Manifest, arguments: Arguments, addresses: Sequence[int]) -> list[int]:
    """The arguments as the eight-byte parts that native code takes; arrays are at these addresses."""
    parts = list[int]()
    arrays, numbers = iter(zip(arguments.arrays, addresses, strict=True)), iter(arguments.numbers)
    for parameter in manifest.parameters:
        if parameter.shape is None:
            parts.append(next(numbers))
            continue
        array, address = next(arrays)
        sizes = [size for size, known in zip(array.shape, parameter.shape, strict=True) if known == -1]
        strides = [array.strides[dimension] // array.itemsize for dimension in parameter.dynamic_strides]
        parts += [address, array.nbytes, 0, *sizes, *strides]
    return parts


def save_arguments(folder: Path, manifest: Manifest, arguments: Arguments) -> None:
    names = [parameter.name for parameter in manifest.parameters if parameter.shape is not None]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_files(folder, array_files(dict(zip(names, arguments.arrays, strict=True))))
    except OSError as error:
        raise DeviceError(f"cannot write to '{error.filename or folder}': {error.strerror or error}") from error
