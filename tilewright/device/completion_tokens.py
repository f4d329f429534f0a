"""Who sent a completion token, as the column's microcontroller is told: a tile, and a number for the DMA channel.

Source: AIENpuToCert.cpp of mlir-aie at 3ca0193cea9e, after the packet format in the architecture manual.
"""

from collections.abc import Mapping

from .enums import DmaDirection, TileType
from .layout import Field, Layout


class TokenTile(Layout):
    """The tile: bits 16 and up of the packet with the token."""

    column = Field(hi=11, lo=5)
    row = Field(hi=4, lo=0)


_SHIM = {DmaDirection.S2MM: (0, 2, 3, 4), DmaDirection.MM2S: (6, 7, 8, 9, 10, 11, 12, 13)}

ACTORS: Mapping[TileType, Mapping[DmaDirection, tuple[int, ...]]] = {
    TileType.CoreTile: {DmaDirection.S2MM: (0, 1), DmaDirection.MM2S: (6,)},
    TileType.MemTile: {
        DmaDirection.S2MM: (1, 2, 3, 4, 5, 6, 7),
        DmaDirection.MM2S: (16, 17, 18, 19, 20, 22, 23, 24, 25, 26),
    },
    TileType.ShimNOCTile: _SHIM,
    TileType.ShimPLTile: _SHIM,
}
"""The number of each channel."""
