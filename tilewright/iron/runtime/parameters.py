"""Numbers that a runtime sequence hands to cores: runtime parameters and scratchpad parameters."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, i32

from tilewright.device.layout import WORD_BYTES
from tilewright.iron.buffer import Buffer
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.scalars import as_integer
from tilewright.iron.builders.types import is_float_type, is_integer, is_number, scalar_type
from tilewright.iron.runtime._context import active_sequence
from tilewright.iron.runtime.data import RuntimeFloat


def write_parameter(buffer: Buffer | str, index: Any, value: Any) -> None:
    """Write one element of a buffer in a core's tile; the value may be one of the program."""
    from tilewright.iron.dialects.aiex import npu_rtp_write

    sequence = active_sequence()
    if not isinstance(buffer, str):
        index = _flat_index(buffer, index)
        # a sequence may be written before workers have their buffers
        sequence.later(partial(_check_place, buffer, user_location()))
    name = buffer if isinstance(buffer, str) else buffer.name
    holds_floats = not isinstance(buffer, str) and is_float_type(scalar_type(buffer.dtype))
    npu_rtp_write(name, index, _word(value, name, holds_floats))


def _word(value: Any, name: str, holds_floats: bool) -> Any:
    """What a runtime parameter gets: a number, or a value of the program as an i32."""
    if isinstance(value, RuntimeFloat) and not holds_floats:
        refuse(f"'{name}' holds whole numbers, not the np.float32 that it is given", (None, "make both of one type"))
    if isinstance(value, RuntimeFloat):
        return value.ssa
    if not is_number(value):
        if holds_floats:
            remedy = "take an np.float32 among the arguments of the sequence, or make the parameter of np.int32"
            refuse(f"'{name}' holds floating-point numbers, but a sequence computes with whole ones", (None, remedy))
        return as_integer(value, i32)
    if holds_floats:
        return int(np.float32(value).view(np.int32))  # the word that has the number's bits
    if not is_integer(value):
        refuse(f"'{name}' holds whole numbers, not {value!r}", (None, "make it of np.float32"))
    return int(value)


def _check_place(buffer: Buffer, where: LocationAttr) -> None:
    """A parameter is in a tile's memory by the time that a sequence writes it."""
    if not buffer.is_resolved:
        remedy = "give it to a worker, or say Buffer(..., tile=...) and use it in a DMA program"
        refuse(f"Buffer '{buffer.name}' is not resolved: it is on no tile", (buffer.where, remedy), at=where)


def _flat_index(buffer: Buffer, index: Any) -> int:
    indices = cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)
    if np.dtype(buffer.dtype).itemsize != WORD_BYTES:
        remedy = "make it of np.int32 or np.float32, a core can narrow what it reads: `.astype(...)`"
        refuse(f"'{buffer.name}' holds runtime parameters, which are 4 bytes each", (buffer.where, remedy))
    if not all(isinstance(i, int | np.integer) for i in indices) or len(indices) != len(buffer.shape):
        refuse(f"'{buffer.name}' is written one element at a time, at constant indices, not at {index!r}")
    for i, size in zip(indices, buffer.shape, strict=True):
        if not 0 <= i < size:
            refuse(f"there is no element {index} in '{buffer.name}'", (buffer.where, f"its shape is {buffer.shape}"))
    return int(np.ravel_multi_index(indices, buffer.shape))


def sync_parameters() -> None:
    """Fetch the scratchpad parameters that the host has set."""
    from tilewright.iron.dialects.aiex import sync_scratchpad_parameters_from_host

    active_sequence()  # refuses where there is none
    sync_scratchpad_parameters_from_host()
