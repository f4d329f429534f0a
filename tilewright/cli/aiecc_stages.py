"""Stages of the driver: a design is read, and each stage goes on from what another one made."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block

from tilewright.cli.aiecc_arguments import AieccArguments
from tilewright.cli.files import read_design, read_text, write_folder
from tilewright.cli.package import core_elf_arguments
from tilewright.cli.programs import read_checked
from tilewright.device import TileId
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.compiled_design import devices_in, sequences_in
from tilewright.driver.core_programs import CompileOptions, compile_cores, core_name
from tilewright.driver.device_images import core_files
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosedError, fail, showing_operations
from tilewright.ir.escapes import visible
from tilewright.ir.pass_manager import run_pipeline
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import operation_text, verify
from tilewright.native.peano import find_peano, has_peano
from tilewright.passes.pipelines import DRIVER_TEXT, driver_stages, pipeline_of, with_options
from tilewright.rewrite.pass_bases import ops_of

INPUT, ADDRESSED, PHYSICAL = "input.mlir", "input_with_addresses.mlir", "input_physical.mlir"
WITH_PROGRAMS, LOWERED = "physical_with_elfs.mlir", "npu_lowered.mlir"
PACKETS_SENT = "ctrlpkt_to_dma.mlir"
KEEP_PACKETS = {"aie-ctrl-packet-to-dma": "keep-words"}
RESET_DEVICES = "empty_"
"""What devices are called that a pass adds to reset the array: they are part of every selection."""
PROGRAMS_TOOL = "Peano and Chess compile the programs of cores, and there is no Peano"


class Stages:
    """What is made of a design, one stage after the other; each is run when it is first asked for."""

    def __init__(self, arguments: AieccArguments, on_step: Callable[[str], None]):
        self.arguments, self.on_step = arguments, on_step
        self.ctx = make_context()
        # a checkpoint stands for it
        has_input = arguments.input and not arguments.restored
        self.source = read_design(Namespace(design=arguments.input, entry=None)) if has_input else None
        self.orders = driver_stages(arguments)
        if "full-elf" in arguments.asked and PACKETS_SENT in self.orders:
            # what the packets are is part of the file
            self.orders[PACKETS_SENT] = with_options(self.orders[PACKETS_SENT], KEEP_PACKETS)
        self.before = self._predecessors()
        self.kept = {INPUT, *self.before}
        """Those whose result is asked for again; what others make may be changed."""
        self.seconds: dict[str, float] = {}
        self._made: dict[str, ModuleOp] = {}
        self._failed: dict[str, DiagnosedError] = {}
        self._programs: dict[str, dict[TileId, Path]] = {}

    def _predecessors(self) -> dict[str, str]:
        """The stage that each stage goes on from."""
        found, last = dict[str, str](), INPUT
        for name in self.orders:
            found[name] = last
            last = name
            if name == PHYSICAL:
                found[WITH_PROGRAMS] = PHYSICAL
                # what devices are loaded with has the programs of their cores
                last = WITH_PROGRAMS if self._expands else PHYSICAL
        return found

    @property
    def _expands(self) -> bool:
        return self.arguments.expand_load_pdis or self.arguments.load_pdi_to_ctrl_pkt

    @property
    def configured(self) -> str:
        """The stage with the devices whose configuration is written."""
        # a pass adds devices, which need theirs too
        return LOWERED if self._expands else WITH_PROGRAMS

    @property
    def failed(self) -> str | None:
        """The first stage that failed, if any did."""
        # a stage that cannot begin has the error of the one before
        return next(iter(self._failed), None)

    def up_to(self, name: str) -> list[str]:
        """The stages that are run for one, in order."""
        if name == INPUT or name in self.arguments.restored:
            return [name]
        return [*self.up_to(self.before[name]), name]

    def result(self, name: str) -> ModuleOp:
        """What a stage makes. It stays as it is: who changes it copies it."""
        if name in self._failed:
            raise self._failed[name]
        if name not in self._made:
            try:
                with showing_operations(operation_text):
                    self._made[name] = self._run(name)
            except DiagnosedError as error:
                self._failed[name] = error
                raise
        return self._made[name]

    def _run(self, name: str) -> ModuleOp:
        *_, before = [None, *self.up_to(name)[:-1]]
        module = self.result(before) if before is not None else None
        self.on_step(name)
        with self._timed(name):
            if module is None:
                return self._read(name)
            module = module.clone() if before in self.kept else module
            if name == WITH_PROGRAMS:
                self.load_programs(module)
            else:
                run_pipeline(self.ctx, module, pipeline_of(self.orders[name]), verify_each=False)
            _raise_errors(module)
        if self.arguments.dump_intermediates:
            write_folder(self.arguments.work_directory, {name: self.text(name, module)})
        return module

    def text(self, name: str, module: ModuleOp) -> bytes:
        """What a stage makes, as upstream's driver writes it."""
        if name not in (INPUT, *self.up_to(ADDRESSED)[:-1]):
            module = module.clone()
            run_pipeline(self.ctx, module, pipeline_of(DRIVER_TEXT), verify_each=False)
        return printed(module)

    def _read(self, name: str) -> ModuleOp:
        if name in self.arguments.restored:
            path = str(self.arguments.restored[name])
            return read_checked(self.ctx, path, read_text(path))
        assert self.source is not None
        module = self.source.read(self.ctx)
        _raise_errors(module)
        return module

    @contextmanager
    def _timed(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start

    def devices(self, module: ModuleOp) -> list[DeviceOp]:
        """Those that were chosen."""
        chosen = self.arguments.device_name
        names = [(device, device.sym_name.data) for device in devices_in(module)]
        return [device for device, name in names if not chosen or name == chosen or name.startswith(RESET_DEVICES)]

    def sequences(self, module: ModuleOp) -> list[RuntimeSequenceOp]:
        chosen = self.arguments.sequence_name
        found = [sequence for device in self.devices(module) for sequence in sequences_in(device)]
        return [sequence for sequence in found if chosen in ("", sequence.sym_name.data)]

    def check_selection(self, module: ModuleOp) -> None:
        """Refuse names of devices and sequences that there are none of."""
        arguments = self.arguments
        devices = [device.sym_name.data for device in devices_in(module)]
        if not devices:
            fail(module.location, "there is no aie.device in the input")
        if arguments.device_name and arguments.device_name not in devices:
            fail(module.location, f"there is no device '{arguments.device_name}'; there is {', '.join(devices)}")
        sequences = [sequence.sym_name.data for device in self.devices(module) for sequence in sequences_in(device)]
        if arguments.sequence_name and arguments.sequence_name not in sequences:
            there = ", ".join(sequences) or "none"
            fail(module.location, f"there is no runtime sequence '{arguments.sequence_name}'; there is {there}")

    def programs(self, device: DeviceOp) -> dict[TileId, Path]:
        """The files of the programs that there are for a device's cores, wherever these are looked for from."""
        given, folders = core_elf_arguments(self.arguments.core_elfs)
        name = device.sym_name.data
        if name not in self._programs:
            found = {place: path.absolute() for place, path in core_files(device, given, folders, Path()).items()}
            self._programs[name] = found | self._compiled(device, [*found])
        return self._programs[name]

    def _compiled(self, device: DeviceOp, known: Sequence[TileId]) -> dict[TileId, Path]:
        """Programs of the cores that there are no files for, where Peano is there."""
        arguments, work = self.arguments, self.arguments.work_directory.absolute()
        cores = [core for core in ops_of(device.body.ops, CoreOp) if core.place is not None]
        rest = [core for core in cores if core.place not in known]
        if not rest or arguments.without_programs or not has_peano(arguments.peano):
            return {}
        options = CompileOptions(
            int(arguments.opt_level),
            int(arguments.jobs),
            work if arguments.dump_intermediates else None,
            [work, Path(arguments.input).absolute().parent],
            self.on_program,
        )
        made = compile_cores(device, rest, find_peano(arguments.peano), options)
        # a folder for each, as upstream's driver has it
        stems = {place: f"elfs_{core_name(device, place)}" for place in made}
        write_folder(work, {f"{stem}/{stem}.elf": made[place] for place, stem in stems.items()})
        return {place: work / stem / f"{stem}.elf" for place, stem in stems.items()}

    def on_program(self, text: str) -> None:
        if self.arguments.verbose or self.arguments.progress:
            print(visible(f"aiecc: {text}"), file=sys.stderr)

    def load_programs(self, module: ModuleOp) -> None:
        """Have cores name the files of their programs."""
        unused, _ = core_elf_arguments(self.arguments.core_elfs)
        for device in self.devices(module):
            files = self.programs(device)
            for core in ops_of(device.body.ops, CoreOp):
                place = core.place
                file = files.get(place) if place is not None else None
                if place is not None:
                    unused.pop(place, None)
                if file is not None:
                    core.elf_file = StringAttr(str(file))
                    _empty(core)
                elif not self.arguments.without_programs:
                    _refuse(core, "{},{}".format(*place) if place is not None else "")
        if unused:
            column, row = next(iter(unused))
            fail(module.location, f"--core-elf: there is no core ({column}, {row})")


def _refuse(core: CoreOp, place: str) -> None:
    # the place alone: what is there is not at fault
    where = core.location
    text = f"the program of core ({place.replace(',', ', ')}) is part of what was asked for: {PROGRAMS_TOOL}"
    remedy = "name its folder with --peano or PEANO_INSTALL_DIR"
    given = f"a program that you have is named with --core-elf {place}=FILE"
    fail(where, text, (where, remedy), (where, given), (where, "--no-compile leaves programs out"))


def _empty(core: CoreOp) -> None:
    """Leave nothing of a core's program but its end."""
    if not core.is_empty:
        for block in list(core.body.blocks):
            core.body.erase_block(block, safe_erase=False)
        core.body.add_block(Block([EndOp()]))


def _raise_errors(module: ModuleOp) -> None:
    if errors := verify(module):
        raise CompileError(errors)


def printed(module: ModuleOp) -> bytes:
    """A program with locations, from which the driver can go on."""
    return module_text(module, debuginfo=True).encode(errors="surrogateescape")
