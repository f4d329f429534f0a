"""Rules for the rank at the other end of a channel, found from examples, and the code that they become."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import cast

import pytest
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block

from tilewright.dialects.air.channels import ChannelEnd
from tilewright.passes.air.air_gpu_channel_to_cacheline.links import ChannelLink, ChannelWorld
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import find_slots
from tilewright.passes.air.air_gpu_channel_to_cacheline.plans import (
    Always,
    Around,
    FromTheEnd,
    Listed,
    Numbered,
    Paired,
    RankRule,
    Sample,
    find_rule,
)
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import evaluate
from tilewright.rewrite.emitter import Emitter

NOBODY = cast(ChannelEnd, None)


def emitted(rule: RankRule, element: tuple[int, ...], ranks: int) -> int | None:
    """What the code of a rule computes."""
    emitter = Emitter.at_end(Block(), UnknownLoc())
    indices = [emitter.index(index) for index in element]
    return evaluate(rule.emit(emitter, indices, emitter.index(ranks)), {})


@pytest.mark.parametrize(
    "rank, worlds, expected",
    [
        pytest.param(lambda n, i, j: 2, [4], Always, id="one rank for all"),
        pytest.param(lambda n, i, j: n - 1, [3, 4, 5], FromTheEnd, id="the last rank"),
        pytest.param(lambda n, i, j: j, [2, 3, 4], Numbered, id="an index"),
        pytest.param(lambda n, i, j: (i + 1) % n, [4], Around, id="the next rank"),
        pytest.param(lambda n, i, j: (i - 2) % n, [1, 2, 3, 5], Around, id="two ranks back, in worlds of any size"),
        pytest.param(lambda n, i, j: (3 - i) % n, [2, 3, 6], Around, id="the other way round"),
        pytest.param(lambda n, i, j: i ^ 1, [8], Paired, id="the rank with another bit"),
        pytest.param(lambda n, i, j: (i * i + j) % n, [3], Listed, id="no rule at all"),
    ],
)
def test_a_rule_holds_for_all_channels(rank: Callable[..., int], worlds: list[int], expected: type[RankRule]):
    samples = [Sample(n, (i, j), rank(n, i, j)) for n in worlds for i, j in product(range(n), repeat=2)]
    rule = find_rule(NOBODY, samples, (max(worlds),) * 2)
    assert isinstance(rule, expected)
    for sample in samples:
        assert emitted(rule, sample.element, sample.ranks) == sample.rank


def test_a_place_on_a_grid_is_a_number():
    shape = 2, 3
    samples = [Sample(6, (x, y), x + 2 * y) for x, y in product(range(2), range(3))]
    assert find_rule(NOBODY, samples, shape) == Numbered((0, 1), shape)


def test_a_rank_has_no_more_slots_than_it_has_channels():
    """In an exchange of all with all a receiver tells its channels apart by the sender, and the other way round."""
    links = {(source, target): ChannelLink(source, target) for source, target in product(range(4), repeat=2)}
    world = ChannelWorld((4,), links)
    assert find_slots([world], (4, 4), "consumer").dimensions == (0,)
    assert find_slots([world], (4, 4), "producer").dimensions == (1,)
