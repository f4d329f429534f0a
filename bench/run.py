"""Runs every benchmark here, one after the other, so that their numbers come from the same machine at the same time.

    python bench/run.py [--quick] [NAME ...]

Names pick some of them; --quick leaves out what takes other tools minutes.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    wanted = [argument for argument in arguments if not argument.startswith("--")]
    flags = [argument for argument in arguments if argument.startswith("--")]
    print(f"{platform.machine()}, {platform.python_implementation()} {platform.python_version()}; best of several runs")
    failed = 0
    for path in sorted(Path(__file__).parent.glob("*_bench.py")):
        name = path.stem.removesuffix("_bench")
        if wanted and name not in wanted:
            continue
        print(f"\n{name}", flush=True)
        failed += subprocess.run([sys.executable, str(path), *flags], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
