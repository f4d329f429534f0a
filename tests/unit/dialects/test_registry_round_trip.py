"""Every operation of our dialects goes round: printed, read and printed again it is the same text.

The operations come from the registry and are made up from their own definitions, inside small designs that give them
tiles, buffers, locks and symbols to refer to. An operation is covered by being defined.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import NamedTuple

import pytest
from registry_designs import CONTEXT
from registry_draws import ATTEMPTS, Draw, own_attributes
from xdsl.irdl import IRDLOperation

from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

DIALECTS = ("aie", "aiex")
WANTED = 4
"""How many valid operations of each class go round, and at most how many invalid ones."""

for dialect in DIALECTS:
    CONTEXT.load_registered_dialect(dialect)
OPERATIONS = {
    op.name: op
    for name in DIALECTS
    for op in CONTEXT.get_dialect(name).operations
    # older names are for reading only
    if issubclass(op, IRDLOperation) and not op.name.startswith(("aiex.runtime_sequence", "aiex.npu.dyn_"))
}
ATTRIBUTES = {attr.name: attr for name in DIALECTS for attr in CONTEXT.get_dialect(name).attributes}


class Sample(NamedTuple):
    """A design with one operation made up."""

    valid: bool
    custom: str
    generic: str


@cache
def samples(name: str) -> list[Sample]:
    """Valid operations until there are enough, and the first invalid ones met on the way."""
    found: dict[bool, list[Sample]] = {True: [], False: []}
    for number, (place, ops) in enumerate(Draw(OPERATIONS[name]).operations()):
        with place.holding(*ops) as module:
            valid = not verify(ops[-1]) and not verify(module)
            if len(found[valid]) < WANTED:
                found[valid].append(Sample(valid, module_text(module), module_text(module, generic=True)))
        if len(found[True]) == WANTED or (found[True] and number >= ATTEMPTS):
            break
    return found[True] + found[False]


def again(text: str) -> tuple[str, str]:
    """What a text is printed as when it is read, in both forms."""
    module = parse_source(CONTEXT, text, "text")
    return module_text(module), module_text(module, generic=True)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_valid_operations_go_round(name: str) -> None:
    """In either form, and either form says all that the other says."""
    valid = [sample for sample in samples(name) if sample.valid]
    assert valid, "no draw was valid: PLACES, BODIES or the attributes lack something"
    for sample in valid:
        assert again(sample.custom) == (sample.custom, sample.generic)
        assert again(sample.generic) == (sample.custom, sample.generic)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_invalid_operations_go_round_in_generic_form(name: str) -> None:
    for sample in samples(name):
        if not sample.valid:
            assert again(sample.generic) == (sample.custom, sample.generic)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_custom_form_of_invalid_operations_is_stable(name: str) -> None:
    """Where it can be read: the custom form need not be able to say what is wrong."""
    for sample in samples(name):
        if not sample.valid:
            with suppress(DiagnosedError):
                assert again(sample.custom)[0] == sample.custom


def test_every_attribute_is_drawn() -> None:
    assert {attribute.name for attribute in own_attributes()} == set(ATTRIBUTES)
