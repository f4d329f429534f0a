"""Designs that apply a function to tensors, on one core or on all columns."""

from __future__ import annotations

from typing import Any

from tilewright.iron.algorithms.elementwise import Elementwise, chosen_device
from tilewright.iron.builders.location import refuse

SHIM_CHANNELS = 2


def transform(func: Any, tensor_ty: Any, *params: Any, tile_size: int = 16, trace_size: int = 0) -> Any:
    """A design that computes `output = func(input)` on one core.

    `func` is a function of an element, or a kernel of `(input tile, output tile, *params, tile_size)`.
    """
    return _design("transform", func, 1, tensor_ty, params, tile_size, trace_size=trace_size)


def transform_binary(func: Any, tensor_ty: Any, tile_size: int = 16, trace_size: int = 0) -> Any:
    """`transform` for functions of two tensors."""
    return _design("transform_binary", func, 2, tensor_ty, (), tile_size, trace_size=trace_size)


def transform_parallel(
    func: Any,
    tensor_ty: Any,
    *params: Any,
    tile_size: int = 16,
    trace_size: int = 0,
    num_channels: int = 1,
    pass_size_to_kernel: bool = True,
) -> Any:
    """`transform` on all columns of the device, with one core per column, or two (`num_channels=2`).

    Without `pass_size_to_kernel`, a kernel gets no `tile_size`.
    """
    options = {"trace_size": trace_size, "pass_size": pass_size_to_kernel}
    return _parallel("transform_parallel", func, 1, tensor_ty, params, tile_size, num_channels, options)


def transform_parallel_binary(
    func: Any,
    tensor_ty: Any,
    tile_size: int = 16,
    trace_size: int = 0,
    num_channels: int = 1,
    pass_size_to_kernel: bool = True,
) -> Any:
    """`transform_parallel` for functions of two tensors."""
    options = {"trace_size": trace_size, "pass_size": pass_size_to_kernel}
    return _parallel("transform_parallel_binary", func, 2, tensor_ty, (), tile_size, num_channels, options)


def _design(who: str, func: Any, inputs: int, tensor: Any, params: Any, tile_size: int, **options: Any) -> Any:
    device = chosen_device(f"iron.algorithms.{who}")
    return Elementwise(who, func, inputs, tensor, tile_size, params, **options).program(device).resolve_program()


def _parallel(
    who: str, func: Any, inputs: int, tensor: Any, params: Any, tile_size: int, channels: int, options: dict[str, Any]
) -> Any:
    if not 1 <= channels <= SHIM_CHANNELS:
        refuse(f"num_channels must be 1 or 2, the channels that a shim tile has each way; got {channels}")
    columns = range(chosen_device(f"iron.algorithms.{who}").cols)
    each = [f"_{column}" for column in columns]
    both = [f"_{column}_{channel}" for column in columns for channel in range(channels)]
    return _design(who, func, inputs, tensor, params, tile_size, lanes=each if channels == 1 else both, **options)
