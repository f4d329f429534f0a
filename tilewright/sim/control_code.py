"""Streams that were made elsewhere: their buffers get places in host memory, and their words the addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, NameLoc, StringAttr

from tilewright.sim.runs import HostArrays, LocatedStream, Runner
from tilewright.txn.codec import as_words
from tilewright.txn.containers import ControlCode, FileBuffer, patched, read_container
from tilewright.txn.stream import TxnError

Array = npt.NDArray[Any]
OPERATION = "operation "


def as_control_code(given: ControlCode | bytes | npt.ArrayLike) -> ControlCode:
    """A stream from whatever it was given as: the contents of a file, or words."""
    if isinstance(given, ControlCode):
        return given
    if isinstance(given, bytes | bytearray):
        return read_container(bytes(given)).code()
    return ControlCode("", as_words(given).astype("<u4").tobytes())


def bind_stream(runner: Runner, code: ControlCode, arguments: HostArrays) -> LocatedStream:
    """Put arguments, and buffers that come with the stream, into host memory; the program, with their addresses."""
    used = {patch.buffer: patch.argument for patch in code.patches}
    own = {name: buffer for name, buffer in code.buffers.items() if name in used}
    # Below 0, where no argument can be.
    numbers = {name: -1 - place for place, name in enumerate(own)}
    contents = {number: (name, np.zeros(len(own[name].data), dtype=np.uint8)) for name, number in numbers.items()}
    # Twice: places first, since buffers of the file have each other's addresses in them.
    placed = runner.bind({**arguments, **contents})
    addresses = {name: placed[number] for name, number in numbers.items()}
    for name, number in used.items():
        if name not in addresses:
            addresses[name] = _address(name, number, placed)
    for name, number in numbers.items():
        contents[number][1][:] = _filled(own[name], addresses)
    stream = code.decode(addresses)
    return LocatedStream(stream, OperationLocations(len(stream.operations)), is_patched=bool(code.patches))


def _address(name: str, number: int | None, placed: Mapping[int, int]) -> int:
    if number is None or number not in placed:
        known = ", ".join(str(number) for number in placed if number >= 0) or "none"
        what = f"argument {number}" if number is not None else f"a buffer {name!r}, which the file does not have"
        raise TxnError(None, f"the stream needs {what}; the arguments that are arrays: {known}")
    return placed[number]


def _filled(buffer: FileBuffer, addresses: Mapping[str, int]) -> Array:
    unknown = {patch.buffer for patch in buffer.patches} - set(addresses)
    data = patched(buffer.data, [patch for patch in buffer.patches if patch.buffer not in unknown], addresses)
    return np.frombuffer(data, dtype=np.uint8)


class OperationLocations(Sequence[LocationAttr]):
    """What stands for places in the source where there is only a stream: numbers of its operations."""

    def __init__(self, count: int):
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> LocationAttr: ...
    @overload
    def __getitem__(self, index: slice) -> list[LocationAttr]: ...
    def __getitem__(self, index: int | slice) -> LocationAttr | list[LocationAttr]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._count))]
        found = object.__new__(NameLoc)  # there is one for each operation that is carried out
        vars(found).update(desc=StringAttr(f"{OPERATION}{range(self._count)[index]}"), location=UNKNOWN_LOC)
        return found


def operation_number(location: LocationAttr) -> int | None:
    """The operation that such a location is about."""
    if not isinstance(location, NameLoc) or not location.desc.data.startswith(OPERATION):
        return None
    return int(location.desc.data.removeprefix(OPERATION))
