"""Lower designs as mlir-aie's compiler driver does, and write the same files under the same names."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation

from tilewright import __version__
from tilewright.cli.aiecc_arguments import IDLE, MANIFEST, AieccArguments, help_text, parse_arguments
from tilewright.cli.aiecc_outputs import MAKERS, DriverOutput, Item, place, text_of
from tilewright.cli.aiecc_stages import ADDRESSED, INPUT, PHYSICAL, PROGRAMS_TOOL, Stages, printed
from tilewright.cli.errors import CommandLineError, show_diagnostics
from tilewright.cli.files import write_atomically, write_folder
from tilewright.cli.mlir_flags import dashed
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import (
    DiagnosedError,
    Diagnostic,
    Severity,
    collect,
    emit_diagnostic,
    errors_in,
    fail,
)
from tilewright.ir.escapes import visible
from tilewright.native.peano import has_peano
from tilewright.rewrite.pass_bases import ops_of


class MadeElsewhere(NamedTuple):
    """An output that no part of this project makes: the field with its name, which tool does, and what helps."""

    name_field: str
    tool: str
    remedy: str


MADE_ELSEWHERE = {
    "host": MadeElsewhere(
        "host_output",
        "a C++ compiler links it with the vendor's libraries",
        "compile its sources with c++; --no-compile-host leaves it out",
    ),
    "aiesim": MadeElsewhere(
        "work_directory",
        "the folder is for the vendor's aiesimulator",
        "`tilewright run` runs the design on the simulator here",
    ),
}
EDGES = {
    "insts_{0}.bin": "npu-insts",
    "insts_{0}.bin.locmap.json": "locmap",
    "params.txt": "scratchpad-parameters",
    "{0}_transaction.mlir": "txn",
    "{0}_ctrlpkt.bin": "ctrlpkt",
    "cdo_{0}": "cdo",
    "elfs_{0}.elf": "core-elfs",
    "objects_{0}.o": "core-elfs",
    "design.elf": "elf",
    "{0}.pdi": "pdi",
    "aie.xclbin": "xclbin",
    "aie.elf": "full-elf",
    "a.out": "host",
}
"""Outputs as `--get=NAME` knows them, besides stages."""


def run_command(argv: list[str]) -> int:
    arguments = parse_arguments(argv)
    if arguments.only_print:
        print(help_text() if arguments.only_print == "help" else f"aiecc (tilewright {__version__})")
        return 0
    build = Build(arguments)
    if arguments.emit_dot:
        print(build.graph())
        return 0
    return build.run()


class Build:
    """One call of the driver: what was asked for, and what is said about it."""

    def __init__(self, arguments: AieccArguments):
        self.arguments = arguments
        self.stages = Stages(arguments, self._step)
        self.outputs = list(self._outputs())
        # what is made elsewhere is made of a design that can be
        self.checked = [PHYSICAL] if "core-elfs" in self.selectors else []
        last = [*self.checked, *(output.stage for output in self.outputs)]
        needed = {name for stage in last for name in self.stages.up_to(stage)}
        self.needed = [name for name in (INPUT, *self.stages.before) if name in needed]
        followed = [self.stages.before.get(name) for name in self.needed]
        asked = {output.stage for output in self.outputs}
        self.stages.kept = {
            name for name in self.needed if name in asked or followed.count(name) > 1 or self._keeps_failures
        }
        self.written: dict[Path, Operation] = {}
        self.done = 0

    @cached_property
    def selectors(self) -> list[str]:
        """What is asked for, other than stages; without anything the programs of cores."""
        arguments = self.arguments
        asked = [*arguments.asked, *(EDGES[name] for name in arguments.get if name in EDGES)]
        if arguments.compiles_host:
            asked.append("host")
        if not asked and not arguments.get and not arguments.cut:
            asked.append("core-elfs")
        return [] if arguments.cut else list(dict.fromkeys(asked))

    def _outputs(self) -> Iterator[DriverOutput]:
        arguments, stages = self.arguments, [INPUT, *self.stages.before]
        _check_names("--get", arguments.get, [*stages, *EDGES])
        _check_names("--cut", arguments.cut, stages)
        for name in self.selectors:
            if name in MAKERS:
                yield from MAKERS[name](self.stages)
        # older drivers left it behind, and tools that read traces look for it there
        if (arguments.is_old and not arguments.without_programs) or self.selectors == ["core-elfs"]:
            yield text_of(ADDRESSED, arguments.work_directory, partial(self.stages.text, ADDRESSED))
        for name in arguments.get:
            if name not in EDGES:
                yield text_of(name, Path(arguments.output_dir), partial(self.stages.text, name))
        for name in arguments.cut:
            yield text_of(name, Path(arguments.checkpoint) / name, printed)

    def graph(self) -> str:
        """What would be done, for GraphViz."""
        names = [*self.needed, *(output.name for output in self.outputs)]
        numbers = {name: f"n{number}" for number, name in enumerate(dict.fromkeys(names))}
        asked = {output.name for output in self.outputs}
        lines = ["digraph aiecc {", "  rankdir=LR;", '  node [shape=box, fontname="monospace"];']
        for name, number in numbers.items():
            style = ", style=filled, fillcolor=lightblue" if name in asked else ""
            lines.append(f"  {number} [label={json.dumps(name)}{style}];")
        before = self.stages.before
        edges = [(before[name], name) for name in self.needed if before.get(name) in numbers]
        edges += [(output.stage, output.name) for output in self.outputs if output.stage != output.name]
        lines += [f"  {numbers[one]} -> {numbers[other]};" for one, other in dict.fromkeys(edges)]
        return "\n".join([*lines, "}"])

    def run(self) -> int:
        found, source = list[Diagnostic](), self.stages.source
        for name in self.arguments.without_effect if self.arguments.verbose else ():
            _say(f"note: {dashed(name)} has no effect: {IDLE[name].help}")
        try:
            with collect() as found:
                self._run()
        except DiagnosedError as error:
            found += error.diagnostics
        finally:
            show_diagnostics(found, source.texts if source is not None else {})
        if self._keeps_failures:
            self._keep_failure()
        if self.arguments.profile:
            _say("profile (time of each stage):")
            for name, seconds in sorted(self.stages.seconds.items(), key=lambda each: -each[1]):
                print(f"  {seconds * 1000:8.0f} ms  {name}", file=sys.stderr)
        return 1 if errors_in(found) else 0

    def _run(self) -> None:
        arguments = self.arguments
        first = self.stages.result(next(iter(arguments.restored), INPUT))
        self.stages.check_selection(first)
        # before passes change what is there
        devices = [(device.sym_name.data, device.location) for device in self.stages.devices(first)]
        cores = [core.location for device in self.stages.devices(first) for core in _without_program(device)]
        steps = [partial(self._make, output, first) for output in self.outputs]
        if not arguments.dry_run:
            steps += [partial(self.stages.result, stage) for stage in self.checked]
        reported = list[DiagnosedError]()
        for step in steps:
            try:
                step()
            except DiagnosedError as error:
                # several outputs may need a stage that fails: that is said once
                if not any(error is other for other in reported):
                    reported.append(error)
                    for diagnostic in error.diagnostics:
                        emit_diagnostic(diagnostic)
        if arguments.cut and not reported and not arguments.dry_run:
            self._write_manifest(Path(arguments.checkpoint), arguments.cut, arguments.graph)
        self._say_elsewhere(devices, cores)

    def _make(self, output: DriverOutput, first: ModuleOp) -> None:
        arguments = self.arguments
        if arguments.dry_run:
            for item in output.items(first):
                _say(f"would write '{item.path}'")
            return
        module = self.stages.result(output.stage)
        self._step(output.name)
        items = list(output.items(module))
        for item in items:
            self._claim(item)
        for item in items:
            data = item.make()
            if data is not None:
                item.path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(item.path, data)
            if arguments.verbose:
                _say(f"wrote edge '{output.name}': {item.path}{'' if data is None else f' ({len(data)} bytes)'}")

    def _claim(self, item: Item) -> None:
        other = self.written.setdefault(item.path, item.op)
        if other is not item.op:
            remedy = "put {0} into its name, or choose with --device-name and --sequence-name"
            where, text = item.op.location, f"two outputs would be '{item.path}'"
            fail(where, text, (other.location, "the other one is of this"), (where, remedy))

    def _step(self, name: str) -> None:
        self.done += 1
        if self.arguments.verbose or self.arguments.progress:
            _say(f"({self.done}/{len(self.needed) + len(self.outputs)}) {name}")

    def _say_elsewhere(self, devices: Sequence[tuple[str, LocationAttr]], cores: Sequence[LocationAttr]) -> None:
        """Name the outputs that were asked for and are not made, after all others are written."""
        arguments = self.arguments
        for name in self.selectors:
            if name == "core-elfs" and cores and not arguments.without_programs and not has_peano(arguments.peano):
                remedy = "name its folder with --peano or PEANO_INSTALL_DIR; `tilewright run` runs the design without"
                count = f"{len(cores)} cores" if len(cores) > 1 else "a core"
                self._complain(cores[0], f"cannot make the programs of {count}: {PROGRAMS_TOOL}", remedy)
            elif name == "host" and not arguments.host_files:
                _say("--get-host given but no host source files were provided; skipping host compilation")
            elif name in MADE_ELSEWHERE:
                field, tool, remedy = MADE_ELSEWHERE[name]
                # one error for an output of several devices
                device, location = devices[0]
                path = place(self.stages, str(getattr(arguments, field)), device)
                self._complain(location, f"cannot make '{path}': {tool}", remedy)

    def _complain(self, where: LocationAttr, text: str, remedy: str) -> None:
        severity = Severity.ERROR if self.arguments.elsewhere == "error" else Severity.WARNING
        emit_diagnostic(Diagnostic(severity, text, where).note(where, remedy))

    @property
    def _keeps_failures(self) -> bool:
        return self.arguments.keep_failures and not self.arguments.no_failures

    def _keep_failure(self) -> None:
        """Write what the stage that failed began with, from which it can be run again."""
        failed = self.stages.failed
        if failed is None or failed == INPUT:
            return
        arguments, before = self.arguments, self.stages.before[failed]
        directory = Path(arguments.failures or arguments.work_directory / "repeater")
        write_folder(directory, {f"{before}/{before}": printed(self.stages.result(before))})
        self._write_manifest(directory, [before], [*arguments.graph, f"--get={failed}"])
        _say(f"To reproduce, run: aiecc --resume={directory / MANIFEST}")

    def _write_manifest(self, directory: Path, stages: Sequence[str], argv: Sequence[str]) -> None:
        frontier = [{"name": name, "file": f"{name}/{name}"} for name in stages]
        document = json.dumps({"argv": argv, "frontier": frontier}, indent=2) + "\n"
        write_folder(directory, {MANIFEST: document.encode()})
        _say(f"wrote checkpoint to {directory / MANIFEST}")


def _without_program(device: DeviceOp) -> list[CoreOp]:
    return [core for core in ops_of(device.body.ops, CoreOp) if core.elf_file is None]


def _check_names(flag: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            listed = "".join(f"\n  {each}" for each in sorted(known))
            raise CommandLineError(f"aiecc: {flag}: unknown output '{name}'; known outputs are:{listed}")


def _say(text: str) -> None:
    print(visible(f"aiecc: {text}"), file=sys.stderr)
