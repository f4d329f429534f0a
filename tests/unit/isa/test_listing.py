"""Listings of whole programs, with what linkers leave between functions."""

from __future__ import annotations

import pytest

from tilewright.isa import assemble, instruction_set
from tilewright.isa.listing import TARGETS, listed_bundles

RETURN = "ret lr\n" + "nop\n" * 5
"""With its delay slots."""


def _with_filler(arch: str, before: str, function: str) -> tuple[bytes, int]:
    """Code and a function where jumps can lead to; between them the first bytes of the function, as Chess has it."""
    isa = instruction_set(arch)
    code, behind = assemble(before, isa), assemble(function, isa)
    gap = -len(code) % TARGETS
    assert gap
    return code + (behind * TARGETS)[:gap] + behind, len(code) + gap


@pytest.mark.parametrize("arch", ["aie2", "aie2p"])
@pytest.mark.parametrize("jump", ["ret lr", "j #64", "j p0"])
@pytest.mark.parametrize("bundles", range(8))
def test_filler_takes_nothing_of_the_function_behind_it(arch: str, jump: str, bundles: int) -> None:
    """In programs of DynamicDispatch for npu2 it may look like the beginning of a long bundle."""
    before = "nop\n" * bundles + f"{jump}\n" + "nop\n" * 5
    if len(assemble(before, instruction_set(arch))) % TARGETS == 0:
        before = "nop\n" + before
    data, start = _with_filler(arch, before, "movxm r8, #1193046\nadd r0, r0, #1\n")
    listed = [*listed_bundles(data, isa=instruction_set(arch))]
    assert [it.text for it in listed if it.address >= start] == ["movxm r8, #1193046", "add r0, r0, #1"]
    filler = [it for it in listed if it.is_filler]
    assert filler[-1].address + len(filler[-1].code) == start
    assert b"".join(it.code for it in listed) == data


def test_where_code_goes_on_counts_from_the_beginning_of_memory() -> None:
    data, start = _with_filler("aie2p", RETURN, "movxm r8, #1193046\n")
    assert [it.address for it in listed_bundles(data, 0x40, instruction_set("aie2p"))][-1] == 0x40 + start


@pytest.mark.parametrize("jump", ["jl #64", "jl p0", "jnz r0, #64", "jnzd r1, r0, p0"])
def test_code_goes_on_behind_calls_and_conditions(jump: str) -> None:
    """At once, wherever that is."""
    data = assemble(f"{jump}\n" + "nop\n" * 5 + "movxm r8, #1193046\n" * 3)
    listed = [*listed_bundles(data)]
    assert [it.text for it in listed][-3:] == ["movxm r8, #1193046"] * 3 and not any(it.is_filler for it in listed)
