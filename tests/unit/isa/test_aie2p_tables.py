"""The tables of AIE2P: every row can be written and read back, and words from outside say what they say there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isa_strategies import operand

from tilewright.isa import CoreBundle, CoreInstruction, DecodeError, assemble, decode_bundle, instruction_set
from tilewright.isa.bundles import bundle_size
from tilewright.isa.tables import InstructionRow, placeholders

ISA = instruction_set("aie2p")


def test_sizes_of_the_tables():
    assert len(ISA.rows) == 925
    assert len(ISA.formats) == 77
    assert {it.record for it in ISA.rows} == ISA.by_record.keys()


@pytest.mark.parametrize("slot", ISA.by_slot)
def test_rows_say_where_each_operand_is(slot: str):
    for row in ISA.by_slot[slot]:
        assert {len(row.bits)} == {len(form.slots[slot]) for form in ISA.formats if slot in form.slots}, row.record
        assert row.fields.keys() == row.coded.keys() == {letter for _, letter in placeholders(row.syntax)} - {""}
        assert {letter: len(at) for letter, at in row.fields.items()} == {
            letter: kind.bits for letter, kind in row.coded.items()
        }, row.record


@given(st.sampled_from(ISA.rows), st.data())
def test_instructions_come_back_from_their_bundle_and_from_their_text(row: InstructionRow, data: st.DataObject):
    """Nothing is ambiguous here: each word is the instruction that it was made of."""
    made = CoreInstruction(row, {letter: data.draw(operand(kind)) for letter, kind in row.coded.items()})
    form = min((it for it in ISA.formats if row.slot in it.slots), key=lambda it: len(it.slots))
    nops = {slot: CoreInstruction(ISA.nops[slot], {}) for slot in form.slots}
    bundle = CoreBundle(
        form, tuple({**nops, row.slot: made}[slot] for slot in ISA.slots.values() if slot in form.slots)
    )
    code = bundle.encode()
    assert len(code) == bundle_size(code[0], ISA)
    again = decode_bundle(code, isa=ISA)
    assert str(again) == str(bundle) and again.encode() == code
    assert assemble(str(bundle), ISA) == code


@given(st.binary(min_size=16, max_size=16))
def test_any_bytes_decode_or_are_refused(data: bytes):
    try:
        bundle = decode_bundle(data, isa=ISA)
    except DecodeError:
        return
    # bits that are ignored are written as 0, after which it is the same
    assert str(decode_bundle(bundle.encode(), isa=ISA)) == str(bundle)


# Words as LLVM's encoding tests for AIE2P have them, and as a program for npu2 that a vendor's tool made.
@pytest.mark.parametrize(
    "code, text",
    [
        ("48 91 88 1c", "vmac.f dm4, dm4, y2, y2, r3"),
        ("48 69 56 b1", "vmac.f dm1, dm2, ex11, ex3, r22"),
        ("48 45 85 72", "vmac.f dm2, dm4, ex2, ey5, r14"),
        ("48 15 6d 59", "vmac.f dm1, dm3, ex6, qey1, r11"),
        ("48 19 89 3b", "vmac.f dm3, dm4, ey2, qex2, r7"),
        ("98 ea 83 00", "lda.u8 r31, [p0, dj4]"),
        ("98 ca 87 00", "lda.u8 r30, [p0, #-8]"),
        ("98 2a ea 05", "lda.u8 r17, [p5], m7"),
        ("18 ea a0 0d", "mov.nb.tlast ms, p1"),
        ("18 c2 a2 0a", "mov ms, r22, r28"),
        ("98 e3 01 00", "mov r15, ss"),
        ("78 7f 41 1d", "vpush.lo.64 x10, r17:r16, x5"),
        ("18 24 53 16", "inv r9, r25.fx2flt, s2"),
        ("18 96 89 09", "vconv.bfp16ebs16.ebs8 ex3, ex6"),
        ("18 b6 08 0d", "vconv.bfp16ebs8.fp32 ex10, dm1"),
        ("f8 32 d4 19", "vconv.fp32.bf16 bmhh1, wh10"),
        ("f8 8a 8f 1c", "vconv.fp32.bf16 cmh4, x7"),
        ("f8 60 ba 1c", "mov crfpcnvfl2fxmask, vaddsign1"),
        ("f8 e0 7a 19", "mov crunpacksize, core_id"),
        ("f8 80 f9 1c", "mov sp, dc4"),
        ("f8 9c 97 1a", "mov el5, r23"),
        ("18 18 22 16", "acq #49, r1"),
        ("98 51 16 09", "st r18, [p1, #4]"),
        ("18 ff a5 14", "add r18, r18, #-1"),
        ("44 00 e0 09 07 00", "movxm sp, #458752"),
        ("04 01 00 58 01 00", "jl #688"),
        ("84 01 40 40 00 98", "jnz r19, #128"),
        ("00 00", "nop"),
    ],
)
def test_words_from_outside(code: str, text: str):
    bundle = decode_bundle(bytes.fromhex(code), isa=ISA)
    assert str(bundle) == text
    assert bundle.encode() == assemble(text, ISA) == bytes.fromhex(code)


def test_the_tables_give_no_cycles():
    """So that such code is listed, and not run."""
    assert not ISA.has_cycles
    assert instruction_set("aie2").has_cycles
