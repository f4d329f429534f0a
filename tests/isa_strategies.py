"""Instructions and bundles of AIE2 as any that the tables allow."""

from __future__ import annotations

from hypothesis import strategies as st

from tilewright.isa import CoreBundle, CoreInstruction, instruction_set
from tilewright.isa.registers import CoreRegister, RegisterClass
from tilewright.isa.tables import ImmediateKind

ISA = instruction_set("aie2")
ROWS = st.sampled_from(ISA.rows)


def operand(kind: RegisterClass | ImmediateKind) -> st.SearchStrategy[CoreRegister | int]:
    if isinstance(kind, ImmediateKind):
        return st.integers(0, (1 << kind.bits) - 1).map(kind.value)
    return st.sampled_from([*kind.by_code.values()])


@st.composite
def instructions(draw: st.DrawFn, slot: str | None = None) -> CoreInstruction:
    row = draw(ROWS if slot is None else st.sampled_from(ISA.by_slot[slot]))
    return CoreInstruction(row, {letter: draw(operand(kind)) for letter, kind in row.coded.items()})


@st.composite
def bundles(draw: st.DrawFn) -> CoreBundle:
    form = draw(st.sampled_from(ISA.formats))
    slots = [slot for slot in ISA.slots.values() if slot in form.slots]
    return CoreBundle(form, tuple(draw(instructions(slot)) for slot in slots))
