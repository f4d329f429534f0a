"""Compiling designs: where they are kept, and what they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.native.object_cache import cache_folder

if TYPE_CHECKING:
    from tilewright.iron.device.device import Device

NPU_CACHE_HOME = cache_folder()
"""Where compiled designs are kept; TILEWRIGHT_CACHE names another place."""


def resolve_target_arch(device: Device | None) -> str:
    """`aie2` or `aie2p`, as the vendor's compilers call the generations."""
    if device is None:
        raise ValueError("no device is chosen: iron.set_current_device(...)")
    return device.arch.name.lower()


__all__ = ["NPU_CACHE_HOME", "resolve_target_arch"]
