"""The text form of a stream: readable, editable, and back to the same bytes."""

import json

import numpy as np
import pytest
from drawn_streams import operations
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.cli.main import main
from tilewright.txn.analysis import differences, statistics
from tilewright.txn.opcodes import LAYOUTS
from tilewright.txn.text import TextError, assemble, disassemble, explain, model_of, operation_text

NPU2 = txn.Header(device_generation=4, columns=8)
EXAMPLE = [
    txn.block_write(0x1D0A0, [0x60, 0, 0, 0x00800000, 0xC040000F, 0x0200005F, 0x001001FF, 0x02000000]),
    txn.address_patch(0x1D0A4, 0, 128),
    txn.write(0x1D214, 0x00010005),
    txn.mask_write(0x0021DE00, 0x1B00, 0x1F00),
    txn.write(0x0021F010, 1),
    txn.write(0x00200400, 7),
    txn.sync(0, 0, 1, 0),
]
LINES = """\
txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1
blockwrite shim(0,0) DMA.BD5.word0 = [0x00000060, 0x00000000, 0x00000000, 0x00800000, 0xc040000f, 0x0200005f, \
0x001001ff, 0x02000000]
patch shim(0,0) DMA.BD5.word1 = argument 0 + 0x00000080
write shim(0,0) DMA.MM2S0.queue = 0x00010005
maskwrite core(0,2) DMA.S2MM0.control = 0x00001b00 mask 0x00001f00
write core(0,2) Lock1 = 0x00000001
write core(0,2) Memory+0x400 = 0x00000007
sync column 0 row 0 MM2S 0 columns 1 rows 1""".splitlines()


def stream(*operations: txn.Operation, header: txn.Header = NPU2) -> txn.Stream:
    return txn.Stream.of(header, operations)


def test_a_line_reads_like_what_it_does():
    assert list(disassemble(stream(*EXAMPLE))) == LINES


@pytest.mark.parametrize("words, characters", [(1 << 17, 1 << 26), (8, 1 << 26), (8, 60)])
def test_operations_that_come_again_have_the_same_line(words: int, characters: int, monkeypatch: pytest.MonkeyPatch):
    """However much of a stream is looked at at once, and however little text is kept."""
    monkeypatch.setattr("tilewright.txn.text.PIECE_WORDS", words)
    monkeypatch.setattr("tilewright.txn.text.KEPT_CHARACTERS", characters)
    given = stream(*EXAMPLE, *EXAMPLE, txn.write(0x1D214, 5), *EXAMPLE)
    alone = [operation_text(op, LAYOUTS[0, 1][op.opcode], model_of(NPU2)) for op in given.operations]
    assert list(disassemble(given))[1:] == alone
    assert list(disassemble(stream()))[1:] == []


def test_text_assembles_to_the_words_it_came_from():
    text = "\n".join(["# a comment", *LINES, ""])
    assert (txn.encode(assemble(text)) == txn.encode(stream(*EXAMPLE))).all()


@settings(max_examples=150, deadline=None)
@given(st.lists(operations(), max_size=6), st.sampled_from([NPU2, txn.Header(), txn.Header(columns=99, pad=3)]))
def test_any_stream_goes_round_through_text(ops: list[txn.Operation], header: txn.Header):
    words = txn.encode(stream(*ops, header=header))
    for by_register in (False, True):
        text = "\n".join(disassemble(txn.decode(words), by_register=by_register))
        assert (txn.encode(assemble(text)) == words).all()


@pytest.mark.parametrize(
    "line, column, reason",
    [
        ("writ 0x4 = 5", 1, "unknown operation 'writ'"),
        ("write 0x4", 1, "expected 'write ADDRESS = VALUE'"),
        ("write shim(9,0) DMA.BD0.word0 = 1", 7, "the device has no shim(9,0)"),
        ("write shim(0,0) DMA.BD99.word0 = 1", 7, "a shim tile has no register 'DMA.BD99.word0'"),
        ("write 0x4 = 0x100000000", 1, "does not fit"),
        ("write 0x4 = 5 {speed = 3}", 1, "no field 'speed'"),
        ("write 0x4 = 5 and more", 15, "unexpected 'and more'"),
        ("preempt level 2 [1]", 1, "takes no payload"),
        ("blockset", 1, "no known layout"),
    ],
)
def test_wrong_text_is_refused_where_it_is_wrong(line: str, column: int, reason: str):
    with pytest.raises(TextError) as error:
        assemble(f"{LINES[0]}\n{line}\n")
    assert (error.value.line, error.value.column) == (2, column)
    assert reason in error.value.reason


def test_text_without_a_header_is_refused():
    with pytest.raises(TextError, match="expected 'txn MAJOR"):
        assemble("write 0x4 = 5")


def test_descriptor_fields_are_explained():
    fields = explain(EXAMPLE[0], model_of(NPU2))
    assert "d0_wrap = 8" in fields and "d1_step = 16" in fields and "iteration_wrap = 2" in fields


