"""Ways to make tensors: of one value, of random numbers, of numbers in a row."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]


class MadeTensor(ABC):
    """A class of tensors that is called with a shape, a type and a device."""

    DEFAULT_DEVICE: ClassVar[str] = "npu"

    @abstractmethod
    def __init__(self, shape_or_data: Any, dtype: npt.DTypeLike = np.uint32, device: str | None = None): ...

    @classmethod
    def _target(cls, shape: Shape, out: Any, dtype: npt.DTypeLike, device: str | None, **kwargs: Any) -> Any:
        """The tensor to write to: a new one, or the given one if it fits."""
        if out is None:
            return cls(shape, dtype=dtype, device=device, **kwargs)
        if out.shape != shape or out.dtype != dtype or out.device != (device or cls.DEFAULT_DEVICE):
            raise ValueError("Provided `out` tensor must match shape, dtype, and device")
        return out

    @classmethod
    def full(cls, size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, device: Any = None, **kw: Any):
        """A tensor with one value everywhere."""
        tensor = cls._target(as_shape(size), out, dtype or np.float32, device, **kw)
        tensor.fill_(fill_value)
        return tensor

    @classmethod
    def ones(cls, *size: Any, **kwargs: Any):
        return cls.full(_sizes(size), 1, **kwargs)

    @classmethod
    def zeros(cls, *size: Any, **kwargs: Any):
        return cls.full(_sizes(size), 0, **kwargs)

    @classmethod
    def zeros_like(cls, other: Any, dtype: Any = None, device: Any = None, **kwargs: Any):
        """Zeros with the shape of another tensor."""
        return cls(tuple(other.shape), dtype=dtype or other.dtype, device=device or other.device, **kwargs)

    @classmethod
    def randint(
        cls,
        low: int,
        high: int,
        size: Any,
        *,
        out: Any = None,
        dtype: Any = None,
        device: Any = None,
        generator: np.random.Generator | None = None,
        **kwargs: Any,
    ):
        """Random integers from `low` up to, but without, `high`."""
        tensor = cls._target(as_shape(size), out, dtype or np.int64, device, **kwargs)
        # NumPy's global state, which scripts seed with np.random.seed
        draw: Any = np.random.randint if generator is None else generator.integers
        tensor.data[...] = draw(low, high, size=tensor.shape, dtype=tensor.dtype)
        return tensor

    @classmethod
    def rand(
        cls,
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        device: Any = None,
        generator: np.random.Generator | None = None,
        **kwargs: Any,
    ):
        """Random numbers from 0 up to, but without, 1."""
        if not size:
            raise ValueError("rand() received no arguments")
        tensor = cls._target(as_shape(_sizes(size)), out, dtype or np.float32, device, **kwargs)
        draw: Any = np.random.uniform if generator is None else generator.uniform
        values = np.asarray(draw(0.0, 1.0, size=tensor.shape)).astype(tensor.dtype)
        if tensor.dtype.kind != "i":  # what rounds up to 1 is the number before it
            values = np.minimum(values, np.nextafter(tensor.dtype.type(1), tensor.dtype.type(0)))
        tensor.data[...] = values
        return tensor

    @classmethod
    def arange(
        cls,
        start: Any = 0,
        end: Any = None,
        step: Any = 1,
        *,
        shape: Any = None,
        out: Any = None,
        dtype: Any = None,
        device: Any = None,
        **kwargs: Any,
    ):
        """Numbers at equal distances, in one dimension or in `shape`."""
        start, end = (0, start) if end is None else (start, end)
        if dtype is None:
            dtype = np.float32 if any(isinstance(number, float) for number in (start, end, step)) else np.int64
        values = np.arange(start, end, step, dtype=dtype)
        sizes = values.shape if shape is None else as_shape(shape)
        if prod(sizes) != values.size:
            raise ValueError(
                f"iron.arange: shape={sizes} (prod={prod(sizes)}) does not match generated range size {values.size}"
            )
        tensor = cls._target(sizes, out, dtype, device, **kwargs)
        tensor.data[...] = values.reshape(sizes)
        return tensor


def _sizes(size: tuple[Any, ...]) -> Any:
    """`f(2, 3)` means the same as `f((2, 3))`."""
    return size[0] if len(size) == 1 else size


def as_shape(shape: Any) -> Shape:
    # those could be iterated, too
    if isinstance(shape, str | bytes):
        raise TypeError(f"shape must be an integer or a sequence, got {shape!r}")
    try:
        extents = tuple(operator.index(size) for size in (shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        raise TypeError(f"shape must be an integer or a sequence of integers, got {shape!r}") from None
    if any(size < 0 for size in extents):
        raise ValueError(f"shape extents must not be negative, got {extents}")
    return extents
