"""Outputs: files appear whole, all of them or none, and nothing else is touched."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from programs import COPY, WRITES

import tilewright as tw
from tilewright.cli.main import main
from tilewright.driver.artifacts import write_design
from tilewright.support import output_files as outputs
from tilewright.support.output_files import write_file, write_files

TRANSFERS = """\
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
"""
COPIES = COPY.replace("BODY\n", TRANSFERS)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder; links and folders without contents."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


# One file


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_file(path, b"new")
    assert contents(tmp_path) == {"out": b"new"} and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "out", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_the_file_behind_it_is_written(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "behind").mkdir()
    if exists:
        (tmp_path / "behind" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("behind/file")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "behind" / "file").read_bytes() == b"new"


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    "target, complaint",
    [
        pytest.param(Path.mkdir, "Is a directory", id="a folder"),
        pytest.param(make_loop, "Too many levels of symbolic links", id="a link to itself"),
        pytest.param(make_pipe, "No such device or address", id="a pipe that nothing reads"),
        pytest.param("/dev/full", "No space left on device", id="a full device"),
        pytest.param("missing/out", "No such file or directory", id="in a folder that is not there"),
        pytest.param("file/out", "Not a directory", id="in a file"),
        pytest.param("x" * 300, "File name too long", id="too long"),
        pytest.param("a\0b", "null byte", id="with a NUL"),
    ],
)
@pytest.mark.parametrize("command", ["opt", "translate", "txn asm"])
def test_an_output_that_cannot_be_written_is_one_line(
    tmp_path: Path,
    command: str,
    target: str | Callable[[Path], None],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outputs, "READER_SECONDS", 0.1)
    out = tmp_path / (target if isinstance(target, str) else "out")
    if not isinstance(target, str):
        target(out)
    (tmp_path / "file").write_bytes(b"")
    source = tmp_path / "in"
    source.write_text("header 0.1 generation 3 rows 6 columns 4 mem_rows 1\n" if command == "txn asm" else "module {}")
    if command == "txn asm":
        source.write_bytes(tw.compile(WRITES).txn("writes", n=1).tobytes())
    before = contents(tmp_path)
    flags = ["--aie-generate-target-arch"] if command == "translate" else []
    assert main([*command.split(), str(source), *flags, "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tilewright: error: cannot open output file ") and complaint in said
    assert said.count("\n") == 1 and contents(tmp_path) == before


@pytest.mark.parametrize("target", ["/dev/null", "pipe"])
def test_devices_and_pipes_are_written_to_as_they_are(tmp_path: Path, target: str) -> None:
    if target == "/dev/null":
        write_file(target, b"gone")
        assert stat.S_ISCHR(os.stat(target).st_mode)
        return
    path = tmp_path / target
    os.mkfifo(path)
    reader = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE)
    write_file(path, b"through")
    assert reader.communicate(timeout=10)[0] == b"through" and stat.S_ISFIFO(path.stat().st_mode)


def test_a_file_that_may_not_be_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everything
    with pytest.raises(PermissionError):
        write_file(tmp_path / "out", b"new")
    assert contents(tmp_path) == {"out": b"old"}


# Several files


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_if_one_file_cannot_be_put_in_its_place_all_stay_as_they_were(
    tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old a")
    (tmp_path / "b").symlink_to("elsewhere")
    before, replace, calls = contents(tmp_path), os.replace, []

    def replace_some(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == failing + 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_some)
    with pytest.raises(OSError, match="Input/output error"):
        write_files(tmp_path, {"a": b"new a", "b": b"new b", "c": b"new c"}, obsolete=["a"])
    assert contents(tmp_path) == before and os.readlink(tmp_path / "b") == "elsewhere"


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out"])
def test_no_file_is_written_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="Invalid argument"):
        write_files(tmp_path / "folder", {"a": b"", name: b""})
    assert contents(tmp_path) == {"folder": None}
    with pytest.raises(tw.Error, match="a library cannot be called"):
        write_design(tw.compile(WRITES), tmp_path / "folder", library=name)


@pytest.mark.parametrize("obstacle", [Path.mkdir, make_pipe], ids=["a folder", "a pipe"])
def test_compile_names_the_file_that_is_in_the_way(
    tmp_path: Path, obstacle: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "writes.mlir").write_text(WRITES)
    out = tmp_path / "out"
    out.mkdir()
    obstacle(out / "writes.h")
    assert main(["compile", str(tmp_path / "writes.mlir"), "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"tilewright: error: cannot write to '{out / 'writes.h'}': ") and said.count("\n") == 1
    assert os.listdir(out) == ["writes.h"]


@pytest.mark.parametrize("place", ["file", "file/below", "loop", "/dev/null", "/proc/nowhere", "a\0b"])
@pytest.mark.parametrize("command", ["compile", "run"])
def test_a_folder_that_cannot_be_written_to_is_one_line(
    tmp_path: Path, command: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.mlir").write_text(COPIES)
    (tmp_path / "file").write_bytes(b"")
    make_loop(tmp_path / "loop")
    flag = "-o" if command == "compile" else "--out"
    assert main([command, str(tmp_path / "copy.mlir"), flag, str(tmp_path / place)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tilewright: error: cannot write to ") and said.count("\n") == 1


def test_files_of_an_earlier_compile_go_and_nothing_else_does(tmp_path: Path) -> None:
    design = tw.compile(WRITES)
    write_design(design, tmp_path, library="old")
    (tmp_path / "mine.h").write_text("kept")
    (tmp_path / "unlisted.insts.bin").write_text("kept")
    written = write_design(tw.compile(WRITES.replace("@writes", "@others")), tmp_path)
    names = sorted(path.name for path in written)
    assert names == ["design.json", "design.mlir", "main.configuration.bin", "others.h"]
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "mine.h", "unlisted.insts.bin"])


HOSTILE = ["../victim.h", "/tmp/victim.h", "sub/victim.h", "..", "", ".h", "victim.txt", "link.h", "folder.h", 7, None]


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_a_manifest_cannot_have_other_files_removed(tmp_path: Path, name: object) -> None:
    out = tmp_path / "out"
    write_design(tw.compile(WRITES), out)
    for victim in (tmp_path / "victim.h", out / "victim.txt", out / "sub" / "victim.h", out / "folder.h" / "file"):
        victim.parent.mkdir(exist_ok=True)
        victim.write_text("kept")
    (out / "link.h").symlink_to("../victim.h")
    manifest = json.loads((out / "design.json").read_text())
    manifest["devices"][0]["sequences"][0]["header"] = manifest["devices"][0]["configuration"] = name
    manifest["library"] = {"file": name, "header": name}
    (out / "design.json").write_text(json.dumps(manifest))
    before = set(contents(tmp_path))
    write_design(tw.compile(WRITES), out)
    assert set(contents(tmp_path)) == before


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", "null", "[" * 100_000, '{"devices": 3}', '{"devices": [3, {"sequences": [[]]}]}', "\xff"],
)
def test_a_manifest_that_is_none_does_not_matter(tmp_path: Path, text: str) -> None:
    (tmp_path / "design.json").write_text(text, encoding="latin-1")
    write_design(tw.compile(WRITES), tmp_path)
    assert json.loads((tmp_path / "design.json").read_text())["format"] == 1


def test_arrays_of_a_run_stay_in_their_folder_whatever_arguments_are_called(tmp_path: Path) -> None:
    hostile = f"""["../../evil", "{tmp_path / "evil"}"]"""
    text = COPIES.replace(
        "memref<64xi32>) {\n", f"memref<64xi32>) attributes {{tilewright.argument_names = {hostile}}} {{\n", 1
    )
    (tmp_path / "copy.mlir").write_text(text)
    out = tmp_path / "below" / "out"
    assert main(["run", str(tmp_path / "copy.mlir"), "--out", str(out), "--arg", "../../evil=arange", "--json"]) == 0
    arrays = sorted(out.iterdir())
    assert len(arrays) == 2 and arrays[0].name == "%2E.%2F..%2Fevil.npy"
    assert np.load(arrays[0]).tolist() == np.load(arrays[1]).tolist() == list(range(64))
    assert sorted(os.listdir(tmp_path)) == ["below", "copy.mlir"] and os.listdir(out.parent) == ["out"]


def test_on_a_full_disk_no_array_of_a_run_is_written(tmp_path: Path) -> None:
    (tmp_path / "copy.mlir").write_text(COPIES.replace("64xi32", "4096xi32"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.npy").write_bytes(b"old")
    limit = 10_000  # bytes: less than an array

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    arguments = ["run", str(tmp_path / "copy.mlir"), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "tilewright", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, timeout=120, check=False)
    assert done.returncode == 1 and "cannot write to" in done.stderr and "File too large" in done.stderr
    assert contents(tmp_path / "out") == {"a.npy": b"old"}


SLOW_WRITE = """
import sys, time
from tilewright.support import output_files as outputs
from tilewright.cli.main import main
write = outputs._write_new
def slow(path, data, mode):
    write(path, data, mode)
    print("begun", flush=True)
    time.sleep(30)
