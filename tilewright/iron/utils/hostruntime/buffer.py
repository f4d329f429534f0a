"""Memory of tensors: bytes of the host, how a device gets and gives them, and who has written them last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.iron.utils.hostruntime.coherence import CoherenceMap

Bytes = npt.NDArray[np.uint8]


class Transport(ABC):
    """Bytes of the host, and the way to a device and back."""

    @property
    @abstractmethod
    def host_bytes(self) -> Bytes:
        """All bytes, as the host has them."""

    @abstractmethod
    def to_device(self, offset: int, nbytes: int) -> None:
        """Let the device see what the host has written to a range."""

    @abstractmethod
    def from_device(self, offset: int, nbytes: int) -> None:
        """Let the host see what the device has written to a range."""

    def handle(self, offset: int, nbytes: int) -> Any:
        """What a runtime takes for a range; None where it takes the whole."""
        return None


class HostOnlyTransport(Transport):
    """Bytes that host and device share, or that only the host has: nothing has to be moved."""

    def __init__(self, memory: int | Bytes):
        """Zeros, as many as said, or bytes that there are."""
        self._host = np.zeros(memory, np.uint8) if isinstance(memory, int) else memory

    @property
    def host_bytes(self) -> Bytes:
        return self._host

    def to_device(self, offset: int, nbytes: int) -> None:
        pass

    def from_device(self, offset: int, nbytes: int) -> None:
        pass


class Storage:
    """Memory that tensors are parts of."""

    def __init__(self, transport: Transport, nbytes: int, device: str, granule: int | None = None):
        self.nbytes = nbytes
        self.coherence = CoherenceMap(nbytes, device, granule)
        self._transport = transport

    @property
    def host_bytes(self) -> Bytes:
        return self._transport.host_bytes

    def sync_to_device(self, offset: int, nbytes: int) -> None:
        self._transport.to_device(offset, nbytes)

    def sync_from_device(self, offset: int, nbytes: int) -> None:
        self._transport.from_device(offset, nbytes)

    def binding_handle(self, offset: int, nbytes: int) -> Any:
        return self._transport.handle(offset, nbytes)


__all__ = ["HostOnlyTransport", "Storage", "Transport"]
