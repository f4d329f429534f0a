"""Streams whose length depends on an argument, from one build each."""

import pytest
from programs import LINES, LINES_WORDS

import tilewright as tw


@pytest.fixture(scope="module")
def transfers() -> tw.Design:
    return tw.compile(LINES)


@pytest.mark.parametrize("lines, words", LINES_WORDS.items())
def test_each_line_is_a_patch_a_push_and_a_wait(transfers: tw.Design, lines: int, words: int):
    stream = transfers.txn(lines=lines)
    assert stream.size == words
    operations = tw.txn.decode(stream).operations
    assert [op.name for op in operations] == ["DDR_PATCH", "WRITE", "TCT"] * lines
    assert [op.argument_offset for op in operations if op.name == "DDR_PATCH"] == [1920 * i for i in range(lines)]


# Minutes of Python, or less than a second.
@pytest.mark.llvm
def test_a_line_beyond_the_address_space_is_refused(transfers: tw.Design):
    with pytest.raises(tw.RangeError, match=r"<text>:11:7: error: offset in bytes is -\d+ but must be in"):
        transfers.txn(lines=2_000_000)


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
    (length,) = (op.payload[0] for op in operations if op.name == "BLOCKWRITE" and op.address == 0x1D000)
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
