"""Tensors of the host that designs read and write: NumPy arrays, which the simulated device sees as they are."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from ml_dtypes import bfloat16

from tilewright.errors import CallError
from tilewright.iron.utils.hostruntime.buffer import HostOnlyTransport, Storage, Transport
from tilewright.iron.utils.hostruntime.coherence import COHERENCE_GRANULE, DEVICE, HOST
from tilewright.iron.utils.hostruntime.tensor_making import MadeTensor, as_shape

Array = npt.NDArray[Any]
SHOWN_ELEMENTS = 64
"""Larger tensors are shown by their corners."""


class NpuTensor(MadeTensor):
    """A buffer of fixed shape and type, as `@iron.jit` functions take it.

    `device` says who is supposed to use it next. Moving it costs nothing here: host and device share it.
    """

    DEVICES: ClassVar[Sequence[str]] = ("cpu", "npu")
    DEFAULT_DEVICE = "npu"
    _coherence_granule: ClassVar[int | None] = None
    """What parts of tensors are aligned to, where it is more than a cache line; subclasses may say."""

    def __init__(self, shape_or_data: Any, dtype: npt.DTypeLike = np.uint32, device: str | None = None):
        """A tuple is the shape of a new tensor of zeros, anything else its data, which is copied."""
        owner = self._checked_device(device or self.DEFAULT_DEVICE)
        if isinstance(shape_or_data, tuple):
            self._data: Array = np.zeros(as_shape(shape_or_data), dtype)
        else:
            # in rows, whatever the order of what is given: bytes of a tensor are views of its array
            self._data = np.array(shape_or_data, dtype=dtype, order="C")
        self._base: NpuTensor | None = None
        self._offset_bytes = 0
        memory = HostOnlyTransport(self._data.reshape(-1).view(np.uint8))
        self._storage = Storage(memory, self.nbytes, owner, self._granule())

    @classmethod
    def _granule(cls) -> int:
        return COHERENCE_GRANULE if cls._coherence_granule is None else cls._coherence_granule

    @property
    def storage(self) -> Storage:
        """The memory that it is a part of, which knows who has written which bytes last."""
        return self._storage

    @classmethod
    def _checked_device(cls, device: str) -> str:
        if device not in cls.DEVICES:
            raise ValueError(f"Unsupported device: {device}")
        return device

    @property
    def data(self) -> Array:
        """The array itself."""
        return self._data

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._data.dtype

    @property
    def device(self) -> str:
        """Who uses it next, or has written it last: `cpu` as soon as that holds of any part of it."""
        start, end = self._extent
        found = self._storage.coherence
        return found.get(start, end) or (HOST if found.any_host_written(start, end) else DEVICE)

    @device.setter
    def device(self, value: str) -> None:
        self._storage.coherence.set(*self._extent, self._checked_device(value))

    @property
    def _extent(self) -> tuple[int, int]:
        return self._offset_bytes, self._offset_bytes + self.nbytes

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    @property
    def element_size(self) -> int:
        """Bytes of an element."""
        return self._data.itemsize

    @property
    def base(self) -> NpuTensor | None:
        """The tensor that this one is a part of."""
        return self._base

    @property
    def is_view(self) -> bool:
        return self._base is not None

    @property
    def storage_offset(self) -> int:
        """Where in `base` it begins, in bytes."""
        return self._offset_bytes

    def numel(self) -> int:
        return self._data.size

    def __len__(self) -> int:
        # NumPy's text is about an unsized object
        if self._data.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __repr__(self) -> str:
        values = np.array2string(self._data, separator=",", threshold=SHOWN_ELEMENTS)
        return f"{type(self).__name__}({values}, device='{self.device}')"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        converted = self._data if dtype is None else self._data.astype(dtype)
        return converted.copy() if copy and converted is self._data else converted

    def __getitem__(self, index: Any) -> Any:
        return self._data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[index] = value

    def to(self, target_device: str) -> Self:
        """Say who uses it next."""
        if target_device not in self.DEVICES:
            raise ValueError(f"Unknown device '{target_device}'")
        self.device = target_device
        return self

    def numpy(self) -> Array:
        """The array, which shares its memory with the tensor."""
        return self._data

    def fill_(self, value: Any) -> None:
        self._data.fill(value)

    def buffer_object(self) -> Any:
        """The same memory as a buffer for runs of `pyxrt`."""
        from tilewright.xrt.buffers import bo

        return bo.over(self._data)

    @contextmanager
    def mutate(self) -> Generator[Array]:
        """The array for as long as the block lasts; afterwards it cannot be written to any more."""
        lent = self._data[...]  # a view of its own, whose flag can be set alone
        try:
            yield lent
        finally:
            lent.flags.writeable = False

    overwrite = mutate

    def subview(self, offset: int, shape: int | Sequence[int], dtype: npt.DTypeLike | None = None) -> Self:
        """A part of this tensor that shares its memory; it begins `offset` bytes in."""
        if type(self).data is not NpuTensor.data:
            # mlir-aie raises this for such classes too: it is part of what callers catch, not a gap
            raise NotImplementedError(f"{type(self).__name__} has `data` of its own, which parts could not share")
        if not hasattr(offset, "__index__"):
            raise TypeError(f"offset must be an integer number of bytes, got {offset!r}")
        wanted = np.dtype(self.dtype if dtype is None else dtype)
        sizes = as_shape(shape)
        size_bytes = prod(sizes) * wanted.itemsize
        described = f"subview(offset={offset}, shape={sizes}, dtype={wanted})"
        if offset < 0 or offset + size_bytes > self.nbytes:
            raise ValueError(f"{described} is out of bounds for a buffer of {self.nbytes} bytes")
        reaches_end = offset + size_bytes == self.nbytes
        granule = self._granule()
        if offset % granule or (size_bytes % granule and not reaches_end):
            raise ValueError(
                f"{described} spans bytes [{offset}, {offset + size_bytes}) of this buffer, which is not aligned to "
                f"the {granule}-byte coherence granule"
            )
        view = type(self).__new__(type(self))  # the constructor would copy
        raw = self._data.reshape(-1).view(np.uint8)[offset : offset + size_bytes]
        view._data = raw.view(wanted).reshape(sizes)
        view._storage, view._base = self._storage, self._base or self
        view._offset_bytes = self._offset_bytes + offset
        return view

    def to_torch(self) -> Any:
        """The same memory as a torch tensor."""
        import torch  # pyright: ignore[reportMissingImports]

        if self.dtype == bfloat16:  # torch cannot read NumPy's bfloat16, but its bits
            return torch.from_numpy(self._data.view(np.int16)).view(torch.bfloat16)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return torch.from_numpy(self._data)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    torch_view = to_torch

    @classmethod
    def from_torch(cls, torch_tensor: Any, device: str | None = None, **kwargs: Any) -> Self:
        """A copy of a torch tensor."""
        import torch  # pyright: ignore[reportMissingImports]

        held = torch_tensor.detach().cpu().contiguous()
        if held.dtype == torch.bfloat16:  # pyright: ignore[reportUnknownMemberType]
            data = held.view(torch.int16).numpy().view(bfloat16)  # pyright: ignore[reportUnknownMemberType]
        else:
            data = held.numpy()
        return cls(data, dtype=data.dtype, device=device, **kwargs)


__all__ = [
    "COHERENCE_GRANULE",
    "CPUOnlyTensor",
    "HostOnlyTransport",
    "NpuTensor",
    "Storage",
    "Tensor",
    "Transport",
    "array_of",
]
Tensor = NpuTensor  # upstream has both names


class CPUOnlyTensor(NpuTensor):
    """A tensor that never goes to a device."""

    DEVICES = ("cpu",)
    DEFAULT_DEVICE = "cpu"


def array_of(argument: Any) -> Array:
    """The memory of a tensor, or of what NumPy can see as an array without copying it."""
    if isinstance(argument, NpuTensor):
        return argument.data
    if isinstance(argument, np.ndarray):
        return cast(Array, argument)
    raise CallError(f"expected a tensor or a NumPy array, got {type(argument).__name__}")
