"""Buffers as XRT has them: bytes of the host, bytes of the device, and copies between the two when a program asks."""

from __future__ import annotations

from itertools import count
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tilewright.xrt.devices import device, hw_context
from tilewright.xrt.enums import BufferAccess, BufferFlags, SyncDirection
from tilewright.xrt.overloads import Overloads, integer
from tilewright.xrt.packages import XrtError
from tilewright.xrt.partition import BufferArgument

Bytes = npt.NDArray[np.uint8]
FIRST_ADDRESS, PAGE = 0x4000000, 4096
BANK_MASK = 0xFFFF
NO_BANK = 0xFFFF
"""The group of an argument that is no buffer: no buffer can be made for it."""
LARGEST = 1 << 40
_addresses = count(FIRST_ADDRESS, PAGE)


class Storage:
    """The bytes of a buffer: as the host has them, as the device has them, and as they were at the last copy."""

    def __init__(self, size: int, host: Bytes | None = None):
        self.host = np.zeros(size, np.uint8) if host is None else host
        self.device = np.zeros(size, np.uint8)
        # a program writes through pointers: only a copy tells whether it has
        self.synced = self.host.copy()
        pages = -(-max(size, 1) // PAGE)
        self.address = next(_addresses)
        for _ in range(pages - 1):
            next(_addresses)


def shared_storage(memory: Bytes) -> Storage:
    """Storage of bytes that host and device both work on, so that copies change nothing."""
    made = Storage(0)
    made.host = made.device = made.synced = memory
    return made


class bo:
    """A buffer, or a part of one."""

    flags = BufferFlags
    normal, cacheable, device_only = BufferFlags.normal, BufferFlags.cacheable, BufferFlags.device_only
    host_only, p2p, svm = BufferFlags.host_only, BufferFlags.p2p, BufferFlags.svm

    _forms: Overloads
    _sync_forms = Overloads(
        "sync()", {"direction": SyncDirection}, {"direction": SyncDirection, "size": int, "offset": int}
    )

    def __init__(self, *args: Any, **named: Any):
        _, given = self._forms.bind(args, named)
        if "parent" in given:
            parent: bo = given["parent"]
            self._size, self._offset = integer(given["size"]), parent.offset_of(integer(given["offset"]))
            parent.check(self._size, integer(given["offset"]), "a part of a buffer")
            self._storage, self._flags, self._group = parent.storage, parent.flags_given, parent.group
            return
        flags = given.get("flags", BufferFlags.normal)
        owner = given["device"] if "device" in given else given["ctx"]
        self._allocate(owner, given["size"], flags, integer(given.get("group", 0)))

    def _allocate(
        self, owner: device | hw_context, size: Any, flags: Any, group: int, host: Bytes | None = None
    ) -> None:
        self._size, self._offset = integer(size), 0
        if not 0 < self._size <= LARGEST:
            raise XrtError(f"a buffer of {self._size} bytes cannot be allocated")
        self._flags, self._group = BufferFlags(flags), group & BANK_MASK
        _check_bank(owner, self._group)
        self._storage = Storage(self._size, host)

    @classmethod
    def over(cls, array: npt.NDArray[Any]) -> bo:
        """A buffer of the bytes of an array, which the device sees as they are."""
        memory = _memory_of(array)
        made = cls.__new__(cls)
        made._size, made._offset, made._flags, made._group = memory.size, 0, BufferFlags.host_only, 0
        made._storage = shared_storage(memory)
        return made

    @property
    def storage(self) -> Storage:
        return self._storage

    @property
    def flags_given(self) -> BufferFlags:
        return self._flags

    @property
    def group(self) -> int:
        return self._group

    def offset_of(self, offset: int) -> int:
        return self._offset + offset

    def check(self, size: int, offset: int, what: str) -> slice:
        """The bytes of the storage that a size and an offset mean; they have to be in the buffer."""
        if size < 0 or offset < 0 or offset + size > self._size:
            raise XrtError(f"{what} of {size} bytes at offset {offset} is outside of a buffer of {self._size} bytes")
        return slice(self._offset + offset, self._offset + offset + size)

    def _hosted(self) -> Bytes:
        if self._flags is BufferFlags.device_only:
            raise XrtError("a buffer that only the device has cannot be mapped, read or written by the host")
        return self._storage.host

    def write(self, data: Any, seek: Any = 0) -> None:
        """Copy bytes of anything that has some to an offset, on the host's side."""
        given = _bytes_of(data)
        self._hosted()[self.check(given.size, integer(seek), "what is written")] = given

    def read(self, size: Any = None, skip: Any = 0) -> npt.NDArray[np.int8]:
        """A copy of bytes from an offset on, of the host's side."""
        amount = self._size - integer(skip) if size is None else integer(size)
        return self._hosted()[self.check(amount, integer(skip), "what is read")].copy().view(np.int8)

    def sync(self, *args: Any, **named: Any) -> None:
        """Copy bytes to the device or back: all, or some from an offset on."""
        form, given = self._sync_forms.bind(args, named)
        size, offset = (integer(given["size"]), integer(given["offset"])) if form else (self._size, 0)
        part, storage = self.check(size, offset, "what is synced"), self._storage
        match given["direction"]:
            case SyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
                storage.device[part] = storage.host[part]
            case SyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE:
                storage.host[part] = storage.device[part]
            case other:
                raise XrtError(f"{SyncDirection(other).name} is for AIE graphs of other devices")
        storage.synced[part] = storage.host[part]

    def map(self) -> memoryview:
        """The host's bytes themselves."""
        return self._hosted()[self._whole()].data

    def size(self) -> int:
        return self._size

    def address(self) -> int:
        """An address that no other buffer has."""
        return self._storage.address + self._offset

    def argument(self, label: str) -> BufferArgument:
        """What a run gets."""
        part, storage = self._whole(), self._storage
        is_stale = not np.array_equal(storage.host[part], storage.synced[part])
        return BufferArgument(storage.device[part], is_stale, label)

    def _whole(self) -> slice:
        return slice(self._offset, self._offset + self._size)


bo._forms = Overloads(  # the class is one of the types
    "bo()",
    {"device": device, "size": int, "flags": (BufferFlags, int), "group": int},
    {"ctx": hw_context, "size": int, "flags": (BufferFlags, int), "group": int},
    {"ctx": hw_context, "size": int, "group": int},
    {"parent": bo, "size": int, "offset": int},
)


class ext_bo(bo):
    """A buffer with a mode of access instead of a memory."""

    _ext_forms = Overloads(
        "ext.bo()",
        {"device": device, "size": int},
        {"ctx": hw_context, "size": int},
        {"device": device, "size": int, "access": BufferAccess},
        {"ctx": hw_context, "size": int, "access": BufferAccess},
        {"device": device, "userptr": (bytearray, memoryview, np.ndarray), "size": int},
        {
            "device": device,
            "userptr": (bytearray, memoryview, np.ndarray),
            "size": int,
            "access": BufferAccess,
        },
        {"device": device, "pid": int, "export_handle": int},
        {"ctx": hw_context, "pid": int, "export_handle": int},
    )

    def __init__(self, *args: Any, **named: Any):
        _, given = self._ext_forms.bind(args, named)
        if "export_handle" in given:
            raise XrtError("buffers of other processes cannot be imported: each process has a simulated NPU of its own")
        owner = given["device"] if "device" in given else given["ctx"]
        host = None
        if "userptr" in given:
            host = _memory_of(np.asarray(given["userptr"]))
            if host.size < integer(given["size"]):
                raise XrtError(f"a buffer of {integer(given['size'])} bytes over memory of {host.size}")
            host = host[: integer(given["size"])]
        self._allocate(owner, given["size"], BufferFlags.host_only, 0, host)


class aie_bo(bo):
    """A buffer of an AIE graph; graphs are parts of other devices."""

    def sync(self, *args: Any, **named: Any) -> None:
        if args and isinstance(args[0], str):
            raise XrtError("GMIO ports belong to AIE graphs, which NPUs do not have")
        super().sync(*args, **named)


def _bytes_of(data: Any) -> Bytes:
    """The bytes of anything that has some."""
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(cast("npt.NDArray[Any]", data)).reshape(-1).view(np.uint8)
    return np.frombuffer(data, np.uint8)


def _memory_of(array: npt.NDArray[Any]) -> Bytes:
    """The bytes of an array themselves: a buffer of a copy would hide what a device writes."""
    if not array.flags.c_contiguous:
        raise XrtError(
            f"a buffer over an array whose elements are not one behind the other (shape {array.shape}, strides "
            f"{array.strides}); give it a copy that is: np.ascontiguousarray(array)"
        )
    if not array.flags.writeable:
        raise XrtError("a buffer over an array that is read-only, which a device could not write; give it array.copy()")
    if array.dtype.hasobject:
        raise XrtError("a buffer over an array of Python objects, which have no bytes; give it a type of numbers")
    return array.reshape(-1).view(np.uint8)


def _check_bank(owner: device | hw_context, bank: int) -> None:
    if bank == NO_BANK:
        raise XrtError("invalid memory group: the argument that it was asked for is a number, not a buffer")
    if isinstance(owner, hw_context):
        known = owner.banks()
    else:
        known = max((len(it.package.banks) for it in owner.registered.values()), default=0)
    if known and bank >= known:
        raise XrtError(f"invalid memory group {bank}: the xclbin has {known}; ask the kernel: group_id(argument)")
