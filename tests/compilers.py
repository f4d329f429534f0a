"""The C and C++ compilers of this machine that do what tests ask of them: an installed one may lack libraries."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SANITIZERS = "-fsanitize=address,undefined"


@cache
def links(compiler: str, *options: str) -> bool:
    """Whether a compiler is there, and links a program with these options."""
    if shutil.which(compiler) is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        command = [compiler, *options, str(source), "-o", str(Path(folder) / "empty")]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def sanitizing_compilers() -> list[str]:
    """C++ compilers whose programs can check themselves while they run."""
    return [name for name in ("g++", "clang++") if links(name, SANITIZERS)]
