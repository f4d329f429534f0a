"""`tilewright opt` as a person or a script meets it: streams, files, exit status, what errors look like."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.cli import opt
from tilewright.cli.main import main

GOOD = "func.func @f(%x: i32) -> i32 {\n  return %x : i32\n}\n"
PRINTED = "module {\n  func.func @f(%arg0: i32) -> i32 {\n    return %arg0 : i32\n  }\n}\n\n"
BAD = "func.func @f(%x: i32) -> i32 {\n  return %y : i32\n}\n"


@pytest.fixture
def good(tmp_path: Path) -> str:
    return write(tmp_path / "good.mlir", GOOD)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    return write(tmp_path / "bad.mlir", BAD)


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["opt", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_prints_what_mlir_prints(capsys: pytest.CaptureFixture[str], good: str) -> None:
    assert run(capsys, good) == (0, PRINTED, "")


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_reads_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    assert run(capsys, *arguments) == (0, PRINTED, "")


def test_errors_in_stdin_are_located(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert run(capsys)[2].startswith("<stdin>:2:10: error: use of undeclared SSA value name\n")


def test_an_error_shows_its_line(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    status, out, err = run(capsys, bad)
    assert (status, out) == (1, "")
    assert err == f"{bad}:2:10: error: use of undeclared SSA value name\n  return %y : i32\n         ^\n"


def test_output_file(capsys: pytest.CaptureFixture[str], good: str, tmp_path: Path) -> None:
    assert run(capsys, good, "-o", str(tmp_path / "out.mlir")) == (0, "", "")
    assert (tmp_path / "out.mlir").read_text() == PRINTED
    assert stat.S_IMODE((tmp_path / "out.mlir").stat().st_mode) == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_output_may_replace_input(capsys: pytest.CaptureFixture[str], good: str) -> None:
    os.chmod(good, 0o640)
    assert run(capsys, good, "-o", good)[0] == 0
    assert Path(good).read_text() == PRINTED
    assert stat.S_IMODE(Path(good).stat().st_mode) == 0o640


def test_failure_leaves_no_output(capsys: pytest.CaptureFixture[str], bad: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.mlir"
    kept.write_text("before")
    assert run(capsys, bad, "-o", str(kept))[0] == 1
    assert run(capsys, bad, "-o", str(tmp_path / "new.mlir"))[0] == 1
    assert kept.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.mlir", "kept.mlir"]


def test_output_to_a_device_does_not_replace_it(capsys: pytest.CaptureFixture[str], good: str) -> None:
    assert run(capsys, good, "-o", "/dev/null")[0] == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["{tmp}/none.mlir"], "tilewright: error: cannot open input file '{tmp}/none.mlir': No such file or directory"),
        (["{tmp}"], "tilewright: error: cannot open input file '{tmp}': Is a directory"),
        (
            ["{tmp}/good.mlir", "-o", "{tmp}/none/out.mlir"],
            "tilewright: error: cannot open output file '{tmp}/none/out.mlir': No such file or directory",
        ),
    ],
)
def test_files_that_cannot_be_opened(
    capsys: pytest.CaptureFixture[str], good: str, tmp_path: Path, arguments: list[str], text: str
) -> None:
    status, out, err = run(capsys, *(a.replace("{tmp}", str(tmp_path)) for a in arguments))
    assert (status, out, err) == (1, "", text.replace("{tmp}", str(tmp_path)) + "\n")


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--nonsense"], "Unknown command line argument '--nonsense'.  Try: 'tilewright opt --help'"),
        (["-split-input-fil"], "Did you mean '--split-input-file'?"),
        (["--verify-each=maybe"], "for the --verify-each option: 'maybe' is invalid value for boolean argument!"),
        (["--verify-diagnostics=some"], "for the --verify-diagnostics option: Cannot find option named 'some'!"),
        (["-o"], "for the -o option: requires a value!"),
        (["a.mlir", "b.mlir"], "Too many positional arguments specified!"),
        (["--pass-pipeline=cse"], "expected pass pipeline to be wrapped with the anchor operation type"),
        (["--pass-pipeline=any(nonsense)"], "'nonsense' does not refer to a registered pass or pass pipeline"),
        (["--pass-pipeline=any(cse)", "--cse"], "'-pass-pipeline' option can't be used with individual pass options"),
        (["--canonicalize=nonsense=1"], "<Pass-Options-Parser>: no such option nonsense"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert text in err


def test_every_unknown_argument_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    err = run(capsys, "--nonsense", "--rubbish")[2]
    assert "'--nonsense'" in err
    assert "'--rubbish'" in err


def test_mlir_printing_flags_are_tolerated(capsys: pytest.CaptureFixture[str], good: str) -> None:
    flags = ["--mlir-disable-threading", "--mlir-elide-elementsattrs-if-larger=16", "-mlir-print-value-users"]
    assert run(capsys, good, *flags) == (0, PRINTED, "")


def test_generic_form(capsys: pytest.CaptureFixture[str], good: str) -> None:
    assert '"func.func"() <{' in run(capsys, good, "--mlir-print-op-generic")[1]


def test_aliases_on_request_only_written_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "x.mlir", "#map = affine_map<(d0) -> (d0)>\nmodule attributes {test.map = #map} {\n}\n")
    assert run(capsys, path)[1].startswith("#map = affine_map<(d0) -> (d0)>\nmodule attributes {test.map = #map}")
    local = run(capsys, path, "--mlir-print-local-scope")[1]
    assert local == "module attributes {test.map = affine_map<(d0) -> (d0)>} {\n}\n"


def test_locations(capsys: pytest.CaptureFixture[str], good: str) -> None:
    out = run(capsys, good, "--mlir-print-debuginfo")[1]
    assert f'loc("{good}":2:3)' in out


def test_unregistered_dialects_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "x.mlir", '"strange.op"() : () -> ()')
    status, _, err = run(capsys, path)
    assert status == 1
    assert "unregistered dialect" in err or "unregistered operation" in err
    assert run(capsys, path, "--allow-unregistered-dialect")[0] == 0


def test_parts_fail_one_by_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "x.mlir", f"{BAD}// -----\n{GOOD}// -----\n{BAD}")
    status, out, err = run(capsys, path, "--split-input-file")
    assert status == 1
    assert out == f"// -----\n{PRINTED}// -----\n"
    assert [line.split(":")[1] for line in err.splitlines() if ": error:" in line] == ["2", "10"]


def test_verify_diagnostics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    expected = BAD.replace("  return", "  // expected-error@+1 {{undeclared}}\n  return")
    assert run(capsys, write(tmp_path / "x.mlir", expected), "--verify-diagnostics") == (0, "", "")
    status, _, err = run(capsys, write(tmp_path / "y.mlir", BAD), "--verify-diagnostics")
    assert status == 1
    assert "error: unexpected error: use of undeclared SSA value name" in err
    status, _, err = run(capsys, write(tmp_path / "z.mlir", "// expected-error {{x}}\n"), "--verify-diagnostics")
    assert status == 1
    assert 'error: expected error "x" was not produced' in err


def test_roundtrip(capsys: pytest.CaptureFixture[str], good: str) -> None:
    assert run(capsys, good, "--verify-roundtrip") == (0, PRINTED, "")


def test_program_around_passes(capsys: pytest.CaptureFixture[str], good: str) -> None:
    err = run(capsys, good, "--cse", "--mlir-print-ir-after-all", "--mlir-print-ir-before=cse")[2]
    assert "// -----// IR Dump Before CsePass (cse) //----- //\nmodule {" in err.replace("CSEPass", "CsePass")
    assert "// -----// IR Dump After" in err


def test_help_lists_dialects_passes_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--help")
    assert (status, err) == (0, "")
    dialects = "Available Dialects: affine, aie, aievec, aiex, air, airrt, arith,"
    for text in (dialects, "--split-input-file", "--canonicalize", "--cse"):
        assert text in out
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x7fELF\x02\x01\x01\0\0\xff\xfe", id="binary"),
        pytest.param(b"module {\0}", id="NUL"),
        pytest.param(b"// caf\xe9\nmodule {}", id="Latin-1 in a comment"),
        pytest.param(b"\xef\xbb\xbfmodule {}", id="byte order mark"),
        pytest.param(b"func.func @f() {", id="truncated"),
        pytest.param(b"module {\n" * 2000 + b"}\n" * 2000, id="nested modules"),
        pytest.param(b'"a.b"() ({\n' * 20000, id="nested regions, never closed"),
        pytest.param(b"func.func @f(%x: " + b"tuple<" * 5000 + b">" * 5000 + b")", id="nested types"),
        pytest.param(b"x = [" * 5000, id="nested brackets"),
        pytest.param(b"%0 = arith.constant " + b"9" * 10000 + b" : i32", id="huge number"),
        pytest.param(b"a" * 1_000_000, id="one long word"),
    ],
)
def test_bad_input_gives_a_diagnostic_or_succeeds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes
) -> None:
    path = write(tmp_path / "x.mlir", data)
    for arguments in ([], ["--allow-unregistered-dialect", "--mlir-print-op-generic"]):
        status, out, err = run(capsys, path, *arguments)
        assert status in (0, 1)
        assert bool(out) == (status == 0)
        assert status == 0 or err.startswith(f"{path}:")
        assert "Traceback" not in err
        assert max(map(len, err.splitlines()), default=0) < 2000


def test_a_defect_of_ours_is_one_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, good: str
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.delenv("TILEWRIGHT_TRACEBACK", raising=False)
    monkeypatch.setattr(opt, "run_pipeline", broken)
    status, out, err = run(capsys, good)
    assert (status, out) == (70, "")
    assert err.startswith("tilewright: internal error: ")
    assert "KeyError: 'oops'" in err
    assert "report" in err
    monkeypatch.setenv("TILEWRIGHT_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["opt", good])


def test_interrupt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(opt, "run_pipeline", interrupted)
    assert run(capsys, good) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    many = "".join(f"func.func private @f{i}()\n" for i in range(20_000))
    path = write(tmp_path / "many.mlir", many)
    command = f"'{sys.executable}' -m tilewright opt '{path}' | head -n 1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("module {\n", "")
