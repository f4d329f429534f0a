"""Points of a space, and the order in which searches go through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.sweeps.rows import Objective, Status, SweepRow
from tilewright.sweeps.searches import Search
from tilewright.sweeps.spaces import ParameterSpace, SweepPoint

TIME = Objective(["time"])


def walked(search: Search, space: ParameterSpace, cost: Any) -> list[list[SweepPoint]]:
    """All rounds of a search, where `cost` gives the time of a point, None for one that fails."""
    rounds, found, rows = search.rounds(space, TIME), list[list[SweepPoint]](), list[SweepRow]()
    points = next(rounds)
    while True:
        found.append(points)
        costs = [(point, cost(**point.values)) for point in points]
        rows = [
            SweepRow(point.number, point.values, Status.ERROR if time is None else Status.OK, {"time": time})
            for point, time in costs
        ]
        try:
            points = rounds.send(rows)
        except StopIteration:
            return found


def test_a_grid_has_all_combinations_the_last_parameter_changing_fastest() -> None:
    space = ParameterSpace.of({"tile": {"m": [1, 2], "k": 3}, "n": range(2), "kind": "i8"})
    [points] = walked(Search(), space, lambda **_: 1)
    assert [tuple(point.values.values()) for point in points] == [
        (1, 3, 0, "i8"),
        (1, 3, 1, "i8"),
        (2, 3, 0, "i8"),
        (2, 3, 1, "i8"),
    ]
    assert list(points[0].values) == ["tile.m", "tile.k", "n", "kind"]


def test_random_points_are_different_and_the_same_for_a_seed() -> None:
    space = ParameterSpace.of({"a": range(100), "b": range(100)})
    first, again, other = (walked(Search("random", 50, seed), space, lambda **_: 1)[0] for seed in (1, 1, 2))
    assert first == again != other and len({point.number for point in first}) == 50


def test_more_samples_than_points_are_all_points() -> None:
    assert len(walked(Search("random", 99), ParameterSpace.of({"a": [1, 2]}), lambda **_: 1)[0]) == 2


def test_halving_lets_the_best_third_go_on_to_what_is_dearer() -> None:
    space = ParameterSpace.of({"size": [1, 10, 100], "a": range(9)})
    rounds = walked(Search("halving", budget="size"), space, lambda size, a: abs(a - 4) * size)
    assert [len(points) for points in rounds] == [9, 3, 1]
    assert [point.values["a"] for point in rounds[1]] == [4, 3, 5]  # equal ones in their order
    assert rounds[2][0].values == {"size": 100, "a": 4}
    assert Search("halving", budget="size").expected(space) == 13


def test_halving_goes_on_with_what_is_ok() -> None:
    space = ParameterSpace.of({"size": [1, 2, 4], "a": range(4)})
    rounds = walked(Search("halving", budget="size", keep=2), space, lambda size, a: 1 if a == 3 and size < 2 else None)
    assert [[point.values["a"] for point in points] for points in rounds] == [[0, 1, 2, 3], [3]]


@pytest.mark.parametrize(
    "given, text",
    [
        ({}, "has parameters"),
        ({"a": []}, "has no values"),
        ({"a": [1, 2, 1]}, "the value 1 twice"),
        ({"a": [object()]}, "not object"),
        ({"a": [float("nan")]}, "no number"),
        ({"a": range(10**4), "b": range(10**4)}, "100,000,000 points"),
    ],
)
def test_a_space_complains(given: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        ParameterSpace.of(given)


def test_values_of_numpy_are_numbers() -> None:
    assert ParameterSpace.of({"a": [np.int32(3), np.float64(0.5)]}).parameters == {"a": [3, 0.5]}


def test_true_and_one_are_two_values() -> None:
    assert len(ParameterSpace.of({"a": [1, True, 1.0]})) == 3


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"kind": "genetic"}, "one of grid, random, halving"),
        ({"kind": "random"}, "number of samples"),
        ({"kind": "grid", "samples": 3}, "a grid has all points"),
        ({"kind": "random", "samples": 0}, "positive"),
        ({"kind": "halving"}, "has a budget"),
        ({"kind": "grid", "budget": "a"}, "for search = halving"),
        ({"kind": "halving", "budget": "a", "keep": 1}, "at least 2"),
    ],
)
def test_a_search_complains(settings: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        Search(**settings)


def test_the_front_has_what_nothing_is_better_than() -> None:
    both = Objective(["time", "-size"])
    values = [(3, 1), (1, 1), (2, 5), (1, 1), (4, 9), (4, 2)]
    rows = [SweepRow(n, {}, Status.OK, {"time": time, "size": size}) for n, (time, size) in enumerate(values)]
    assert [row.number for row in both.front(rows)] == [1, 2, 4]
    assert [row.number for row in both.ranked(rows)][:2] == [1, 3]
