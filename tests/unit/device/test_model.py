"""What the compiler asks of a device."""

from itertools import pairwise

import pytest

from tilewright import device
from tilewright.device import Arch, DmaDirection, Side, TileId, TileType, WireBundle

NPU1, NPU2 = device.model("npu1"), device.model("npu2")
VC1902, VE2802 = device.model("xcvc1902"), device.model("xcve2802")


def test_models_are_shared():
    assert device.model("npu1") is device.model(device.DeviceName.npu1)
    assert len(device.NAMES) == 15


@pytest.mark.parametrize(
    "name, arch, columns, rows, mem_rows, virtualized, generation",
    [
        ("xcvc1902", Arch.AIE1, 50, 9, 0, False, None),
        ("xcve2302", Arch.AIE2, 17, 4, 1, False, None),
        ("xcve2802", Arch.AIE2, 38, 11, 2, False, None),
        ("npu1_1col", Arch.AIE2, 1, 6, 1, True, 3),
        ("npu1", Arch.AIE2, 4, 6, 1, True, 3),
        ("npu2_7col", Arch.AIE2p, 7, 6, 1, True, 4),
        ("npu2", Arch.AIE2p, 8, 6, 1, False, 4),
    ],
)
def test_device_table(
    name: str, arch: Arch, columns: int, rows: int, mem_rows: int, virtualized: bool, generation: int | None
):
    model = device.model(name)
    assert (model.arch, model.columns, model.rows, model.mem_rows) == (arch, columns, rows, mem_rows)
    assert (model.is_virtualized, model.txn_generation, model.is_npu) == (
        virtualized,
        generation,
        generation is not None,
    )


def test_rows_of_an_npu():
    kinds = [NPU1.tile_type(0, row) for row in range(NPU1.rows)]
    assert kinds == [TileType.ShimNOCTile, TileType.MemTile, *[TileType.CoreTile] * 4]


def test_some_shim_tiles_of_a_versal_have_no_dma():
    assert VC1902.is_shim_pl(0, 0)
    assert VC1902.is_shim_noc(2, 0)
    assert TileType.ShimPLTile not in NPU1.tile_types


@pytest.mark.parametrize("name", device.NAMES)
def test_neighbouring_switches_agree_on_their_wires(name: str):
    model = device.model(name)
    for column, row in model.tiles:
        for step, bundle in (((0, 1), WireBundle.North), ((1, 0), WireBundle.East)):
            there = (column + step[0], row + step[1])
            if not model.is_valid_tile(*there):
                assert model.num_switchbox_dests(column, row, bundle) == 0
                continue
            back = bundle.opposite
            assert model.num_switchbox_dests(column, row, bundle) == model.num_switchbox_sources(*there, back)
            assert model.num_switchbox_sources(column, row, bundle) == model.num_switchbox_dests(*there, back)


@pytest.mark.parametrize(
    "place, source, dest, legal",
    [
        pytest.param((1, 1), (WireBundle.DMA, 2), (WireBundle.DMA, 2), True, id="mem tile: DMA loops on its channel"),
        pytest.param((1, 1), (WireBundle.DMA, 2), (WireBundle.DMA, 3), False, id="mem tile: and on no other"),
        pytest.param((1, 1), (WireBundle.South, 1), (WireBundle.North, 1), True, id="mem tile: straight through"),
        pytest.param((1, 1), (WireBundle.South, 1), (WireBundle.North, 2), False, id="mem tile: lanes do not cross"),
        pytest.param((1, 1), (WireBundle.Trace, 0), (WireBundle.DMA, 5), True, id="mem tile: trace into channel 5"),
        pytest.param((1, 1), (WireBundle.Trace, 0), (WireBundle.DMA, 0), False, id="mem tile: trace into no other"),
        pytest.param((1, 2), (WireBundle.South, 0), (WireBundle.West, 3), True, id="core tile: lanes cross"),
        pytest.param((1, 2), (WireBundle.West, 0), (WireBundle.West, 1), False, id="core tile: but not to turn back"),
        pytest.param((1, 2), (WireBundle.Core, 0), (WireBundle.Core, 0), False, id="core tile: core does not loop"),
        pytest.param((1, 2), (WireBundle.TileControl, 0), (WireBundle.DMA, 0), False, id="core tile: control to DMA"),
        pytest.param((0, 2), (WireBundle.South, 0), (WireBundle.West, 0), False, id="nothing west of column 0"),
        pytest.param((1, 0), (WireBundle.Trace, 0), (WireBundle.East, 0), True, id="shim: trace east on lane 0"),
        pytest.param((1, 0), (WireBundle.Trace, 0), (WireBundle.East, 1), False, id="shim: on lane 0 only"),
        pytest.param(
            (1, 0), (WireBundle.Trace, 1), (WireBundle.South, 0), False, id="shim: one trace port is routable"
        ),
    ],
)
def test_connections_in_a_switch(
    place: tuple[int, int], source: tuple[WireBundle, int], dest: tuple[WireBundle, int], legal: bool
):
    assert NPU1.is_legal_tile_connection(*place, *source, *dest) is legal


