"""Fields of `npu.writebd`: what a register field holds passes, one more or one less does not."""

import pytest

import tilewright as tw
from tilewright.device import model
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.enums import TileType
from tilewright.dialects.aiex.write_bd import ALL_FIELDS, NO_FIELDS, field_violation, offset_violation
from tilewright.driver.compiled_design import compile_text

NPU1 = model("npu1")
ROWS = {TileType.ShimNOCTile: 0, TileType.MemTile: 1, TileType.CoreTile: 2}
FIELDS = [(row, name) for tile_type, row in ROWS.items() for name in ALL_FIELDS if ALL_FIELDS[name] in BD_LAYOUTS[tile_type].fields]  # fmt: skip # noqa: E501
WIDTHS = {
    (0, "buffer_length"): 32, (1, "buffer_length"): 17, (2, "buffer_length"): 14,
    (0, "d0_stride"): 20, (1, "d0_stride"): 17, (2, "d0_stride"): 13,
    (0, "d0_size"): 10, (1, "d0_size"): 10, (2, "d0_size"): 8,
    (0, "next_bd"): 4, (1, "next_bd"): 6, (1, "d0_zero_before"): 6, (1, "d1_zero_after"): 5, (1, "d2_zero_before"): 4,
    (0, "lock_acq_id"): 4, (1, "lock_acq_id"): 8, (0, "packet_id"): 5, (0, "packet_type"): 3,
}  # fmt: skip
"""Bits of some fields, from the register manual."""


def limits(row: int, name: str) -> tuple[int, int]:
    field = BD_LAYOUTS[NPU1.tile_type(0, row)].fields[ALL_FIELDS[name]]
    half = 1 << field.width - 1
    return (-half, half - 1) if field.signed else (0, 2 * half - 1)


def violation(row: int, **fields: int) -> str | None:
    return field_violation(NPU1, {"column": 0, "row": row, **fields})


@pytest.mark.parametrize("row, name", FIELDS)
def test_a_field_holds_what_its_bits_hold(row: int, name: str):
    low, high = limits(row, name)
    assert high == (1 << WIDTHS[row, name]) - 1 if (row, name) in WIDTHS else True
    assert violation(row, **{name: low}) is None
    assert violation(row, **{name: high}) is None
    assert violation(row, **{name: high + 1}) == f"{name} is {high + 1} but must be in [{low}:{high}]"
    assert violation(row, **{name: low - 1}) == f"{name} is {low - 1} but must be in [{low}:{high}]"


def test_whoever_writes_registers_may_write_a_negative_number_as_its_bits():
    fields = {"column": 0, "row": 0, "lock_acq_val": 127}
    assert field_violation(NPU1, fields) == "lock_acq_val is 127 but must be in [-64:63]"
    assert field_violation(NPU1, fields, as_bits=True) is None
    assert field_violation(NPU1, fields | {"lock_acq_val": 128}, as_bits=True) is not None


def test_a_field_that_a_tile_lacks_must_be_0():
    assert violation(0, d0_zero_before=1) == "d0_zero_before is 1, but a descriptor of this tile has no such field"
    assert violation(0, d0_zero_before=0) is None


@pytest.mark.parametrize(
    "row, good, bad",
    [(0, [0, 4, 0xFFFFFFFC], [2, -4, 1 << 32]), (1, [0, 1, (1 << 19) - 1], [-1, 1 << 19]), (2, [0, 65532], [2, 65536])],
)
def test_addresses_are_bytes_but_in_mem_tiles_words(row: int, good: list[int], bad: list[int]):
    for value in good:
        assert offset_violation(NPU1, {"column": 0, "row": row, "buffer_offset": value}) is None
    for value in bad:
        said = offset_violation(NPU1, {"column": 0, "row": row, "buffer_offset": value})
        assert said is not None and said.startswith(f"buffer_offset is {value} but must be in [0:")


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"lock_rel_val": 128}, "lock_rel_val is 128 but must be in [-64:127]"),
        ({"bd_id": 16}, "number of the buffer descriptor is 16 but must be in [0:15]"),
        ({"bd_id": 48, "row": 1}, "number of the buffer descriptor is 48 but must be in [0:47]"),
        ({"next_bd": 48, "use_next_bd": 1, "row": 1}, "number of the next descriptor is 48 but must be in [0:47]"),
        ({"column": 4}, "is for a DMA of tile (4, 0), and npu1 has none there"),
        ({"buffer_offset": 2}, "buffer_offset is 2 but must be in [0:4294967295], in steps of 4"),
    ],
)
def test_compile_refuses_them_where_they_are_written(fields: dict[str, int], said: str):
    written = ", ".join(f"{name} = {fields.get(name, 0)} : i32" for name in NO_FIELDS)
    text = f"aie.device(npu1) {{\n  aie.runtime_sequence @s() {{\n    aiex.npu.writebd {{{written}}}\n  }}\n}}"
    with pytest.raises(tw.CompileError) as refused:
        compile_text(text, "s.mlir")
    assert str(refused.value).splitlines()[0] == f"s.mlir:3:5: error: 'aiex.npu.writebd' op {said}"