def test_a_difference_says_what_it_means():
    other = [*EXAMPLE]
    other[0] = txn.block_write(0x1D0A0, [0x60, 0, 0, 0x01000000, 0xC040000F, 0x0200005F, 0x001001FF, 0x02000000])
    (found,) = differences(stream(*EXAMPLE), stream(*other))
    assert found.index == 0
    assert found.meanings == ("shim(0,0) DMA.BD5.word3: d0_wrap 8 against 16",)


def test_a_missing_operation_is_a_difference():
    *_, last = differences(stream(*EXAMPLE), stream(*EXAMPLE[:-1]))
    assert last.meanings == ("only one of the streams has it",)


def test_statistics_count_what_there_is():
    numbers = statistics(stream(*EXAMPLE))
    assert numbers.by_opcode["WRITE"] == (3, 72)
    assert numbers.queue_pushes == {"shim(0,0) MM2S0": 1}
    assert numbers.patched_arguments == {0: 1}
    assert numbers.size_bytes == txn.encode(stream(*EXAMPLE)).nbytes


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "insts.bin"
    path.write_bytes(txn.encode(stream(*EXAMPLE)).tobytes())
    return path


def test_dis_and_asm_are_inverse_commands(binary, tmp_path, capsys):
    assert main(["txn", "dis", str(binary)]) == 0
    text = tmp_path / "insts.txt"
    text.write_text(capsys.readouterr().out)
    assert main(["txn", "asm", str(text), "-o", str(tmp_path / "again.bin")]) == 0
    assert (tmp_path / "again.bin").read_bytes() == binary.read_bytes()


def test_dis_for_machines(binary, capsys):
    assert main(["txn", "dis", "--json", str(binary)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["header"]["columns"] == 8
    assert shown["operations"][2]["opcode"] == "WRITE"
    assert shown["operations"][2]["address"] == 0x1D214


def test_diff_ends_with_status_1_where_streams_differ(binary, tmp_path, capsys):
    other = tmp_path / "other.bin"
    other.write_bytes(txn.encode(stream(*EXAMPLE[1:])).tobytes())
    assert main(["txn", "diff", str(binary), str(binary)]) == 0
    assert main(["txn", "diff", str(binary), str(other)]) == 1
    assert "operation 0" in capsys.readouterr().out


def test_stat_shows_a_table(binary, capsys):
    assert main(["txn", "stat", str(binary)]) == 0
    assert "BLOCKWRITE" in capsys.readouterr().out


@pytest.mark.parametrize("tool", ["dis", "stat"])
def test_damaged_files_are_refused_with_name_and_offset(tool, binary, tmp_path, capsys):
    damaged = tmp_path / "damaged.bin"
    damaged.write_bytes(binary.read_bytes()[:-4])
    assert main(["txn", tool, str(damaged)]) == 1
    message = capsys.readouterr().err
    assert f"{damaged}: at byte 12 (0xc): the header's size word says" in message


def test_bad_text_leaves_no_output(tmp_path, capsys):
    text = tmp_path / "bad.txt"
    text.write_text(f"{LINES[0]}\nwrite what = 3\n")
    assert main(["txn", "asm", str(text), "-o", str(tmp_path / "out.bin")]) == 1
    assert f"{text}:2:1: error: expected 'write ADDRESS = VALUE'" in capsys.readouterr().err
    assert not (tmp_path / "out.bin").exists()


def test_words_do_not_share_memory():
    words = txn.encode(stream(*EXAMPLE))
    first = txn.decode(words)
    words[:] = 0
    assert first.operations[2].value == 0x00010005
    assert np.count_nonzero(txn.encode(first))


def test_several_descriptors_in_a_block_are_set_apart():
    both = txn.block_write(0x1D000, [7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0])
    first, second = explain(both, model_of(NPU2)).split("; ")
    assert first.startswith("buffer_length = 7, d0_step = 1")
    assert second.startswith("buffer_length = 9, d0_step = 1")


@pytest.mark.parametrize(
    "line, column, complaint",
    [
        ("blockwrite 0x1d000 = [0x1, 00000040]", 28, "00000040 may be meant in decimal or in hexadecimal: write 40 or"),
        ("write 060 = 1", 7, "060 may be meant"),
        ("write 0x10 = 0x1ffffffff", 1, "does not fit"),
        ("blockwrite 0x1d000 = [4294967296]", 23, "does not fit into a word of 32 bits"),
        ("blockwrite 0x1d000 = [" + "9" * 5000 + "]", 23, "does not fit into a word of 32 bits"),
        ("write 0x10 = 1 {op_pad = 007}", 26, "007 may be meant"),
        ("write 0x10 = " + "1" * 5000, 14, "does not fit into a word of 32 bits"),
    ],
)
def test_numbers_that_are_none_are_errors_with_a_place(line: str, column: int, complaint: str):
    text = f"txn 0.1 generation 4 columns 1 rows 6 mem_tile_rows 1\n{line}\n"
    with pytest.raises(TextError, match=complaint) as caught:
        assemble(text)
    assert (caught.value.line, caught.value.column) == (2, column)


def test_a_header_out_of_range_is_an_error_with_a_line():
    with pytest.raises(TextError, match="columns = 300 does not fit") as caught:
        assemble("# first\ntxn 0.1 generation 4 columns 300 rows 6 mem_tile_rows 1\n")
    assert caught.value.line == 2
