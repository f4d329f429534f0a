"""Tensor access patterns: what they visit, how matrices are tiled, what is refused, and what the pictures show."""

from __future__ import annotations

import itertools
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.iron.helpers.taplib import TensorAccessPattern, TensorAccessSequence, TensorTiler2D

Sizes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@given(st.data(), Sizes, st.integers(0, 11))
def test_last_dimension_changes_fastest(data: st.DataObject, sizes: list[int], offset: int) -> None:
    strides = data.draw(st.lists(st.integers(0, 9), min_size=len(sizes), max_size=len(sizes)))
    tap = TensorAccessPattern((3, 4), offset, sizes, strides)
    places = itertools.product(*map(range, sizes))
    wanted = [(offset + sum(map(int.__mul__, place, strides))) % 12 for place in places]
    assert list(tap.access_generator()) == wanted
    order, count = tap.accesses()
    last = {index: number for number, index in enumerate(wanted)}
    assert order.reshape(-1).tolist() == [last.get(index, -1) for index in range(12)]
    assert count.reshape(-1).tolist() == [wanted.count(index) for index in range(12)]


def test_outer_dimensions_of_one_have_stride_0() -> None:
    tap = TensorAccessPattern([64], 3, [1, 1, 2, 1], [7, 8, 9, 10])
    assert tap.tensor_dims == [1, 64] and tap.strides == [0, 0, 9, 10]
    assert str(tap) == "TensorAccessPattern([1, 64] offset=3, sizes=[1, 1, 2, 1], strides=[0, 0, 9, 10])"
    assert tap.transformation_dims == [(1, 0), (1, 0), (2, 9), (1, 10)]


def test_the_same_order_may_be_written_in_two_ways() -> None:
    rows, whole = TensorAccessPattern((4, 8), 0, [4, 8], [8, 1]), TensorAccessPattern((4, 8), 0, [32], [1])
    assert rows != whole and rows.compare_access_orders(whole)
    assert not rows.compare_access_orders(TensorAccessPattern((4, 8), 0, [31], [1]))


@pytest.mark.parametrize(
    "dims, offset, sizes, strides, complaint",
    [
        ([], 0, [1], [1], r"Number of tensor dimensions must be >= 1 \(dimensions=\[\]\)"),
        ([4, 0], 0, [1], [1], r"Each tensor dimension must be >= 1 \(dimensions=\[4, 0\]\)"),
        ([4, 4], 16, [1], [1], "Offset too large: 16. Max value allowed for tensor: 16"),
        ([4, 4], -1, [1], [1], r"Offset must be >= 0 \(offset=-1\)"),
        ([4, 4], 0, [2, 2], [1], r"len\(sizes\) \(2\) != len\(strides\) \(1\)"),
        ([4, 4], 0, [0], [1], r"All sizes must be >= 1, but got \[0\]"),
        ([4, 4], 0, [2], [-1], r"All strides must be >= 0, but got \[-1\]"),
        ([4, 4], 0, [], [], r"len\(sizes\) must be >0"),
    ],
)
def test_what_is_refused(dims: Any, offset: int, sizes: Any, strides: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}$"):
        TensorAccessPattern(dims, offset, sizes, strides)


def test_values_of_the_run_are_left_alone() -> None:
    size = object()
    tap = TensorAccessPattern((4, 4), size, [1, size], [size, 1])
    assert tap.sizes == [1, size] and tap.strides == [0, 1] and tap.offset is size
    with pytest.raises(ValueError, match="known only at run time"):
        tap.access_order()


def tiles_of(height: int, width: int, h: int, w: int) -> list[list[int]]:
    """The elements of each tile, row by row."""
    matrix = np.arange(height * width).reshape(height, width)
    return [
        matrix[row : row + h, column : column + w].reshape(-1).tolist()
        for row in range(0, height, h)
        for column in range(0, width, w)
    ]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_simple_tiler_visits_each_tile_once(rows: int, columns: int, h: int, w: int) -> None:
    dims = rows * h, columns * w
    sequence = TensorTiler2D.simple_tiler(dims, (h, w))
    assert [list(tap.access_generator()) for tap in sequence] == tiles_of(*dims, h, w)
    turned = TensorTiler2D.simple_tiler(dims, (h, w), tile_col_major=True, iter_col_major=True)
    matrix = np.arange(rows * h * columns * w).reshape(dims)
    wanted = [
        matrix[r * h : (r + 1) * h, c * w : (c + 1) * w].T.reshape(-1) for c in range(columns) for r in range(rows)
    ]
    assert [list(tap.access_generator()) for tap in turned] == [tile.tolist() for tile in wanted]


