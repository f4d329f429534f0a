"""Instructions on the core against models that share nothing with it; `python tests/isa_models.py` runs many more."""

from __future__ import annotations

import isa_models
import pytest

CASES = 1500


@pytest.mark.parametrize("kind", isa_models.CLASSES, ids=lambda kind: kind.name)
def test_a_class_of_instructions_is_as_its_model(kind: isa_models.ModelClass) -> None:
    assert not [*isa_models.wrong_of(kind, CASES)]


def test_a_difference_is_seen() -> None:
    """The judge can tell: a model that expects something else finds it in every case."""
    case = isa_models.ModelCase("add r0, r1, r2", {"r1": 1, "r2": 2}, {"r0": 4})
    assert isa_models.difference(case) == "add r0, r1, r2: r0 is 3, expected 4, before {'r1': 1, 'r2': 2}"
