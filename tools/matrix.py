"""Runs a part of the tests with each Python and NumPy that is supported and can be had here, and says which were not.

    python tools/matrix.py [--tests PATH...] [--only 3.12]

Interpreters are those of PATH and of pyenv. For each, NumPy is installed as old as there is a wheel for it, and as new.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = {"3.11": ("1.26.*", ""), "3.12": ("1.26.*", ""), "3.13": ("2.1.*", ""), "3.14": ("2.3.*", "")}
"""Versions that are supported, with the oldest NumPy that has wheels for them, and the newest."""
TESTS = ("tests/unit/txn", "tests/unit/ir", "tests/unit/driver", "tests/unit/sweeps", "tests/unit/designs")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", nargs="*", default=list(TESTS))
    parser.add_argument("--only", choices=PYTHONS)
    args = parser.parse_args()
    failed = 0
    for version, numpys in PYTHONS.items():
        if args.only not in (None, version):
            continue
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: not here, untested", flush=True)
            continue
        for numpy in numpys:
            failed += not tested(python, version, numpy, args.tests)
    return failed


def interpreter(version: str) -> str | None:
    """A Python of a version that starts."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}*/bin/python"))
    for found in (*map(str, kept), shutil.which(f"python{version}")):
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return None


def tested(python: str, version: str, numpy: str, tests: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own, wanted = f"{folder}/bin/python", f"numpy=={numpy}" if numpy else "numpy"
        tools = ["pytest", "pytest-xdist", "hypothesis", "filecheck==1.0.6"]
        pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        made = subprocess.run([*pip, str(ROOT), wanted, *tools], capture_output=True, text=True, check=False)
        if made.returncode:
            print(f"Python {version}, {wanted}: cannot be installed\n{made.stderr[-600:]}", flush=True)
            return False
        asked = [own, "-c", "import numpy; print(numpy.__version__)"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        run = [own, "-m", "pytest", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
        last = done.stdout.strip().splitlines()[-1:] or [done.stderr[-300:]]
        print(f"Python {version}, NumPy {found}: {last[0]}", flush=True)
        if done.returncode:
            print(done.stdout[-3000:], flush=True)
        return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
