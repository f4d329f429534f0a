"""docs/reference.md has the docstrings of all public names as they are now."""

from __future__ import annotations

import runpy
from itertools import pairwise

from helpers import DOCS


def test_reference_is_up_to_date() -> None:
    written = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(DOCS / "reference.py"))["page"]() == written, "make docs"


def test_public_names_say_what_they_are() -> None:
    """A heading is followed by a sentence, never by the next heading."""
    lines = [line for line in (DOCS / "reference.md").read_text(encoding="utf-8").splitlines() if line]
    silent = [line for line, following in pairwise(lines) if line[:3] == following[:3] == "###"]
    assert not silent
