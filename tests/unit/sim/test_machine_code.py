"""Machine code in a device: when what it does is seen by others, and what its requests cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xrt_packages import add_text, adding_code, compiled, with_machine_code

from tilewright.isa import assemble
from tilewright.sim.core_binding import TileCorePort
from tilewright.sim.machine_code import LONGEST_TURN
from tilewright.xrt.loaded_package import load_package
from tilewright.xrt.partition import Settings

NOPS = "nop\n" * 8
UNUSED_LOCK = 63
LATE = LONGEST_TURN + LONGEST_TURN // 2
"""Bundles that a core does not go ahead in one turn."""


def run(folder: Path, model: str, first: str = "") -> int:
    """The cycles that adding takes on a core that does something else first."""
    design = compiled(folder, add_text(7))
    code = assemble(f"{first}\n{adding_code(design, 7)}")
    loaded = load_package(*with_machine_code(folder, design, code), how=Settings(model=model))
    values, results = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    cycles = loaded.run({0: values, 1: results}).cycles
    assert (results == values + 7).all()
    return cycles


@pytest.mark.parametrize("model", ["plain", "fast"])
@pytest.mark.parametrize(
    "between, cycles",
    [
        pytest.param("nop\n" * 9, 10, id="bundles"),
        pytest.param("nop\n" * LATE, LATE + 1, id="more than a turn"),
        pytest.param(f"rel #{UNUSED_LOCK}, r3\n{NOPS}", 11, id="a release"),
        pytest.param(f"rel #{UNUSED_LOCK}, r3\nacq #{UNUSED_LOCK}, r1\n{NOPS}", 13, id="a release and an acquire"),
        pytest.param(f"vlda wl0, [p0, #0]; vldb wl1, [p0, #32]\n{NOPS}", 11, id="two loads from a bank"),
        pytest.param(f"vlda wl0, [p0, #0]; vldb wl1, [p1, #0]\n{NOPS}", 10, id="loads from two banks"),
    ],
)
def test_events_are_raised_in_their_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, between: str, cycles: int
):
    """Others see events when it is time, however far the core has gone ahead of them."""
    seen = list[tuple[int, int]]()
    monkeypatch.setattr(
        TileCorePort, "raise_event", lambda self, number: seen.append((number, self.machine.engine.now))
    )
    constants = "movx r1, #-1\nmovx r3, #1\nmovxm p0, #0x78000\nmovxm p1, #0x7c000\n"
    run(tmp_path, model, f"{constants}event #0\n{between}event #1\n{NOPS}")
    (first, began), (second, ended) = seen
    assert (first, second, ended - began) == (0, 1, cycles)


def test_both_models_take_as_long(tmp_path: Path):
    (tmp_path / "fast").mkdir()
    assert run(tmp_path, "plain") == run(tmp_path / "fast", "fast")
