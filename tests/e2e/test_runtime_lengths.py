"""Streams whose length depends on an argument, from one build each."""

import pytest

import tilewright as tw

WRITES = """
aie.device(npu1) {
  aie.runtime_sequence @run(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %address = arith.constant 0x2400 : i32
    scf.for %i = %c0 to %n step %c1 {
      %value = arith.index_cast %i : index to i32
      aiex.npu.write32(%address, %value) {column = 0 : i32, row = 2 : i32} : i32, i32
    }
  }
}
"""

PASSTHROUGH = """
aie.device(npu2) {
  aie.runtime_sequence @run(%in: memref<?xi8>, %lines: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %queue = arith.constant 0x1D214 : i32
    %push = arith.constant 0x80000000 : i32
    %line_bytes = arith.constant 1920 : i32
    scf.for %i = %c0 to %lines step %c1 : i32 {
      %offset = arith.muli %i, %line_bytes : i32
      aiex.npu.address_patch(%offset : i32) {addr = 0x1D004 : ui32, arg_idx = 0 : i32}
      aiex.npu.write32(%queue, %push) : i32, i32
      aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    }
  }
}
"""


@pytest.fixture(scope="module")
def writes() -> tw.Design:
    return tw.compile(WRITES)


@pytest.fixture(scope="module")
def passthrough() -> tw.Design:
    return tw.compile(PASSTHROUGH)


@pytest.mark.parametrize("n, words", [(0, 4), (4, 28), (16, 100), (64, 388)])
def test_each_write_is_six_words(writes: tw.Design, n: int, words: int):
    stream = writes.txn(n=n)
    assert stream.size == words
    assert [op.value for op in tw.txn.decode(stream).operations] == list(range(n))


@pytest.mark.parametrize("lines, words", [(1, 26), (8, 180), (32, 708)])
def test_each_line_is_a_patch_a_push_and_a_wait(passthrough: tw.Design, lines: int, words: int):
    stream = passthrough.txn(lines=lines)
    assert stream.size == words
    operations = tw.txn.decode(stream).operations
    assert [op.name for op in operations] == ["DDR_PATCH", "WRITE", "TCT"] * lines
    assert [op.argument_offset for op in operations if op.name == "DDR_PATCH"] == [1920 * i for i in range(lines)]


def test_a_line_beyond_the_address_space_is_refused(passthrough: tw.Design):
    with pytest.raises(tw.RangeError, match=r"<text>:11:7: error: offset in bytes is -\d+ but must be in"):
        passthrough.txn(lines=2_000_000)


ROWS = """
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @run(%a: memref<?xi16>, %rows: i64, %columns: i64, %pitch: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, %rows, %columns][0, 0, %pitch, 1]) {id = 0 : i64, metadata = @in} : memref<?xi16>
  }
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def rows() -> tw.Design:
    return tw.compile(ROWS)


def test_rows_without_gaps_are_one_run_whatever_their_length(rows: tw.Design):
    """Descriptors count in words of 4 bytes: 7 elements of 2 bytes are no row, but two such rows are one run."""
    operations = tw.txn.decode(rows.txn(rows=2, columns=7, pitch=7)).operations
    (length,) = (op.value for op in operations if op.name == "WRITE" and op.address == 0x1D000)
    assert length == 7


@pytest.mark.parametrize(
    "columns, pitch, complaint",
    [
        pytest.param(7, 8, "d0 size is 7 but must be divisible by 2", id="rows with gaps"),
        pytest.param(4, 7, "d1 stride is 7 but must be divisible by 2", id="odd gaps"),
    ],
)
def test_rows_with_gaps_are_whole_words(rows: tw.Design, columns: int, pitch: int, complaint: str):
    with pytest.raises(tw.RangeError, match=complaint):
        rows.txn(rows=2, columns=columns, pitch=pitch)


def test_a_run_is_whole_words(rows: tw.Design):
    with pytest.raises(tw.RangeError, match="length is 21 but must be divisible by 2"):
        rows.txn(rows=3, columns=7, pitch=7)
