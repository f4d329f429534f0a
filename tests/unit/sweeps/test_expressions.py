"""Expressions of sweeps say arithmetic and comparisons, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.errors import ArgumentError, UnknownNameError
from tilewright.sweeps.expressions import FieldExpression

VALUES = {"m": 6, "n": 4, "tile.k": 8, "kind": "i8", "time": 0.5}


@pytest.mark.parametrize(
    "text, value",
    [
        ("m * n + tile.k", 32),
        ("-time", -0.5),
        ("m // n", 1),
        ("m / n", 1.5),
        ("m % n == 2 and not n > m", True),
        ("1 < n <= m", True),
        ("1 < n < 4", False),
        ("kind in ('i8', 'i16')", True),
        ("kind not in ['bf16']", True),
        ("max(m, n) if kind == 'i8' else 0", 6),
        ("n > 4 or m", True),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert FieldExpression(text)(VALUES) == value


def test_names_are_known_before_there_are_values() -> None:
    assert FieldExpression("min(a, b.c) * 2 if d else 'text'").names == {"a", "b.c", "d"}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(1).__class__",
        "m ** 99",
        "[x for x in (1, 2)]",
        "open('x')",
        "lambda: 1",
        "m <",
        "f'{m}'",
        "m[0]",
        "max(m, key=abs)",
        "b'x'",
        "(" * 500,
    ],
)
def test_nothing_else_is_taken(text: str) -> None:
    with pytest.raises(ArgumentError):
        FieldExpression(text)


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownNameError, match="there is no 'tim', did you mean 'time'"):
        FieldExpression("tim + 1")(VALUES)


@pytest.mark.parametrize("text", ["m / 0", "kind * kind", "kind < 3"])
def test_what_cannot_be_computed_is_said(text: str) -> None:
    with pytest.raises(ArgumentError, match="cannot be computed"):
        FieldExpression(text)(VALUES)
