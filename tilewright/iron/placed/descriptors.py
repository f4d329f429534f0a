"""Buffer descriptors: access patterns and lengths, written out or a tensor access pattern; numbers or values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_integer
from tilewright.iron.builders.types import as_list, is_integer

DESCRIPTOR_DIMENSIONS = 3  # the dimension beyond them repeats the transfer


class DMABDOp(OpView):
    """A buffer descriptor."""

    OP = DmaBdOp


def split_mixed(values: Sequence[Any]) -> tuple[list[SSAValue], Attribute]:
    """Numbers and values apart: the values as i64 operands, and an array of the numbers with marks where they go."""
    operands = list[SSAValue]()
    numbers = list[int]()
    for value in values:
        if is_integer(value):
            numbers.append(int(value))
        else:
            numbers.append(DYNAMIC_INDEX)
            operands.append(as_integer(value, i64))
    return operands, DenseArrayBase.from_list(i64, numbers)


def _split_scalar(value: Any) -> tuple[SSAValue | None, int | None]:
    """An operand or an attribute."""
    if value is None or is_integer(value):
        return None, None if value is None else int(value)
    return as_integer(value, i32), None


def dma_bd(
    buffer: Any,
    sizes: Sequence[Any] | None = None,
    strides: Sequence[Any] | None = None,
    offset: Any = None,
    transfer_len: Any = None,
    **kwargs: Any,
) -> DMABDOp:
    """A buffer descriptor; outermost dimension first, all in elements.

    Every number may be a value of the program. More settings: `burst_length`, `packet=(type, id)`, `pad_dimensions`,
    `iteration=(size, stride, current)`, `bd_id`, `next_bd_id`, `offset_parameter`.
    """
    operands: dict[str, Any] = {}
    for name, values in (("sizes", sizes), ("strides", strides)):
        if numbers := as_list([] if values is None else values, name):
            operands[name], operands[f"static_{name}"] = split_mixed(numbers)
    for name, value in (("offset", offset), ("len", transfer_len)):
        operands[name], operands[f"static_{name}"] = _split_scalar(value)
    unknown = kwargs.keys() - DmaBdOp.get_irdl_definition().properties.keys() - {"loc", "ip"}
    if unknown:
        refuse(f"'aie.dma_bd' has no {', '.join(sorted(unknown))}")
    return DMABDOp(build(DmaBdOp, buffer=buffer, **operands, **kwargs))


@dataclass(frozen=True)
class TransferPattern:
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

    def converted(self) -> TransferPattern:
        """With values of the types that descriptors take."""
        sizes, strides = ([_as(i64, value) for value in values] for values in (self.sizes, self.strides))
        return TransferPattern(_as(i32, self.offset), sizes, strides)

    def padded(self, dimensions: int) -> TransferPattern:
        """With more outer dimensions, each gone through once."""
        missing = dimensions - len(self.sizes)
        return TransferPattern(self.offset, [1] * missing + self.sizes, [0] * missing + self.strides)


def _as(type: IntegerType, value: Any) -> Any:
    return value if is_integer(value) else ScalarValue(as_integer(value, type))


def tap_pattern(tap: Any) -> TransferPattern:
    """The pattern of a `TensorAccessPattern`."""
    if not all(hasattr(tap, name) for name in ("offset", "sizes", "strides")):
        refuse(f"expected a TensorAccessPattern as tap, not {tap!r}")
    return TransferPattern(int(tap.offset), [*tap.sizes], [*tap.strides])


def pattern_of(
    who: str, tap: Any, offset: Any, sizes: Sequence[Any] | None, strides: Sequence[Any] | None
) -> TransferPattern:
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
    return TransferPattern(0 if offset is None else offset, chosen_sizes, chosen_strides)
