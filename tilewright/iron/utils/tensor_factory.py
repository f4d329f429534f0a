"""Makes tensors of the class that is the default."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tilewright.iron.utils.hostruntime.tensor_class import NpuTensor

_tensor_class: type[NpuTensor] = NpuTensor


def set_tensor_class(cls: type[NpuTensor]) -> None:
    """Have the functions here make tensors of another class."""
    global _tensor_class
    if not issubclass(cls, NpuTensor):
        raise ValueError(f"Tensors must inherit from the NpuTensor class but {cls} does not.")
    _tensor_class = cls


# a name that follows `set_tensor_class`, which a variable of the module would not
def __getattr__(name: str) -> Any:
    if name == "DEFAULT_TENSOR_CLASS":
        return _tensor_class
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def npu_runtime_folds_ddr_addr_offset() -> bool:
    """Whether instructions have the offset of the host's memory in them: so it is with all runtimes but HRX."""
    return True


def ceildiv(a: int, b: int) -> int:
    """`a` divided by `b`, rounded up."""
    return -(a // -b)


def tensor(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor of a shape, or with data; an array keeps its type."""
    if args and isinstance(args[0], np.ndarray):
        dtype = cast("npt.NDArray[Any]", args[0]).dtype
        wanted = np.dtype(kwargs.setdefault("dtype", dtype))
        if dtype != wanted:
            raise TypeError(
                f"iron.tensor: ndarray dtype {dtype!r} does not match dtype= kwarg {wanted!r}.  Cast the array "
                f"beforehand (e.g. arr.astype({wanted!r})) or drop the dtype= kwarg."
            )
    return _tensor_class(*args, **kwargs)


def ones(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor of ones."""
    return _tensor_class.ones(*args, **kwargs)


def zeros(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor of zeros."""
    return _tensor_class.zeros(*args, **kwargs)


def full(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor with one value everywhere."""
    return _tensor_class.full(*args, **kwargs)


def randint(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor of random integers."""
    return _tensor_class.randint(*args, **kwargs)


def rand(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor of random numbers from 0 to 1."""
    return _tensor_class.rand(*args, **kwargs)


def arange(*args: Any, **kwargs: Any) -> NpuTensor:
    """A tensor of numbers at equal distances."""
    return _tensor_class.arange(*args, **kwargs)


def zeros_like(*args: Any, **kwargs: Any) -> NpuTensor:
    """Zeros with the shape of another tensor."""
    return _tensor_class.zeros_like(*args, **kwargs)
