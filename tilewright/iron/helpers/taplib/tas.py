"""Several passes over a tensor, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from tilewright.iron.helpers.taplib.checks import (
    Number,
    check_dimensions,
    check_drawable,
    check_lengths,
    check_offset,
    check_sizes,
    check_strides,
    clean_transformation,
    is_known,
    larger,
    smaller,
)
from tilewright.iron.helpers.taplib.tap import NOT_ACCESSED, Accesses, TensorAccessPattern

if TYPE_CHECKING:
    from tilewright.iron.helpers.taplib.visualization2d import Animation

Step = Callable[[int, Any], Any]
"""From the number of a step, and what the step before it had, to what this step has."""


class TensorAccessSequence(MutableSequence[TensorAccessPattern]):
    """A list of patterns for one tensor.

    Each of offset, sizes and strides is either the same in all steps or comes from a function, which gets the number of
    the step and what the step before had; the first gets what was given here.
    """

    def __init__(
        self,
        tensor_dims: Sequence[int],
        num_steps: int,
        offset: Number | None = None,
        sizes: Sequence[Number] | None = None,
        strides: Sequence[Number] | None = None,
        offset_fn: Step | None = None,
        sizes_fn: Step | None = None,
        strides_fn: Step | None = None,
    ):
        self._tensor_dims = check_dimensions(tensor_dims)
        self._taps: list[TensorAccessPattern] = []
        if offset is not None:
            check_offset(offset, self._tensor_dims)
        sizes, strides = _checked(sizes, strides)
        if num_steps < 0:
            raise ValueError(f"Number of steps must be positive (but is {num_steps})")
        given = (offset, sizes, strides, offset_fn, sizes_fn, strides_fn)
        if num_steps == 0:
            if any(part is not None for part in given):
                raise ValueError("If num_steps=0, no sizes/strides/offset information may be specified")
            return
        steps = (
            _step_function(offset_fn, offset, "Offset must be provided if offset_fn is None"),
            _step_function(sizes_fn, sizes, "Sizes must be provided if size_fn is None"),
            _step_function(strides_fn, strides, "Strides must be provided if stride_fn is None"),
        )
        current: tuple[Any, ...] = (offset, sizes, strides)
        for number in range(num_steps):
            current = tuple(step(number, previous) for step, previous in zip(steps, current, strict=True))
            self._taps.append(TensorAccessPattern(self._tensor_dims, *current))

    @classmethod
    def from_taps(cls, taps: Sequence[TensorAccessPattern]) -> TensorAccessSequence:
        """The sequence of these patterns, which have to be of one tensor."""
        if len(taps) < 1:
            raise ValueError(
                "Received no TensorAccessPatterns; must have at least one TensorAccessPatterns "
                "to create a TensorAccessSequence."
            )
        dimensions = taps[0].tensor_dims
        for tap in taps:
            if list(tap.tensor_dims) != list(dimensions):
                raise ValueError(
                    f"TensorAccessPatterns have multiple tensor dimensions (found {dimensions} and {tap.tensor_dims})"
                )
        sequence = cls(dimensions, num_steps=0)  # the only way to have one without a rule for its steps
        sequence.extend(taps)
        return sequence

    @property
    def num_steps(self) -> int:
        """How many patterns there are, as `len` says; see `RuntimeAccessSequence`."""
        return len(self._taps)

    def accesses(self) -> tuple[Accesses, Accesses]:
        """`access_order` and `access_count`."""
        return self.access_order(), self.access_count()

    def access_order(self) -> Accesses:
        """The number of each element's access, counted through all patterns; -1 where there is none.

        Where several patterns have an element, their numbers add up.
        """
        total = np.zeros(self._tensor_dims, np.int32)
        for tap in self._taps:
            order = tap.access_order()
            # numbers go on where the pattern before ended
            total += np.where(order == NOT_ACCESSED, 0, order + 1 + total.max())
        return total - 1

    def access_count(self) -> Accesses:
        """How often each element is accessed by all patterns together."""
        return sum((tap.access_count() for tap in self._taps), np.zeros(self._tensor_dims, np.int32))

    def compare_access_orders(self, other: TensorAccessSequence) -> bool:
        """Whether each pattern visits the same elements in the same order as the other sequence's does."""
        pairs = zip(self._taps, other._taps, strict=False)
        return len(self) == len(other) and all(mine.compare_access_orders(its) for mine, its in pairs)

    def visualize(
        self,
        title: str | None = None,
        file_path: str | None = None,
        show_plot: bool = True,
        plot_access_count: bool = False,
    ) -> None:
        """Draw the whole sequence; see `TensorAccessPattern.visualize`."""
        from tilewright.iron.helpers.taplib.visualization2d import visualize_from_accesses

        check_drawable(self._tensor_dims)
        count = self.access_count() if plot_access_count else None
        name = "TensorAccessSequence" if title is None else title
        visualize_from_accesses(self.access_order(), count, name, False, file_path, show_plot)

    def animate(self, title: str | None = None, animate_access_count: bool = False) -> Animation:
        """A picture of each pattern in turn, beginning with an untouched tensor: for notebooks, or `save` it."""
        from tilewright.iron.helpers.taplib.visualization2d import animate_from_accesses

        check_drawable(self._tensor_dims)
        orders = [np.full(self._tensor_dims, NOT_ACCESSED, np.int32), *(tap.access_order() for tap in self._taps)]
        counts = [np.zeros(self._tensor_dims, np.int32), *(tap.access_count() for tap in self._taps)]
        name = "TensorAccessSequence Animation" if title is None else title
        return animate_from_accesses(orders, counts if animate_access_count else None, name)

    def __contains__(self, value: object) -> bool:
        return value in self._taps

    def __iter__(self) -> Iterator[TensorAccessPattern]:
        return iter(self._taps)

    def __len__(self) -> int:
        return len(self._taps)

    @overload
    def __getitem__(self, index: int) -> TensorAccessPattern: ...
    @overload
    def __getitem__(self, index: slice) -> list[TensorAccessPattern]: ...
    def __getitem__(self, index: int | slice) -> TensorAccessPattern | list[TensorAccessPattern]:
        return self._taps[index]

    @overload
    def __setitem__(self, index: int, value: TensorAccessPattern) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[TensorAccessPattern]) -> None: ...
    def __setitem__(self, index: int | slice, value: TensorAccessPattern | Iterable[TensorAccessPattern]) -> None:
        if isinstance(index, slice):
            self._taps[index] = [self._fitting(tap) for tap in cast("Iterable[TensorAccessPattern]", value)]
        else:
            self._taps[index] = copy(self._fitting(cast("TensorAccessPattern", value)))

    def __delitem__(self, index: int | slice) -> None:
        del self._taps[index]

    def insert(self, index: int, value: TensorAccessPattern) -> None:
        self._taps.insert(index, self._fitting(value))

    def _fitting(self, tap: TensorAccessPattern) -> TensorAccessPattern:
        if list(self._tensor_dims) != list(tap.tensor_dims):
            raise ValueError(
                f"Cannot add TensorAccessPattern with tensor dims {tap.tensor_dims} "
                f"to TensorAccessSequence with tensor dims {self._tensor_dims}"
            )
        return tap

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorAccessSequence) and self._taps == other._taps

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class RuntimeAccessSequence:
    """Patterns for one tensor, of which only the running sequence knows how many there are.

    `for tap in taps:` is a loop of the program, as that of `range_` is; `taps[i]` is a pattern by a number of the
    program or of Python, and `taps[1::2]` are some of them.
    """

    def __init__(
        self, tensor_dims: Sequence[Number], num_steps: Number, pattern: Callable[[Number], TensorAccessPattern]
    ):
        self._tensor_dims, self._num_steps, self._pattern = check_dimensions(tensor_dims), num_steps, pattern

    @property
    def tensor_dims(self) -> Sequence[Number]:
        return copy(self._tensor_dims)

    @property
    def num_steps(self) -> Number:
        """How many patterns there are: a number of the sequence."""
        return self._num_steps

    def __len__(self) -> int:
        from tilewright.iron.builders.location import refuse

        refuse(
            "how many patterns there are is known only when the sequence runs",
            (None, "`num_steps` is that number; `for tap in taps:` goes through all of them"),
        )

    def __iter__(self) -> Iterator[TensorAccessPattern]:
        from tilewright.iron.controlflow import range_

        for number in range_(self._num_steps):
            yield self._pattern(number)

    def __getitem__(self, index: Number) -> Any:
        """A pattern, or of a slice those that it has."""
        if isinstance(index, slice):
            return self._part(cast("slice[Number, Number, Number]", index))
        return self._pattern(self._place(index))

    def _place(self, index: Number) -> Number:
        return self._num_steps + index if is_known(index) and index < 0 else index

    def _part(self, part: slice[Number, Number, Number]) -> RuntimeAccessSequence:
        from tilewright.iron.builders.location import refuse

        start, stop, step = part.start, part.stop, part.step
        if is_known(step) and step < 1:
            refuse(f"patterns of a sequence are taken in order, not by steps of {step}")
        first, step = self._place(0 if start is None else start), 1 if step is None else step
        end = self._num_steps if stop is None else smaller(self._place(stop), self._num_steps)
        # as many whole steps as there are, and none where it begins behind the end
        count = (larger(end - first, 0) + step - 1) // step
        return RuntimeAccessSequence(self._tensor_dims, count, lambda number: self._pattern(first + number * step))


def _checked(
    sizes: Sequence[Number] | None, strides: Sequence[Number] | None
) -> tuple[Sequence[Number] | None, Sequence[Number] | None]:
    """Either may be missing here: a function may give it."""
    if sizes is not None and strides is not None:
        check_lengths(sizes, strides)
        return clean_transformation(sizes, strides)
    check_sizes(sizes)
    check_strides(strides)
    return sizes, strides


def _step_function(function: Step | None, constant: Any, complaint: str) -> Step:
    if function is not None:
        return function
    if constant is None:
        raise ValueError(complaint)
    return lambda _step, _previous: constant
