"""Who has a buffer of a kernel, by the memory space of its type."""

from __future__ import annotations

from enum import Enum
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr


class Home(Enum):
    """Who has a buffer."""

    DEVICE = "device"
    BLOCK = "block"
    THREAD = "thread"
    OTHER = "other"


NUMBERED = {3: Home.BLOCK, 5: Home.THREAD}
NAMED = {AddressSpace.WORKGROUP: Home.BLOCK, AddressSpace.PRIVATE: Home.THREAD}


def home_of(buffer: SSAValue) -> Home:
    match cast("MemRefType", buffer.type).memory_space:
        case NoneAttr():
            return Home.DEVICE
        case IntegerAttr() as space:
            return NUMBERED.get(space.value.data, Home.OTHER)
        case AddressSpaceAttr() as space:
            return NAMED.get(space.data, Home.OTHER)
        case _:
            return Home.OTHER
