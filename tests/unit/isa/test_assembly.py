"""Assembly: what listings show can be assembled again, and mistakes are told with their line."""

from __future__ import annotations

import pytest
from hypothesis import given
from isa_strategies import bundles

from tilewright.isa import AssemblyError, CoreBundle, assemble, assemble_bundle, decode, decode_bundle


@given(bundles())
def test_listings_assemble_to_the_same_instructions(bundle: CoreBundle):
    shown = decode_bundle(bundle.encode())
    assert [str(it) for it in assemble_bundle(str(shown)).instructions] == [str(it) for it in shown.instructions]


def test_the_smallest_format_is_taken():
    assert assemble_bundle("add r0, r1, r2").size == 4
    assert assemble_bundle("add r0, r1, r2; lda r3, [p0], #4").size == 6
    assert assemble_bundle("vmac cm0, cm0, x0, x1, r0; add r0, r1, r2; lda r3, [p0], #4").size == 10


def test_labels_are_addresses():
    code = assemble("""
        movxm ls, #first   // the loop's first bundle
        movxm le, #last
        .align 16
    first: nop
    last:  add r0, r0, #1
    """)
    listed = {at: str(bundle) for at, bundle in decode(code)}
    assert listed[0] == "movxm ls, #16"
    assert listed[6] == "movxm le, #18"
    assert listed[18] == "add r0, r0, #1"


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param("addd r0, r1, r2", "line 1: no instruction 'addd', did you mean 'add'?", id="unknown"),
        pytest.param("add r0, r1, #64", "other operands than `add d, a, b` or `add d, a, i`", id="too large"),
        pytest.param("add r0, r1, x2", "other operands", id="another register"),
        pytest.param(
            "\nadd r0, r1, r2; sub r3, r4, r5", "line 2: no bundle has these slots together: alu; alu", id="slot"
        ),
        pytest.param("x: j #y\nnop", "line 1: no label 'y'", id="label"),
        pytest.param("x: nop\nx: nop", "the label 'x' stands in two places", id="twice"),
    ],
)
def test_mistakes(text: str, reason: str):
    with pytest.raises(AssemblyError) as error:
        assemble(text)
    assert reason in str(error.value)
