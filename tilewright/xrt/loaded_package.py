"""A package with its instructions on the simulated NPU, without a host program: load it, run it, look into its cores.

package = load_package("final.xclbin", "insts.bin")
core = package.core(0, 2)
core.break_at(0x140, lambda core: print(core.describe()))
package.run({0: a, 1: b})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path

from tilewright.driver.loaded_device import Array, SimulatedDevice
from tilewright.driver.run_result import RunResult
from tilewright.sim.debugged_core import DebuggedCore
from tilewright.sim.host_needs import needed_bytes
from tilewright.sim.runs import Progress
from tilewright.txn.containers import ControlCode, read_container
from tilewright.xrt.kernels import find_kernel
from tilewright.xrt.packages import XclbinPackage, XrtError
from tilewright.xrt.partition import Partition, Settings, carry_out


class LoadedPackage:
    """A kernel of a package on a device; runs go on from where the last one left the device."""

    def __init__(
        self, package: XclbinPackage, code: ControlCode, kernel: str | None = None, how: Settings | None = None
    ):
        """`code` are the instructions; without a name the first `kernel` is meant."""
        if not package.kernels:
            raise XrtError(f"{package.file}: there is no kernel in it")
        found, _ = find_kernel(package, kernel or package.kernels[0].name)
        self.code = code
        self.device: SimulatedDevice = Partition(package, how).device(found, code)

    @property
    def needs(self) -> dict[int, int]:
        """How many bytes of each argument the instructions reach, by its number."""
        return needed_bytes(self.code, self.device.runner.machine.model)

    def core(self, column: int, row: int, elf: str | PathLike[str] | None = None) -> DebuggedCore:
        """A core to halt, to look at and to count: see `SimulatedDevice.core`."""
        return self.device.core(column, row, elf)

    def run(
        self,
        arrays: Mapping[int, Array],
        *,
        max_cycles: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RunResult:
        """Carry the instructions out on arrays, which have the numbers of the arguments that they patch."""
        flat = {number: (str(number), array.reshape(-1).view("uint8")) for number, array in arrays.items()}
        return carry_out(self.device, self.code, flat, max_cycles=max_cycles, progress=progress)


def load_package(
    xclbin: str | PathLike[str], insts: str | PathLike[str], kernel: str | None = None, how: Settings | None = None
) -> LoadedPackage:
    """A package and the file of its instructions: a TXN binary, hex text, DPU words or an ELF file."""
    package = XclbinPackage.read(Path(xclbin).read_bytes(), fspath(xclbin))
    return LoadedPackage(package, read_container(Path(insts).read_bytes()).code(None), kernel, how)
