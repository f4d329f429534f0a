"""Data movement: ObjectFifos, or routes and DMA programs written out."""

from tilewright.iron.dataflow.cascadeflow import CascadeFlow
from tilewright.iron.dataflow.flow import Flow, PacketDest, PacketFlow
from tilewright.iron.dataflow.objectfifo import (
    ObjectFifo,
    ObjectFifoEndpoint,
    ObjectFifoHandle,
    ObjectFifoLink,
    PadDims,
    StreamDims,
)
from tilewright.iron.dataflow.tile_dma import Acquire, Bd, BdIteration, DmaChannel, Release, TileDma

__all__ = [
    "Acquire",
    "Bd",
    "BdIteration",
    "CascadeFlow",
    "DmaChannel",
    "Flow",
    "ObjectFifo",
    "ObjectFifoEndpoint",
    "ObjectFifoHandle",
    "ObjectFifoLink",
    "PacketDest",
    "PacketFlow",
    "PadDims",
    "Release",
    "StreamDims",
    "TileDma",
]
