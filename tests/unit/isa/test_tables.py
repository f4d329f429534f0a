"""The tables of AIE2: every row can be written and read back, and words from outside say what they say there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isa_strategies import ROWS, bundles

from tilewright.errors import UnknownNameError
from tilewright.isa import CoreBundle, DecodeError, decode, decode_bundle, instruction_set
from tilewright.isa.bundles import bundle_size
from tilewright.isa.tables import ImmediateKind, InstructionRow

ISA = instruction_set("aie2")


def test_sizes_of_the_tables():
    assert len(ISA.rows) == 607
    assert len(ISA.formats) == 78
    assert {it.record for it in ISA.rows} == ISA.by_record.keys()


def test_no_other_architecture_is_known():
    with pytest.raises(UnknownNameError, match="no instructions of 'aie2ps' are known; there are those of aie2, aie2p"):
        instruction_set("aie2ps")


@pytest.mark.parametrize("row", ISA.rows, ids=lambda row: row.record)
def test_a_row_says_where_each_operand_is(row: InstructionRow):
    """Each operand has its bits, each field its operand, and a field has as many bits as its class has codes."""
    assert len(row.bits) == len(next(form.slots[row.slot] for form in ISA.formats if row.slot in form.slots))
    assert row.fields.keys() == row.coded.keys()
    assert {letter: len(at) for letter, at in row.fields.items()} == {
        letter: kind.bits for letter, kind in row.coded.items()
    }


@given(bundles())
def test_bundles_come_back_from_their_bytes(bundle: CoreBundle):
    data = bundle.encode()
    assert len(data) == bundle.size == bundle_size(data[0])
    again = decode_bundle(data)
    # several rows can have the same bits, such as `mov r0, #0` of two tables: then the text is what counts
    assert again.encode() == data
    assert [it.row.slot for it in again.instructions] == [it.row.slot for it in bundle.instructions]


@given(st.binary(min_size=1, max_size=64))
def test_any_bytes_decode_or_say_where_they_do_not(data: bytes):
    try:
        bundles_found = [*decode(data, address=0x100)]
        assert sum(bundle.size for _, bundle in bundles_found) == len(data)
    except DecodeError as error:
        assert 0x100 <= error.address < 0x100 + len(data)
        assert str(error).startswith(f"{error.address:#x}: ")


# Words as LLVM's encoding tests for AIE2 and the vendor's listings have them.
@pytest.mark.parametrize(
    "code, text",
    [
        pytest.param("19 ff 0a 12", "add r5, r8, #63", id="immediate of 7 bits"),
        pytest.param("19 2a e4 10", "divs r18, r31, r3, r2", id="a register that is always used"),
        pytest.param("d9 01 8c 05", "lda.s8 r0, [p5, #-4]", id="indexed load"),
        pytest.param("59 b9 7f 03", "lda dc4, [p3], #252", id="steps of 4"),
        pytest.param("59 b9 00 03", "lda.3d dc4, [p3], d0", id="d0 and d4 together are called d0"),
        pytest.param("15 01 80 ff 03 00", "jl #2047", id="call"),
        pytest.param("01 00", "nop", id="two bytes"),
        pytest.param("4d 76 8c dc f0 df", "lda p0, [p6], #-4; mov r18, p6", id="two slots"),
        pytest.param(
            "c0 03 00 28 3b 9a 0b 00 02 00 00 00 00 00 00 00",
            "nopa; nopb; nops; movx r0, #64; mov p7, p2; nopv",
            id="sixteen bytes",
        ),
    ],
)
def test_words_from_outside(code: str, text: str):
    data = bytes.fromhex(code)
    bundle = decode_bundle(data)
    assert str(bundle) == text
    assert bundle.encode() == data


def test_a_register_that_is_not_there_is_none():
    """There are 12 vector registers, and their field has 4 bits: with 12 in it, it is another instruction or none."""
    row = ISA.by_record["VADD_32"]
    for number in range(16):
        bits = row.fixed | sum((number >> k & 1) << at for k, at in enumerate(row.fields["d"]))
        form = next(form for form in ISA.formats if form.name == "I32_MV")
        code = form.fixed | sum((bits >> k & 1) << at for k, at in enumerate(form.slots["mv"]))
        try:
            found = decode_bundle(code.to_bytes(4, "little")).instructions[0].row.record
        except DecodeError:
            found = None
        assert (found == "VADD_32") == (number < 12)


@given(ROWS, st.data())
def test_immediates_that_do_not_fit_have_no_code(row: InstructionRow, data: st.DataObject):
    for kind in row.coded.values():
        if isinstance(kind, ImmediateKind):
            value = data.draw(st.integers(-(1 << 34), 1 << 34))
            code = kind.code(value)
            assert code is None or kind.value(code) == value
