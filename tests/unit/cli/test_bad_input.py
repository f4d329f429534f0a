"""Wrong files and wrong usage: one line that says what is wrong, status 1 or 2, and nothing half written."""

from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.txn import Header, Stream, block_write, sync, write

STREAM = Stream.of(Header(), [write(0x1D214, 3), block_write(0x1D000, range(8)), sync(0, 0, 1, 0)])
WORDS = tw.txn.encode(STREAM).tolist()


def binary(words: list[int]) -> bytes:
    return b"".join((word % (1 << 32)).to_bytes(4, "little") for word in words)


def changed(at: int, word: int) -> bytes:
    return binary([*WORDS[:at], word, *WORDS[at + 1 :]])


WHOLE = binary(WORDS)
DAMAGED = {
    "empty": b"",
    "header only in part": WHOLE[:10],
    "cut inside an operation": WHOLE[:-8],
    "cut inside a word": WHOLE[:-3],
    "longer than it says": WHOLE + bytes(4),
    "wrong size word": changed(3, 4),
    "wrong count": changed(2, 7),
    "unknown version": changed(0, 0x06030909),
    "unknown opcode": changed(4, 0xF0),
    "size of an operation is 0": changed(9, 0),
    "size of an operation is odd": changed(9, 23),
    "operation past the end": changed(13, 0xFFFFFFFC),
    "text": b"this is no TXN binary, but a text of more than sixteen bytes\n\n\n",
}
TOOLS = [["dis"], ["stat"], ["lint"], ["dis", "--json"], ["stat", "--json"], ["lint", "--json"]]


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in argv])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err and "internal error" not in captured.err
    return status, captured.out, captured.err


def is_one_line(error: str) -> bool:
    return error.startswith("tilewright: error: ") and error.count("\n") == 1


@pytest.mark.parametrize("tool", TOOLS, ids=" ".join)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_binary_is_refused_with_its_name_and_the_place(tool, damage, tmp_path: Path, capsys):
    path = tmp_path / "a.bin"
    path.write_bytes(DAMAGED[damage])
    status, out, error = run(capsys, "txn", *tool, path)
    assert (status, out) == (1, "")
    assert is_one_line(error)
    assert f"{path}: at byte " in error


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_binary_has_no_differences(damage, tmp_path: Path, capsys):
    whole, path = tmp_path / "a.bin", tmp_path / "b.bin"
    whole.write_bytes(WHOLE)
    path.write_bytes(DAMAGED[damage])
    for pair in ((whole, path), (path, whole)):
        status, out, error = run(capsys, "txn", "diff", *pair)
        assert (status, out) == (1, "")
        assert is_one_line(error) and str(path) in error


COMMANDS = [
    *[["txn", *tool, "{input}"] for tool in TOOLS],
    ["txn", "diff", "{input}", "{input}"],
    ["txn", "asm", "{input}", "-o", "{output}"],
    ["compile", "{input}", "-o", "{output}"],
    ["opt", "{input}", "-o", "{output}"],
    ["translate", "--aie-npu-to-binary", "{input}", "-o", "{output}"],
    ["translate", "--aie-npu-to-cpp", "{input}", "-o", "{output}"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_that_is_not_there_or_cannot_be_read_is_named(command, tmp_path: Path, capsys):
    for wrong in (tmp_path / "missing", tmp_path, Path("a\0b")):
        argv = [part.format(input=wrong, output=tmp_path / "out") for part in command]
        status, out, error = run(capsys, *argv)
        assert (status, out) == (1, "")
        assert is_one_line(error) and "cannot open input file" in error
    assert list(tmp_path.iterdir()) == []


GARBAGE = {
    "no text": b"\x00\xff\xfe\x80" * 8,
    "no program": b"this is no program\n",
    "unfinished": b"aie.device(npu1) {\n  aie.runtime_sequence @s(",
}
TEXT_COMMANDS = [command for command in COMMANDS if "-o" in command]


@pytest.mark.parametrize("command", TEXT_COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", GARBAGE)
def test_text_that_is_none_is_refused_where_it_goes_wrong(command, kind, tmp_path: Path, capsys):
    path = tmp_path / "a.txt"
    path.write_bytes(GARBAGE[kind])
    status, out, error = run(capsys, *[part.format(input=path, output=tmp_path / "out") for part in command])
    assert (status, out) == (1, "")
    assert error.startswith(f"{path}:") and ": error: " in error.splitlines()[0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


PROGRAM = """aie.device(npu1) {
  aie.runtime_sequence @s() {
    %zero = arith.constant 0 : i32
    aiex.npu.write32(%zero, %zero) : i32, i32
  }
}
"""


@pytest.mark.parametrize("command", TEXT_COMMANDS, ids=" ".join)
def test_an_output_that_cannot_be_written_is_named_and_what_was_there_stays(command, tmp_path: Path, capsys):
    good, plain = tmp_path / "good", tmp_path / "plain"
    good.write_text("txn 0.1 generation 3 columns 4 rows 6 mem_tile_rows 1\n" if "asm" in command else PROGRAM)
    plain.write_text("kept")
    before = sorted(tmp_path.iterdir())
    for output in (plain / "below", tmp_path / "missing" / "below" if "compile" not in command else plain):
        status, _, error = run(capsys, *[part.format(input=good, output=output) for part in command])
        assert status == 1
        assert is_one_line(error) and str(output) in error
    assert sorted(tmp_path.iterdir()) == before
    assert plain.read_text() == "kept"


@pytest.mark.parametrize("command", TEXT_COMMANDS, ids=" ".join)
def test_an_error_leaves_an_older_output_as_it_was(command, tmp_path: Path, capsys):
    bad, out = tmp_path / "bad", tmp_path / "out"
    bad.write_text("this is no program\n")
    if "compile" in command:
        out.mkdir()
        out = out / "design.json"
    out.write_text("kept")
    target = out.parent if "compile" in command else out
    assert run(capsys, *[part.format(input=bad, output=target) for part in command])[0] == 1
    assert out.read_text() == "kept"
    assert sorted(path.name for path in out.parent.iterdir()) in ([out.name], ["bad", out.name])


@pytest.mark.parametrize(
    "argv",
    [
        ["txn"],
        ["txn", "dissect", "a.bin"],
        ["txn", "dis"],
        ["txn", "dis", "--frobnicate", "a.bin"],
        ["txn", "diff", "a.bin"],
        ["txn", "lint"],
        ["txn", "asm", "a.txt"],
        ["compile"],
        ["compile", "a.mlir"],
        ["compile", "a.mlir", "-o", "out", "--lint=loud"],
        ["translate", "a.mlir"],
        ["translate", "--aie-npu-to-binary", "--aie-npu-to-cpp", "a.mlir"],
        ["translate", "--aie-npu-to-basic", "a.mlir"],
        ["translate", "--aie-npu-to-binary", "a.mlir", "b.mlir"],
        ["translate", "--aie-npu-to-binary", "a.mlir", "-o"],
        ["frobnicate"],
        [],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2_and_reads_nothing(argv, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, error = run(capsys, *argv)
    assert status == 2
    assert error or not argv
    assert list(tmp_path.iterdir()) == []