outputs._write_new = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"])
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, status: int) -> None:
    (tmp_path / "in.mlir").write_text("module {}")
    (tmp_path / "out.mlir").write_text("old")
    command = [sys.executable, "-c", SLOW_WRITE, "opt", str(tmp_path / "in.mlir"), "-o", str(tmp_path / "out.mlir")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        assert any(name.startswith(outputs.SCRATCH_PREFIX) for name in os.listdir(tmp_path))
        process.send_signal(number)
        begin = time.monotonic()
        assert process.wait(timeout=10) == status and time.monotonic() - begin < 5
    assert contents(tmp_path) == {"in.mlir": b"module {}", "out.mlir": b"old"}


# Reading them again


def damaged(folder: Path, data: bytes) -> Path:
    (folder / "design.mlir").write_bytes(data)
    return folder


@pytest.mark.parametrize(
    "data, complaint",
    [
        pytest.param(b"\xff\xfe", "invalid UTF-8", id="no text"),
        pytest.param(b"module {", "expected", id="cut off"),
        pytest.param(b'"builtin.module"() ({\n}) : () -> (i32)', "error: ", id="what no module is"),
        pytest.param(b"aie.device(npu2) { aie.runtime_sequence @a(%x: i7) { } }", "i7", id="what cannot be lowered"),
    ],
)
def test_a_damaged_design_is_an_error(tmp_path: Path, data: bytes, complaint: str) -> None:
    with pytest.raises(tw.Error, match=complaint):
        tw.load(damaged(tmp_path, data)).txn()


@pytest.mark.parametrize("name", ["missing", "file", "empty"])
def test_a_folder_without_a_design_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    with pytest.raises(tw.Error, match=r"there is no .*design\.mlir: `tilewright compile DESIGN -o DIR` writes one"):
        tw.load(tmp_path / name)


def test_names_that_do_not_fit_the_arguments_are_not_believed(tmp_path: Path) -> None:
    write_design(tw.compile(WRITES), tmp_path)
    text = (tmp_path / "design.mlir").read_text()
    for names in ("[]", '["n", "n"]', '[1 : i32, "n"]', '"n"'):
        design = tw.load(damaged(tmp_path, text.replace('["buffer", "n"]', names).encode()))
        assert len(design.scalars()) == 1 and design.txn("writes", **{design.scalars()[0]: 2}).size == 16


def test_arrays_are_as_they_were(tmp_path: Path) -> None:
    arrays = {"x": np.arange(6).reshape(2, 3), "y": np.zeros(0, np.float32)}
    write_files(tmp_path, outputs.array_files(arrays))
    assert all((np.load(tmp_path / f"{name}.npy") == array).all() for name, array in arrays.items())
