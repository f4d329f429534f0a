"""Tasks in random nests of loops, branches and chains, awaited, freed or both: each turn gives descriptors back."""

from __future__ import annotations

import os

import numpy as np
import pytest
from task_nests import PIECE, WORDS, TaskNest

import tilewright as tw

NESTS = int(os.environ.get("TILEWRIGHT_TASK_NESTS", "12"))
MOST_COPIES = 400
"""In one run; nests that would take more are run with fewer turns."""


@pytest.mark.parametrize("seed", range(NESTS))
def test_a_nest_of_tasks_copies_what_it_should(seed: int) -> None:
    nest = TaskNest(seed)
    device = tw.compile(nest.text()).load(timing="none")
    for run in range(3):
        scalars = nest.arguments(run)
        while len(nest.copied(scalars)) > MOST_COPIES:
            scalars = {name: number // 2 for name, number in scalars.items()}
        given, result = np.arange(1, WORDS + 1, dtype=np.int32), np.zeros(WORDS, np.int32)
        device.run(given, result, *scalars.values())
        expected = np.zeros_like(result)
        for place in nest.copied(scalars):
            expected[PIECE * place : PIECE * (place + 1)] = given[PIECE * place : PIECE * (place + 1)]
        np.testing.assert_array_equal(result, expected)
