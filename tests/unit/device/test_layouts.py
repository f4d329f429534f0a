"""Descriptor and register words, pinned by words that others made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright import device
from tilewright.device.bd import AX_CACHE, BD_LAYOUTS, CoreBd, MemTileBd, ShimBd
from tilewright.device.enums import DmaDirection, TileType
from tilewright.device.layout import Field, Layout
from tilewright.device.registers import CoreStatus, MemTileTaskQueue, TaskQueue

# A host array of 2 x 3 x 4 x 8 words with strides 512, 96, 16, 1, read twice: worked out by hand from the register
# manual. The second row is what mlir-aie's `npu_dma_memcpy` test expects for its own transfer.
SHIM_4D = [0x60, 0, 0, 0x00800000, 0x8040000F, 0x0200005F, 0x001001FF, 0x02000000]
SHIM_MEMCPY = [2048, 0, 0, 33554432, -2113929153 & 0xFFFFFFFF, 33556479, 0, 33554432]

# From a public instruction stream for Strix (a matrix multiplication of zmaychek84/DynamicDispatch): the length is the
# product of the three wraps, and the locks are the tile's own, which start at 64.
MEM_TILE_3D = [0x00011000, 0x00030000, 0x00800000, 0x0080043F, 0x0022003F, 0, 0, 0x80448245]
MEM_TILE_NEXT = [0x00008000, 0x005B0040, 0x04000000, 0x000401FF, 0x0040043F, 0, 0, 0x81458044]

# What mlir-aie's `dma_to_npu_core_tile` test expects for raw fields chosen to differ from each other.
CORE_RAW = [1180485, 1430061056, 9093684, 266847009, 22249971, 1465218380]


def test_shim_descriptor_of_a_strided_transfer():
    fields = {
        "buffer_length": 96,
        "d0_wrap": 8,
        "d0_step": 1,
        "burst_length": 2,
        "d1_wrap": 4,
        "d1_step": 16,
        "ax_cache": AX_CACHE,
        "d2_step": 96,
        "iteration_wrap": 2,
        "iteration_step": 512,
        "valid_bd": 1,
    }
    assert ShimBd.encode(**fields) == SHIM_4D
    assert {name: ShimBd.decode(SHIM_4D)[name] for name in fields} == fields


def test_shim_descriptor_of_a_memcpy():
    words = ShimBd.encode(
        buffer_length=2048,
        d0_wrap=32,
        burst_length=2,
        d1_wrap=32,
        d1_step=64,
        ax_cache=AX_CACHE,
        d2_step=2048,
        valid_bd=1,
    )
    assert words == SHIM_MEMCPY


@pytest.mark.parametrize(
    "words, fields",
    [
        pytest.param(
            MEM_TILE_3D,
            {
                "buffer_length": 64 * 64 * 17,
                "address": 0x30000,
                "d0_wrap": 64,
                "d1_wrap": 64,
                "d1_step": 1088,
                "d2_wrap": 17,
                "d2_step": 64,
                "valid_bd": 1,
                "lock_rel_id": 68,
                "lock_acq_enable": 1,
                "lock_acq_value": 2,
                "lock_acq_id": 69,
            },
            id="last of a chain",
        ),
        pytest.param(
            MEM_TILE_NEXT,
            {
                "buffer_length": 512 * 2 * 32,
                "address": 0x30040,
                "next_bd": 5,
                "use_next_bd": 1,
                "d0_wrap": 512,
                "d1_wrap": 2,
                "d1_step": 512,
                "d2_wrap": 32,
                "d2_step": 1088,
                "valid_bd": 1,
                "lock_rel_value": 1,
                "lock_rel_id": 69,
                "lock_acq_enable": 1,
                "lock_acq_id": 68,
            },
            id="goes on with descriptor 5",
        ),
    ],
)
def test_mem_tile_descriptor(words: list[int], fields: dict[str, int]):
    assert MemTileBd.encode(**fields) == words
    assert {name: MemTileBd.decode(words)[name] for name in fields} == fields


@pytest.mark.parametrize(
    "layout, word, expected",
    [
        pytest.param(MemTileBd, 6, 0x0006000F, id="mem tile"),
        pytest.param(CoreBd, 4, 0x0000600F, id="core tile"),
        pytest.param(ShimBd, 6, 0x0030000F, id="shim tile"),
    ],
)
def test_four_iterations_of_sixteen_words(layout: type[Layout], word: int, expected: int):
    assert layout.encode(iteration_wrap=4, iteration_step=16)[word] == expected


def test_core_descriptor_from_register_contents():
    words = CoreBd.pack(
        address=291 // 4,
        buffer_length=837,
        enable_packet=1,
        out_of_order_bd_id=21,
        packet_id=7,
        packet_type=5,
        d0_step=564,
        d0_wrap=62,
        d1_step=1110,
        d1_wrap=127,
        d2_step=801,
        iteration_current=42,
        iteration_step=499,
        iteration_wrap=28,
        lock_acq_enable=1,
        lock_acq_id=12,
        lock_acq_value=42,
        lock_rel_id=11,
        lock_rel_value=85,
        next_bd=10,
        use_next_bd=1,
        valid_bd=1,
    )
    assert words == CORE_RAW


def test_push_of_a_task_that_runs_twice():
    model = device.model("npu1")
    assert model.task_queue_address(0, 0, DmaDirection.MM2S, 0) == 0x1D214
    assert TaskQueue.encode(start_bd_id=5, repeat_count=2) == [0x00010005]
    assert TaskQueue.encode(start_bd_id=3, enable_token_issue=1) == [0x80000003]


def test_mem_tile_queue_numbers_more_descriptors():
    assert MemTileTaskQueue.encode(start_bd_id=47) == [47]
    with pytest.raises(ValueError, match=r"start_bd_id must be in \[0, 15\], got 47"):
        TaskQueue.encode(start_bd_id=47)


def test_a_lock_is_acquired_with_a_negative_value():
    words = ShimBd.encode(lock_acq_value=-1, lock_acq_enable=1)
    assert words[7] == 0x7F << 5 | 1 << 12
    assert ShimBd.lock_acq_value.get(words) == -1


def test_core_status_names_the_stall():
    stalled = CoreStatus.decode([1 << 8 | 1])
    assert [name for name, value in stalled.items() if value] == ["lock_stall_n", "enable"]


LAYOUTS = [*BD_LAYOUTS.values(), *(layout for layout in TaskQueue.__subclasses__()), CoreStatus]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_fields_do_not_overlap(layout: type[Layout]):
    taken = [0] * layout.words
    for field in layout.fields.values():
        assert not taken[field.word] & field.mask, field.name
        taken[field.word] |= field.mask


def field_values(field: Field) -> st.SearchStrategy[int]:
    return st.integers(field.limits[0], field.limits[-1])


@given(st.data(), st.sampled_from(LAYOUTS))
def test_values_survive_encoding(data: st.DataObject, layout: type[Layout]):
    values = {name: data.draw(field_values(field), label=name) for name, field in layout.fields.items()}
    assert layout.decode(layout.encode(**values)) == values


@pytest.mark.parametrize("tile_type", [TileType.CoreTile, TileType.MemTile, TileType.ShimNOCTile], ids=str)
def test_fields_are_as_wide_as_the_model_says(tile_type: TileType):
    limits = device.model("npu2").resources(tile_type)
    layout = BD_LAYOUTS[tile_type].fields
    assert layout["d0_wrap"].width == layout["d1_wrap"].width == limits.wrap_bits
    assert {field.width for name, field in layout.items() if name.endswith("_step")} == {limits.step_bits}
    assert layout["buffer_length"].limits[-1] == limits.max_bd_length
    assert BD_LAYOUTS[tile_type].words == limits.bd_words
