"""Words that travel over the stream switches with a meaning of their own: packet headers, tokens, control packets."""

from collections.abc import Mapping

from .enums import DmaDirection, TileType
from .layout import Field, Layout, bit


class PacketHeader(Layout):
    """The first word of a packet; switches go by the id. Source: AM020, "Packet-switched streams"."""

    parity = bit(31)  # makes the number of ones odd
    source_column = Field(hi=27, lo=21)
    source_row = Field(hi=20, lo=16)
    type = Field(hi=14, lo=12)
    id = Field(hi=4, lo=0)


class CompletionToken(PacketHeader):
    """What a DMA channel sends when a task that asked for it is done: a packet of this one word.

    The id is the lower part of the channel's controller id. Source: AM020, "Task-Completion Tokens"; the places of the
    fields: aie_tct_aiesim.h of AMD's public DPU firmware simulation.
    """

    actor = Field(hi=11, lo=8)


TOKEN_TYPE = 6
MM2S_ACTORS = 6
"""Actors are numbered S2MM first; there are at most 12, those of a mem tile, whose MM2S channels so begin at 6."""


def actor_number(direction: DmaDirection, channel: int) -> int:
    return channel if direction is DmaDirection.S2MM else MM2S_ACTORS + channel


def actor_channel(actor: int) -> tuple[DmaDirection, int]:
    return (DmaDirection.S2MM, actor) if actor < MM2S_ACTORS else (DmaDirection.MM2S, actor - MM2S_ACTORS)


_SHIM_ACTORS = {DmaDirection.S2MM: (0, 2, 3, 4), DmaDirection.MM2S: (6, 7, 8, 9, 10, 11, 12, 13)}

CERT_ACTORS: Mapping[TileType, Mapping[DmaDirection, tuple[int, ...]]] = {
    TileType.CoreTile: {DmaDirection.S2MM: (0, 1), DmaDirection.MM2S: (6,)},
    TileType.MemTile: {
        DmaDirection.S2MM: (1, 2, 3, 4, 5, 6, 7),
        DmaDirection.MM2S: (16, 17, 18, 19, 20, 22, 23, 24, 25, 26),
    },
    TileType.ShimNOCTile: _SHIM_ACTORS,
    TileType.ShimPLTile: _SHIM_ACTORS,
}
"""By channel, the actors that the firmware of a column's microcontroller waits for: a numbering of its own, which is
that of tokens on the array for core tiles only. Source: AIENpuToCert.cpp of mlir-aie at 3ca0193cea9e."""


def cert_tile(column: int, row: int) -> int:
    """The tile that sends a token, as that firmware is told: the place in the token's header, without what is below."""
    (header,) = CompletionToken.pack(source_column=column, source_row=row)
    return header >> CompletionToken.source_row.lo


class ControlHeader(Layout):
    """The second word of a control packet: what to do with registers of the tile that gets it.

    Source: AIETargetNPU.cpp of mlir-aie at 3ca0193cea9e (control packets), AM020 "Control packets".
    """

    parity = bit(31)
    return_id = Field(hi=28, lo=24)
    operation = Field(hi=23, lo=22)
    beats = Field(hi=21, lo=20, bias=1)
    address = Field(hi=19, lo=0)


WRITE, READ = 0, 1
"""Operations of a control packet."""
WRITES = (WRITE, 2)
"""Those that bring words along."""


def with_parity(word: int) -> int:
    """The word with the uppermost bit such that the number of ones is odd."""
    return word | (1 << 31 if word.bit_count() % 2 == 0 else 0)
