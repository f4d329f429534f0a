"""Calls of native kernels that native code makes itself: found by all that the program passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from tilewright.device.devices import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.sim.core_kernels import KernelCall
from tilewright.sim.fast.loop import find_call
from tilewright.sim.fast.machine import FastMachine
from tilewright.sim.fast.state import CALLS, NONE, FastState
from tilewright.sim.kernels import NativeCall, PreparedCall

STOP, PLACE = 3, 16
COLUMNS = "core", "stop", "call"


def told(machine: FastMachine, passed: list[int], function: int, is_native: bool = True) -> None:
    call = SimpleNamespace(passed=np.array(passed, np.int64).tobytes(), place=PLACE)
    native = NativeCall(function, 0, [(0, 8)], None) if is_native else None
    machine.tell_call(STOP, cast("KernelCall", call), PreparedCall(lambda: None, 10, native))


def found(machine: FastMachine, passed: list[int]) -> int | None:
    """The function that is called where the program passes these numbers."""
    context = np.array([0] * (PLACE // 8) + passed, np.int64)
    machine.state.core_context[0] = context.ctypes.data
    # as Python: its integers are addresses, those of NumPy are not
    numbers = {name: machine.state.array(name).tolist() for name in machine.state.columns() if name[:4] in COLUMNS}
    call = find_call(cast("FastState", SimpleNamespace(**numbers)), 0, STOP)
    return None if call == NONE else int(machine.state.call_function[call])


def test_a_call_is_found_by_all_that_is_passed() -> None:
    machine = FastMachine(DEVICES[DeviceName.npu1])
    machine.room_for_stops(STOP + 1)
    assert found(machine, [1, 2]) is None
    told(machine, [1, 2], 77)
    told(machine, [1, 3], 78)
    told(machine, [5, 5], 79, is_native=False)
    assert [found(machine, passed) for passed in ([1, 2], [1, 3], [2, 2], [5, 5])] == [77, 78, None, None]


def test_the_last_calls_of_a_stop_are_kept() -> None:
    machine = FastMachine(DEVICES[DeviceName.npu1])
    machine.room_for_stops(1000)  # more than there is room for at first
    for number in range(CALLS + 4):
        told(machine, [number], 100 + number)
    wanted = [None] * 4 + [100 + number for number in range(4, CALLS + 4)]
    assert [found(machine, [number]) for number in range(CALLS + 4)] == wanted
