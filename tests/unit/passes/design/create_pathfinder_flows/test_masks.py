"""Rules for packet ids: they match what they should, nothing that they must not, and are as few as can be."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.passes.design.create_pathfinder_flows.packet_switches import cover

BITS = 5
ids = st.integers(0, 2**BITS - 1)


def matches(packet_id: int, rules: list[tuple[int, int]]) -> bool:
    return any(packet_id & mask == value for mask, value in rules)


@given(st.lists(ids, min_size=1, max_size=5, unique=True), st.sets(ids, max_size=6))
def test_rules_tell_ids_apart(wanted: list[int], others: set[int]) -> None:
    others -= set(wanted)
    rules = cover(wanted, others, BITS)
    assert all(matches(packet_id, rules) for packet_id in wanted)
    assert not any(matches(packet_id, rules) for packet_id in others)
    assert len(rules) <= len(wanted)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True), st.sets(st.integers(0, 7), max_size=4))
def test_no_fewer_rules_would_do(wanted: list[int], others: set[int]) -> None:
    """Compared with every smaller choice of (mask, value) over three bits."""
    others -= set(wanted)
    count = len(cover(wanted, others, 3))
    every = [(mask, value) for mask in range(8) for value in range(8) if value & ~mask == 0]
    clear = [rule for rule in every if not any(matches(packet_id, [rule]) for packet_id in others)]
    for fewer in combinations(clear, count - 1):
        assert not all(matches(packet_id, [*fewer]) for packet_id in wanted)


@pytest.mark.parametrize(
    "wanted, others, rules",
    [
        pytest.param([3], set[int](), [(31, 3)], id="one id is matched whole"),
        pytest.param([2, 3], set[int](), [(30, 2)], id="common bits"),
        pytest.param([0, 3], {1, 2}, [(31, 0), (31, 3)], id="no bit in common that others lack"),
        pytest.param([0, 1, 2, 3], {4}, [(28, 0)], id="as narrow as needed, though mask 4 would do"),
    ],
)
def test_rules(wanted: list[int], others: set[int], rules: list[tuple[int, int]]) -> None:
    assert cover(wanted, others, BITS) == rules
