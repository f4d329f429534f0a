"""Dialects with Python operators on their values."""

from tilewright.iron.dialects import func, memref, scf
from tilewright.iron.extras.dialects import arith

__all__ = ["arith", "func", "memref", "scf"]
