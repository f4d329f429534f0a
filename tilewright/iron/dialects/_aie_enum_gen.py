"""The vocabularies of the `aie` dialect."""

from tilewright.device import LockAction, LockBlocking, ObjectFifoPort, WireBundle
from tilewright.dialects.aie.trace import ComboLogic, EdgeTrigger, TraceMode
from tilewright.iron.placed.dma import DMAChannelDir
from tilewright.iron.placed.flows import CascadeDir
from tilewright.iron.placed.tiles import AIEArch, AIEDevice, AIETileType
from tilewright.iron.placed.trace import TracePacketType, TraceShimRouting

__all__ = [
    "AIEArch",
    "AIEDevice",
    "AIETileType",
    "CascadeDir",
    "ComboLogic",
    "DMAChannelDir",
    "EdgeTrigger",
    "LockAction",
    "LockBlocking",
    "ObjectFifoPort",
    "TraceMode",
    "TracePacketType",
    "TraceShimRouting",
    "WireBundle",
]
