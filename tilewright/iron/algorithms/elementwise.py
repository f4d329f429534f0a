"""Functions applied to every element, or to every tile, of tensors: the designs behind `transform` and `for_each`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import array_dtype, array_shape, is_array_type
from tilewright.iron.controlflow import range_
from tilewright.iron.dataflow.objectfifo import ObjectFifo
from tilewright.iron.device.device import Device
from tilewright.iron.kernel import BaseKernel
from tilewright.iron.program import Program
from tilewright.iron.runtime.runtime import Runtime
from tilewright.iron.worker import Worker

SHIM_CHANNELS = 2  # of a shim tile's DMA, each way


def chosen_device(who: str) -> Device:
    """The device that designs are for now."""
    from tilewright.iron.utils import get_current_device

    device = get_current_device()
    if device is None:
        refuse(f"{who} needs a device", (None, "choose one with iron.set_current_device"))
    return device


def array_type(given: Any, who: str) -> tuple[int, Any]:
    """How many elements, of which NumPy type: of an array type, or of an array."""
    if is_array_type(given):
        return prod(array_shape(given)), array_dtype(given)
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        return prod(given.shape), np.dtype(given.dtype).type
    refuse(f"{who} takes an array type such as np.ndarray[(1024,), np.dtype[np.int32]], not {given!r}")


def vector(size: int, dtype: Any) -> Any:
    """The type of a one-dimensional array."""
    return np.ndarray[(size,), np.dtype[dtype]]


@dataclass
class Elementwise:
    """A design that takes tensors tile by tile: each lane, one worker with its own fifos, has an equal part of them.

    The sequence's arguments are the inputs, the output and the parameters that are arrays; `in_place` makes the first
    input the output.
    """

    who: str
    func: Any
    inputs: int
    tensor: Any
    tile_size: int
    params: Sequence[Any] = ()
    lanes: Sequence[str] = ("",)
    pass_size: bool = True
    in_place: bool = False
    trace_size: int = 0
    _tables: dict[int, ObjectFifo] = field(default_factory=dict[int, ObjectFifo])
    """Parameters that are arrays: each goes to all lanes, once per run."""

    def __post_init__(self) -> None:
        self.elements, self.dtype = array_type(self.tensor, self.who)
        share = self.tile_size * len(self.lanes)
        if self.elements % share:
            refuse(
                f"the number of elements must be a multiple of tile size: {self.elements} elements are no multiple of "
                f"{share}, tiles of {self.tile_size} elements on {len(self.lanes)} lanes",
                (None, "choose a tile_size that divides them, or pad the tensor"),
            )
        if isinstance(self.func, BaseKernel) and self.func.tile_size() != self.tile_size:
            refuse(
                f"tile_size {self.tile_size} does not match '{self.func.name}', which works on "
                f"{self.func.tile_size()} elements",
                (self.func.where, "both have to be the same"),
            )
        self._tile = vector(self.tile_size, self.dtype)

    def program(self, device: Device) -> Program:
        for number, param in enumerate(self.params):
            if not self._is_number(number):
                size, dtype = array_type(param, self.who)
                self._tables[number] = ObjectFifo(vector(size, dtype), name=f"param{number}")
        sources = [[ObjectFifo(self._tile, name=f"in{n}{lane}") for n in range(self.inputs)] for lane in self.lanes]
        targets = [ObjectFifo(self._tile, name=f"out{lane}") for lane in self.lanes]
        workers = [self._worker(ins, out) for ins, out in zip(sources, targets, strict=True)]
        program = Program(device, self._runtime(sources, targets), workers)
        program.enable_trace(self.trace_size)  # a size of 0 is none
        return program

    def _is_number(self, param: int) -> bool:
        """Whether a kernel takes this parameter as a number."""
        position = self.inputs + 1 + param
        types = self.func.arg_types() if isinstance(self.func, BaseKernel) else []
        return position >= len(types) or not is_array_type(types[position])

    def _worker(self, sources: Sequence[ObjectFifo], target: ObjectFifo) -> Worker:
        tables = [fifo.cons() for fifo in self._tables.values()]
        args = [[fifo.cons() for fifo in sources], target.prod(), tables, self.func]
        return Worker(self._core, args, trace=1 if self.trace_size else None)

    def _core(self, sources: Sequence[Any], target: Any, tables: Sequence[Any], func: Any) -> None:
        held = dict(zip(self._tables, [table.acquire(1) for table in tables], strict=True))
        extra = [held.get(number, param) for number, param in enumerate(self.params)]
        for _ in range_(self.elements // (self.tile_size * len(self.lanes))):
            ins, out = [source.acquire(1) for source in sources], target.acquire(1)
            self._apply(func, ins, out, extra)
            for end in (*sources, target):
                end.release(1)
        for table in tables:
            table.release(1)

    def _apply(self, func: Callable[..., Any], ins: Sequence[Any], out: Any, extra: Sequence[Any]) -> None:
        """A kernel takes a tile at a time, any other function an element."""
        if isinstance(func, BaseKernel):
            func(*ins, out, *extra, *([self.tile_size] if self.pass_size else []))
            return
        for i in range_(self.tile_size):
            out[i] = func(*(tile[i] for tile in ins))

    def _runtime(self, sources: Sequence[Sequence[ObjectFifo]], targets: Sequence[ObjectFifo]) -> Runtime:
        tensors = [vector(self.elements, self.dtype)] * (self.inputs if self.in_place else self.inputs + 1)
        tables = [fifo.obj_type for fifo in self._tables.values()]
        ends = [[[fifo.prod() for fifo in lane] for lane in sources], [fifo.cons() for fifo in targets]]
        return Runtime(self._sequence, [*tensors, *tables, *ends, [fifo.prod() for fifo in self._tables.values()]])

    def _sequence(self, *args: Any) -> None:
        *data, sources, targets, tables = args
        arrays, values = data[: len(data) - len(tables)], data[len(data) - len(tables) :]
        share = self.elements // len(self.lanes)
        for number, lane in enumerate(sources):
            # the last array is the output, which nothing is filled from
            for end, array in zip(lane, arrays, strict=False):
                end.fill(array, offset=number * share, transfer_len=share)
        # before any wait: cores take their tables first
        for end, value in zip(tables, values, strict=True):
            end.fill(value)
        for number, end in enumerate(targets):
            end.drain(arrays[-1], offset=number * share, transfer_len=share, wait=True)


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
    lanes = _lanes("transform_parallel", num_channels)
    options: dict[str, Any] = {"lanes": lanes, "trace_size": trace_size, "pass_size": pass_size_to_kernel}
    return _design("transform_parallel", func, 1, tensor_ty, params, tile_size, **options)


def transform_parallel_binary(
    func: Any,
    tensor_ty: Any,
    tile_size: int = 16,
    trace_size: int = 0,
    num_channels: int = 1,
    pass_size_to_kernel: bool = True,
) -> Any:
    """`transform_parallel` for functions of two tensors."""
    lanes = _lanes("transform_parallel_binary", num_channels)
    options: dict[str, Any] = {"lanes": lanes, "trace_size": trace_size, "pass_size": pass_size_to_kernel}
    return _design("transform_parallel_binary", func, 2, tensor_ty, (), tile_size, **options)


def _design(who: str, func: Any, inputs: int, tensor: Any, params: Any, tile_size: int, **options: Any) -> Any:
    device = chosen_device(f"iron.algorithms.{who}")
    return Elementwise(who, func, inputs, tensor, tile_size, params, **options).program(device).resolve_program()


def _lanes(who: str, channels: int) -> list[str]:
    """What the names of fifos end with: a lane for each channel of each column."""
    if not 1 <= channels <= SHIM_CHANNELS:
        refuse(f"num_channels must be 1 or 2, the channels that a shim tile has each way; got {channels}")
    columns = range(chosen_device(f"iron.algorithms.{who}").cols)
    if channels == 1:
        return [f"_{column}" for column in columns]
    return [f"_{column}_{channel}" for column in columns for channel in range(channels)]
