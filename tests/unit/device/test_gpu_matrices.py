"""The table of matrix instructions: who holds what, as the makers say it, and all of it held."""

from __future__ import annotations

from collections import Counter

import pytest

from tilewright.device.gpu_matrices import (
    INSTRUCTIONS,
    MATRIX_INSTRUCTIONS,
    WARP_INSTRUCTIONS,
    Fragment,
    LanePart,
    MatrixInstruction,
    WarpInstruction,
    instruction_for,
    instructions_of,
)
from tilewright.device.gpu_targets import AMD_MATRIX_CHIPS, GPU_TARGETS

ROWS = (*INSTRUCTIONS, *WARP_INSTRUCTIONS)
WARPS = {row.element: row for row in WARP_INSTRUCTIONS}


def held(fragment: Fragment, lane: int) -> list[tuple[int, int]]:
    return [fragment.element(lane, place) for place in range(len(fragment.places))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} {row.element}")
def test_lanes_hold_every_element(row: MatrixInstruction) -> None:
    """Once, or in both halves of a wave where that is what the instruction wants of A and B."""
    times = 2 if row.repeats else 1
    for fragment, rows, columns, each in (
        (row.a, row.m, row.k, times),
        (row.b, row.k, row.n, times),
        (row.c, row.m, row.n, 1),
    ):
        found = Counter(place for lane in range(row.wave_size) for place in held(fragment, lane))
        assert found == {(i, j): each for i in range(rows) for j in range(columns)}
    assert (len(row.a.places), len(row.c.places)) == (row.each, row.sums)


@pytest.mark.parametrize(
    "name, lane, elements, sums",
    [
        # AMD's matrix instruction calculator: rows and depths of A, and rows and columns of D, that a lane holds
        ("mfma.f32.16x16x4f32", 35, [(3, 2)], [(8, 3), (9, 3), (10, 3), (11, 3)]),
        ("mfma.f32.16x16x16f16", 17, [(1, 4), (1, 5), (1, 6), (1, 7)], [(4, 1), (5, 1), (6, 1), (7, 1)]),
        (
            *("mfma.f32.32x32x8f16", 33, [(1, 4), (1, 5), (1, 6), (1, 7)]),
            [(8 * block + 4 + row, 1) for block in range(4) for row in range(4)],
        ),
        ("mfma.i32.16x16x32.i8", 63, [(15, 24 + deep) for deep in range(8)], [(12 + row, 15) for row in range(4)]),
        ("wmma.f32.16x16x16.f16", 18, [(2, deep) for deep in range(16)], [(2 * row + 1, 2) for row in range(8)]),
    ],
)
def test_lanes_hold_what_amd_says(name: str, lane: int, elements: list, sums: list) -> None:
    row = MATRIX_INSTRUCTIONS[name]
    assert held(row.a, lane) == elements
    assert held(row.b, lane) == [(deep, column) for column, deep in elements]
    assert held(row.c, lane) == sums


@pytest.mark.parametrize(
    "element, lane, a, b",
    [
        # PTX ISA, fragments of mma.m16n8k16 of 16-bit floating point and of mma.m16n8k8 of .tf32
        ("f16", 0, [(0, 0), (0, 1), (8, 0), (8, 1), (0, 8), (0, 9), (8, 8), (8, 9)], [(0, 0), (1, 0), (8, 0), (9, 0)]),
        (
            *("bf16", 5, [(1, 2), (1, 3), (9, 2), (9, 3), (1, 10), (1, 11), (9, 10), (9, 11)]),
            [(2, 1), (3, 1), (10, 1), (11, 1)],
        ),
        ("tf32", 5, [(1, 1), (9, 1), (1, 5), (9, 5)], [(1, 1), (5, 1)]),
        ("tf32", 31, [(7, 3), (15, 3), (7, 7), (15, 7)], [(3, 7), (7, 7)]),
    ],
)
def test_lanes_hold_what_nvidia_says(element: str, lane: int, a: list, b: list) -> None:
    row = WARPS[element]
    assert held(row.a, lane) == a and held(row.b, lane) == b
    group, place = lane // 4, lane % 4 * 2
    assert held(row.c, lane) == [(group, place), (group, place + 1), (group + 8, place), (group + 8, place + 1)]
    assert held(row.c, lane + 32) == held(row.c, lane), "a second warp does the same"


def test_neighbours_are_found() -> None:
    row = WARPS["f16"]
    assert row.a.runs((0, 1)) == [2, 2, 2, 2] and row.a.runs((1, 0)) == [1] * 8
    assert row.b.runs((1, 0)) == [2, 2] and row.b.turned.runs((0, 1)) == [2, 2]
    assert MATRIX_INSTRUCTIONS["mfma.f32.32x32x8f16"].c.runs((1, 0)) == [4, 4, 4, 4]
    assert MATRIX_INSTRUCTIONS["wmma.f32.16x16x16.f16"].c.runs((1, 0)) == [1] * 8
    assert Fragment(LanePart(), LanePart(), ((0, 0),)).runs((0, 1)) == [1]


def test_chips_have_instructions_of_their_kind() -> None:
    for row in ROWS:
        assert set(row.chips) <= set(GPU_TARGETS)
        for chip in row.chips:
            wanted = 32 if isinstance(row, WarpInstruction) else GPU_TARGETS[chip].wave_size
            assert row.wave_size == wanted, (row.name, chip)
        if not isinstance(row, WarpInstruction):
            assert set(row.chips) <= AMD_MATRIX_CHIPS[row.name.partition(".")[0]]


def test_small_results_and_great_depths_come_first() -> None:
    names = [row.name for row in instructions_of("gfx950", "f16")]
    assert names[0] == "mfma.f32.16x16x32.f16" and names[1] == "mfma.f32.16x16x16f16" and "32x32" in names[2]
    found = instruction_for("gfx950", "f16")
    assert found is not None and found.name == names[0]
    assert not instructions_of("sm_90", "f32") and instruction_for("gfx1030", "f16") is None


def test_more_lanes_are_several_warps_but_no_other_wave() -> None:
    assert WARPS["f16"].is_for(32) and WARPS["f16"].is_for(64)
    row = MATRIX_INSTRUCTIONS["mfma.f32.16x16x16f16"]
    assert row.is_for(64) and not row.is_for(32)
