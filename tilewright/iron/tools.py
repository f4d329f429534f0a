"""The command-line tools of mlir-aie as functions: each is that of ours, with the flags of this process."""

from __future__ import annotations

import subprocess
import sys
from typing import NoReturn


def _run(command: str) -> NoReturn:
    sys.exit(subprocess.call([sys.executable, "-m", "tilewright", command, *sys.argv[1:]]))


def aiecc() -> NoReturn:
    """`tilewright aiecc`."""
    _run("aiecc")


def aie_opt() -> NoReturn:
    """`tilewright opt`."""
    _run("opt")


def aie_translate() -> NoReturn:
    """`tilewright translate`."""
    _run("translate")


__all__ = ["aie_opt", "aie_translate", "aiecc"]
