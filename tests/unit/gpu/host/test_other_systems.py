"""Systems such as Windows: all modules can be imported, and `run` says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tilewright as tw

WITHOUT = """
import _ctypes, importlib, os, pkgutil, signal, subprocess, sys
for module in ("fcntl", "resource"):
    sys.modules[module] = None
for holder, name in ((signal, "SIGBUS"), (signal, "SIGKILL"), (os, "fork"), (os, "mkfifo"), (_ctypes, "dlclose")):
    delattr(holder, name)
import tilewright
for module in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_all_modules_can_be_imported_where_posix_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_where_processes_cannot_be_copied_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = tw.air.compile("func.func @main() { return }")
    monkeypatch.delattr(os, "fork")
    with pytest.raises(tw.Error, match="run on copies of this process, which this system cannot make"):
        program.run()
