"""Buffer descriptors: sizes, strides, offset and length, each a number or a value of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.iron.builders.casts import as_integer
from tilewright.iron.builders.checks import as_list
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.python_values import is_integer


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
