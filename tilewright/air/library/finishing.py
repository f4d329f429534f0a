"""What is done with sums of products before they are stored, and sums that several blocks have parts of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import value_type
from tilewright.air.levels import cdiv, launch, sequential, yield_
from tilewright.air.trace import current
from tilewright.air.waves import lane, wave
from tilewright.iron.builders.control import if_
from tilewright.iron.builders.scalars import constant

WAVES = 4


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


def join(parts: Array, shares: Any, finish: Finish) -> None:
    """Add up what blocks that shared a depth have come to."""
    batch, m, n = finish.c.shape
    width = WAVES * current().lanes

    @launch((cdiv(n, width), m, batch), waves=WAVES)
    def _(x: Any, row: Any, number: Any) -> None:
        column = x * width + wave() * current().lanes + lane()
        with if_(column < n, hasElse=False):
            total: Any = None
            for share, sums, total in sequential(0, shares, iter_args=[constant(0.0)]):  # noqa: B007
                yield_([sums + parts[share * batch + number, row, column]])
            finish.c[number, row, column] = finish.value(total, column)
