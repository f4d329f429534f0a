"""XRT's Python interface without hardware: the names of `pyxrt`, served by the simulated NPU.

`TILEWRIGHT_XRT=installed` in the environment forwards to the `pyxrt` that came with XRT, and so to real devices.
Under `tilewright exec` and after `import tilewright.as_aie` this is what `import pyxrt` gives.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from tilewright.xrt.buffers import aie_bo, bo, ext_bo
from tilewright.xrt.devices import (
    device,
    elf,
    enumerate_devices,
    hw_context,
    module,
    program,
    uuid,
    xclbin,
    xclbinip_vector,
    xclbinkernel_vector,
    xclbinmem_vector,
)
from tilewright.xrt.enums import XCL_BO_FLAGS_NONE, BufferAccess
from tilewright.xrt.enums import CommandState as ert_cmd_state
from tilewright.xrt.enums import DeviceInfo as xrt_info_device
from tilewright.xrt.enums import MessageLevel as xrt_msg_level
from tilewright.xrt.enums import SyncDirection as xclBOSyncDirection
from tilewright.xrt.kernels import CommandError, ext_kernel, graph, kernel, log_message, run, runlist
from tilewright.xrt.packages import XrtError

CHOICE = "TILEWRIGHT_XRT"
"""The variable of the environment that says whose XRT programs use."""
OURS, INSTALLED = "tilewright", "installed"

emergency, alert, critical, error = list(xrt_msg_level)[:4]
warning, notice, info, debug = list(xrt_msg_level)[4:]


class ext:
    """Buffers and kernels of the ELF flow."""

    access_mode = BufferAccess
    bo = ext_bo
    kernel = ext_kernel
    none, read, write, read_write = BufferAccess.none, BufferAccess.read, BufferAccess.write, BufferAccess.read_write
    local, shared, process, hybrid = BufferAccess.local, BufferAccess.shared, BufferAccess.process, BufferAccess.hybrid


class aie:
    """Buffers of AIE graphs."""

    bo = aie_bo


__all__ = [
    "XCL_BO_FLAGS_NONE",
    "CommandError",
    "XrtError",
    "aie",
    "alert",
    "bo",
    "critical",
    "debug",
    "device",
    "elf",
    "emergency",
    "enumerate_devices",
    "error",
    "ert_cmd_state",
    "ext",
    "graph",
    "hw_context",
    "info",
    "kernel",
    "log_message",
    "module",
    "notice",
    "program",
    "run",
    "runlist",
    "uuid",
    "warning",
    "xclBOSyncDirection",
    "xclbin",
    "xclbinip_vector",
    "xclbinkernel_vector",
    "xclbinmem_vector",
    "xrt_info_device",
    "xrt_msg_level",
]


def chosen() -> str:
    """Whose XRT the environment asks for."""
    found = os.environ.get(CHOICE) or OURS
    if found not in (OURS, INSTALLED):
        raise ImportError(f"{CHOICE} is '{found}': it can be {OURS} or {INSTALLED}")
    return found


def installed() -> ModuleType:
    """The module that comes with XRT; ImportError if there is none."""
    # not the one that leads here
    path = [folder for folder in sys.path if Path(folder) != Path(__file__).parent / "children" / "xrt"]
    spec = PathFinder.find_spec("pyxrt", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{CHOICE}={INSTALLED}, but XRT is not installed: there is no module 'pyxrt'")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if chosen() == INSTALLED:
    # what is imported from here on is XRT's own
    sys.modules[__name__] = installed()
