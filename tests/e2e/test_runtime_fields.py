"""Instructions whose fields are known only when the sequence is called, on the simulator."""

import numpy as np
import pytest

import tilewright as tw

COPY = """
aie.device(npu2) {
  %shim0 = aie.tile(0, 0)
  %shim1 = aie.tile(1, 0)
  aie.flow(%shim0, DMA : 0, %shim0, DMA : 0)
  aie.flow(%shim1, DMA : 0, %shim1, DMA : 0)
  aie.runtime_sequence @copy(%a: memref<?xi32>, %b: memref<?xi32>, %column: index, %words: i64, %bd: i8, %from: i8) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %other = arith.constant 15 : i32
    %first = arith.constant 118788 : i32
    %bd_bytes = arith.constant 32 : i32
    %column_bytes = arith.constant 33554432 : i32
    %c = arith.index_cast %column : index to i32
    %tile = arith.muli %c, %column_bytes : i32
    %in_tile = arith.addi %tile, %first : i32
    %number = arith.extui %bd : i8 to i32
    %offset = arith.muli %number, %bd_bytes : i32
    %from_register = arith.addi %in_tile, %offset : i32
    %to_offset = arith.muli %other, %bd_bytes : i32
    %to_register = arith.addi %in_tile, %to_offset : i32
    aiex.npu.writebd values(column = %column : index, buffer_length = %words : i64, bd_id = %bd : i8)
      {valid_bd = 1 : i32}
    aiex.npu.dyn_writebd(%column, %c0, %other, %words, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0)
      : index, i32, i32, i64, i32, i32, i32, i32, i32, i32, i32, i32, i32
    aiex.npu.dyn_address_patch(%from_register, %from, %c0) : i32, i8, i32
    aiex.npu.address_patch(%c0 : i32) addr %to_register : i32 {addr = 0 : ui32, arg_idx = 1 : i32}
    aiex.npu.dyn_push_queue(%column, %c0, %c0, %c0, %c1, %c0, %other) : index, i32, i32, i32, i32, i32, i32
    aiex.npu.push_queue(%column, 0, MM2S : 0) bd_id %bd repeat %c0 {issue_token = false} : i8, i32, index
    aiex.npu.dyn_sync(%column, %c0, %c0, %c0) : index, i32, i32, i32
  }
}
"""


@pytest.fixture(scope="module")
def copy() -> tw.Design:
    return tw.compile(COPY)


@pytest.mark.parametrize("column, words, bd", [(0, 16, 0), (1, 100, 14)])
def test_column_length_and_descriptor_are_chosen_by_the_caller(
    copy: tw.Design, column: int, words: int, bd: int
) -> None:
    source, target = np.arange(words, dtype=np.int32), np.zeros(words, np.int32)
    copy.run(source, target, column, words, bd, 0)
    assert (target == source).all()


def test_argument_is_chosen_by_the_caller(copy: tw.Design) -> None:
    """The second buffer, which is copied onto itself."""
    source, target = np.zeros(8, np.int32), np.arange(8, dtype=np.int32)
    copy.run(source, target, 0, 8, 3, 1)
    assert target.tolist() == list(range(8))


@pytest.mark.parametrize(
    "values, text",
    [
        ({"column": 8}, r"<text>:22:5: error: column is 8 but must be in \[0:7\] \(with column = 8\)"),
        ({"words": 2**33}, r"<text>:22:5: error: buffer_length is 8589934592 but must be in \[0:4294967295\]"),
        ({"bd": 16}, r"<text>:22:5: error: number of the buffer descriptor is 16 but must be in \[0:15\]"),
    ],
)
def test_refusal_names_the_field_and_the_line(copy: tw.Design, values: dict[str, int], text: str) -> None:
    with pytest.raises(tw.RangeError, match=text):
        copy.txn("copy", **({"column": 0, "words": 4, "bd": 0, "from": 0} | values))


WORDS = """
aie.device(npu2) {
  %core = aie.tile(0, 2)
  %numbers = aie.buffer(%core) {sym_name = "numbers"} : memref<16xi32>
  aie.runtime_sequence @set(%i: index, %v: i64) {
    aiex.npu.write32(%i, %v) {buffer = @numbers} : index, i64
    aiex.npu.write_words(%i, %v, %v) {buffer = @numbers} : index, i64, i64
  }
}
"""


def test_index_in_a_buffer_is_held_to_it() -> None:
    design = tw.compile(WORDS)
    single, double = tw.txn.decode(design.txn("set", i=14, v=7)).operations
    assert single.address == double.address
    assert (single.value, double.payload.tolist()) == (7, [7, 7])
    with pytest.raises(tw.RangeError, match=r"<text>:7:5: error: index of a word in 'numbers' is 15 but must be in"):
        design.txn("set", i=15, v=7)
    with pytest.raises(tw.RangeError, match=r"<text>:6:5: error: value is 4294967296 but must be in"):
        design.txn("set", i=0, v=2**32)
