"""The ways to carry out a program: the plain model is the meaning, the fast one gives the same sooner."""

from __future__ import annotations

from enum import Enum

from tilewright.device import DeviceModel
from tilewright.device.timing import Timing
from tilewright.errors import ArgumentError
from tilewright.native import has_llvm
from tilewright.sim.faults import FaultKind, FaultLevel, FaultPolicy
from tilewright.sim.machine import Machine

MOST_JOBS = 64


class Model(Enum):
    """How a machine is simulated."""

    FAST = "fast"
    """Native code moves words, runs channels and gives turns. What flows steadily moves many words at once."""
    WORDS = "words"
    """The same, but every word on its own: to see that steady phases are skipped without a difference."""
    PLAIN = "plain"
    """Everything but the programs of cores is a process of Python, every word on its own: to look into."""
    PYTHON = "python"
    """The plain model, with the programs of cores executed operation by operation: no native code at all."""

    @classmethod
    def named(cls, name: object) -> Model:
        """The model that a caller asks for, by its name or itself."""
        # Not `Model(name)`: an enum compares what it is given with its members, and arrays have no truth value.
        for model in cls:
            if name is model or (isinstance(name, str) and name == model.value):
                return model
        raise ArgumentError(f"model is {name!r:.80}; it is one of {', '.join(model.value for model in cls)}")


def checked_jobs(jobs: object) -> int:
    """How many threads a caller asks for."""
    if not isinstance(jobs, int) or isinstance(jobs, bool) or not 1 <= jobs <= MOST_JOBS:
        raise ArgumentError(f"jobs is {jobs!r:.80}; it is the number of threads to use, 1 to {MOST_JOBS}")
    return jobs


def make_machine(
    device: DeviceModel,
    policy: FaultPolicy | None = None,
    timing: Timing | None = None,
    model: Model = Model.FAST,
    *,
    runs_machine_code: bool = False,
    jobs: int = 1,
) -> Machine:
    """A device, freshly out of reset. What only the plain model looks for is left to it.

    Without LLVM there is only the model in Python.
    """
    is_native = model is not Model.PYTHON and has_llvm()
    if is_native and model is not Model.PLAIN and not _needs_plain(policy or FaultPolicy()):
        from tilewright.sim.fast.machine import FastMachine

        in_blocks = model is Model.FAST
        return FastMachine(device, policy, timing, runs_machine_code=runs_machine_code, in_blocks=in_blocks, jobs=jobs)
    return Machine(device, policy, timing, runs_machine_code=runs_machine_code, runs_native_cores=is_native)


def _needs_plain(policy: FaultPolicy) -> bool:
    return policy.level(FaultKind.UNWRITTEN_MEMORY) is not FaultLevel.OFF
