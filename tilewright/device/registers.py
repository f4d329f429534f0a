"""Registers inside a tile: their offsets and fields. AIE2 and AIE2P share them; of AIE1 only what upstream writes.

Source: aie_registers_aie2.json and AIETargetModel.cpp of mlir-aie at 3ca0193cea9e.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .enums import DmaDirection, TileType, WireBundle
from .layout import Field, Layout, bit


class TaskQueue(Layout):
    """A write pushes one task: run the chain of descriptors that starts at one of them, once or more."""

    enable_token_issue = bit(31)
    repeat_count = Field(hi=23, lo=16, bias=1)
    start_bd_id = Field(hi=3, lo=0)


class MemTileTaskQueue(TaskQueue):
    start_bd_id = Field(hi=5, lo=0)


class ChannelControl(Layout):
    fot_mode = Field(hi=17, lo=16)  # S2MM
    controller_id = Field(hi=15, lo=8)  # the packet id of completion tokens
    compression_enable = bit(4)
    enable_out_of_order = bit(3)  # S2MM
    reset = bit(1)


class ShimChannelControl(Layout):
    fot_mode = Field(hi=17, lo=16)
    controller_id = Field(hi=15, lo=8)
    enable_out_of_order = bit(3)
    pause_stream = bit(2)
    pause_mem = bit(1)


class ChannelStatus(Layout):
    cur_bd = Field(hi=27, lo=24)
    task_queue_size = Field(hi=22, lo=20)
    channel_running = bit(19)
    task_queue_overflow = bit(18)
    error_fot_bds_per_task = bit(13)
    error_fot_length_exceeded = bit(12)
    error_bd_invalid = bit(11)
    error_bd_unavailable = bit(10)
    stalled_tct = bit(5)
    stalled_stream = bit(4)
    stalled_lock_rel = bit(3)
    stalled_lock_acq = bit(2)
    status = Field(hi=1, lo=0)  # 0 idle, 1 starting, 2 running


class ShimChannelStatus(ChannelStatus):
    axi_mm_slave_error = bit(17)
    axi_mm_decode_error = bit(16)


class MemTileChannelStatus(ChannelStatus):
    cur_bd = Field(hi=29, lo=24)
    error_dm_access_to_unavailable = bit(9)
    error_lock_access_to_unavailable = bit(8)


class LockValue(Layout):
    lock_value = Field(hi=5, lo=0)


class LockRequest(Layout):
    """The bits of an address in the lock request window; reading it asks for the lock."""

    lock_id = Field(hi=13, lo=10)
    acquire = bit(9)
    change = Field(hi=8, lo=2, signed=True)


class MemTileLockRequest(LockRequest):
    lock_id = Field(hi=15, lo=10)


class MasterPort(Layout):
    master_enable = bit(31)
    packet_enable = bit(30)
    drop_header = bit(7)
    configuration = Field(hi=6, lo=0)  # circuit: number of the slave port; packet: arbiter and mask of msels


class PacketMasterPort(MasterPort):
    """A master that takes packets: its configuration names an arbiter and the msels of it that lead here.

    Source: xaie_ss.c of aie-rt (`XAIE_SS_MASTER_PORT_*`).
    """

    msel_mask = Field(hi=6, lo=3)
    arbiter = Field(hi=2, lo=0)


class SlavePort(Layout):
    slave_enable = bit(31)
    packet_enable = bit(30)


class SlaveSlot(Layout):
    """One packet rule of a slave port: ids that agree with `id` in the bits of `mask` go to an arbiter's msel."""

    id = Field(hi=28, lo=24)
    mask = Field(hi=20, lo=16)
    enable = bit(8)
    msel = Field(hi=5, lo=4)
    arbit = Field(hi=2, lo=0)


class ShimMux(Layout):
    """Who feeds the South ports of a shim switch: 0 PL, 1 DMA (South3 and South7 only), 2 NoC."""

    south7 = Field(hi=15, lo=14)
    south6 = Field(hi=13, lo=12)
    south3 = Field(hi=11, lo=10)
    south2 = Field(hi=9, lo=8)


class ShimDemux(Layout):
    """Where the South ports of a shim switch go: 0 PL, 1 DMA (South2 and South3 only), 2 NoC."""

    south5 = Field(hi=11, lo=10)
    south4 = Field(hi=9, lo=8)
    south3 = Field(hi=7, lo=6)
    south2 = Field(hi=5, lo=4)


