"""Designs that one loaded device switches between at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.device.timing import Timing, timing_with
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.compiled_design import (
    DEFAULT_DEVICE,
    GUARDED_LOWERING,
    Design,
    Parameters,
    design_of,
)
from tilewright.driver.loaded_device import Kernels, Levels, LoadedDevice
from tilewright.driver.run_result import RunResult
from tilewright.driver.sources import Source
from tilewright.errors import CallError, UnknownNameError, near_match
from tilewright.ir.pass_manager import Pipeline
from tilewright.passes.pipelines import LOAD_EXPANSIONS, passes_of, pipeline_of
from tilewright.sim.models import Model
from tilewright.support.tracebacks import at_user_line

if TYPE_CHECKING:
    from tilewright.codegen.sequence_scalars import Words

METHODS = ("loadpdi", "write32", "ctrlpkt")
"""Ways to bring a configuration to the array; the first one loads images, as sequences say."""


@dataclass(frozen=True)
class ReconfigurableDesign:
    """Configurations of one array, and for each a sequence that brings it there and runs it."""

    design: Design
    """All of it as one design; the entries are the sequences of its device `main`."""
    method: str
    entries: Mapping[str, str]
    """The device of each entry's configuration, by the entry's name, in order."""

    @property
    def packets(self) -> Mapping[str, Words]:
        """The control packets that an entry sends, which are its last argument; a run has them from the design."""
        found = {name: self.design.operation(name).control_packets for name in self.entries}
        return {name: np.array(buffer.words, np.int32).view(np.uint32) for name, buffer in found.items() if buffer}

    @property
    def entrypoints(self) -> list[str]:
        """The entries as upstream's descriptor of the same has them: with the device whose sequences they are."""
        return [f"{DEFAULT_DEVICE}:{name}" for name in self.entries]

    @at_user_line
    def load(
        self,
        kernels: Kernels | None = None,
        levels: Levels | None = None,
        model: str = "fast",
        timing: Parameters | None = None,
    ) -> ReconfigurableDevice:
        """A simulated device with nothing on it yet; the arguments are those of `Design.load`."""
        main = self.design.device(DEFAULT_DEVICE)
        clock = timing_with(main.model.arch, timing)
        return ReconfigurableDevice(self, main, kernels or {}, levels or {}, Model.named(model), clock)

    @at_user_line
    def run(self, runs: Sequence[Sequence[Any]], **options: Any) -> list[RunResult]:
        """Carry out a run list on one device: for each run the name of an entry, then its arguments in order.

        Args:
            runs: what to run, one after the other
            options: those of `load`
        """
        device = self.load(**options)
        return [device.run(*arguments, entry=entry) for entry, *arguments in runs]


class ReconfigurableDevice(LoadedDevice):
    """A device that switches between configurations: each run says which."""

    def __init__(
        self,
        configurations: ReconfigurableDesign,
        main: DeviceOp,
        kernels: Kernels,
        levels: Levels,
        model: Model | str = Model.FAST,
        timing: Timing | None = None,
    ):
        """`ReconfigurableDesign.load` makes one."""
        self.configurations = configurations
        super().__init__(configurations.design, main, kernels, levels, model, timing)

    @at_user_line
    def run(self, *arguments: Any, entry: str | None = None, **options: Any) -> RunResult:
        """Bring a configuration to the array and run it.

        Args:
            arguments: the arguments of the entry's sequence, in order
            entry: its name; there is no need for one where there is one entry
            options: those of `LoadedDevice.run`
        """
        return super().run(*arguments, sequence=self._entry(entry), **options)

    def _entry(self, name: str | None) -> str:
        entries = self.configurations.entries
        if name is None and len(entries) == 1:
            return next(iter(entries))
        if name is None:
            raise CallError(f"which configuration to run has to be said: entry=..., one of {', '.join(entries)}")
        name = name.removeprefix(f"{DEFAULT_DEVICE}:")
        if name not in entries:
            raise UnknownNameError(
                f"there is no configuration {name!r}{near_match(name, entries)}; there is {', '.join(entries)}"
            )
        return name


def compile_configurations(source: Source, entries: Mapping[str, str], method: str) -> ReconfigurableDesign:
    """Compile a module of configurations and a device `main` with entries, for one of the `METHODS`."""
    expansion = LOAD_EXPANSIONS[None if method == METHODS[0] else method]
    pipeline = pipeline_of([*expansion.design, *expansion.gathering])
    pipeline.steps.append(Pipeline(DeviceOp.name, [*passes_of([*expansion.packets, *GUARDED_LOWERING])]))
    return ReconfigurableDesign(design_of(source, pipeline, is_whole=True), method, dict(entries))
