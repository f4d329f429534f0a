"""Access patterns as transfers take them: written out, or a tensor access pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from xdsl.dialects.builtin import IntegerType, i32, i64

from tilewright.iron.builders.casts import as_integer
from tilewright.iron.builders.checks import as_list
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.python_values import is_integer
from tilewright.iron.builders.scalars import ScalarValue

DESCRIPTOR_DIMENSIONS = 3  # the dimension beyond them repeats the transfer


@dataclass(frozen=True)
class Pattern:
    """Offset, sizes and strides, outermost first; numbers or values of the program."""

    offset: Any
    sizes: list[Any]
    strides: list[Any]

    @property
    def length(self) -> Any:
        """How many elements one run of the descriptor moves."""
        inner = self.sizes[-DESCRIPTOR_DIMENSIONS:]
        numbers = [int(size) for size in inner if is_integer(size)]
        values = [ScalarValue(as_integer(size, i32)) for size in inner if not is_integer(size)]
        known = reduce(mul, numbers, 1)
        if not values:
            return known
        return reduce(mul, values) if known == 1 else reduce(mul, values) * known

    def converted(self) -> Pattern:
        """With values of the types that descriptors take."""
        sizes, strides = ([_as(i64, value) for value in values] for values in (self.sizes, self.strides))
        return Pattern(_as(i32, self.offset), sizes, strides)

    def padded(self, dimensions: int) -> Pattern:
        """With more outer dimensions, each gone through once."""
        missing = dimensions - len(self.sizes)
        return Pattern(self.offset, [1] * missing + self.sizes, [0] * missing + self.strides)


def _as(type: IntegerType, value: Any) -> Any:
    return value if is_integer(value) else ScalarValue(as_integer(value, type))


def tap_pattern(tap: Any) -> Pattern:
    """The pattern of a `TensorAccessPattern`."""
    if not all(hasattr(tap, name) for name in ("offset", "sizes", "strides")):
        refuse(f"expected a TensorAccessPattern as tap, not {tap!r}")
    return Pattern(int(tap.offset), [*tap.sizes], [*tap.strides])


def pattern_of(who: str, tap: Any, offset: Any, sizes: Sequence[Any] | None, strides: Sequence[Any] | None) -> Pattern:
    """The pattern that arguments describe: a tensor access pattern, or numbers with defaults for those left out."""
    if tap is not None:
        if not (offset is None and sizes is None and strides is None):
            refuse(
                f"{who} can take either a TensorAccessPattern OR (sizes and/or strides and/or offsets), but not both."
            )
        return tap_pattern(tap)
    chosen_sizes = [0] * 4 if sizes is None else as_list(sizes, "sizes")
    chosen_strides = [0] * (len(chosen_sizes) - 1) + [1] if strides is None else as_list(strides, "strides")
    if len(chosen_sizes) != len(chosen_strides):
        refuse(f"{who} got {len(chosen_sizes)} sizes and {len(chosen_strides)} strides")
    return Pattern(0 if offset is None else offset, chosen_sizes, chosen_strides)
