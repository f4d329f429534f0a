"""Words of sequences in which everything is known, with the places that they came from."""

from __future__ import annotations

import pytest
from cpp_harness import parts, read

from tilewright import txn
from tilewright.codegen.static_words import StaticWords, static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.ir.diagnostics import DiagnosedError, file_position

ALL_KINDS = """aie.device(npu1) {
  memref.global "private" constant @data : memref<3xi32> = dense<[1, -1, 5]>
  aie.runtime_sequence() {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    aiex.npu.write32(%one, %one) {column = 1 : i32, row = 2 : i32} : i32, i32
    aiex.npu.maskwrite32(%one, %one, %one) : i32, i32, i32
    %data = memref.get_global @data : memref<3xi32>
    aiex.npu.blockwrite(%data) {address = 4096 : ui32} : memref<3xi32>
    aiex.npu.sync(%zero, %zero, %one, %zero, %one, %one) : i32, i32, i32, i32, i32, i32
    aiex.npu.address_patch(%one : i32) {addr = 118788 : ui32, arg_idx = 5 : i32}
    aiex.npu.preempt {level = 2 : ui8}
    aiex.npu.load_pdi {address = 0x100000002 : ui64, id = 3 : i32, size = 64 : i32}
    aiex.npu.create_scratchpad {size = 8 : ui32}
    aiex.npu.update_from_scratchpad {address = 64 : ui32, func_arg = 4 : ui32, state_table_idx = 1 : ui8}
    aiex.npu.maskpoll(%one, %zero, %one) {column = 1 : i32, row = 2 : i32} : i32, i32, i32
  }
}
"""


def words_of(text: str, *, fold_ddr_offsets: bool = True) -> StaticWords:
    device, sequence = parts(read(text))
    return static_words(sequence, TxnEmitter(device, fold_ddr_offsets=fold_ddr_offsets))


def test_every_kind_of_operation_decodes():
    stream = txn.decode(words_of(ALL_KINDS).words)
    names = "WRITE MASKWRITE BLOCKWRITE TCT DDR_PATCH PREEMPT LOADPDI CREATE_SCRATCHPAD UPDATE_REG MASKPOLL"
    assert [op.name for op in stream.operations] == names.split()
    assert stream.operations[0].address == 0x2200001
    assert stream.operations[4].argument_offset == 0x80000001
    assert txn.decode(words_of(ALL_KINDS, fold_ddr_offsets=False).words).operations[4].argument_offset == 1


def test_places_cover_the_words_and_know_their_lines():
    stream = words_of(ALL_KINDS)
    ends = [place.start + place.count for place in stream.entries]
    assert [4, *ends] == [*(place.start for place in stream.entries), len(stream.words)]
    positions = [file_position(place.op.location) for place in stream.entries]
    assert [position and position[1] for position in positions] == [6, 7, 9, 10, 11, 12, 13, 14, 15, 16]


def test_a_loop_gives_one_place_for_each_time():
    stream = words_of("""aie.device(npu1) {
      aie.runtime_sequence() {
        %zero = arith.constant 0 : i32
        %two = arith.constant 2 : i32
        %six = arith.constant 6 : i32
        scf.for %i = %zero to %six step %two : i32 {
          aiex.npu.write32(%two, %i) : i32, i32
        }
      }
    }""")
    assert [(place.start, place.kind, place.address) for place in stream.entries] == [
        (4, "WRITE32", 2),
        (10, "WRITE32", 2),
        (16, "WRITE32", 2),
    ]
    assert stream.words[8::6] == [0, 2, 4]


@pytest.mark.parametrize(
    "body, complaint",
    [
        pytest.param("aiex.npu.write32(%n, %n) : i32, i32", "Cannot translate write32 with non-constant", id="value"),
        pytest.param(
            "%t = arith.constant 2000 : i32\n %s = arith.addi %t, %t : i32\n"
            "aiex.npu.assert_bd_field(%s) {max = 1023 : i32} : i32",
            r"constant value 4000 exceeds the guarded field range \\[0:1023\\]",
            id="check",
        ),
        pytest.param("aiex.npu.dma_wait {symbol = @x}", "cannot be translated to TXN operations", id="not lowered"),
    ],
)
def test_refusals(body: str, complaint: str):
    with pytest.raises(DiagnosedError, match=complaint.replace("\\\\", "\\")):
        words_of(
            f"aie.device(npu1) {{ %t00 = aie.tile(0, 0)\n aie.shim_dma_allocation @x (%t00, MM2S, 0)\n"
            f"aie.runtime_sequence(%n: i32) {{ {body} }} }}"
        )