@pytest.mark.parametrize(
    "place, bundle, channel, master, number",
    [
        ((1, 2), WireBundle.East, 3, False, 22),
        ((1, 2), WireBundle.North, 0, True, 13),
        ((1, 1), WireBundle.Trace, 0, False, 17),
        ((1, 1), WireBundle.North, 5, True, 16),
        ((1, 0), WireBundle.South, 7, False, 9),
        ((1, 0), WireBundle.East, 4, True, None),
        ((1, 0), WireBundle.Core, 0, True, None),
    ],
)
def test_port_numbers(place: tuple[int, int], bundle: WireBundle, channel: int, master: bool, number: int | None):
    assert NPU2.port_number(*place, bundle, channel, master=master) == number


def test_a_core_reaches_three_neighbours():
    reached = [tile for tile in NPU1.tiles if NPU1.is_legal_memory_affinity(1, 3, *tile)]
    assert reached == [TileId(0, 3), TileId(1, 2), TileId(1, 3), TileId(1, 4)]


def test_the_lowest_core_does_not_reach_the_mem_tile():
    assert not NPU1.is_legal_memory_affinity(1, 2, 1, 1)


def test_a_mem_tile_reaches_its_row():
    reached = [tile for tile in NPU1.tiles if NPU1.is_legal_memory_affinity(1, 1, *tile)]
    assert reached == [TileId(0, 1), TileId(1, 1), TileId(2, 1)]


@pytest.mark.parametrize(
    "row, east, west", [pytest.param(2, True, False, id="even row"), pytest.param(3, False, True, id="odd row")]
)
def test_rows_of_aie1_alternate(row: int, east: bool, west: bool):
    assert VC1902.is_legal_memory_affinity(4, row, 5, row) is east
    assert VC1902.is_legal_memory_affinity(4, row, 3, row) is west
    assert VC1902.memory_tile(4, row, Side.West) == (TileId(3, row) if west else TileId(4, row))


def test_where_a_core_sees_memory_and_locks():
    windows = {place: NPU1.memory_base_address(1, 3, *place) for place in [(1, 2), (0, 3), (1, 4), (1, 3), (2, 3)]}
    assert windows == {(1, 2): 0x40000, (0, 3): 0x50000, (1, 4): 0x60000, (1, 3): 0x70000, (2, 3): None}
    assert [NPU1.lock_base_index(1, 3, *place) for place in windows] == [0, 16, 32, 48, None]


def test_where_a_mem_tile_sees_memory_and_locks():
    row = [(0, 1), (1, 1), (2, 1)]
    assert [NPU1.memory_base_address(1, 1, *place) for place in row] == [0, 0x80000, 0x100000]
    assert [NPU1.lock_base_index(1, 1, *place) for place in row] == [0, 64, 128]


def test_memories_around_a_core():
    around = {side: VE2802.memory_tile(0, 3, side) for side in Side}
    assert around == {Side.South: None, Side.West: None, Side.North: TileId(0, 4), Side.East: TileId(0, 3)}


def test_mem_tile_channels_share_the_descriptors_by_parity():
    assert NPU1.accessible_bds(0, 1, 0) == list(range(24))
    assert NPU1.accessible_bds(0, 1, 5) == list(range(24, 48))
    assert NPU1.accessible_bds(0, 0, 1) == list(range(16))


def test_channels():
    channels = {place: NPU1.num_dma_channels(*place, DmaDirection.MM2S) for place in [(0, 0), (0, 1), (0, 2)]}
    assert channels == {(0, 0): 2, (0, 1): 6, (0, 2): 2}


def test_bursts():
    assert (NPU1.burst_lengths, NPU1.burst_encoding(0), NPU1.burst_encoding(64)) == ([64, 128, 256], 2, 0)
    assert (NPU2.burst_bytes(0), NPU2.burst_encoding(0)) == (512, 3)


def test_block_formats():
    assert NPU2.block_format("v8bfp16ebs8").bits == 72
    assert NPU2.block_format("v16bfp16ebs16").bits == 136
    assert not NPU1.supports_block_format("v8bfp16ebs8")


def test_controller_ids_tell_the_tiles_of_a_column_apart():
    ids = NPU1.controller_ids()
    assert [ids[TileId(3, row)] for row in range(6)] == [15, 26, 27, 29, 30, 31]
    assert len(set(NPU1.controller_ids(unique_per_column=False).values())) == 24
    assert VE2802.controller_ids()[TileId(7, 9)] == 9


def test_addresses_name_their_tile():
    address = NPU1.tile_address(3, 2, 0x1D000)
    assert address == 0x0621D000
    assert NPU1.locate(address) == (TileId(3, 2), 0x1D000)
    assert VC1902.locate(VC1902.tile_address(49, 8, 0x1234)) == (TileId(49, 8), 0x1234)


def test_register_addresses():
    assert NPU1.bd_address(0, 0, 5) == 0x1D0A0
    assert NPU1.bd_address(1, 1, 3) == 0x021A0060
    assert NPU1.channel_control_address(0, 1, DmaDirection.MM2S, 2) == 0x1A0640
    assert (NPU1.lock_address(0, 2, 3), NPU1.lock_address(0, 1, 63), NPU1.lock_address(0, 2, 16)) == (
        0x1F030,
        0xC03F0,
        None,
    )
    assert VC1902.lock_address(0, 1, 0) is None


def test_tiles_come_column_by_column():
    assert all(before < after for before, after in pairwise(VE2802.tiles))
