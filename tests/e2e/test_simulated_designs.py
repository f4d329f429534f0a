"""Every design of `designs/` gives what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_designs import DESIGNS, FOLDER, SimulatedDesign


@pytest.mark.parametrize("case", DESIGNS, ids=lambda case: case.name)
def test_design_computes_what_numpy_does(case: SimulatedDesign) -> None:
    device = case.load()
    for seed in range(case.runs):
        arguments = case.arguments(seed)
        wanted = case.results(case.arguments(seed))
        result = case.run(device, arguments)
        for got, want in zip(arguments, wanted, strict=True):
            np.testing.assert_array_equal(got, want)
        assert not result.notes


@pytest.mark.parametrize("case", DESIGNS, ids=lambda case: case.name)
def test_two_runs_are_the_same_run(case: SimulatedDesign) -> None:
    first, second = (case.run(case.load(), case.arguments(0)) for _ in range(2))
    assert first.cycles == second.cycles
    np.testing.assert_array_equal(first.trace, second.trace)


def test_no_design_is_left_out() -> None:
    assert {path.stem for path in FOLDER.glob("*.mlir")} == {case.name for case in DESIGNS}
