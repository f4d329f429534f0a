"""The comparison with published binaries tells what is the same from what is not, on a clone of our own."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import numpy as np
import pytest
from outside import production_streams
from outside.clone import Clone

from tilewright.txn import Header, Operation, Stream, address_patch, block_write, encode, write

HEADER = Header(device_generation=4, columns=8)
QUEUE = 0x1D214
FOLDER = "transaction/stx/op"
BLOCK = [6, 64, 0, 0, 0x80000000, 0x2000000, 0x300007, 0x2000000]
TWIN = [block_write(0x1D000, BLOCK), address_patch(0x1D004, 3, 64), write(QUEUE, 0x30000)]
TEXT = """
XAIE_IO_BLOCKWRITE           @0x1d000, 0x6, 0x0, 0x0, 0x0, 0x80000000, 0x2000000, 0x300007, 0x2000000
XAIE_IO_CUSTOM_OP_DDR_PATCH  @0x1d004, 3, 0x40
XAIE_IO_WRITE                @0x1d214, 0x30000
"""


def binary(*operations: Operation) -> bytes:
    return encode(Stream.of(HEADER, operations)).astype("<u4").tobytes()


def clone_of(folder: Path, files: dict[str, bytes]) -> Clone:
    """A repository with these files, in a tree that no commit has."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    tree = subprocess.run(["git", "-C", str(folder), "write-tree"], check=True, capture_output=True, text=True).stdout
    return Clone(folder, tree.strip())


def status(clone: Clone, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["", str(clone.path), "--commit", clone.commit, *arguments])
    return production_streams.main()


def test_files_are_read_by_one_process(tmp_path: Path) -> None:
    """Of any content, in the order that is asked for; what is not there is told."""
    files = {"a.bin": b"", "b/c d.bin": b"\n\0missing\n" * 9, "e.bin": bytes(1 << 17)}
    clone = clone_of(tmp_path, files)
    wanted = ["e.bin", "b/c d.bin", "none.bin", "a.bin"]
    assert [*clone.read_each(wanted)] == [(name, files.get(name)) for name in wanted]


@pytest.mark.parametrize("part", ["roundtrip", "lint"])
def test_sound_streams(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neighbours that are no streams are left aside, and one that is cut off has to be refused."""
    sound = binary(*TWIN)
    files = {"a.bin": sound, "b.bin": sound[:-1], "a_param.bin": bytes(64)}
    clone = clone_of(tmp_path, {f"{FOLDER}/{name}": data for name, data in files.items()})
    assert status(clone, monkeypatch, "--part", part) == 0
    said = capsys.readouterr().out
    assert f"1 streams of {len(sound)} bytes" in said
    assert part == "lint" or (said.count("1 of 1") == 2 and "damaged files: 1, refused: 1" in said)


def test_streams_that_do_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = clone_of(tmp_path, {f"{FOLDER}/a.bin": binary(*TWIN)})
    lines = production_streams.disassemble
    monkeypatch.setattr(production_streams, "disassemble", lambda *args, **options: [*lines(*args, **options)][:-1])
    assert status(clone, monkeypatch, "--part", "roundtrip") == 1
    assert f"differs: {FOLDER}/a.bin: level 2 gives other bytes" in capsys.readouterr().out


def test_findings_and_unknown_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = np.frombuffer(binary(*TWIN), dtype="<u4").copy()
    words[4] = 0x7F
    pushes = [write(QUEUE, 0)] * 6
    clone = clone_of(tmp_path, {f"{FOLDER}/a.bin": binary(*pushes), f"{FOLDER}/b.bin": words.tobytes()})
    assert status(clone, monkeypatch, "--part", "lint") == 1
    said = capsys.readouterr().out
    assert "1 of level warning" in said and f"differs: {FOLDER}/a.bin: " in said
    assert f"differs: {FOLDER}/b.bin: " in said and "no known layout" in said


@pytest.mark.parametrize(
    "old, new, what",
    [
        pytest.param("", "", None, id="an offset that the patch has as well is no difference"),
        pytest.param("@0x1d214", "@0x1d21c", "address", id="address"),
        pytest.param("XAIE_IO_WRITE ", "XAIE_IO_MASKPOLL", "opcode", id="operation"),
        pytest.param("0x300007", "0x300008", "operands that no patch sets", id="word of a block"),
        pytest.param("3, 0x40", "3, 0x44", "operands that no patch sets", id="offset of a patch"),
    ],
)
def test_twins(
    old: str,
    new: str,
    what: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"x.b64": base64.encodebytes(binary(*TWIN)), "x.ctrltext.asm": TEXT.replace(old, new).encode()}
    assert status(clone_of(tmp_path, files), monkeypatch) == (what is not None)
    differs = [line for line in capsys.readouterr().out.splitlines() if line.startswith("differs")]
    assert differs == ([] if what is None else [f"differs: x.ctrltext.asm: {what}"])


def test_a_family_that_is_predicted_worse_than_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = {f"transaction/stx/op/op_{m}.bin": binary(write(QUEUE, m * 3)) for m in range(32, 32 * 21, 32)}
    clone = clone_of(tmp_path, family)
    for given_back, expected in ((20, 0), (21, 1)):
        reached = production_streams.Reached(given_back, (4, 4, 4), (4, 4, 4))
        monkeypatch.setattr(production_streams, "FAMILIES", {"op": reached})
        assert status(clone, monkeypatch, "--part", "lift") == expected


def test_a_clone_without_such_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = clone_of(tmp_path, {"a.txt": b""})
    with pytest.raises(SystemExit, match="2"):
        status(clone, monkeypatch)
