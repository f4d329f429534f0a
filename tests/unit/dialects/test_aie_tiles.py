"""Building designs in Python, and finding things in them."""

import pytest
from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import Block, Region

from tilewright.device import DeviceName, DmaDirection, LockAction, TileId, TileType, model
from tilewright.dialects.aie.buffers import BufferOp, ExternalBufferOp
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.dma import Channel, DmaStartOp, MemOp, NextBdOp, reachable_blocks
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.lookup import device_model, lookup_symbol, parent_tile_element, tile_of
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp, TileOp
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify


def passthrough() -> DeviceOp:
    """A tile whose DMA fills a buffer that its core waits for."""
    tile = TileOp(0, 2)
    buffer = BufferOp(tile.result, MemRefType(i32, [16]), "data", address=1024)
    full = LockOp(tile.result, lock_id=1, init=0, sym_name="full")
    one, first, last = ConstantOp.from_int_and_width(1, 32), Block(), Block([EndOp()])
    entry = Block([one, DmaStartOp(Channel(DmaDirection.S2MM, 0), first, last)])
    first.add_ops(
        [DmaBdOp(buffer.buffer, 0, 16), UseLockOp(full.result, LockAction.Release, one.result), NextBdOp(first)]
    )
    needed = ConstantOp.from_int_and_width(1, 32)
    body = Block([needed, UseLockOp(full.result, LockAction.AcquireGreaterEqual, needed.result), EndOp()])
    core = CoreOp(tile.result, Region(body), stack_bytes=2048)
    return DeviceOp("npu1", [tile, buffer, full, MemOp(tile.result, Region([entry, first, last])), core])


TEXT = """\
module {
  aie.device(npu1) {
    %tile_0_2 = aie.tile(0, 2)
    %data = aie.buffer(%tile_0_2) {address = 1024 : i32, sym_name = "data"} : memref<16xi32>\x20
    %full = aie.lock(%tile_0_2, 1) {init = 0 : i32, sym_name = "full"}
    %mem_0_2 = aie.mem(%tile_0_2) {
      %c1_i32 = arith.constant 1 : i32
      %0 = aie.dma_start(S2MM, 0, ^bb1, ^bb2)
    ^bb1:  // 2 preds: ^bb0, ^bb1
      aie.dma_bd(%data : memref<16xi32> offset = 0 len = 16)
      aie.use_lock(%full, Release, %c1_i32)
      aie.next_bd ^bb1
    ^bb2:  // pred: ^bb0
      aie.end
    }
    %core_0_2 = aie.core(%tile_0_2) {
      %c1_i32 = arith.constant 1 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %c1_i32)
      aie.end
    } {stack_size = 2048 : i32}
  }
}
"""


def test_what_is_built_reads_back_the_same():
    module = ModuleOp([passthrough()])
    assert verify(module) == []
    text = module_text(module)
    assert text.rstrip() == TEXT.rstrip()
    assert module_text(parse_source(make_context(), text, "built.mlir")) == text


def test_a_device_finds_its_symbols():
    device = passthrough()
    assert isinstance(device.lookup("data"), BufferOp)
    assert isinstance(lookup_symbol(next(device.tiles), "full"), LockOp)
    assert device.lookup("nothing") is None


def test_from_inside_a_body_outwards():
    device = passthrough()
    [bd] = [op for op in device.walk() if isinstance(op, DmaBdOp)]
    element = parent_tile_element(bd)
    assert isinstance(element, MemOp)
    assert (element.place, device_model(bd)) == (TileId(0, 2), model("npu1"))
    assert tile_of(element.tile) is next(device.tiles)


def test_the_chain_of_a_channel():
    [start] = [op for op in passthrough().walk() if isinstance(op, DmaStartOp)]
    assert reachable_blocks(start.dest) == [start.dest]
    assert start.channel == (DmaDirection.S2MM, 0)


def test_without_a_device_it_is_the_first_one_there_was():
    assert device_model(TileOp(1, 1)) is model(DeviceName.xcvc1902)
    assert TileOp(1, 1).tile_type is TileType.CoreTile


@pytest.mark.parametrize(
    "tile, place, names",
    [
        (TileOp(2, 0), TileId(2, 0), ["shim_noc_tile_2_0"]),
        (LogicalTileOp(TileType.CoreTile), None, ["logical_core"]),
        (LogicalTileOp(TileType.CoreTile, 1, 2), TileId(1, 2), ["logical_core"]),
        (LogicalTileOp(TileType.MemTile, column=1), None, ["logical_mem"]),
    ],
    ids=str,
)
def test_places_and_names(tile: TileOp | LogicalTileOp, place: TileId | None, names: list[str]):
    assert (tile.place, tile.result_names()) == (place, names)


def test_sizes():
    tile = TileOp(0, 2)
    assert BufferOp(tile.result, MemRefType(i32, [4, 4])).size_bytes == 64
    assert ExternalBufferOp(MemRefType(i32, [4]), "host").result_names() == ["host"]
    assert CoreOp(tile.result).stack_bytes == 1024
    assert CoreOp(tile.result).is_empty
