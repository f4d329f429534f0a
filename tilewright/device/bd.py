"""Buffer descriptors, the only place that knows their bits. AIE2 and AIE2P share them.

Lengths, addresses and steps count 32-bit words unless a name says bytes. Dimension 0 is innermost. A step register
holds step - 1; a wrap of 0 never wraps; an iteration wrap holds iterations - 1. Lock values are signed: an acquire of
-n waits for at least n and takes n, one of n >= 0 waits for exactly n; a release adds its value, 0 releases nothing.
Source: aie_registers_aie2.json of mlir-aie at 3ca0193cea9e.
"""

from .enums import TileType
from .layout import Field, Layout, bit


class ShimBd(Layout, words=8):
    buffer_length = Field(word=0, hi=31, lo=0)
    address_low = Field(word=1, hi=31, lo=0)  # bytes; bits 1:0 are ignored
    enable_packet = bit(30, word=2)
    out_of_order_bd_id = Field(word=2, hi=29, lo=24)
    packet_id = Field(word=2, hi=23, lo=19)
    packet_type = Field(word=2, hi=18, lo=16)
    address_high = Field(word=2, hi=15, lo=0)
    secure_access = bit(30, word=3)
    d0_wrap = Field(word=3, hi=29, lo=20)
    d0_step = Field(word=3, hi=19, lo=0, bias=1)
    burst_length = Field(word=4, hi=31, lo=30)
    d1_wrap = Field(word=4, hi=29, lo=20)
    d1_step = Field(word=4, hi=19, lo=0, bias=1)
    smid = Field(word=5, hi=31, lo=28)
    ax_cache = Field(word=5, hi=27, lo=24)
    ax_qos = Field(word=5, hi=23, lo=20)
    d2_step = Field(word=5, hi=19, lo=0, bias=1)
    iteration_current = Field(word=6, hi=31, lo=26)
    iteration_wrap = Field(word=6, hi=25, lo=20, bias=1)
    iteration_step = Field(word=6, hi=19, lo=0, bias=1)
    tlast_suppress = bit(31, word=7)
    next_bd = Field(word=7, hi=30, lo=27)
    use_next_bd = bit(26, word=7)
    valid_bd = bit(25, word=7)
    lock_rel_value = Field(word=7, hi=24, lo=18, signed=True)
    lock_rel_id = Field(word=7, hi=16, lo=13)
    lock_acq_enable = bit(12, word=7)
    lock_acq_value = Field(word=7, hi=11, lo=5, signed=True)
    lock_acq_id = Field(word=7, hi=3, lo=0)


class MemTileBd(Layout, words=8):
    enable_packet = bit(31, word=0)
    packet_type = Field(word=0, hi=30, lo=28)
    packet_id = Field(word=0, hi=27, lo=23)
    out_of_order_bd_id = Field(word=0, hi=22, lo=17)
    buffer_length = Field(word=0, hi=16, lo=0)
    d0_zero_before = Field(word=1, hi=31, lo=26)  # words; d1 and d2 count whole inner wraps
    next_bd = Field(word=1, hi=25, lo=20)
    use_next_bd = bit(19, word=1)
    address = Field(word=1, hi=18, lo=0)  # west neighbour's memory first, then the tile's own, then the east one's
    tlast_suppress = bit(31, word=2)
    d0_wrap = Field(word=2, hi=26, lo=17)
    d0_step = Field(word=2, hi=16, lo=0, bias=1)
    d1_zero_before = Field(word=3, hi=31, lo=27)
    d1_wrap = Field(word=3, hi=26, lo=17)
    d1_step = Field(word=3, hi=16, lo=0, bias=1)
    enable_compression = bit(31, word=4)
    d2_zero_before = Field(word=4, hi=30, lo=27)
    d2_wrap = Field(word=4, hi=26, lo=17)
    d2_step = Field(word=4, hi=16, lo=0, bias=1)
    d2_zero_after = Field(word=5, hi=31, lo=28)
    d1_zero_after = Field(word=5, hi=27, lo=23)
    d0_zero_after = Field(word=5, hi=22, lo=17)
    d3_step = Field(word=5, hi=16, lo=0, bias=1)
    iteration_current = Field(word=6, hi=28, lo=23)
    iteration_wrap = Field(word=6, hi=22, lo=17, bias=1)
    iteration_step = Field(word=6, hi=16, lo=0, bias=1)
    valid_bd = bit(31, word=7)
    lock_rel_value = Field(word=7, hi=30, lo=24, signed=True)
    lock_rel_id = Field(word=7, hi=23, lo=16)
    lock_acq_enable = bit(15, word=7)
    lock_acq_value = Field(word=7, hi=14, lo=8, signed=True)
    lock_acq_id = Field(word=7, hi=7, lo=0)


class CoreBd(Layout, words=6):
    address = Field(word=0, hi=27, lo=14)
    buffer_length = Field(word=0, hi=13, lo=0)
    enable_compression = bit(31, word=1)
    enable_packet = bit(30, word=1)
    out_of_order_bd_id = Field(word=1, hi=29, lo=24)
    packet_id = Field(word=1, hi=23, lo=19)
    packet_type = Field(word=1, hi=18, lo=16)
    d1_step = Field(word=2, hi=25, lo=13, bias=1)
    d0_step = Field(word=2, hi=12, lo=0, bias=1)
    d1_wrap = Field(word=3, hi=28, lo=21)
    d0_wrap = Field(word=3, hi=20, lo=13)
    d2_step = Field(word=3, hi=12, lo=0, bias=1)
    iteration_current = Field(word=4, hi=24, lo=19)
    iteration_wrap = Field(word=4, hi=18, lo=13, bias=1)
    iteration_step = Field(word=4, hi=12, lo=0, bias=1)
    tlast_suppress = bit(31, word=5)
    next_bd = Field(word=5, hi=30, lo=27)
    use_next_bd = bit(26, word=5)
    valid_bd = bit(25, word=5)
    lock_rel_value = Field(word=5, hi=24, lo=18, signed=True)
    lock_rel_id = Field(word=5, hi=16, lo=13)
    lock_acq_enable = bit(12, word=5)
    lock_acq_value = Field(word=5, hi=11, lo=5, signed=True)
    lock_acq_id = Field(word=5, hi=3, lo=0)


BD_LAYOUTS: dict[TileType, type[Layout]] = {
    TileType.CoreTile: CoreBd,
    TileType.MemTile: MemTileBd,
    TileType.ShimNOCTile: ShimBd,
}
AX_CACHE = 2  # what the runtime puts into every shim descriptor: modifiable, not bufferable
