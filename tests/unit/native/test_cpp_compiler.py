"""Which compiler is taken: what CXX names, the system's, the one of the package ziglang; and what is said without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT

from tilewright.native import cpp_compiler
from tilewright.native.cpp_compiler import NoCompilerError, Translation, find_compiler, translated

KERNEL = """
extern "C" void twice(int16 *a, int16 *c, int32 n) {
  for (int i = 0; i < n; i += 32)
    aie::store_v(c + i, aie::mul(aie::load_v<32>(a + i), (int16)2).to_vector<int16>());
}
"""
PROGRAM = """
import sys
import numpy as np
from tilewright.native.cpp_compiler import find_compiler
from tilewright.sim.kernels import c_kernel

print(*find_compiler("c++").command)
a, c = np.arange(64, dtype=np.int16), np.zeros(64, np.int16)
c_kernel(sys.argv[1], "twice")(a, c, 64)
assert (c == 2 * a).all()
"""
STAND_IN = """
import os, sys
log = open({log!r}, "a")
log.write(sys.argv[1] + chr(10))
log.close()
os.environ["PATH"] = {path!r}
os.execv({compiler!r}, [{compiler!r}, *sys.argv[2:]])
"""


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer without compilers."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def test_the_package_ziglang_compiles_where_there_is_no_other(tmp_path: Path) -> None:
    """Here with one that hands on to g++: it is called as `python -m ziglang c++`, and kernels run."""
    compiler = shutil.which("g++")
    assert compiler is not None
    package, log, kernel = tmp_path / "ziglang", tmp_path / "log", tmp_path / "twice.cc"
    package.mkdir()
    (package / "__init__.py").touch()
    text = STAND_IN.format(log=str(log), path=os.environ["PATH"], compiler=compiler)
    (package / "__main__.py").write_text(text)
    kernel.write_text(KERNEL)
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    environment |= {"PATH": str(tmp_path / "nothing"), "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    environment["TILEWRIGHT_CACHE"] = str(tmp_path / "cache")
    command = [sys.executable, "-c", PROGRAM, str(kernel)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{sys.executable} -m ziglang c++\n"
    assert len(log.read_text().splitlines()) > 1 and set(log.read_text().split()) == {"c++"}


def test_no_compiler_at_all(hidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpp_compiler, "find_spec", lambda name: None)
    with pytest.raises(NoCompilerError, match=r"no compiler for C\+\+: none of .*tilewright\[cpp\]"):
        find_compiler("c++")


def test_what_cxx_names_comes_first(hidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = hidden / "my compiler"
    tool.write_text("#!/bin/sh\necho mine 1.0\n")
    tool.chmod(0o755)
    monkeypatch.setenv("CXX", f"'{tool}' --fast")
    found = find_compiler("c++")
    assert found.command == (str(tool), "--fast") and found.version == "mine 1.0\n" and not found.is_clang
    for named, text in ((str(hidden / "none"), "cannot be run: No such file"), ("/bin/false", "is no compiler")):
        monkeypatch.setenv("CXX", named)
        with pytest.raises(NoCompilerError, match=text):
            find_compiler("c++")
    for named, text in (("'unfinished", "names no compiler: No closing quotation"), ("  ", "no compiler for C")):
        monkeypatch.setenv("CXX", named)
        monkeypatch.setattr(cpp_compiler, "find_spec", lambda name: None)
        with pytest.raises(NoCompilerError, match=text):
            find_compiler("c++")


def test_a_compiler_that_was_replaced_is_asked_again(hidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it makes would be kept under the version of the one before."""
    tool = hidden / "cxx"
    monkeypatch.setenv("CXX", str(tool))
    versions = list[str]()
    for version in ("1.0", "1.0", "2.0"):
        (hidden / "new").write_text(f"#!/bin/sh\necho asked >> '{hidden}/log'\necho {version}\n")
        (hidden / "new").chmod(0o755)
        if version not in versions:
            (hidden / "new").replace(tool)
        versions.append(find_compiler("c++").version.strip())
    assert versions == ["1.0", "1.0", "2.0"]
    assert (hidden / "log").read_text().split() == ["asked", "asked"]


def test_folders_that_the_environment_names_belong_to_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that was made with the headers of one is not taken for those of another."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    source = b'#include "number.h"\nextern "C" int number() { return NUMBER; }\n'
    unit = Translation(find_compiler("c++"), source, "number.cc", ("-E", "-P"))
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "number.h").write_text(f"#define NUMBER {number}\n")
        monkeypatch.setenv("CPATH", str(tmp_path / number))
        assert f"return {number};".encode() in translated(unit)[1]
