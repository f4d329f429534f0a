"""Which dimensions of its source a subview of lower rank keeps."""

from __future__ import annotations

from collections.abc import Sequence


def kept_dimensions(
    sizes: Sequence[int], strides: Sequence[int | None], shape: Sequence[int], wanted: Sequence[int | None]
) -> list[int] | None:
    """Their numbers, if what is left out has one element and the rest has this shape and these strides.

    Strides that are None are not known, and agree with all others.
    """

    def match(dimension: int, number: int) -> list[int] | None:
        if dimension == len(sizes):
            return [] if number == len(shape) else None
        if number < len(shape) and sizes[dimension] == shape[number] and _agree(strides[dimension], wanted[number]):
            rest = match(dimension + 1, number + 1)
            if rest is not None:
                return [dimension, *rest]
        return match(dimension + 1, number) if sizes[dimension] == 1 else None

    return match(0, 0)


def _agree(stride: int | None, wanted: int | None) -> bool:
    return stride is None or wanted is None or stride == wanted
