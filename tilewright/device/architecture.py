"""Resources of one tile of each kind, and what a whole generation shares.

Source, unless a line says otherwise: AIETargetModel.h and AIETargetModel.cpp of mlir-aie at 3ca0193cea9e.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .enums import Arch, DmaDirection, Side, TileType
from .packets import PacketHeader
from .stream_switch import AIE1_SWITCHES, AIE2_SWITCHES, StreamSwitch


@dataclass(frozen=True)
class TileResources:
    """The resources of one tile. Lengths and steps count 32-bit words, as the descriptor fields do."""

    locks: int
    bds: int
    bd_dims: int  # address dimensions of one descriptor, the iteration not counted
    bd_words: int  # words written per descriptor
    max_bd_length: int
    wrap_bits: int
    step_bits: int
    s2mm_channels: int
    mm2s_channels: int
    data_memory_bytes: int = 0
    memory_banks: int = 0
    bus_bits: int = 0  # load/store bus, hence the alignment of buffers

    @property
    def max_wrap(self) -> int:
        return (1 << self.wrap_bits) - 1

    @property
    def max_step(self) -> int:
        """The register holds step - 1."""
        return 1 << self.step_bits

    def channels(self, direction: DmaDirection) -> int:
        return self.s2mm_channels if direction is DmaDirection.S2MM else self.mm2s_channels


@dataclass(frozen=True)
class BlockFormat:
    """Numbers that share one exponent."""

    elements: int
    mantissa_bits: int
    exponent_bits: int

    @property
    def bits(self) -> int:
        return self.elements * self.mantissa_bits + self.exponent_bits


@dataclass(frozen=True)
class Architecture:
    """What every device of a generation has in common."""

    arch: Arch
    tiles: Mapping[TileType, TileResources]
    switches: Mapping[TileType, StreamSwitch]
    column_shift: int  # a register's address is column, row, then the offset inside the tile
    row_shift: int
    memory_windows: Mapping[Side, int]  # byte address at which a core sees a neighbour's memory
    max_lock_value: int
    cascade_bits: int
    shim_bursts: Mapping[int, int]  # bytes -> field value
    semaphore_locks: bool = True
    multi_dimensional_bds: bool = True
    bd_iteration: bool = True
    mem_tile_pad_value: bool = False  # the mem tile's CONSTANT_PAD_VALUE register
    block_formats: Mapping[str, BlockFormat] | None = None
    compression_group_bytes: int = 32  # one mask of a DMA's compression; both by digests in mlir-aie's dma_compression
    lanes_alternate: bool = False  # a core's own memory is its west window in even rows, its east window in odd ones


GRANULE_BITS = 32  # address generation and streams count 32-bit words on every device
DEFAULT_STACK_BYTES = 0x400
MAX_PACKET_ID = PacketHeader.id.limits[-1]
MAX_PACKET_TYPE = PacketHeader.type.limits[-1]
NUM_ARBITERS = 6
NUM_MSELS = 4
NUM_SLAVE_SLOTS = 4  # packet rules per slave port
TASK_QUEUE_DEPTH = 4  # tasks a DMA channel's queue holds (AM020); a push to a full queue is dropped
MAX_TASK_REPEAT = 256  # runs of one task: an 8-bit field that holds runs - 1

_WIDE_LENGTH = (1 << 32) - 1

_AIE1_SHIM = TileResources(
    locks=16,
    bds=16,
    bd_dims=3,
    bd_words=5,
    max_bd_length=_WIDE_LENGTH,
    wrap_bits=10,
    step_bits=20,
    s2mm_channels=2,
    mm2s_channels=2,
)

AIE1 = Architecture(
    arch=Arch.AIE1,
    tiles={
        TileType.CoreTile: TileResources(
            locks=16,
            bds=16,
            bd_dims=3,
            bd_words=8,
            max_bd_length=1 << 13,  # the field holds length - 1
            wrap_bits=8,
            step_bits=13,
            s2mm_channels=2,
            mm2s_channels=2,
            data_memory_bytes=0x8000,
            memory_banks=4,
            bus_bits=128,
        ),
        TileType.ShimNOCTile: _AIE1_SHIM,
        TileType.ShimPLTile: _AIE1_SHIM,
    },
    switches=AIE1_SWITCHES,
    column_shift=23,
    row_shift=18,
    memory_windows={Side.South: 0x20000, Side.West: 0x28000, Side.North: 0x30000, Side.East: 0x38000},
    max_lock_value=1,
    cascade_bits=384,
    shim_bursts={64: 0, 128: 1, 256: 2},
    semaphore_locks=False,
    multi_dimensional_bds=False,
    bd_iteration=False,
    lanes_alternate=True,
)

_AIE2_SHIM = TileResources(
    locks=16,
    bds=16,
    bd_dims=3,
    bd_words=8,
    max_bd_length=_WIDE_LENGTH,
    wrap_bits=10,
    step_bits=20,
    s2mm_channels=2,
    mm2s_channels=2,
)

AIE2 = Architecture(
    arch=Arch.AIE2,
    tiles={
        TileType.CoreTile: TileResources(
            locks=16,
            bds=16,
            bd_dims=3,
            bd_words=6,
            max_bd_length=(1 << 14) - 1,
            wrap_bits=8,
            step_bits=13,
            s2mm_channels=2,
            mm2s_channels=2,
            data_memory_bytes=0x10000,
            memory_banks=4,
            bus_bits=256,
        ),
        TileType.MemTile: TileResources(
            locks=64,
            bds=48,
            bd_dims=4,
            bd_words=8,
            max_bd_length=(1 << 17) - 1,
            wrap_bits=10,
            step_bits=17,
            s2mm_channels=6,
            mm2s_channels=6,
            data_memory_bytes=0x80000,
            memory_banks=8,
            bus_bits=32,  # a mem tile has no core; its DMA moves 4-byte words
        ),
        TileType.ShimNOCTile: _AIE2_SHIM,
        TileType.ShimPLTile: _AIE2_SHIM,
    },
    switches=AIE2_SWITCHES,
    column_shift=25,
    row_shift=20,
    memory_windows={Side.South: 0x40000, Side.West: 0x50000, Side.North: 0x60000, Side.East: 0x70000},
    max_lock_value=0x3F,
    cascade_bits=512,
    shim_bursts={64: 0, 128: 1, 256: 2},
)

AIE2P = replace(
    AIE2,
    arch=Arch.AIE2p,
    shim_bursts={64: 0, 128: 1, 256: 2, 512: 3},
    mem_tile_pad_value=True,
    compression_group_bytes=64,
    block_formats={
        "v8bfp16ebs8": BlockFormat(elements=8, mantissa_bits=8, exponent_bits=8),
        "v16bfp16ebs16": BlockFormat(elements=16, mantissa_bits=8, exponent_bits=8),
    },
)
