"""Kernels, runs of them and lists of runs, as XRT has them. A run takes place when it is started."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from tilewright.txn.containers import ControlCode
from tilewright.xrt.buffers import NO_BANK, bo, ext_bo
from tilewright.xrt.devices import device, hw_context, module, uuid
from tilewright.xrt.enums import CommandState, ComputeUnitMode, ContextMode, GraphMode
from tilewright.xrt.overloads import Overloads, integer
from tilewright.xrt.packages import KernelArgument, Package, PackagedKernel, XrtError
from tilewright.xrt.partition import Argument, Outcome, say, scratchpad_bytes

Callback = Callable[[Any, CommandState, Any], None]


class CommandError(XrtError):
    """A run that did not complete; `state` is what it ended in, the text has our explanation."""

    def __init__(self, state: CommandState, outcome: Outcome | None):
        self.state = state
        explained = f": {outcome.explanation}" if outcome is not None and outcome.explanation else ""
        super().__init__(f"Command failed to complete successfully ({state.name}){explained}")


class kernel:
    """A kernel of a package in a context."""

    cu_access_mode = ComputeUnitMode
    exclusive, shared, none = ComputeUnitMode.exclusive, ComputeUnitMode.shared, ComputeUnitMode.none

    _forms = Overloads(
        "kernel()",
        {"device": device, "uuid": uuid, "name": str, "mode": ComputeUnitMode},
        {"device": device, "uuid": uuid, "name": str},
        {"ctx": hw_context, "name": str},
    )

    def __init__(self, *args: Any, **named: Any):
        _, given = self._forms.bind(args, named)
        if "device" in given:
            text = "kernel(device, uuid, name) is deprecated; make a kernel(hw_context, name) instead"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            is_exclusive = given.get("mode") is ComputeUnitMode.exclusive
            mode = ContextMode.exclusive if is_exclusive else ContextMode.shared
            given["ctx"] = hw_context(given["device"], given["uuid"], mode)
        self._open(given["ctx"], given["name"], None)

    def _open(self, context: hw_context, name: str, code: ControlCode | None) -> None:
        self.context = context
        self.packaged, self.code = find_kernel(context.package, name)
        if code is not None:
            self.code = code

    def __call__(self, *args: bo | int) -> run:
        """Start a run with these arguments."""
        made = run(self)
        for index, value in enumerate(args):
            made.set_arg(index, value)
        made.start()
        return made

    def group_id(self, index: Any) -> int:
        """The memory that buffers for an argument should be in."""
        found = self.packaged.argument(integer(index))
        if found is None or (not found.is_buffer and not found.banks):
            return NO_BANK if self.packaged.arguments else 0
        return found.bank if found.bank is not None else 0

    @property
    def name(self) -> str:
        return self.packaged.name


def find_kernel(package: Package, name: str) -> tuple[PackagedKernel, ControlCode | None]:
    """The kernel of a name, which may have an instance behind a colon; its instructions, if the package has them."""
    wanted, _, instance = name.partition(":")
    kernels = package.kernels
    found = next((it for it in kernels if it.name == wanted), None)
    if found is None:
        known = ", ".join(it.name for it in kernels) or "none"
        raise XrtError(f"No such kernel '{name}'; {package.file} has {known}")
    if not found.codes:
        return found, None
    chosen = instance.strip("{}") or next(iter(found.codes))
    if chosen not in found.codes:
        raise XrtError(f"No such instance '{chosen}' of kernel {wanted}; there is {', '.join(found.codes)}")
    return found, found.codes[chosen]


class ext_kernel(kernel):
    """A kernel whose instructions are in an ELF file."""

    _ext_forms = Overloads(
        "ext.kernel()", {"ctx": hw_context, "mod": module, "name": str}, {"ctx": hw_context, "name": str}
    )

    def __init__(self, *args: Any, **named: Any):
        form, given = self._ext_forms.bind(args, named)
        code = None
        if form == 0:
            given["mod"].bind(given["ctx"])
            code = given["mod"].package.code
        self._open(given["ctx"], given["name"], code)


class run:
    """One execution of a kernel after the other."""

    _forms = Overloads("run()", {}, {"kernel": kernel})

    def __init__(self, *args: Any, **named: Any):
        _, given = self._forms.bind(args, named)
        self._kernel: kernel | None = given.get("kernel")
        self._arguments = dict[int, bo | int]()
        self._state = CommandState.ERT_CMD_STATE_NEW
        self._callbacks = list[tuple[Callback, Any]]()
        self._scratchpad: bo | None = None
        self.outcome: Outcome | None = None
        """How the last execution ended, with our explanation if it did not complete."""
        self.in_list = False
        self._left = 0.0

    @property
    def kernel(self) -> kernel:
        if self._kernel is None:
            raise XrtError("an empty run: it was made without a kernel")
        return self._kernel

    def set_arg(self, index: Any, value: Any) -> None:
        """Give an argument a buffer or a number."""
        number, packaged = integer(index), self.kernel.packaged
        described = packaged.argument(number)
        if number < 0 or (described is None and packaged.arguments):
            raise XrtError(f"Bad argument index '{number}': kernel {packaged.name} has {len(packaged.arguments)}")
        if isinstance(value, bo):
            self._check_buffer(number, described, value)
            self._arguments[number] = value
        else:
            self._arguments[number] = integer(value)

    def _check_buffer(self, number: int, described: KernelArgument | None, buffer: bo) -> None:
        packaged = self.kernel.packaged
        if described is not None and not described.is_buffer:
            raise XrtError(f"argument {number} ({described.name}) of kernel {packaged.name} is a number, not a buffer")
        if described is None or not described.banks or isinstance(buffer, ext_bo) or buffer.group in described.banks:
            return
        self.kernel.context.partition.note(
            f"the buffer for argument {number} ({described.name}) of kernel {packaged.name} is in memory "
            f"{buffer.group}, and the kernel is connected to {described.bank}: XRT would use a copy there; make it "
            f"with group_id({number})"
        )

    def start(self) -> None:
        """Run: the simulator has carried it out when this returns, and `wait` tells how it ended."""
        if self.in_list:
            raise XrtError("the run belongs to a runlist and cannot be started by itself")
        self.execute()

    def execute(self) -> CommandState:
        kernel, pad = self.kernel, self._scratchpad
        words = [] if pad is None else [int(word) for word in pad.argument("").data.view(np.uint32)]
        outcome = kernel.context.partition.run(kernel.packaged, self._given(), kernel.code, words)
        self.outcome, self._state, self._left = outcome, outcome.state, outcome.seconds
        if outcome.state is CommandState.ERT_CMD_STATE_COMPLETED:
            for callback, data in self._callbacks:
                callback(self, outcome.state, data)
        return outcome.state

    def abandon(self) -> None:
        """Not be executed, since a run before it in its list failed."""
        self.outcome, self._state = None, CommandState.ERT_CMD_STATE_ABORT

    def _given(self) -> dict[int, Argument]:
        named = {it.index: it.name for it in self.kernel.packaged.arguments}
        return {
            number: value.argument(f"{number} ({named.get(number, 'a buffer')})") if isinstance(value, bo) else value
            for number, value in self._arguments.items()
        }

    def wait(self, timeout_ms: Any = 0) -> CommandState:
        """How it ended. A timeout is in time of the modelled device: a run that takes longer has not ended yet."""
        if self._state is CommandState.ERT_CMD_STATE_NEW:
            raise XrtError("the run was not started")
        limit = _milliseconds(timeout_ms) / 1000
        if limit and self._left > limit:
            self._left -= limit
            return CommandState.ERT_CMD_STATE_TIMEOUT
        self._left = 0.0
        return self._state

    def wait2(self, timeout: Any = None) -> CommandState | None:
        """The same, and an error if it did not complete."""
        limit = 0 if timeout is None else timeout
        is_over = not (_milliseconds(limit) and self._left > _milliseconds(limit) / 1000)
        state = self.wait(limit)
        if is_over and state is not CommandState.ERT_CMD_STATE_COMPLETED:
            raise CommandError(state, self.outcome)
        return None if timeout is None else state

    def state(self) -> CommandState:
        return self._state

    def add_callback(self, state: CommandState, callback: Callback, data: Any) -> None:
        """Have a function called whenever it completes."""
        if state is not CommandState.ERT_CMD_STATE_COMPLETED:
            raise XrtError("a callback can be for ERT_CMD_STATE_COMPLETED only")
        self._callbacks.append((callback, data))

    def get_ctrl_scratchpad_bo(self) -> bo:
        """The buffer with the parameters that the instructions add to registers."""
        if self.kernel.code is None:
            raise XrtError("No module associated with run object: parameters are for instructions in ELF files")
        if self._scratchpad is None:
            size = scratchpad_bytes(self.kernel.code)
            if not size:
                raise XrtError("the instructions of the kernel take no parameters")
            self._scratchpad = ext_bo(self.kernel.context, size)
        return self._scratchpad


def _milliseconds(given: Any) -> float:
    return given / timedelta(milliseconds=1) if isinstance(given, timedelta) else integer(given)


class runlist:
    """Runs that are executed as one."""

    _forms = Overloads("runlist()", {}, {"hwctx": hw_context})

    def __init__(self, hwctx: hw_context | None = None):
        self._context = hwctx
        self._runs = list[run]()
        self._failed: run | None = None
        self._is_executed = False

    def add(self, run: run) -> None:
        if self._context is None:
            raise XrtError("cannot add run object to uninitialized runlist")
        if run.kernel.context is not self._context:
            raise XrtError("the run belongs to another hardware context than the runlist")
        if run.in_list:
            raise XrtError("the run is in a runlist already")
        run.in_list = True
        self._runs.append(run)

    def execute(self) -> None:
        """Execute all runs in order; those behind one that fails are not."""
        self._failed, self._is_executed = None, True
        for run in self._runs:
            if self._failed is not None:
                run.abandon()
            elif run.execute() is not CommandState.ERT_CMD_STATE_COMPLETED:
                self._failed = run

    def wait(self, timeout: Any = None) -> CommandState | None:
        """An error if one of the runs did not complete."""
        if not self._is_executed:
            raise XrtError("the runlist was not executed")
        if self._failed is not None:
            raise CommandError(self._failed.state(), self._failed.outcome)
        return None if timeout is None else CommandState.ERT_CMD_STATE_COMPLETED


class graph:
    """An AIE graph, which other devices than NPUs have."""

    access_mode = GraphMode
    exclusive, primary, shared = GraphMode.exclusive, GraphMode.primary, GraphMode.shared

    def __init__(self, ctx: hw_context, name: str, mode: GraphMode = GraphMode.exclusive):
        raise XrtError(f"graph {name}: NPUs run kernels, and have no AIE graphs")

    def reset(self) -> None: ...
    def get_timestamp(self) -> int:
        return 0

    def gmio_bank_id(self, gmio_name: str) -> int:
        return 0

    def run(self, iterations: int = 0) -> None: ...
    def wait(self, timeout_ms: Any = 0) -> None: ...
    def suspend(self) -> None: ...
    def resume(self) -> None: ...
    def end(self, cycles: Any = 0) -> None: ...
    def update(self, port_name: str, data: Any) -> None: ...
    def read(self, port_name: str, size: Any) -> Any: ...


def log_message(level: Any, tag: str, message: str) -> None:
    """Write a message to stderr, as XRT does."""
    say(getattr(level, "name", str(level)), f"[{tag}] {message}")
