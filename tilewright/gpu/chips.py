"""GPUs of this machine, by the names that compilers know them by. Needs nothing but Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.gpu.device import DeviceError

AMD_TOOLS = "amdgpu-arch", "/opt/rocm/llvm/bin/amdgpu-arch"
KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where Linux's driver for AMD GPUs lists processors, CPUs among them."""
VERSION = "gfx_target_version"
TOOL_SECONDS = 20
_ASK_DRIVER = """
from tilewright.gpu.cuda import open_driver
driver = open_driver()
print(driver.chip(driver.handle("cuDeviceGet", 0)))
"""


def kfd_chip(version: int) -> str:
    """The name of a chip from the number that the driver has for it: minor version and stepping are hexadecimal."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}"


def chips_in(nodes: Path = KFD_NODES) -> list[str]:
    """The chips of AMD GPUs that the driver lists, in its order."""
    found: list[str] = []
    # by number, in which 10 comes after 9
    for properties in sorted(nodes.glob("*/properties"), key=_number):
        lines = (line.split() for line in properties.read_text().splitlines())
        version = next((int(words[1]) for words in lines if words[:1] == [VERSION] and len(words) == 2), 0)
        # CPUs have version 0
        if version:
            found.append(kfd_chip(version))
    return found


def _number(path: Path) -> int:
    return int(path.parent.name) if path.parent.name.isdigit() else 0


def amd_chip() -> str | None:
    """What amdgpu-arch says first, else what the driver lists first."""
    for tool in AMD_TOOLS:
        path = shutil.which(tool)
        if path is not None and (line := _first_line([path])) is not None:
            # the tool may name features of the GPU as well: gfx906:sramecc+:xnack-
            return line.partition(":")[0]
    found = chips_in()
    return found[0] if found else None


def nvidia_chip() -> str | None:
    """What NVIDIA's driver says. Asked in a process of its own: one that has used a GPU cannot start ranks."""
    return _first_line([sys.executable, "-c", _ASK_DRIVER])


def _first_line(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # a tool that fails may still have printed a complaint
    lines = done.stdout.split() if done.returncode == 0 else []
    return lines[0] if lines else None


def detect_chip() -> str:
    """The chip of this machine's first GPU, or what code for it can be made for."""
    found = nvidia_chip() or amd_chip()
    if found is None:
        raise DeviceError("no GPU was found on this machine; name the one to compile for, such as --target sm_90")
    return compatible_chip(found)


def compatible_chip(chip: str) -> str:
    """A chip that is known here and whose code runs on another one: later GPUs of NVIDIA's run PTX for earlier ones."""
    if chip in GPU_TARGETS:
        return chip
    version = _version(chip)
    earlier = [known for known in GPU_TARGETS if version is not None and (_version(known) or version + 1) <= version]
    if not earlier:
        raise DeviceError(f"this machine's GPU is a {chip}, which is none of {', '.join(GPU_TARGETS)}")
    return max(earlier, key=lambda known: _version(known) or 0)


def _version(chip: str) -> int | None:
    """The compute capability of a chip of NVIDIA's, as a number."""
    number = chip.removeprefix("sm_")
    return int(number) if chip.startswith("sm_") and number.isdigit() else None
