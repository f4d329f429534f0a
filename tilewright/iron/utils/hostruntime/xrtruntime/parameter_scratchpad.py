"""Parameters that a host program passes to cores and to addresses of transfers by the firmware's scratchpad."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.errors import ArgumentError

_SHIFTS = {"core": 2, "addr": 0}
"""The firmware clears the low bits of what goes to a core, so that the host shifts it and the core shifts it back."""


@dataclass(frozen=True)
class _Entry:
    index: int
    shift: int


class ParameterScratchpad:
    """The parameters of a run, by the names in the file that `aiecc --get-scratchpad-parameters` writes."""

    def __init__(self, run: Any, params_path: str | Path):
        self._entries = _entries(Path(params_path))
        self._buffer = run.get_ctrl_scratchpad_bo()
        self._words: npt.NDArray[np.uint32] = np.frombuffer(self._buffer.map(), np.uint32)
        needed = 1 + max((entry.index for entry in self._entries.values()), default=-1)
        if len(self._words) < needed:
            raise ArgumentError(f"{params_path} has {needed} entries, the scratchpad of the run {len(self._words)}")
        self._words[:needed] = 0

    def write(self, name: str, value: Any) -> None:
        """Set a parameter to a number of at most 32 bits; it reaches the device with `sync`."""
        entry = self._entry(name)
        self._words[entry.index] = (int.from_bytes(_bytes(value), "little") << entry.shift) & 0xFFFFFFFF

    def read(self, name: str) -> int:
        """The word that the scratchpad has for a parameter."""
        return int(self._words[self._entry(name).index])

    def sync(self) -> None:
        """Let the device see what was written."""
        from pyxrt import xclBOSyncDirection  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

        self._buffer.sync(xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise ArgumentError(f"there is no parameter {name!r}; there are {', '.join(self._entries) or 'none'}")
        return self._entries[name]


def _entries(path: Path) -> dict[str, _Entry]:
    """The lines `NAME INDEX TYPE KIND` of a file, behind their number."""
    count, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    rows = [line.split() for line in lines if line.strip()]
    found = dict[str, _Entry]()
    for number, row in enumerate(rows, start=2):
        if len(row) != 4 or not row[1].isdecimal() or row[3] not in _SHIFTS or row[0] in found:
            raise ArgumentError(f"{path}:{number}:1: error: expected the name of a parameter, its entry, type and kind")
        found[row[0]] = _Entry(int(row[1]), _SHIFTS[row[3]])
    if count.strip() != str(len(rows)):
        raise ArgumentError(f"{path}:1:1: error: expected {len(rows)}, the number of parameters, not {count!r}")
    return found


def _bytes(value: Any) -> bytes:
    if isinstance(value, int):
        if not -(1 << 31) <= value < 1 << 32:
            raise ArgumentError(f"{value} does not fit into the 32 bits of a parameter")
        return (value & 0xFFFFFFFF).to_bytes(4, "little")
    data = (
        struct.pack("<f", value) if type(value) is float else value.tobytes() if isinstance(value, np.generic) else b""
    )
    if not 0 < len(data) <= 4:
        raise ArgumentError(f"{value!r} is no number of at most 32 bits")
    return data


__all__ = ["ParameterScratchpad"]
