"""AMD's relocatable objects as code objects that a driver loads, by LLVM's linker where there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tilewright.errors import Error

LINKERS = "ld.lld", "ld.lld-22", "ld.lld-21", "ld.lld-20", "/opt/rocm/llvm/bin/ld.lld"
LINK_SECONDS = 60


class NoLinker(Error):
    """There is no linker for AMD GPUs here; says what to do."""


def find_linker() -> str:
    found = next((path for name in LINKERS if (path := shutil.which(name)) is not None), None)
    if found is None:
        raise NoLinker(
            "there is no ld.lld on this machine, so the kernels are not linked; install lld, or link them where it is: "
            "ld.lld -shared NAME.o -o NAME.hsaco"
        )
    return found


def link_code_object(data: bytes) -> bytes:
    """The shared object of a relocatable one."""
    linker = find_linker()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernels.o", Path(folder) / "kernels.hsaco"
        source.write_bytes(data)
        command = [linker, "-shared", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LINK_SECONDS, check=False)
        if done.returncode:
            raise NoLinker(f"{linker} cannot link the kernels: {done.stderr.strip()}")
        return target.read_bytes()
