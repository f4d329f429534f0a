"""Folding and canonical forms of integer and float arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.rewrite.folding import arith_conversions, arith_floats, arith_integers, arith_selection
from tilewright.rewrite.folding.arith_patterns import PATTERNS
from tilewright.rewrite.folding.constant_folding import Folded

__all__ = ["FOLDERS", "PATTERNS"]

FOLDERS: dict[str, Callable[[Any], Folded]] = {
    **arith_integers.FOLDERS,
    **arith_floats.FOLDERS,
    **arith_conversions.FOLDERS,
    **arith_selection.FOLDERS,
}
