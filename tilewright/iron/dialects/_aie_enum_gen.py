"""The vocabularies of the `aie` dialect."""

from typing import Any

from tilewright.device import LockAction, LockBlocking, ObjectFifoPort, WireBundle
from tilewright.dialects.aie.trace import ComboLogic, EdgeTrigger, TraceMode
from tilewright.iron.placed.dma import DMAChannelDir
from tilewright.iron.placed.flows import CascadeDir
from tilewright.iron.placed.tiles import AIEArch, AIEDevice, AIETileType
from tilewright.iron.placed.trace import TracePacketType, TraceShimRouting
from tilewright.iron.utils.trace.events import VOCABULARIES
from tilewright.support.lazy import listed_names


# those of events, such as `CoreEventAIE2`
def __getattr__(name: str) -> Any:
    if name in VOCABULARIES:
        return VOCABULARIES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__dir__ = listed_names(__name__)

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
