"""Places of this installation and of the vendor's compiler."""

from __future__ import annotations

import os
from pathlib import Path

import tilewright

peano_install_dir = os.environ.get("PEANO_INSTALL_DIR", "")
"""The folder of Peano, AMD's compiler for cores; empty where the environment names none. Nothing here needs it."""


def install_path() -> str:
    """The folder of this installation."""
    return str(Path(tilewright.__file__).parent)
