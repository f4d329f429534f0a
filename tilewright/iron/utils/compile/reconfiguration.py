"""`iron.Reconfiguration`: several designs as one, between which a loaded device switches.

It is experimental, as upstream's is.
A configuration is brought to the array by loading its image (`loadpdi`), by writing its registers after a reset
(`write32`), or by control packets that travel through the array (`ctrlpkt`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Block, Region

from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.driver.compiled_design import DEFAULT_DEVICE, devices_in, sequences_in
from tilewright.driver.reconfiguration import METHODS, ReconfigurableDesign, compile_configurations
from tilewright.driver.sources import BuiltSource, source_of
from tilewright.ir.context import make_context
from tilewright.ir.printer import module_text
from tilewright.iron.builders.location import refuse
from tilewright.iron.utils.callabledesign import CallableDesign
from tilewright.iron.utils.compile.jit.compilabledesign import CompilableDesign
from tilewright.support.output_files import write_file
from tilewright.support.tracebacks import user_facing

_BARE = re.compile(r"[A-Za-z_]\w*")
_TAKEN = re.compile(rf"{DEFAULT_DEVICE}|empty_\d+|ctrl_pkt_overlay\w*")
"""What the compiler calls devices of its own."""


@user_facing
class Reconfiguration:
    """Designs that one device runs in turn, each on all of the array.

    `add` them, then `compile`. What that gives runs lists of them on the simulator: `compile().run([(name, *arguments),
    ...])`; arrays are the same in all runs, so one design may go on with what another has made.
    """

    def __init__(
        self,
        name: str | Iterable[Any],
        method: str | None = None,
        output_dir: str | Path | None = None,
    ):
        """Nothing yet.

        Args:
            name: a name for all of it; or the designs themselves, to `add` at once
            method: how a configuration comes to the array: `loadpdi`, which is meant by none, `write32` or `ctrlpkt`
            output_dir: where to write what was compiled, as `NAME.mlir`; nowhere if it is not given
        """
        self.name = name if isinstance(name, str) else "reconfiguration"
        if not _BARE.fullmatch(self.name):
            refuse(f"Reconfiguration: name must be a bare identifier, not {self.name!r}", (None, "such as 'pipeline'"))
        self.method = METHODS[0] if method is None else method
        if self.method not in METHODS:
            refuse(f"there is no method {method!r} of configuring", (None, f"one of {', '.join(METHODS)}"))
        self._folder = None if output_dir is None else Path(output_dir)
        self._devices = dict[str, DeviceOp]()
        for design in () if isinstance(name, str) else name:
            self.add(design)

    def add(self, design: Any, *args: Any, **kwargs: Any) -> None:
        """Take in a design.

        Args:
            design: what `@iron.jit` makes of a function, a `Program`, or anything else that can be compiled
            args: tensors, as a call of the design would have them; nothing is asked of them
            kwargs: compile-time arguments of the design
        """
        if isinstance(design, CallableDesign | CompilableDesign):
            compilable = design.compilable if isinstance(design, CallableDesign) else design
            compilable = compilable.specialize(**kwargs) if kwargs else compilable
            name, source = compilable.name or compilable.generator_name, compilable.source()
        elif kwargs:
            refuse(f"only designs of @iron.jit have arguments such as {next(iter(kwargs))!r}")
        else:
            name, source = f"config_{len(self._devices) + 1}", source_of(design)
        self._check_name(name)
        self._devices[name] = self._configuration(source.read(make_context()), name)

    def _check_name(self, name: str) -> None:
        remedy = "give each design a name of its own: @iron.jit(name=...), or design.specialize(name=...)"
        if name in self._devices:
            refuse(f"Reconfiguration: duplicate design name {name!r}", (None, remedy))
        if not _BARE.fullmatch(name) or _TAKEN.fullmatch(name):
            refuse(f"Reconfiguration: {name!r} cannot be the name of a design", (None, remedy))

    def _configuration(self, module: ModuleOp, name: str) -> DeviceOp:
        """The device of a design, under its name."""
        devices = devices_in(module)
        if len(devices) != 1 or len([*module.body.block.ops]) != 1 or len(sequences_in(devices[0])) != 1:
            refuse(
                f"Reconfiguration: {name!r} is not one device with one runtime sequence and nothing else",
                (None, "scratchpad parameters belong to a whole module: take numbers of the sequence instead"),
                at=module.location,
            )
        (device,) = devices
        other = next(iter(self._devices.values()), device)
        if other.model is not device.model:
            refuse(
                f"Reconfiguration: {name!r} is for {device.model}, the designs before it are for {other.model}",
                (other.location, "all of them are on one device"),
                at=device.location,
            )
        device.detach()
        device.sym_name = StringAttr(name)
        return device

    def compile(self) -> ReconfigurableDesign:
        """All designs as one, with an entry for each."""
        if not self._devices:
            refuse(
                "Reconfiguration: no designs added", (None, "call add(design, *args) at least once before compile()")
            )
        devices = {name: device.clone() for name, device in self._devices.items()}
        first = next(iter(devices.values()))
        main = DeviceOp(first.model.name, [*map(_entry, devices.values()), end := EndOp()], DEFAULT_DEVICE)
        module = ModuleOp([*devices.values(), main])
        for op in (module, main, end):
            op.location = first.location
        compiled = compile_configurations(BuiltSource(module), {name: name for name in devices}, self.method)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            text = module_text(compiled.design.module, debuginfo=True)
            write_file(self._folder / f"{self.name}.mlir", text.encode())
        return compiled


def _entry(device: DeviceOp) -> RuntimeSequenceOp:
    """A sequence that brings a configuration to the array, and runs its own with the same arguments."""
    (callee,) = sequences_in(device)
    entry = RuntimeSequenceOp([argument.type for argument in callee.body.block.args], device.sym_name.data)
    # names, floating-point numbers and sizes are as in the design itself
    entry.attributes.update(callee.attributes)
    for argument, known in zip(entry.body.block.args, callee.body.block.args, strict=True):
        argument.name_hint = known.name_hint
    run = RunOp(callee.sym_name.data, entry.body.block.args)
    symbol = SymbolRefAttr(device.sym_name)
    configure = ConfigureOp.create(properties={"symbol": symbol}, regions=[Region(Block([run]))])
    entry.body.block.add_op(configure)
    for op in (entry, configure, run):
        op.location = callee.location
    return entry
