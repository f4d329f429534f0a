"""Numbers that Python and native code share: named 64-bit numbers, and columns of them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, ClassVar, get_type_hints

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    Number = int
    Column = list[int]
    """What native code sees of an array; it does not check bounds."""
else:

    class Number:
        """One number."""

    class Column:
        """An array of numbers."""


NUMBER_BYTES = 8


class SharedState:
    """Subclasses list their numbers and columns as annotations, `name: Number` or `name: Column`.

    Native code gets the address of `header`: one slot for each name, with the number itself or the address of the
    column.
    """

    _fields: ClassVar[dict[str, tuple[int, bool]]]
    """By name: which slot, and whether it is a column."""

    def __init_subclass__(cls) -> None:
        found = get_type_hints(cls, {**globals(), "Number": Number, "Column": Column})
        hints = {name: kind for name, kind in found.items() if kind in (Number, Column)}
        cls._fields = {name: (slot, kind is Column) for slot, (name, kind) in enumerate(hints.items())}
        for name, (slot, is_column) in cls._fields.items():
            # Columns are attributes of the instances.
            if not is_column:
                setattr(cls, name, _NumberSlot(slot))

    def __init__(self, **sizes: int):
        """`sizes` has the length of each column."""
        header = np.zeros(len(self._fields), dtype=np.int64)
        self._header = header
        self.address = header.ctypes.data
        # The same memory twice: ctypes reads single numbers faster than NumPy.
        self.numbers = (ctypes.c_int64 * len(self._fields)).from_address(self.address)
        for name in self.columns():
            self.replace(name, np.zeros(max(sizes[name], 1), dtype=np.int64))

    def replace(self, name: str, column: npt.NDArray[np.int64]) -> None:
        """Give a column other memory."""
        slot, _ = self._fields[name]
        setattr(self, name, column)
        self._header[slot] = column.ctypes.data

    def close(self) -> None:
        """Give the memory of all columns back; native code must not use them any more."""
        for name in self.columns():
            self.replace(name, np.zeros(1, dtype=np.int64))

    def array(self, name: str) -> npt.NDArray[np.int64]:
        """A column as an array, for Python to work on as a whole."""
        return getattr(self, name)

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the columns."""
        return [name for name, (_, is_column) in cls._fields.items() if is_column]

    @classmethod
    def layout(cls) -> list[tuple[str, tuple[int, bool]]]:
        """All names with their slots."""
        return list(cls._fields.items())

    @classmethod
    def slot(cls, name: str) -> tuple[int, bool]:
        return cls._fields[name]


class _NumberSlot:
    """Lets Python read and write a number in the header."""

    def __init__(self, slot: int):
        self.slot = slot

    def __get__(self, instance: SharedState, owner: type) -> int:
        return instance.numbers[self.slot]

    def __set__(self, instance: SharedState, value: int) -> None:
        instance.numbers[self.slot] = value
