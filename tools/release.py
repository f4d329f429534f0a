"""Builds what a release consists of, and checks it: wheel, source distribution, SBOM, sizes and licences.

    python tools/release.py [--out DIR] [--rehearse]

The wheel is built twice, from two copies of the checkout, and has to be the same byte for byte. It is installed by
itself into a fresh environment, once as it is and once without LLVM, and used there. `--rehearse` goes on where the
changelog is not ready for this version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WITHOUT_LLVM = ("xdsl==0.74.0", "numpy", "ml_dtypes", "rich")
"""What is needed for everything but native code; `docs/dependencies.md` says the same."""
LISTING = """
import importlib.metadata as m, json, sys
found = []
for d in m.distributions():
    about, files = d.metadata, d.files or []
    size = sum((d.locate_file(f).stat().st_size for f in files if d.locate_file(f).is_file()))
    text = about.get("License-Expression") or about.get("License") or ""
    classifiers = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith("License ::")]
    is_short = text and len(text) < 80 and "\\n" not in text
    known = text if is_short else ", ".join(classifiers) or text.split("\\n")[0][:80]
    found.append({"name": about["Name"], "version": d.version, "licence": known, "bytes": size,
                  "requires": d.requires or [], "url": about.get("Home-page") or ""})
print(json.dumps(found))
"""
"""Run in an environment: its distributions with their licences and sizes."""
SMOKE = """
import numpy as np, tilewright as tw
from tilewright.designs import Gemm, SingleCoreGemm
a = np.arange(32 * 32, dtype=np.int16).reshape(32, 32) % 7
assert (Gemm(SingleCoreGemm())(a, a) == a.astype(np.int32) @ a).all()
print("a product is right, with tilewright", tw.__version__)
"""


class NotReady(Exception):
    """Something about a release is not as it has to be."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--rehearse", action="store_true")
    args = parser.parse_args()
    try:
        release(args.out, args.rehearse)
    except NotReady as error:
        print(f"release: error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"release: error: {' '.join(map(str, error.cmd))}\n{error.stderr or error.stdout or ''}", file=sys.stderr)
        return 1
    return 0


def release(out: Path, rehearse: bool) -> None:
    version = version_of(ROOT)
    if problem := changelog_problem((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version):
        if not rehearse:
            raise NotReady(f"{problem}; --rehearse goes on")
        print(f"release: {problem}: this is a rehearsal")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel, again = (built(folder / name, "wheel") for name in ("first", "second"))
        check_same(wheel, again)
        source = built(folder / "source", "sdist")
        check_contents(wheel, source, version)
        listing = installed(folder / "whole", [str(wheel)])
        check_works(folder / "whole", SMOKE)
        installed(folder / "least", ["--no-deps", str(wheel)], WITHOUT_LLVM)
        check_without_llvm(folder / "least")
        bill = sbom(wheel, version, listing)
        out.mkdir(parents=True, exist_ok=True)
        for path in (wheel, source):
            shutil.copy2(path, out / path.name)
        (out / f"tilewright-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
        names = [wheel.name, source.name, f"tilewright-{version}.cdx.json"]
        sums = "".join(f"{digest(out / name)}  {name}\n" for name in names)
        (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print("\n".join(size_lines(listing)))
    print(sums, end="")


def version_of(root: Path) -> str:
    found = re.search(r'^__version__ = "([^"]+)"', (root / "tilewright" / "__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise NotReady("tilewright/__init__.py has no version")
    return found[1]


def changelog_problem(text: str, version: str) -> str | None:
    """Why a changelog is not ready for a version: all that has changed has to stand under its name, on top."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    names = [section.split("\n", 1)[0].split()[0] for section in sections]
    unreleased = [s for s, name in zip(sections, names, strict=True) if name == "Unreleased"]
    if unreleased and "\n- " in unreleased[0]:
        return "CHANGELOG.md has entries under Unreleased: give them a version"
    if not names or next(name for name in names if name != "Unreleased") != version:
        return f"the first section of CHANGELOG.md is not that of {version}"
    return None


def built(folder: Path, kind: str) -> Path:
    """A distribution, built from a copy of what git knows, as of the last commit."""
    copy_checkout(folder / "src")
    commit = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": commit.stdout.strip(), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "build", f"--{kind}", "--outdir", str(folder / "out"), str(folder / "src")]
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True, umask=0o022)
    [made] = (folder / "out").iterdir()
    return made


def copy_checkout(target: Path) -> None:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
            (target / name).chmod(0o644)


def check_same(wheel: Path, again: Path) -> None:
    if wheel.read_bytes() != again.read_bytes():
        first, second = (
            {entry.filename: (entry.CRC, entry.date_time, entry.external_attr) for entry in archive.infolist()}
            for archive in map(zipfile.ZipFile, (wheel, again))
        )
        differing = sorted(name for name in first | second if first.get(name) != second.get(name))
        raise NotReady(f"two builds of the wheel differ: {', '.join(differing[:5]) or 'in the order of files'}")
    print(f"{wheel.name}: two builds are the same, byte for byte; {digest(wheel)}")


def check_contents(wheel: Path, source: Path, version: str) -> None:
    """Everything that git has of the package is in the wheel, nothing else is, and both say the same version."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("tilewright-")}
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "tilewright"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    wanted = {name for name in listed if (ROOT / name).is_file()}
    if inside != wanted:
        odd = sorted(inside ^ wanted)
        raise NotReady(f"the wheel and the checkout differ in {len(odd)} files: {', '.join(odd[:5])}")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "README.md", "pyproject.toml", "tilewright/__init__.py"):
        if name not in names:
            raise NotReady(f"{source.name} has no {name}")
    if f"-{version}-" not in wheel.name or f"-{version}.tar" not in source.name:
        raise NotReady(f"{wheel.name} and {source.name} are not of version {version}")
    print(f"{len(inside)} files in the wheel, as in the checkout; {len(names)} in the source distribution")


def installed(folder: Path, *installs: Sequence[str]) -> list[dict[str, Any]]:
    """A fresh environment with these; gives its distributions."""
    venv.create(folder, with_pip=True)
    for words in installs:
        pip(folder, "install", *words)
    done = subprocess.run([str(folder / "bin" / "python"), "-c", LISTING], capture_output=True, text=True, check=True)
    return [found for found in json.loads(done.stdout) if found["name"] not in ("pip", "setuptools")]


def pip(folder: Path, *words: str) -> None:
    command = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    subprocess.run(command, capture_output=True, text=True, check=True)


def check_works(folder: Path, program: str) -> None:
    run = [str(folder / "bin" / "python"), "-c", program]
    print(subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout.strip())


def check_without_llvm(folder: Path) -> None:
    """What needs no native code works without it."""
    tilewright, examples = str(folder / "bin" / "tilewright"), ROOT / "docs" / "examples"
    for command in (
        [tilewright, "opt", str(examples / "add_one.mlir"), "--canonicalize"],
        [tilewright, "devices"],
        [tilewright, "txn", "dis", str(examples / "gemm_128_64_256.txn")],
    ):
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    print(f"without llvmlite: opt, devices and txn work; {megabytes(folder_bytes(folder / 'lib'))} with pip")


def sbom(wheel: Path, version: str, listing: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The bill of materials, as CycloneDX 1.5 has it: the wheel, and what is installed with it today."""
    sha = digest(wheel)
    own = {"type": "library", "name": "tilewright", "version": version, "bom-ref": "tilewright"}
    own |= {"purl": f"pkg:pypi/tilewright@{version}", "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}]}
    own |= {"hashes": [{"alg": "SHA-256", "content": sha}]}
    others = sorted((found for found in listing if found["name"] != "tilewright"), key=lambda f: f["name"].lower())
    components = [
        {
            "type": "library",
            "bom-ref": found["name"].lower(),
            "name": found["name"],
            "version": found["version"],
            "purl": f"pkg:pypi/{found['name'].lower()}@{found['version']}",
            "licenses": [{"license": {"name": found["licence"]}}],
        }
        for found in others
    ]
    present = {found["name"].lower().replace("_", "-"): found["name"].lower() for found in listing}
    dependencies = [{"ref": f["name"].lower(), "dependsOn": sorted(needed(f, present))} for f in listing]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, sha)}",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": sorted(dependencies, key=lambda dependency: dependency["ref"]),
    }


def needed(found: dict[str, Any], present: dict[str, str]) -> Iterator[str]:
    for text in found["requires"]:
        name = re.split(r"[\s<>=!~;\[(]", text, maxsplit=1)[0].lower().replace("_", "-")
        if "extra ==" not in text and name in present:
            yield present[name]


def size_lines(listing: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What is installed, the largest first."""
    total = sum(found["bytes"] for found in listing)
    yield f"installed: {megabytes(total)}"
    for found in sorted(listing, key=lambda f: -f["bytes"]):
        yield f"  {found['name']:20} {found['version']:12} {megabytes(found['bytes']):>9}  {found['licence']}"


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
