"""Whole designs from a function and the types of its tensors."""

from tilewright.iron.algorithms.conv_pipeline import (
    row_at_a_time,
    row_at_a_time_tiled,
    row_at_a_time_with_skip,
    sliding_3row,
)
from tilewright.iron.algorithms.elementwise import (
    transform,
    transform_binary,
    transform_parallel,
    transform_parallel_binary,
)
from tilewright.iron.algorithms.for_each import for_each
from tilewright.iron.algorithms.reduce import reduce

__all__ = [
    "for_each",
    "reduce",
    "row_at_a_time",
    "row_at_a_time_tiled",
    "row_at_a_time_with_skip",
    "sliding_3row",
    "transform",
    "transform_binary",
    "transform_parallel",
    "transform_parallel_binary",
]