SHIM_STREAM_ENDS = {WireBundle.PLIO: 0, WireBundle.DMA: 1, WireBundle.NOC: 2}
"""What the fields of `ShimMux` and `ShimDemux` hold for each end of a stream below a shim switch."""


class CoreControl(Layout):
    reset = bit(1)
    enable = bit(0)


class CoreStatus(Layout):
    core_processor_bus_stall = bit(21)
    core_done = bit(20)
    error_halt = bit(19)
    ecc_scrubbing_stall = bit(18)
    ecc_error_stall = bit(17)
    debug_halt = bit(16)
    cascade_stall_mcd = bit(15)
    cascade_stall_scd = bit(14)
    stream_stall_ms0 = bit(12)
    stream_stall_ss0 = bit(10)
    lock_stall_e = bit(9)
    lock_stall_n = bit(8)
    lock_stall_w = bit(7)
    lock_stall_s = bit(6)
    memory_stall_e = bit(5)
    memory_stall_n = bit(4)
    memory_stall_w = bit(3)
    memory_stall_s = bit(2)
    reset = bit(1)
    enable = bit(0)


class CascadeControl(Layout):
    """Accumulator_Control: the side a core's cascade comes from (0 north, 1 west) and goes to (0 south, 1 east)."""

    output = bit(1)
    input = bit(0)


@dataclass(frozen=True)
class Bank:
    """Equal registers at equal distances: `bank[n]` is the byte offset inside the tile of number n."""

    base: int
    stride: int = 4

    def __getitem__(self, number: int) -> int:
        return self.base + self.stride * number


@dataclass(frozen=True)
class TileRegisters:
    """Byte offsets inside a tile; None where the tile, or our knowledge of it, has no such register."""

    bds: Bank
    bd_address_word: int  # which word of a descriptor holds the base address
    s2mm_control: Bank
    mm2s_control: Bank
    s2mm_queue: Bank
    mm2s_queue: Bank
    queue: type[TaskQueue] = TaskQueue
    channel_control: type[Layout] = ChannelControl
    channel_status: type[ChannelStatus] = ChannelStatus
    s2mm_status: Bank | None = None
    mm2s_status: Bank | None = None
    s2mm_write_count: Bank | None = None
    s2mm_fot_count_pop: Bank | None = None
    mm2s_pad_value: Bank | None = None
    locks: Bank | None = None
    locks_overflow: Bank | None = None
    locks_underflow: Bank | None = None
    lock_request: int | None = None
    lock_request_window: type[LockRequest] = LockRequest
    switch_masters: Bank | None = None
    switch_slaves: Bank | None = None
    switch_slots: Bank | None = None  # of a slave port; each port has NUM_SLAVE_SLOTS of them, 4 bytes apart
    tile_control: int | None = None
    timer_low: int | None = None
    clock_control: Bank | None = None
    shim_mux: int | None = None
    shim_demux: int | None = None
    column_clock: int | None = None
    column_reset: int | None = None
    program_memory: int | None = None
    core_pc: int | None = None
    core_sp: int | None = None
    core_lr: int | None = None
    core_control: int | None = None
    core_status: int | None = None
    enable_events: int | None = None
    reset_event: int | None = None
    cascade_control: int | None = None

    def control(self, direction: DmaDirection) -> Bank:
        return self.s2mm_control if direction is DmaDirection.S2MM else self.mm2s_control

    def task_queue(self, direction: DmaDirection) -> Bank:
        return self.s2mm_queue if direction is DmaDirection.S2MM else self.mm2s_queue

    def status(self, direction: DmaDirection) -> Bank | None:
        return self.s2mm_status if direction is DmaDirection.S2MM else self.mm2s_status


PROGRAM_MEMORY_BYTES = 0x4000

_AIE2_SHIM = TileRegisters(
    bds=Bank(0x1D000, 0x20),
    bd_address_word=1,
    s2mm_control=Bank(0x1D200, 8),
    mm2s_control=Bank(0x1D210, 8),
    s2mm_queue=Bank(0x1D204, 8),
    mm2s_queue=Bank(0x1D214, 8),
    channel_control=ShimChannelControl,
    channel_status=ShimChannelStatus,
    s2mm_status=Bank(0x1D220),
    mm2s_status=Bank(0x1D228),
    s2mm_write_count=Bank(0x1D230),
    s2mm_fot_count_pop=Bank(0x1D238),
    locks=Bank(0x14000, 0x10),
    locks_overflow=Bank(0x14120),
    locks_underflow=Bank(0x14128),
    lock_request=0x40000,
    switch_masters=Bank(0x3F000),
    switch_slaves=Bank(0x3F100),
    switch_slots=Bank(0x3F200, 0x10),
    tile_control=0x36030,
    timer_low=0x340F8,
    clock_control=Bank(0xFFF00),
    shim_mux=0x1F000,
    shim_demux=0x1F004,
    column_clock=0xFFF20,
    column_reset=0xFFF28,
)

