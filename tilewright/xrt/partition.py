"""The part of a simulated NPU that a hardware context has: images are loaded on it, instructions carried out.

A package of ours brings the design that its images were made from, and runs with our cores. Of others the register
writes of the PDI are carried out, and cores run the machine code that it loads, as far as that is AIE2's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.containers import Pdi
from tilewright.containers.effects import model_of as model_with_columns
from tilewright.containers.effects import uses
from tilewright.device import Arch, DeviceModel
from tilewright.device.timing import timing_with
from tilewright.driver.compiled_design import Parameters
from tilewright.driver.loaded_device import Levels, SimulatedDevice, lent_arrays, policy_of
from tilewright.driver.packaged_design import runnable
from tilewright.driver.run_result import RunResult
from tilewright.errors import Error
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.run_errors import Hang
from tilewright.sim.control_code import bind_stream
from tilewright.sim.controller import Image, Images
from tilewright.sim.host_needs import HostUse, host_uses
from tilewright.sim.machine import Machine
from tilewright.sim.models import Model, make_machine
from tilewright.sim.runs import LocatedStream, Progress, Runner, Stopped, Watch
from tilewright.txn.containers import ControlCode, read_container
from tilewright.txn.dpu import is_dpu
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import Header, Stream
from tilewright.txn.text import model_of as model_of_header
from tilewright.xrt.enums import CommandState
from tilewright.xrt.packages import ElfPackage, Package, PackagedKernel, XrtError

Bytes = npt.NDArray[np.uint8]
HEADER_WORDS, SIZE_WORD = 4, 3
"""Of a TXN stream; one of them has the size of all in bytes."""
TXN_OPCODES = (0, 1, 2, 3)
"""What programs ask a kernel to do: to start, by one name or another; 3 is a transaction."""


@dataclass(frozen=True)
class BufferArgument:
    """A buffer as the device has it."""

    data: Bytes
    is_stale: bool = False
    """Whether the host has written to it since it was last synced."""
    label: str = ""


Argument = int | BufferArgument


class UnsetArgument(XrtError):
    """A buffer that the instructions need and the program did not set.

    XRT starts such a run all the same: the address is 0, no transfer comes to its end, and the driver gives up.
    """


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    state: CommandState
    seconds: float = 0.0
    """On the modelled device."""
    error: Exception | None = None

    @property
    def explanation(self) -> str:
        return "" if self.error is None else str(self.error)


def say(kind: str, text: str) -> None:
    """Tell the user something on stderr: programs have stdout to themselves."""
    print(f"tilewright: {kind}: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Settings:
    """How the simulator runs; the fields are arguments of `Design.load`."""

    levels: Levels = field(default_factory=dict[str, str])
    model: str = "fast"
    timing: Parameters | None = None
    kernel_mode: str | None = None


class ConfiguredDevice(SimulatedDevice):
    """A device that a PDI of others has configured; instructions may load further ones by number."""

    def __init__(
        self,
        model: DeviceModel,
        first: Pdi | None,
        others: Mapping[int, Pdi],
        settings: Settings,
        *,
        runs_machine_code: bool = False,
    ):
        self._first, self._others = first, others
        clock = timing_with(model.arch, settings.timing)
        how = Model.named(settings.model)
        super().__init__(
            lambda: make_machine(model, policy_of(settings.levels), clock, how, runs_machine_code=runs_machine_code)
        )

    def load(self, machine: Machine) -> Runner:
        images: Images = {number: partial(_image, pdi) for number, pdi in self._others.items()}
        runner = Runner(machine, images)
        if self._first is not None:
            image = _image(self._first)
            runner.configure(LocatedStream(image.stream, image.locations))
        return runner


def _image(pdi: Pdi) -> Image:
    # without places: those of a run are operations of its instructions
    return Image(Stream.of(Header(), pdi.cdo.operations()), ())


class Partition:
    """What a context has loaded, and how it runs kernels."""

    def __init__(self, package: Package, settings: Settings | None = None):
        self.package = package
        self.settings = settings or Settings()
        self._loaded: tuple[Any, SimulatedDevice] | None = None
        self._told = set[str]()

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self._told:
            self._told.add(text)
            say("note", text)

    def run(
        self,
        kernel: PackagedKernel,
        arguments: Mapping[int, Argument],
        code: ControlCode | None = None,
        scratchpad: Sequence[int] = (),
        max_cycles: int | None = None,
    ) -> Outcome:
        """Run a kernel with its arguments, by number; the instructions are among them unless `code` is given."""
        try:
            return self._run(kernel, arguments, code, scratchpad, max_cycles)
        except (Hang, Stopped, UnsetArgument) as error:
            return _failed(CommandState.ERT_CMD_STATE_TIMEOUT, error)
        except Error as error:
            return _failed(CommandState.ERT_CMD_STATE_ERROR, error)

    def _run(
        self,
        kernel: PackagedKernel,
        arguments: Mapping[int, Argument],
        code: ControlCode | None,
        scratchpad: Sequence[int],
        max_cycles: int | None,
    ) -> Outcome:
        first = kernel.first_buffer
        if code is None:
            code, first = self._given_code(kernel, arguments)
        device = self.device(kernel, code)
        buffers = {index - first: it for index, it in arguments.items() if isinstance(it, BufferArgument)}
        numbered = {number: it for number, it in sorted(buffers.items()) if number >= 0}
        model = device.runner.machine.model
        uses = host_uses(code, model)
        for number, it in numbered.items():
            if it.is_stale and number in uses and not uses[number].may_write:
                self.note(f"argument {it.label or number + first} was written by the host and not synced: the "
                          "device has what it had before; call sync(XCL_BO_SYNC_BO_TO_DEVICE) first")  # fmt: skip
        arrays = {number: (it.label or str(number + first), it.data) for number, it in numbered.items()}
        arrays |= self._room({it: use for it, use in uses.items() if it > max(numbered, default=-1)}, first)
        if unset := [number for number, use in sorted(uses.items()) if use.size_bytes and number not in arrays]:
            described = kernel.argument(unset[0] + first)
            name = f" ({described.name})" if described is not None else ""
            raise UnsetArgument(
                f"argument {unset[0] + first}{name} of kernel {kernel.name} is not set, and the instructions use its "
                f"{uses[unset[0]].size_bytes} bytes: XRT would start the run with address 0, and it would not complete"
            )
        result = carry_out(device, code, arrays, scratchpad, max_cycles=max_cycles)
        return Outcome(CommandState.ERT_CMD_STATE_COMPLETED, result.time)

    def _room(self, uses: Mapping[int, HostUse], first: int) -> dict[int, tuple[str, Bytes]]:
        """Room for what is written behind the last argument: hosts that look at no trace set no buffer for it."""
        written = {number: use.size_bytes for number, use in uses.items() if use.may_write and use.size_bytes}
        for number in written:
            self.note(f"argument {number + first} is not set: what the device writes to it is lost")
        return {number: (str(number + first), np.zeros(size, np.uint8)) for number, size in written.items()}

    def _given_code(self, kernel: PackagedKernel, arguments: Mapping[int, Argument]) -> tuple[ControlCode, int]:
        """The instructions among the arguments, and the number of the first argument behind them that is a buffer."""
        place = kernel.instructions
        given, count = arguments.get(place), arguments.get(place + 1)
        if not isinstance(given, BufferArgument):
            raise XrtError(f"kernel {kernel.name}: argument {place} has to be the buffer with the instructions")
        opcode = arguments.get(place - 1)
        if isinstance(opcode, int) and opcode not in TXN_OPCODES:
            raise XrtError(f"kernel {kernel.name}: opcode {opcode} is unknown; 3 runs a sequence of instructions")
        if given.is_stale:
            self.note("the instructions were written by the host and not synced: the device has what it had before; "
                      "call sync(XCL_BO_SYNC_BO_TO_DEVICE) first")  # fmt: skip
        return read_container(self._cut(given.data, count)).code(), place + 2

    def _cut(self, data: Bytes, count: Argument | None) -> bytes:
        """The instructions in a buffer: streams say how long they are, else the program does, in words or in bytes."""
        whole = data.tobytes()
        if not any(whole[: 4 * HEADER_WORDS]):
            raise XrtError("there are no instructions in the buffer for them: all words are 0 (was it synced?)")
        given = count if isinstance(count, int) else 0
        if len(whole) >= 4 * HEADER_WORDS and not is_dpu(whole[: len(whole) // 4 * 4]):
            size = int(np.frombuffer(whole, "<u4", HEADER_WORDS)[SIZE_WORD])
            if 4 * HEADER_WORDS <= size <= len(whole) and size % 4 == 0:
                if given not in (0, size, size // 4):
                    self.note(
                        f"the program gives {given} as the length of the instructions; they are {size // 4} words or "
                        f"{size} bytes long"
                    )
                return whole[:size]
        size = 4 * given if 0 < 4 * given <= len(whole) else given
        return whole[:size] if 0 < size <= len(whole) else whole

    def device(self, kernel: PackagedKernel, code: ControlCode) -> SimulatedDevice:
        """The device with the kernel's image on it; it keeps its state until another image is loaded."""
        image = None if kernel.pdi is None else kernel.pdi.uuid
        if self._loaded is None or self._loaded[0] != image:
            self._loaded = image, self._load(kernel, code)
        return self._loaded[1]

    def _load(self, kernel: PackagedKernel, code: ControlCode) -> SimulatedDevice:
        package = self.package
        design = next(iter(package.designs), None) if isinstance(package, ElfPackage) else package.design(kernel.pdi)
        if design is not None:
            found = runnable(design, package.file)
            how = self.settings
            return found.design.load(
                design.device or None, found.kernels, how.levels, how.model, how.timing, how.kernel_mode
            )
        first, others = (kernel.pdi.image if kernel.pdi is not None else None), dict[int, Pdi]()
        if isinstance(package, ElfPackage):
            others = package.images
        elif first is None:
            raise XrtError(f"{package.file}: no PDI is for kernel {kernel.name}")
        pdis = [*([first] if first is not None else []), *others.values()]
        operations = [op for pdi in pdis for op in pdi.cdo.operations()]
        described = model_of_header(code.decode().header)
        model = described if described is not None else model_with_columns(operations)
        runs_code = model.arch is Arch.AIE2 and any(use.program for use in uses(operations, model).values())
        if runs_code:
            self.note(f"{package.file} brings no design of ours: its cores run their machine code")
        else:
            self.note(
                f"{package.file} brings no design of ours: its registers are set, and it runs as far as no core has "
                "machine code"
            )
        return ConfiguredDevice(model, first, others, self.settings, runs_machine_code=runs_code)


def carry_out(
    device: SimulatedDevice,
    code: ControlCode,
    arrays: Mapping[int, tuple[str, Bytes]],
    scratchpad: Sequence[int] = (),
    *,
    max_cycles: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> RunResult:
    """Run instructions on a device as earlier ones left it; arrays have the numbers that the instructions use."""
    uses = partial(host_uses, code, device.runner.machine.model)
    with device.in_use() as runner, lent_arrays(arrays, uses) as lent:
        return RunResult(runner.run(bind_stream(runner, code, lent), scratchpad, Watch(max_cycles, progress)))


def scratchpad_bytes(code: ControlCode) -> int:
    """How many bytes of parameters a code takes from the host."""
    made = (op for op in code.decode().operations if op.opcode == Opcode.CREATE_SCRATCHPAD)
    return max((op.scratchpad_bytes for op in made), default=0)


def _failed(state: CommandState, error: Exception) -> Outcome:
    print(
        str(error) if isinstance(error, DiagnosedError) else f"tilewright: error: {error}", file=sys.stderr, flush=True
    )
    return Outcome(state, error=error)
