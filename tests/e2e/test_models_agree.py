"""All models give what the plain one gives: cycles, memory, locks, traces, and what goes wrong, word for word."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from random_runs import RandomRun, random_runs
from simulated_designs import DESIGNS, SimulatedDesign

import tilewright as tw
from tilewright.driver.compiled_design import Design
from tilewright.ir.diagnostics import DiagnosedError

SHORT = 20
EXAMPLES = int(os.environ.get("TILEWRIGHT_RANDOM_RUNS", SHORT))
"""How many random designs; a longer run has others each time."""
Array = npt.NDArray[Any]
# Without LLVM there is but one model.
pytestmark = pytest.mark.llvm


@dataclass
class Outcome:
    """All that can be seen of a run."""

    ending: str
    cycles: int
    arrays: list[Array]
    locks: list[int]
    memories: list[bytes]
    trace: Array

    def differs_from(self, other: Outcome) -> list[str]:
        """In what two runs are not the same."""
        same = {
            "ending": self.ending == other.ending,
            "cycles": self.cycles == other.cycles,
            "arrays": all(map(np.array_equal, self.arrays, other.arrays)),
            "locks": self.locks == other.locks,
            "memories": self.memories == other.memories,
            "trace": np.array_equal(in_order(self.trace), in_order(other.trace)),
        }
        return [name for name, is_same in same.items() if not is_same]


def in_order(rows: Array) -> Array:
    """Rows of one cycle may be written down in any order."""
    return rows[np.lexsort(rows.T[::-1])]


def outcome(design: Design, model: str, arguments: Sequence[Array | int], **options: Any) -> Outcome:
    """Run on copies of the arguments."""
    given = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    sequence: str | None = options.pop("sequence", None)
    loaded = design.load(design.device_of(sequence), options.pop("kernels", None), model=model)
    trace = np.empty((0, 5), dtype=np.int64)
    try:
        result = loaded.run(*given, sequence=sequence, **options)
        ending, trace = "\n".join(map(str, result.notes)), result.trace
    except DiagnosedError as error:
        ending = f"{type(error).__name__}: {error}"
    tiles = loaded.machine.tiles.values()
    return Outcome(
        ending,
        loaded.machine.engine.now,
        [array for array in given if isinstance(array, np.ndarray)],
        [lock.value for tile in tiles for lock in tile.locks],
        [tile.memory.tobytes() for tile in tiles],
        trace,
    )


def assert_agreement(design: Design, models: Sequence[str], *arguments: Array | int, **options: Any) -> Outcome:
    plain = outcome(design, "plain", arguments, **dict(options))
    for model in models:
        other = outcome(design, model, arguments, **dict(options))
        assert (model, plain.differs_from(other)) == (model, [])
    return plain


@pytest.mark.parametrize("case", DESIGNS, ids=lambda case: case.name)
def test_designs_of_every_feature(case: SimulatedDesign) -> None:
    options = {"sequence": case.sequence, "kernels": case.kernels}
    assert_agreement(case.design, ["fast", "words", "python"], *case.arguments(0), **options)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES == SHORT,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a smaller design is not worth the minutes it takes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(random_runs())
def test_random_designs(run: RandomRun) -> None:
    try:
        design = tw.compile(run.text())
    except tw.CompileError:
        event("refused")
        return
    generator = np.random.default_rng(0)
    buffers = [generator.integers(0, 1 << 20, size, dtype=np.int32) for size in run.sizes()]
    # A third run of each takes as long as that of the plain model.
    models = ["fast", "words"] if EXAMPLES == SHORT else ["fast", "words", "python"]
    found = assert_agreement(design, models, *buffers)
    event(found.ending.partition(":")[0] or "ended")
