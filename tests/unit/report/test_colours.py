"""Everything on the page can be read, in light and in dark: WCAG 2.2, success criterion 1.4.3, asks for 4.5 to 1."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tilewright.report.phases import LOOKS

STYLE = (files("tilewright.report") / "template" / "colours.css").read_text()
COLOURS = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", STYLE)
LIGHT, DARK = ({name: both[number] for name, *both in COLOURS} for number in (0, 1))
WITHOUT_TEXT = {"idle", "prepare"}
"""Phases whose bars have the text of the page on them, or none."""
PAIRS = [
    *((text, ground) for text in ("ink", "quiet", "accent") for ground in ("paper", "ground")),
    *(("ink", ground) for ground in ("groove", "mark", "core-box", "mem-box", "shim-box", "prepare")),
    *((state, "paper") for state in ("good", "bad")),
    *(("paper", look.colour) for look in LOOKS.values() if look.colour not in WITHOUT_TEXT),
]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("text, ground", PAIRS)
def test_text_stands_out(scheme: dict[str, str], text: str, ground: str) -> None:
    assert contrast(scheme[text], scheme[ground]) >= 4.5


def test_every_phase_has_its_own_colour_in_both() -> None:
    names = [look.colour for look in LOOKS.values()]
    for scheme in (LIGHT, DARK):
        assert len({scheme[name] for name in names}) == len(names)
