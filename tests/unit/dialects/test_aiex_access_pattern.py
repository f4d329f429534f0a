"""Access patterns: their encoding in a descriptor's fields, and splitting those that do not fit."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.dialects.aiex.access_pattern import AccessPattern, encode_integers
from tilewright.dialects.aiex.decomposition import decompose
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits

SHIM_I32 = DescriptorLimits(wrap_bits=10, step_bits=20, element_bits=32, granule_bits=32)
TINY = DescriptorLimits(wrap_bits=2, step_bits=12, element_bits=16, granule_bits=32)


def elements(pattern: AccessPattern) -> list[int]:
    """The elements that a DMA visits, in its order."""
    loops = [range(size) for size in pattern.outermost_sizes]
    strides = pattern.outermost_strides
    return [pattern.offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*loops)]


@pytest.mark.parametrize(
    "sizes, strides, element_bits, wraps, steps",
    [
        pytest.param([2, 3, 4, 8], [512, 96, 16, 1], 32, (8, 4, 3, 1), (0, 15, 95, 511), id="strided"),
        pytest.param([1, 3, 4, 16], [0, 128, 32, 1], 16, (8, 4, 3, 0), (0, 15, 63, 0), id="two elements in a granule"),
        pytest.param([4, 1, 1, 8], [0, 0, 0, 1], 32, (8, 1, 1, 3), (0, 0, 0, 0), id="repeat without a stride"),
        pytest.param(
            [1, 1, 1, 8], [9, 9, 9, 2], 32, (8, 1, 1, 0), (1, 0, 0, 0), id="strides of single runs are unused"
        ),
    ],
)
def test_encoding(
    sizes: list[int], strides: list[int], element_bits: int, wraps: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    hardware = encode_integers(AccessPattern.from_outermost(sizes, strides), element_bits, 32)
    assert (hardware.sizes, hardware.strides) == (wraps, steps)


@pytest.mark.parametrize(
    "sizes, strides, contiguous",
    [
        ([1, 1, 1, 8], [0, 0, 0, 1], True),
        ([7, 2, 4, 8], [3, 32, 8, 1], True),
        ([1, 2, 1, 8], [0, 8, 99, 1], True),
        ([1, 1, 4, 8], [0, 0, 9, 1], False),
        ([1, 1, 1, 8], [0, 0, 0, 2], False),
    ],
)
def test_contiguous(sizes: list[int], strides: list[int], contiguous: bool) -> None:
    assert AccessPattern.from_outermost(sizes, strides).is_contiguous is contiguous


@given(st.lists(st.integers(1, 5), min_size=4, max_size=4), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_linear_form_visits_the_same_elements(sizes: list[int], offsets: list[int]) -> None:
    _, size2, size1, size0 = sizes
    pattern = AccessPattern.from_outermost(sizes, [7, size0 * size1, size0, 1], offsets)
    linear = pattern.linearized()
    assert linear.is_linear
    assert linear.length == size0 * size1 * size2
    assert elements(linear) == elements(pattern)


@pytest.mark.parametrize(
    "sizes, strides, parts",
    [
        pytest.param([1, 1, 4, 1920], [0, 0, 1921, 1], [([1, 4, 2, 960], 0)], id="a free slot takes a factor"),
        pytest.param(
            [1, 1, 1031, 2], [0, 0, 3, 1], [([1, 1, 1023, 2], 0), ([1, 1, 8, 2], 3069)], id="a prime has no factors"
        ),
        pytest.param([1, 1, 4, 8], [0, 0, 16, 1], [], id="fits"),
        pytest.param([1, 1, 1080, 1920], [0, 0, 1920, 1], [], id="contiguous"),
        pytest.param([1, 1, 2048, 8], [0, 0, 1 << 21, 1], [], id="no way around a long stride"),
    ],
)
def test_decomposition(sizes: list[int], strides: list[int], parts: list[tuple[list[int], int]]) -> None:
    found = decompose(AccessPattern.from_outermost(sizes, strides), SHIM_I32)
    assert [(list(part.outermost_sizes), part.offset) for part in found] == parts


@given(
    st.lists(st.integers(1, 14), min_size=4, max_size=4),
    st.lists(st.integers(0, 40).map(lambda n: 2 * n), min_size=3, max_size=3),
    st.integers(0, 5),
)
def test_parts_fit_and_keep_the_order(sizes: list[int], strides: list[int], offset: int) -> None:
    pattern = AccessPattern.from_outermost(sizes, [*strides, 1], [0, 0, 0, 2 * offset])
    parts = decompose(pattern, TINY)
    assert all(TINY.violation(part) is None for part in parts)
    if parts:
        assert [element for part in parts for element in elements(part)] == elements(pattern)
