"""Host programs for XRT in C++, on the simulated NPU by way of the stand-in headers and library."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from xrt_packages import add_text, compiled, write_package

from tilewright.cli.main import main
from tilewright.native.cpp_compiler import find_compiler
from tilewright.xrt import installation
from tilewright.xrt.installation import xrt_flags, xrt_folder

PROGRAM = Path(__file__).parent / "add_host.cpp"
COMPLETED, TIMEOUT = 4, 8


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program") / "add_host"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    said = find_compiler("c++").run(["-std=c++17", *warnings, str(PROGRAM), *xrt_flags(), "-o", str(made)])
    assert not said, said
    return made


@pytest.fixture(scope="module")
def add_five(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("add_five")
    return write_package(folder, compiled(folder, add_text(5)))


def run(program: Path, package: tuple[str, str], what: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *package, what],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("what", "lines", "noted"),
    [
        ("plain", [f"state {COMPLETED}", "values 5 68"], ""),
        ("runlist", ["values 10 73"], ""),
        ("unsynced", [f"state {COMPLETED}", "values 5 5"], "argument 3 (bo0) was written by the host and not synced"),
        ("unread", [f"state {COMPLETED}", "values 0 0"], ""),
        ("outside", ["error: what is synced of 256 bytes at offset 4 is outside of a buffer of 256 bytes"], ""),
        ("scalar group", ["error: invalid memory group: the argument that it was asked for is a number"], ""),
        ("missing", ["error: No such kernel 'NONE'"], ""),
    ],
)
def test_a_program_gets_what_it_asks_for(
    program: Path, add_five: tuple[str, str], what: str, lines: list[str], noted: str
) -> None:
    done = run(program, add_five, what)
    said = done.stdout.splitlines()
    assert said[0] == "kernel MLIR_AIE with 8 arguments"
    assert all(found.startswith(line) for found, line in zip(said[1:], lines, strict=True)), done
    assert noted in done.stderr and bool(noted) == bool(done.stderr)
    assert done.returncode == any(line.startswith("error") for line in lines)


def test_a_hang_is_thrown_with_its_explanation(program: Path, tmp_path: Path) -> None:
    done = run(program, write_package(tmp_path, compiled(tmp_path, add_text(5, taken=48))), "wait2")
    assert f"state {TIMEOUT}\ncommand error {TIMEOUT}: Command failed to complete" in done.stdout
    assert "hang: the controller waits for a token of S2MM 0" in done.stdout and "hang" in done.stderr


@pytest.mark.parametrize(
    ("python", "how"), [("/bin/false", "it ended with status 1"), ("/nonexistent/python", "it ended with status 127")]
)
def test_a_simulator_that_is_gone_is_an_exception(
    program: Path, add_five: tuple[str, str], python: str, how: str
) -> None:
    done = run(program, add_five, "plain", TILEWRIGHT_PYTHON=python)
    assert done.returncode == 1 and how in done.stdout


def test_the_environment_may_name_the_python(program: Path, add_five: tuple[str, str]) -> None:
    home = str(Path(__file__).parents[3])
    done = run(program, add_five, "plain", TILEWRIGHT_PYTHON=sys.executable, PYTHONPATH=home)
    assert "values 5 68" in done.stdout, done


def test_the_folder_is_like_an_installation_of_xrt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--xrt"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == xrt_folder()
    assert (folder / "lib" / "libxrt_coreutil.so").is_file()
    assert f'export XILINX_XRT="{folder}"' in (folder / "setup.sh").read_text()
    assert main(["config", "--xrt-flags"]) == 0
    assert shlex.split(capsys.readouterr().out)[0] == f"-I{folder / 'include'}"


def test_a_damaged_library_is_made_again() -> None:
    library = xrt_folder() / "lib" / "libxrt_coreutil.so"
    before = library.read_bytes()
    library.write_bytes(before[:-1])
    assert (xrt_folder() / "lib" / "libxrt_coreutil.so").read_bytes() == before


def test_a_folder_that_others_can_write_to_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installation, "_library", lambda compiler: b"")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "xrt").mkdir(parents=True, mode=0o700)
    (tmp_path / "cache" / "xrt").chmod(0o770)
    (tmp_path / "cache").chmod(0o700)
    assert main(["config", "--xrt"]) == 1
    out, err = capsys.readouterr()
    assert not out and "error: " in err and "cannot be used: xrt can be written to by others: chmod go-w" in err
