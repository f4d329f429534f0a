"""Operations of the `aie` dialect that upstream's own modules import by this path."""

from tilewright.iron.placed.buffers import BufferOp, LockOp
from tilewright.iron.placed.fifos import ObjectFifoCreateOp
from tilewright.iron.placed.sequence import BDChainOp, RuntimeSequenceOp
from tilewright.iron.placed.tiles import EndOp, LogicalTileOp, TileOp

__all__ = [
    "BDChainOp",
    "BufferOp",
    "EndOp",
    "LockOp",
    "LogicalTileOp",
    "ObjectFifoCreateOp",
    "RuntimeSequenceOp",
    "TileOp",
]
