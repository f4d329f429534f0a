"""Who has a buffer of a kernel, by the memory space of its type, and how large it is."""

from __future__ import annotations

from enum import Enum
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
)
from xdsl.ir import Attribute, SSAValue

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


def size_bytes(type: Attribute) -> int | None:
    """What a buffer of this type takes; None if the type does not say it."""
    if not isinstance(type, MemRefType) or DYNAMIC_INDEX in type.get_shape():
        return None
    element = cast("MemRefType[Attribute]", type).element_type
    bits = 64 if isinstance(element, IndexType) else element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    return prod(type.get_shape()) * -(-bits // 8) if bits else None
