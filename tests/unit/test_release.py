"""What makes a release refuses what is not ready, and lists what is in it."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers import DOCS, ROOT
from release import WITHOUT_LLVM, NotReady, changelog_problem, check_same, sbom, size_lines, version_of

import tilewright

LISTING: list[dict[str, Any]] = [
    {"name": "tilewright", "version": "1.0", "licence": "Apache-2.0", "bytes": 3, "requires": ["numpy>=1.26", "rich"]},
    {"name": "numpy", "version": "2.4", "licence": "BSD-3-Clause", "bytes": 50, "requires": []},
    {"name": "rich", "version": "15", "licence": "MIT", "bytes": 7, "requires": ["numpy; extra == 'x'"]},
]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("# Changelog\n\n## 1.0\n\n- all of it\n", None),
        ("# Changelog\n\n## Unreleased\n\n## 1.0 (2026-11-18)\n\n- all of it\n", None),
        ("# Changelog\n\n## Unreleased\n\n- more\n\n## 1.0\n", "under Unreleased"),
        ("# Changelog\n\n## 0.9\n\n- less\n", "not that of 1.0"),
    ],
)
def test_the_changelog_has_the_version_on_top(text: str, problem: str | None) -> None:
    found = changelog_problem(text, "1.0")
    assert found is None if problem is None else problem in str(found)


def test_the_version_is_written_once() -> None:
    assert version_of(ROOT) == tilewright.__version__


def wheel(path: Path, text: str, year: int = 2026) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.py", (year, 1, 1, 0, 0, 0)), text)
    return path


def test_two_wheels_are_the_same_or_say_where_they_differ(tmp_path: Path) -> None:
    first = wheel(tmp_path / "1", "a = 1")
    check_same(first, wheel(tmp_path / "2", "a = 1"))
    for other in (wheel(tmp_path / "3", "a = 2"), wheel(tmp_path / "4", "a = 1", 2025)):
        with pytest.raises(NotReady, match=r"differ: a\.py"):
            check_same(first, other)


def test_the_bill_of_materials_lists_what_is_installed(tmp_path: Path) -> None:
    bill = sbom(wheel(tmp_path / "w", ""), "1.0", LISTING)
    assert [part["purl"] for part in bill["components"]] == ["pkg:pypi/numpy@2.4", "pkg:pypi/rich@15"]
    needs = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    assert needs == {"numpy": [], "rich": [], "tilewright": ["numpy", "rich"]}
    assert bill == sbom(tmp_path / "w", "1.0", LISTING)  # nothing in it depends on when it is made


def test_sizes_are_listed_from_the_largest() -> None:
    assert [line.split()[0] for line in size_lines(LISTING)] == ["installed:", "numpy", "rich", "tilewright"]


def test_what_is_installed_without_llvm_is_what_the_package_needs_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {text.split(">")[0] for text in project["dependencies"]}
    assert needed - {"llvmlite"} == {text.split(">")[0] for text in WITHOUT_LLVM}
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    assert f"python3 -m pip install {' '.join(WITHOUT_LLVM)}" in page
    assert all(f"tilewright[{name}]" in page for name in project["optional-dependencies"] if name != "dev")
