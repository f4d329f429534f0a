"""DPU words and files of words: each form gives the stream that does the same, and is written as it was."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
from container_files import DPU_PROLOG, DPU_WORDS, hex_lines, words
from hypothesis import given
from hypothesis import strategies as st

from tilewright import txn
from tilewright.cli.main import main
from tilewright.txn.containers import read_stream
from tilewright.txn.dpu import DpuSequence
from tilewright.txn.word_files import read_words

TILE = 1 << 25 | 2 << 20


def test_dpu_words_are_what_they_say():
    read = DpuSequence.read(np.array(DPU_WORDS, dtype=np.uint32))
    assert [op.opcode for op in read.operations] == [2, 6, 2, 3]
    assert read.words().tolist() == DPU_WORDS
    assert list(read.stream().operations) == list(
        txn.Stream.of(
            txn.Header(),
            [
                txn.write(TILE | 0x5400, 7),
                txn.block_write(0x1D060, [64, 0, 0, 0, 0x80000000, 0, 0, 0x02000000]),
                txn.address_patch(0x1D064, 1, 0x100),
                txn.write(0x1D214, 3),
                txn.sync(0, 0, 1, 0),
            ],
        ).operations
    )


def test_tools_on_streams_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.seq").write_bytes(hex_lines(DPU_WORDS))
    assert main(["txn", "dis", "--plain", str(tmp_path / "a.seq")]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1] == "write core(1,2) Memory+0x5400 = 0x00000007"
    assert out[3] == "patch shim(0,0) DMA.BD3.word1 = argument 1 + 0x00000100"


@pytest.mark.parametrize(
    "numbers, offset, message",
    [
        pytest.param([*DPU_PROLOG, 0xFF000000], 17 * 9, "DPU operation 255 is none that is known", id="unknown"),
        pytest.param(DPU_WORDS[:-1], (len(DPU_WORDS) - 2) * 9, "takes 2 words, 1 are left", id="cut"),
        pytest.param([*DPU_PROLOG, 0x02090000, 0, 0], 17 * 9, "has no tile (9, 0)", id="another device"),
        pytest.param([*DPU_PROLOG, 0], 17 * 9, "has no counterpart among TXN operations", id="no counterpart"),
    ],
)
def test_damage_is_told_by_its_place(numbers: list[int], offset: int, message: str):
    with pytest.raises(txn.TxnError) as error:
        read_stream(hex_lines(numbers))
    assert message in str(error.value) and error.value.offset == offset


def test_version_1_0_has_short_patches():
    """As mlir-aie wrote them from mid 2024 to mid 2025."""
    numbers = [0x06030001, 0x0104, 2, 52, 1, 0x1D000, 12, 0x81, 24, 0x1D004, 2, 0x40, 0]
    stream = txn.decode(np.array(numbers, dtype=np.uint32))
    patch = stream.operations[1]
    assert (patch.address, patch.argument_index, patch.argument_offset) == (0x1D004, 2, 0x40)
    assert txn.encode(stream).tolist() == numbers


def test_merge_syncs_of_both_lengths():
    numbers = [0x06040100, 0x0108, 2, 44, 0x84, 12, 5, 0x84, 16, 6, 0]
    assert txn.encode(txn.decode(np.array(numbers, dtype=np.uint32))).tolist() == numbers


STREAM = txn.encode(txn.Stream.of(txn.Header(), [txn.write(0x1D214, 3), txn.write(0xABCDEF, 4)]))
RAW = STREAM.astype("<u4").tobytes()
NUMBERS = STREAM.tolist()
FORMS = {
    "binary": RAW,
    "upper case": hex_lines(NUMBERS),
    "lower case, no end": b"\n".join(b"%08x" % it for it in NUMBERS),
    "with 0x and commas": b", ".join(b"0x%08x" % it for it in NUMBERS),
    "a number a line, some longer": b"\n".join(b"%x" % it for it in NUMBERS),
    "base64": base64.b64encode(RAW) + b"\n",
    "base64 in lines": base64.encodebytes(RAW * 1),
    "base64 in lines of its own": base64.b64encode(RAW)[:8] + b"\n" + base64.b64encode(RAW)[8:],
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_form_is_written_as_it_was(data: bytes):
    file = read_words(data)
    assert file.data == RAW and file.write() == data
    assert np.array_equal(txn.encode(read_stream(data)), STREAM)


@given(
    st.lists(st.integers(0, 0xFFFFFFFF), min_size=1),
    st.booleans(),
    st.sampled_from(["", "0x"]),
    st.text(" \n\t,", min_size=1),
)
def test_hexadecimal_in_any_layout(numbers: list[int], is_upper: bool, prefix: str, between: str):
    form = "%08X" if is_upper else "%08x"
    data = between.join(prefix + form % number for number in numbers).encode()
    file = read_words(data)
    assert file.data == words(*numbers) and file.write() == data
    file.data = words(*reversed(numbers))
    assert read_words(file.write()).data == file.data
