"""What copies come to in registers, compared with words that were worked out from the register maps by hand."""

from __future__ import annotations

import pytest
from helpers import lowered

import tilewright as tw
from tilewright.device import DeviceName, model
from tilewright.device.bd import CoreBd, MemTileBd
from tilewright.dialects.aiex.write_bd import descriptor_words
from tilewright.ir.printer import module_text
from tilewright.passes.design.lower_memcpy import LowerMemcpyPass
from tilewright.txn import Opcode, Operation, decode

ADD_ONE = """
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %source = aie.buffer(%core) {address = 0x400 : i32} : memref<64xi32>
  %target = aie.buffer(%core) {address = 0x1000 : i32} : memref<64xi32>
  aiex.token(0) {sym_name = "arrived"}
  aiex.token(0) {sym_name = "computed"}
  aie.core(%core) {
    aiex.useToken @arrived(Acquire, 1)
    aiex.useToken @computed(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 64>, %core : <%source, 0, 64>) : (memref<64xi32>, memref<64xi32>)
    aiex.memcpy @computed(1, 0) (%core : <%target, 0, 64>, %shim : <%b, 0, 64>) : (memref<64xi32>, memref<64xi32>)
  }
}
"""
HOST_BD = (0x40, 0, 0, 0, 0x80000000, 0x02000000, 0, 0x02000000)
FIRST_VERSION = [
    ("BLOCKWRITE", 0x21D000, (0x00400040, 0, 0, 0x00280000, 0, 0x02040000)),
    ("MASKWRITE", 0x21DE00, 0x1B00, 0x1F00),
    ("WRITE", 0x21DE04, 0x80000000),
    ("BLOCKWRITE", 0x1D000, HOST_BD),
    ("DDR_PATCH", 0x1D004, 0, 0),
    ("WRITE", 0x1D214, 0),
    ("BLOCKWRITE", 0x21D020, (0x01000040, 0, 0, 0x00280000, 0, 0x02003021)),
    ("WRITE", 0x21DE14, 1),
    ("BLOCKWRITE", 0x1D020, HOST_BD),
    ("DDR_PATCH", 0x1D024, 1, 0),
    ("MASKWRITE", 0x1D200, 0x0F00, 0x1F00),
    ("WRITE", 0x1D204, 0x80000001),
    ("TCT", 0, 0, 0, 0),
]
"""Register by register, from the first version's source: descriptors 0 and 1, channels 0, an acquire of +1."""


def told(op: Operation) -> tuple[object, ...]:
    """What an operation says, without padding."""
    match op.opcode:
        case Opcode.BLOCKWRITE:
            return "BLOCKWRITE", op.address, tuple(int(word) for word in op.payload)
        case Opcode.MASKWRITE:
            return "MASKWRITE", op.address, op.value, op.mask
        case Opcode.WRITE:
            return "WRITE", op.address, op.value
        case Opcode.DDR_PATCH:
            return "DDR_PATCH", op.address, op.argument_index, op.argument_offset
        case _:
            return "TCT", op.column, op.row, op.direction, op.channel


def test_the_words_of_the_first_version() -> None:
    stream = decode(tw.compile(module_text(lowered(ADD_ONE, LowerMemcpyPass(compat=True)))).txn())
    assert [told(op) for op in stream.operations] == FIRST_VERSION


def written_descriptors(text: str, base: int, layout: type[CoreBd | MemTileBd]) -> list[dict[str, int]]:
    """The fields of descriptors that a sequence writes to the tile whose first one is at `base`."""
    operations = decode(tw.compile(text).txn()).operations
    blocks = [op for op in operations if op.opcode == Opcode.BLOCKWRITE and base <= op.address < base + 0x600]
    return [layout.decode([int(word) for word in op.payload]) for op in blocks]


def test_descriptors_of_a_core_tile_wait_for_at_least_as_much() -> None:
    """The core tile's own locks; steps and wraps are left alone, so that any length is right."""
    arriving, leaving = written_descriptors(ADD_ONE, 0x21D000, CoreBd)
    assert (arriving["lock_acq_enable"], arriving["lock_rel_id"], arriving["lock_rel_value"]) == (0, 0, 1)
    assert (leaving["lock_acq_enable"], leaving["lock_acq_id"], leaving["lock_acq_value"]) == (1, 1, -1)
    assert all(bd["buffer_length"] == 64 and bd["d0_wrap"] == 0 and bd["valid_bd"] for bd in (arriving, leaving))


@pytest.mark.parametrize("device", ["npu1", "npu2"])
def test_descriptors_of_a_mem_tile_count_from_the_west_neighbour(device: str) -> None:
    """Own locks are 64 to 127, own memory begins at 0x80000 bytes, and odd channels have descriptors 24 to 47."""
    text = f"""
    aie.device({device}) {{
      %shim = aie.tile(0, 0)
      %store = aie.tile(0, 1)
      %first = aie.buffer(%store) {{address = 0x100 : i32}} : memref<256xi32>
      %second = aie.buffer(%store) {{address = 0x800 : i32}} : memref<8xi32>
      aiex.token(1) {{sym_name = "empty"}}
      aiex.token(0) {{sym_name = "full"}}
      aie.flow(%store, DMA : 0, %shim, DMA : 1)
      aie.runtime_sequence @run(%a: memref<256xi32>, %b: memref<256xi32>) {{
        aiex.memcpy @empty(1, 0), @full(0, 1) (
          %shim : <%a, 0, 256>,
          %store : <%first, 0, 256>
        ) : (memref<256xi32>, memref<256xi32>)
        aiex.memcpy @full(1, 0), @empty(0, 1) (
          %store : <%first, 0, 256 sizes = [4, 4, 4, 4] strides = [4, 16, 64, 1]>,
          %shim : <%b, 0, 256>
        ) : (memref<256xi32>, memref<256xi32>)
      }}
    }}"""
    operations = decode(tw.compile(text).txn()).operations
    blocks = {op.address: op.payload for op in operations if op.opcode == Opcode.BLOCKWRITE and op.address > 0x100000}
    assert list(blocks) == [0x1A0000, 0x1A0000 + 24 * 0x20]
    arriving, leaving = (MemTileBd.decode([int(word) for word in words]) for words in blocks.values())
    assert (arriving["lock_acq_id"], arriving["lock_rel_id"]) == (64, 65)
    assert (leaving["lock_acq_id"], leaving["lock_rel_id"]) == (65, 64)
    assert (leaving["d0_wrap"], leaving["d1_wrap"], leaving["d2_wrap"]) == (4, 4, 4)
    assert [leaving[f"d{dimension}_step"] for dimension in range(4)] == [1, 64, 16, 4]
    addresses = [op for op in operations if op.opcode == Opcode.MASKWRITE and op.mask == 0x7FFFF]
    assert [op.value for op in addresses] == [(0x80000 + 0x100) // 4] * 2


@pytest.mark.parametrize("all_fields", [False, True])
def test_the_fourth_dimension_needs_the_size_of_the_third(all_fields: bool) -> None:
    """mlir-aie leaves the size of d2 out of the words; with a stride of d3 it has to be there."""
    npu2, place = model(DeviceName.npu2), {"column": 0, "row": 1}
    without = MemTileBd.decode(descriptor_words(npu2, {**place, "d2_size": 5}, all_fields=all_fields))
    assert without["d2_wrap"] == (5 if all_fields else 0)
    both = MemTileBd.decode(descriptor_words(npu2, {**place, "d2_size": 5, "d3_stride": 7}, all_fields=all_fields))
    assert (both["d2_wrap"], both["d3_step"]) == (5, 8)
