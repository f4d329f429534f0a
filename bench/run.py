"""Runs every benchmark here, one after the other, so that their numbers come from the same machine at the same time."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path


def main() -> int:
    print(f"{platform.machine()}, {platform.python_implementation()} {platform.python_version()}; best of several runs")
    failed = 0
    for path in sorted(Path(__file__).parent.glob("*_bench.py")):
        print(f"\n{path.stem}", flush=True)
        failed += subprocess.run([sys.executable, str(path)], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
