"""What is done with sums of products before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import value_type
from tilewright.air.vectors import Vector, vector


@dataclass(frozen=True)
class Finish:
    """What is done with a sum: `function(scale * sum + bias)`, stored in `c`; nothing if there is no scale."""

    c: Array
    bias: Array | None
    scale: Any
    function: Callable[[Any], Any] | None

    def value(self, total: Any, column: Any) -> Any:
        """Of one element, as C has it."""
        return total if self.scale is None else self._computed(total, column).astype(value_type(self.c.dtype))

    def values(self, totals: Sequence[Any], columns: Sequence[Any]) -> Vector:
        """Of neighbours, as C has them: rounded together, which tensor cores' GPUs do at once."""
        computed = [self._computed(total, column) for total, column in zip(totals, columns, strict=True)]
        return vector(computed).astype(self.c.dtype)

    def _computed(self, total: Any, column: Any) -> Any:
        if self.scale is None:
            return total
        value = total * self.scale
        if self.bias is not None:
            value = value + self.bias[column]
        return value if self.function is None else self.function(value)
