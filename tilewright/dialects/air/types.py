"""Types of the `air` dialect, and the memory that a buffer of a program lives in."""

from __future__ import annotations

from enum import IntEnum

from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, UnrankedMemRefType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import base, irdl_attr_definition

from tilewright.ir.constraints import described


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """Stands for the end of an operation that others may wait for."""

    name = "air.async.token"


@irdl_attr_definition
class UniverseType(ParametrizedAttribute, TypeAttribute):
    """A bounded pool of devices that ranks run on."""

    name = "air.universe"


@irdl_attr_definition
class SymmetricHeapAttr(ParametrizedAttribute):
    """The memory that all ranks have at the same offset, each reachable from the others."""

    name = "air.symmetric_heap"


TOKEN = AsyncTokenType()
UNIVERSE = UniverseType()
SYMMETRIC_HEAP = SymmetricHeapAttr()
# The wording is upstream's: verification errors quote it.
ANY_TOKEN = described(base(AsyncTokenType), "async token type")
ANY_UNIVERSE = described(base(UniverseType), "universe type")


class MemorySpace(IntEnum):
    """Levels of memory: the higher the number, the closer to one processing element."""

    L3 = 0
    L2 = 1
    L1 = 2


def memory_space(type: Attribute) -> int | None:
    """The number of the memory that a buffer lives in; None for the symmetric heap and others without a number."""
    if not isinstance(type, MemRefType | UnrankedMemRefType):
        return None
    space = type.memory_space
    if isinstance(space, NoneAttr):  # buffers without one are the host's
        return MemorySpace.L3
    return space.value.data if isinstance(space, IntegerAttr) else None


def is_symmetric(type: Attribute) -> bool:
    """Whether a buffer is on the symmetric heap."""
    return isinstance(type, MemRefType | UnrankedMemRefType) and type.memory_space == SYMMETRIC_HEAP


def space_text(space: int) -> str | None:
    """`L2` for 1; None where the number is no level of the hierarchy."""
    return MemorySpace(space).name if space in MemorySpace._value2member_map_ else None


ATTRS: list[type[Attribute]] = [AsyncTokenType, UniverseType, SymmetricHeapAttr]
