"""The pictures of docs/air.md are those that its script draws. `make docs` brings them up to date."""

from __future__ import annotations

from runpy import run_path
from xml.etree import ElementTree

from helpers import DOCS


def test_pictures_are_current():
    pictures = run_path(str(DOCS / "air_pictures.py"))["PICTURES"]
    for name, draw in pictures.items():
        text = (DOCS / "images" / name).read_text(encoding="utf-8")
        assert draw() == text, f"{name} is old: make docs"
        assert ElementTree.fromstring(text).get("aria-label")
