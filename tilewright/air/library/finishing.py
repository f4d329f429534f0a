"""What is done with sums of products before they are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import value_type


@dataclass(frozen=True)
class Finish:
    """What is done with a sum: `function(scale * sum + bias)`, stored in `c`; nothing if there is no scale."""

    c: Array
    bias: Array | None
    scale: Any
    function: Callable[[Any], Any] | None

    def value(self, total: Any, column: Any) -> Any:
        """Of one element, as C has it."""
        if self.scale is None:
            return total
        value = total * self.scale
        if self.bias is not None:
            value = value + self.bias[column]
        return (value if self.function is None else self.function(value)).astype(value_type(self.c.dtype))