def test_groups_use_the_outer_dimensions() -> None:
    first, *rest = TensorTiler2D.group_tiler((8, 16), (2, 4), (2, 2))
    assert (first.sizes, first.strides) == ([2, 2, 2, 4], [32, 4, 16, 1]) and len(rest) == 3
    stepped = TensorTiler2D.step_tiler((8, 16), (2, 4), (1, 2), tile_group_steps=(1, 2))
    assert [tap.offset for tap in stepped][:2] == [0, 4] and stepped[0].strides == [0, 8, 16, 1]


def test_partial_groups_have_to_be_allowed() -> None:
    complaint = "allow_partial=False but tensor does not divide evenly into tile groups in dimension 1"
    with pytest.raises(ValueError, match=complaint):
        TensorTiler2D.group_tiler((4, 12), (2, 4), (1, 2))
    sequence = TensorTiler2D.group_tiler((4, 12), (2, 4), (1, 2), allow_partial=True)
    assert (sequence.access_count() == 1).all() and len(sequence) == 4


def test_repeats_need_the_outermost_dimension() -> None:
    assert TensorTiler2D.simple_tiler((4, 4), (2, 2), pattern_repeat=3)[0].sizes == [3, 1, 2, 2]
    complaint = r"Ran out of dimensions for repeat \(sizes=\[2, 2, 2, 2\], strides=\[8, 2, 4, 1\]\)"
    with pytest.raises(ValueError, match=complaint):
        TensorTiler2D.group_tiler((4, 4), (2, 2), (2, 2), pattern_repeat=2)
    with pytest.raises(ValueError, match=r"Tensor dimension 0 \(5\) is not divisible by tile dim \(2\)"):
        TensorTiler2D.simple_tiler((5, 4), (2, 2))
    with pytest.raises(Exception, match="cannot be instantiated"):
        TensorTiler2D()


def test_sequence_from_functions() -> None:
    sequence = TensorAccessSequence(
        (4, 4), 2, offset=0, sizes=[2, 2], strides=[4, 1], offset_fn=lambda n, was: was + 2 * n
    )
    assert [tap.offset for tap in sequence] == [0, 2] and sequence == TensorAccessSequence.from_taps(list(sequence))
    with pytest.raises(ValueError, match="Sizes must be provided if size_fn is None"):
        TensorAccessSequence((4, 4), 1, offset=0, strides=[1])
    with pytest.raises(ValueError, match="If num_steps=0, no sizes/strides/offset information may be specified"):
        TensorAccessSequence((4, 4), 0, offset=0)
    with pytest.raises(ValueError, match="multiple tensor dimensions"):
        TensorAccessSequence.from_taps([sequence[0], TensorAccessPattern((2, 2), 0, [1], [1])])
    with pytest.raises(ValueError, match="Cannot add TensorAccessPattern with tensor dims"):
        sequence.append(TensorAccessPattern((2, 2), 0, [1], [1]))


def pixels_of(path: Path) -> tuple[int, int, bytes]:
    """Width, height and rows of a PNG file."""
    data = path.read_bytes()
    width, height = struct.unpack(">2I", data[16:24])
    size = struct.unpack(">I", data[33:37])[0]
    return width, height, zlib.decompress(data[41 : 41 + size])


def test_pictures(tmp_path: Path) -> None:
    tap = TensorAccessPattern((2, 4), 0, [2, 2], [4, 1])
    for name in ("order.svg", "order.html", "order.png"):
        tap.visualize(file_path=str(tmp_path / name), show_plot=False, plot_access_count=True)
    svg = (tmp_path / "order.svg").read_text()
    assert svg.count("marker-end") == 3  # from each of four elements to the next
    assert "Access Counts (max=1)" in svg and str(tap) in svg
    assert (tmp_path / "order.html").read_text().startswith("<!doctype html>")
    width, height, rows = pixels_of(tmp_path / "order.png")
    assert width == 480 and height == 240 + 20 + 240 and len(rows) == height * (1 + 3 * width)


def test_many_elements_have_no_arrows(tmp_path: Path) -> None:
    sequence = TensorTiler2D.simple_tiler((32, 32), (8, 8))
    sequence[0].visualize(file_path=str(tmp_path / "a.svg"))
    assert "<line" not in (tmp_path / "a.svg").read_text()
    with pytest.warns(UserWarning, match="show_arrows not recommended"):
        sequence[0].visualize(show_arrows=True)
    with pytest.warns(UserWarning, match="file already exists"):
        sequence.visualize(file_path=str(tmp_path / "a.svg"))
    assert sequence.animate().to_jshtml().count('class="frame"') == 17  # untouched, then sixteen tiles
