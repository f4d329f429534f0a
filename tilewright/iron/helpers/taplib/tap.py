"""One pass over a tensor: an offset, sizes and strides, as a DMA takes them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from copy import copy
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.iron.helpers.taplib.checks import (
    Number,
    check_dimensions,
    check_drawable,
    check_offset,
    clean_transformation,
    is_known,
)

Accesses = npt.NDArray[np.int32]
NOT_ACCESSED = -1


class TensorAccessPattern:
    """Which elements of a tensor are visited, and in which order: the last dimension changes fastest.

    Sizes, strides and the offset count elements. They may be values that only the running sequence knows; then the
    pattern describes a transfer, and the methods that visit elements raise `ValueError`.
    """

    def __init__(self, tensor_dims: Sequence[int], offset: Number, sizes: Sequence[Number], strides: Sequence[Number]):
        self._tensor_dims = check_dimensions(tensor_dims)
        self._offset = check_offset(offset, tensor_dims)
        self._sizes, self._strides = clean_transformation(sizes, strides)

    @property
    def tensor_dims(self) -> Sequence[int]:
        return copy(self._tensor_dims)

    @property
    def offset(self) -> Number:
        return self._offset

    @property
    def sizes(self) -> Sequence[Number]:
        return copy(self._sizes)

    @property
    def strides(self) -> Sequence[Number]:
        return copy(self._strides)

    @property
    def transformation_dims(self) -> Sequence[tuple[Number, Number]]:
        """A (size, stride) pair for each dimension."""
        return list(zip(self._sizes, self._strides, strict=True))

    def accesses(self) -> tuple[Accesses, Accesses]:
        """`access_order` and `access_count`."""
        return self.access_order(), self.access_count()

    def access_order(self) -> Accesses:
        """For each element the number of its last access, -1 where there is none."""
        indices = self._indices()
        order = np.full(prod(self._tensor_dims), NOT_ACCESSED, np.int32)
        # of several assignments to an element NumPy keeps the last
        order[indices] = np.arange(indices.size, dtype=np.int32)
        return order.reshape(self._tensor_dims)

    def access_count(self) -> Accesses:
        """For each element how often it is accessed."""
        count = np.bincount(self._indices(), minlength=prod(self._tensor_dims))
        return count.astype(np.int32).reshape(self._tensor_dims)

    def access_generator(self) -> Generator[int, None, None]:
        """The indices into the flat tensor, in order."""
        yield from self._indices().tolist()

    def _indices(self) -> npt.NDArray[np.int64]:
        """An access that leaves the tensor at its end comes in again at its start."""
        numbers = [*self._tensor_dims, self._offset, *self._sizes, *self._strides]
        if not all(is_known(number) for number in numbers):
            raise ValueError(f"{self} has sizes, strides or an offset that are known only at run time")
        indices = np.full(1, self._offset, np.int64)
        for size, stride in self.transformation_dims:
            indices = (indices[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
        return indices % prod(self._tensor_dims)

    def compare_access_orders(self, other: TensorAccessPattern) -> bool:
        """Whether both visit the same elements in the same order, however their sizes and strides are written."""
        if not isinstance(other, TensorAccessPattern):
            raise ValueError("Can only compare access order against another TensorAccessPattern")
        return np.array_equal(self._indices(), other._indices())

    def visualize(
        self,
        show_arrows: bool | None = None,
        title: str | None = None,
        file_path: str | None = None,
        show_plot: bool = True,
        plot_access_count: bool = False,
    ) -> None:
        """Draw the pattern, with arrows from each element to the next one unless there are too many.

        The picture is written to `file_path` (`.svg`, `.html` or `.png`), and shown where this is a notebook.
        """
        from tilewright.iron.helpers.taplib.visualization2d import visualize_from_accesses

        check_drawable(self._tensor_dims)
        count = self.access_count() if plot_access_count else None
        name = str(self) if title is None else title
        visualize_from_accesses(self.access_order(), count, name, show_arrows, file_path, show_plot)

    def __str__(self) -> str:
        return (
            f"TensorAccessPattern({self._tensor_dims} offset={self._offset}, "
            f"sizes={self._sizes}, strides={self._strides})"
        )

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorAccessPattern) and self._parts() == other._parts()

    # sizes may be values of a program, whose `==` builds an operation
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self._tensor_dims), self._offset, tuple(self._sizes), tuple(self._strides)
