"""What is done with sums of products before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import value_type
from tilewright.air.vectors import Vector, vector


@dataclass(frozen=True)
class Finish:
    """What is done with a sum: `function(scale * sum + bias)`, stored in `c`; what is None is left out."""

    c: Array
    bias: Array | None
    scale: Any
    function: Callable[[Any], Any] | None

    @property
    def of_scaled(self) -> Finish:
        """What is still done with sums that are scaled."""
        return replace(self, scale=None)

    def scaled(self, total: Any) -> Any:
        """A sum, or several."""
        return total if self.scale is None else total * self.scale

    def value(self, total: Any, column: Any) -> Any:
        """Of one element, as C has it."""
        value, type = self._computed(total, column), value_type(self.c.dtype)
        return value if value.type == type else value.astype(type)

    def values(self, totals: Sequence[Any], columns: Sequence[Any]) -> Vector:
        """Of neighbours, as C has them: rounded together, which tensor cores' GPUs do at once."""
        computed = [self._computed(total, column) for total, column in zip(totals, columns, strict=True)]
        return vector(computed).astype(self.c.dtype)

    def _computed(self, total: Any, column: Any) -> Any:
        value = self.scaled(total)
        if self.bias is not None:
            value = value + self.bias[column]
        return value if self.function is None else self.function(value)
