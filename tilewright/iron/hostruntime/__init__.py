"""Designs that can be called; see `tilewright.iron.utils`."""

from tilewright.iron.utils.callabledesign import CallableDesign
from tilewright.iron.utils.jit import jit

__all__ = ["CallableDesign", "jit"]
