"""What is made of hazards: faults, notes or nothing, as options say."""

from __future__ import annotations

import pytest
from helpers import DOCS

from tilewright.ir.run_errors import Fault
from tilewright.sim.faults import FaultKind, FaultLevel, FaultPolicy, LevelError, levels_of

PAGE = DOCS / "simulator.md"


def test_levels_are_read_from_texts() -> None:
    assert levels_of([]) == {}
    assert levels_of(["left-over=fault", "lock-overflow=off", "left-over=note"]) == {
        FaultKind.LEFT_OVER: FaultLevel.NOTE,
        FaultKind.LOCK_OVERFLOW: FaultLevel.OFF,
    }


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param("left-over", "expected KIND=LEVEL, such as left-over=fault, got 'left-over'", id="no level"),
        pytest.param(
            "lockoverflow=off", "no hazard 'lockoverflow', did you mean 'lock-overflow'?; there are: ", id="kind"
        ),
        pytest.param("core=of", "core cannot be 'of', did you mean 'off'?; it can be: off, note, fault", id="level"),
        pytest.param("core=9", "core cannot be '9'; it can be: off, note, fault", id="nothing like it"),
    ],
)
def test_texts_that_set_no_level_are_explained(text: str, message: str) -> None:
    with pytest.raises(LevelError) as error:
        levels_of([text])
    assert message in str(error.value)


@pytest.mark.parametrize("kind", FaultKind, ids=lambda kind: kind.option)
def test_a_kind_is_what_its_level_says(kind: FaultKind) -> None:
    for level in FaultLevel:
        policy = FaultPolicy({kind: level})
        if level is FaultLevel.FAULT:
            with pytest.raises(Fault) as fault:
                policy.fault(kind, "text")
            assert fault.value.kind is kind
        else:
            policy.fault(kind, "text")
        assert [note.text for note in policy.notes] == (["text"] if level is FaultLevel.NOTE else [])


def test_the_documentation_lists_every_kind_with_its_default() -> None:
    rows = {f"| `{kind.option}` | {kind.default.value} | {kind.meaning} |" for kind in FaultKind}
    assert rows <= set(PAGE.read_text().splitlines())