AIE2_REGISTERS: Mapping[TileType, TileRegisters] = {
    TileType.CoreTile: TileRegisters(
        bds=Bank(0x1D000, 0x20),
        bd_address_word=0,
        s2mm_control=Bank(0x1DE00, 8),
        mm2s_control=Bank(0x1DE10, 8),
        s2mm_queue=Bank(0x1DE04, 8),
        mm2s_queue=Bank(0x1DE14, 8),
        s2mm_status=Bank(0x1DF00),
        mm2s_status=Bank(0x1DF10),
        s2mm_write_count=Bank(0x1DF18),
        s2mm_fot_count_pop=Bank(0x1DF20),
        locks=Bank(0x1F000, 0x10),
        locks_overflow=Bank(0x1F120),
        locks_underflow=Bank(0x1F128),
        lock_request=0x40000,
        switch_masters=Bank(0x3F000),
        switch_slaves=Bank(0x3F100),
        switch_slots=Bank(0x3F200, 0x10),
        tile_control=0x36030,
        timer_low=0x340F8,
        clock_control=Bank(0x60000),
        program_memory=0x20000,
        core_pc=0x31100,
        core_sp=0x31120,
        core_lr=0x31130,
        core_control=0x32000,
        core_status=0x32004,
        enable_events=0x32008,
        reset_event=0x3200C,
        cascade_control=0x36060,
    ),
    TileType.MemTile: TileRegisters(
        bds=Bank(0xA0000, 0x20),
        bd_address_word=1,
        s2mm_control=Bank(0xA0600, 8),
        mm2s_control=Bank(0xA0630, 8),
        s2mm_queue=Bank(0xA0604, 8),
        mm2s_queue=Bank(0xA0634, 8),
        queue=MemTileTaskQueue,
        channel_status=MemTileChannelStatus,
        s2mm_status=Bank(0xA0660),
        mm2s_status=Bank(0xA0680),
        s2mm_write_count=Bank(0xA06B0),
        s2mm_fot_count_pop=Bank(0xA06C8),
        mm2s_pad_value=Bank(0xA06E0),  # AIE2P only, see Architecture.mem_tile_pad_value; xaie2pgbl_params.h of aie-rt
        locks=Bank(0xC0000, 0x10),
        locks_overflow=Bank(0xC0420),
        locks_underflow=Bank(0xC0428),
        lock_request=0xD0000,
        lock_request_window=MemTileLockRequest,
        switch_masters=Bank(0xB0000),
        switch_slaves=Bank(0xB0100),
        switch_slots=Bank(0xB0200, 0x10),
        tile_control=0x96030,
        timer_low=0x940F8,
        clock_control=Bank(0xFFF00),
    ),
    TileType.ShimNOCTile: _AIE2_SHIM,
    TileType.ShimPLTile: _AIE2_SHIM,
}

# An AIE1 lock is not a register one writes a value to, so there is no bank of them.
_AIE1_SHIM = TileRegisters(
    bds=Bank(0x1D000, 0x14),
    bd_address_word=0,
    s2mm_control=Bank(0x1D140, 8),
    mm2s_control=Bank(0x1D150, 8),
    s2mm_queue=Bank(0x1D144, 8),
    mm2s_queue=Bank(0x1D154, 8),
)

AIE1_REGISTERS: Mapping[TileType, TileRegisters] = {
    TileType.CoreTile: TileRegisters(
        bds=Bank(0x1D000, 0x20),
        bd_address_word=0,
        s2mm_control=Bank(0x1DE00, 8),
        mm2s_control=Bank(0x1DE10, 8),
        s2mm_queue=Bank(0x1DE04, 8),
        mm2s_queue=Bank(0x1DE14, 8),
    ),
    TileType.ShimNOCTile: _AIE1_SHIM,
    TileType.ShimPLTile: _AIE1_SHIM,
}
