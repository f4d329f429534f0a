"""Tensor access patterns: which elements a DMA visits, and in which order; with pictures."""

from tilewright.iron.helpers.taplib.tap import TensorAccessPattern
from tilewright.iron.helpers.taplib.tas import RuntimeAccessSequence, TensorAccessSequence
from tilewright.iron.helpers.taplib.tensortiler2d import TensorTiler2D

__all__ = ["RuntimeAccessSequence", "TensorAccessPattern", "TensorAccessSequence", "TensorTiler2D"]
