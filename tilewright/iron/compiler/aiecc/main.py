"""`aiecc`, as programs call it: `run(module, [flags])`, and `python -m aie.compiler.aiecc.main`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tilewright.iron.utils.compile import CompilerDriverError, run_driver


def run(mlir_module: Any, args: Sequence[str] | None = None) -> None:
    """Have `tilewright aiecc` make what the flags `args` ask for, of a module or its text."""
    run_driver(mlir_module, args or ())


def main() -> int:
    """Be the driver, with the flags of this process."""
    return subprocess.call([sys.executable, "-m", "tilewright", "aiecc", *sys.argv[1:]])


__all__ = ["CompilerDriverError", "main", "run"]

if __name__ == "__main__":
    sys.exit(main())
