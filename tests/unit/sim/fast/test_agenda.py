"""The agenda of the fast model gives turns in the order in which the plain engine does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.device.enums import DeviceName
from tilewright.device.timing import Timing
from tilewright.sim.engine import Engine, Process
from tilewright.sim.fast.engine import FastEngine
from tilewright.sim.fast.numbering import numbering_of
from tilewright.sim.fast.state import NONE

PARTS = 40
PAUSES = st.lists(st.lists(st.sampled_from([0, 1, 2, 63, 64, 65, 1000]), max_size=6), min_size=1, max_size=PARTS)


def turns(engine: Engine, pauses: list[list[int]]) -> list[tuple[int, int]]:
    """Who acted when, if everybody pauses as given and then ends."""
    seen = list[tuple[int, int]]()

    def process(number: int, cycles: list[int]) -> Process[None]:
        for pause in cycles:
            seen.append((engine.now, number))
            yield pause

    for number, cycles in enumerate(pauses):
        engine.start(f"part {number}", process(number, cycles), rank=number)
    engine.run(lambda: False)
    return seen


def fast_engine() -> FastEngine:
    state = numbering_of(DeviceName.npu1).new_state(Timing())
    for name in ("part_due", "part_signal", "signal_first"):
        state.array(name)[:] = NONE
    engine = FastEngine(state)
    engine.before_run = lambda: None
    engine.after_step = lambda part, actor: NONE
    return engine


@given(pauses=PAUSES)
def test_turns_come_in_the_same_order(pauses: list[list[int]]) -> None:
    assert turns(fast_engine(), pauses) == turns(Engine(), pauses)
