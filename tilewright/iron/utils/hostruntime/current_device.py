"""The device that programs are for: chosen once, asked for everywhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.iron.device.device import Device

DEVICE_VARIABLE = "TILEWRIGHT_DEVICE"
DEFAULT_DEVICE = "npu2"
_chosen: Device | None = None  # for all threads


def set_current_device(device: Device | None) -> None:
    """Choose a device; None takes the choice back."""
    global _chosen
    _chosen = device


def get_current_device(*, probe_runtime: bool = True) -> Device | None:
    """The device that was chosen, else the simulated one: npu2 with all columns, or what TILEWRIGHT_DEVICE names.

    With `probe_runtime=False` it is None where nobody has chosen.
    """
    return _chosen if _chosen is not None or not probe_runtime else simulated_device()


def ensure_current_device(*, probe_runtime: bool = True) -> Device | None:
    """Make the device that `get_current_device(probe_runtime=...)` gives the chosen one."""
    device = get_current_device(probe_runtime=probe_runtime)
    if device is not None:
        set_current_device(device)
    return device


def simulated_device() -> Device:
    """The device that there always is."""
    # devices are part of programs, which ask for the current one
    from tilewright.iron.device import from_name

    return from_name(os.environ.get(DEVICE_VARIABLE, DEFAULT_DEVICE), n_cols=None)
