"""Kernels without a GPU: modules of kernels come in, changed memory comes out, or which wave waits for which.

`plan` makes a flat program of a kernel, `order` finds out how lanes can run together, `write` makes Python code on
NumPy arrays of it, and `launch` gives groups of waves their turns.
"""

from tilewright.gpu.emulator.device import EmulatorDevice, open_device, prepare

__all__ = ["EmulatorDevice", "open_device", "prepare"]
