"""Checks of patterns by upstream's names."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.iron.helpers.taplib.checks import (
    check_dimensions,
    check_lengths,
    check_offset,
    check_sizes,
    check_strides,
    clean_transformation,
)


def validate_and_clean_sizes_strides(
    sizes: Sequence[int] | None,
    strides: Sequence[int] | None,
    allow_none: bool = False,
    expected_dims: int | None = None,
) -> tuple[Sequence[int] | None, Sequence[int] | None]:
    """Sizes and strides that fit together, with stride 0 for outer dimensions that are passed once.

    With `allow_none` one or both may be missing, and only what is there is checked.
    """
    _check_expected(expected_dims)
    if not allow_none or (sizes is not None and strides is not None):
        if expected_dims is not None:
            for name, given in (("sizes", sizes), ("strides", strides)):
                if given is not None and len(given) != expected_dims:
                    raise ValueError(
                        f"Num dimensions of {name} ({given}) is not expected number of dimensions ({expected_dims})"
                    )
        return clean_transformation(sizes, strides)
    check_sizes(sizes)
    check_strides(strides)
    check_lengths(sizes or (), strides or ())
    return sizes, strides


def validate_tensor_dims(tensor_dims: Sequence[int], expected_dims: int | None = None) -> Sequence[int]:
    """The dimensions of a tensor, one of a single dimension as a row."""
    _check_expected(expected_dims)
    return check_dimensions(tensor_dims, expected_dims)


def validate_offset(offset: int, tensor_dims: Sequence[int] | None) -> int:
    """An offset inside the tensor; without its dimensions, one that is not negative."""
    return check_offset(offset, tensor_dims or (offset + 1,))


def _check_expected(dimensions: int | None) -> None:
    if dimensions is not None and dimensions < 1:
        raise ValueError(f"Expected dimensions ({dimensions}) should be >= 1")


__all__ = ["validate_and_clean_sizes_strides", "validate_offset", "validate_tensor_dims"]
