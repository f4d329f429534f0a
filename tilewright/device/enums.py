"""The vendor's closed vocabularies, spelt and numbered as in AIEAttrs.td: member names are what programs write."""

from enum import IntEnum


class Keyword(IntEnum):
    """A number in the generic form, its name in the custom form."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


class Arch(Keyword):
    AIE1 = 1
    AIE2 = 2
    AIE2p = 3


class TileType(Keyword):
    CoreTile = 0
    MemTile = 1
    ShimNOCTile = 2
    ShimPLTile = 3


class WireBundle(Keyword):
    """A group of stream-switch ports that lead the same way."""

    Core = 0
    DMA = 1
    FIFO = 2
    South = 3
    West = 4
    North = 5
    East = 6
    PLIO = 7
    NOC = 8
    Trace = 9
    TileControl = 10

    @property
    def opposite(self) -> "WireBundle":
        """The bundle of the neighbouring tile at the other end; a bundle that stays in the tile is its own."""
        return _OPPOSITE.get(self, self)


_OPPOSITE = {
    WireBundle.North: WireBundle.South,
    WireBundle.South: WireBundle.North,
    WireBundle.East: WireBundle.West,
    WireBundle.West: WireBundle.East,
}


class CascadeDirection(Keyword):
    South = 3
    West = 4
    North = 5
    East = 6


class DmaDirection(Keyword):
    S2MM = 0
    MM2S = 1


class LockAction(Keyword):
    Acquire = 0
    Release = 1
    AcquireGreaterEqual = 2


class LockBlocking(Keyword):
    NonBlocking = 0
    Blocking = 1


class ObjectFifoPort(Keyword):
    Produce = 0
    Consume = 1


class Side(Keyword):
    """Where a core sees a memory or a lock: the four windows of its address map, in the order of the lock windows."""

    South = 0
    West = 1
    North = 2
    East = 3


class DeviceName(Keyword):
    """Every device `aie.device` can name."""

    xcvc1902 = 1
    xcve2302 = 2
    xcve2802 = 3
    npu1 = 4
    npu1_1col = 5
    npu1_2col = 6
    npu1_3col = 7
    npu2 = 8
    npu2_1col = 9
    npu2_2col = 10
    npu2_3col = 11
    npu2_4col = 12
    npu2_5col = 13
    npu2_6col = 14
    npu2_7col = 15
