"""Machine code of a design's cores: given in files, or made by the user's Peano from the cores and their kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.codegen.linker_files import linker_script
from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.dialects.memref import GlobalOp
from tilewright.driver.device_images import core_files
from tilewright.errors import Error
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import (
    CompileError,
    DiagnosedError,
    Diagnostic,
    Severity,
    fail,
    file_position,
    showing_operations,
)
from tilewright.ir.pass_manager import run_pipeline
from tilewright.ir.symbols import symbol_in
from tilewright.ir.traversal import ops_of
from tilewright.ir.verifier import operation_text
from tilewright.kernels.declaration import Declaration
from tilewright.kernels.sources import CHECKOUTS, SUFFIXES, DeviceSources, KernelMode
from tilewright.native.peano import (
    OPTIMIZATION,
    CoreUnit,
    KernelUnit,
    Peano,
    PeanoError,
    find_peano,
    has_peano,
    kernel_object,
    make_elf,
)
from tilewright.passes.control.configuration import PROGRAM_MEMORY_BYTES, ElfError, read_segments
from tilewright.passes.pipelines import CORE_LOWERING, pipeline_of
from tilewright.sim.kernel_sources import KernelSource

DEFAULT_DEVICE = "main"
CARRIED = (TileOp, BufferOp, LockOp, FuncOp, GlobalOp)
"""What a core may use of its device."""
LARGEST_ALIGNMENT = 32
EM_AIE = 264
ELF_MAGIC, ARCHIVE_MAGIC, BITCODE_MAGIC = b"\x7fELF", b"!<arch>\n", b"BC\xc0\xde"


@dataclass(frozen=True)
class CompileOptions:
    """How Peano is run."""

    level: int = OPTIMIZATION
    jobs: int = 0
    """How many programs are compiled side by side; 0 for as many as there are processors."""
    keep: Path | None = None
    """Where all files on the way are left."""
    search: Sequence[Path] = ()
    """Folders in which object files are looked for, besides that of the design and the current one."""
    say: Callable[[str], None] = field(default=lambda text: None)
    """Told how far it has come."""


@dataclass(frozen=True)
class CorePrograms:
    """The ELF files of a device's cores, by their places, and the cores that there is none for."""

    elfs: Mapping[TileId, bytes]
    missing: Sequence[CoreOp]


def core_elfs(
    device: DeviceOp,
    given: Mapping[TileId, Path] | None = None,
    folders: Iterable[Path] = (),
    directory: Path | None = None,
    peano_dir: str | os.PathLike[str] | None = None,
    options: CompileOptions | None = None,
    *,
    use_peano: bool = True,
) -> CorePrograms:
    """The machine code of each core of a lowered device.

    It is in the file that is given for a core, in a folder with files of upstream's names, or in the file that the core
    names. Other cores are compiled by Peano, where there is one.

    Args:
        device: a device whose buffers have addresses, and whose locks have numbers
        given: files by column and row
        folders: folders with files such as `main_core_0_2.elf`
        directory: where files are that cores name; the current one if not given
        peano_dir: where Peano is; without it, what PEANO_INSTALL_DIR names, or the package `llvm-aie`
        options: how it is run
        use_peano: whether to compile cores at all

    Raises:
        CompileError: for cores that cannot be compiled, and for files that are no programs of cores
        PeanoError: if there is no Peano where one is said to be
    """
    cores = {core.place: core for core in ops_of(device.body.ops, CoreOp) if core.place is not None}
    files = {TileId(*place): path for place, path in (given or {}).items()}
    if wrong := [place for place in files if place not in cores]:
        known = ", ".join(_shown(place) for place in cores) or "none"
        fail(device.location, f"there is no core {_shown(wrong[0])} to give a program to; there is {known}")
    paths = core_files(device, files, folders, directory or Path())
    found = {place: _read_program(cores[place], path) for place, path in paths.items()}
    rest = [core for place, core in cores.items() if place not in found]
    if not rest or not use_peano or not has_peano(peano_dir):
        return CorePrograms(found, rest)
    found |= compile_cores(device, rest, find_peano(peano_dir), options or CompileOptions())
    return CorePrograms({place: found[place] for place in cores}, [])


def _shown(place: tuple[int, int]) -> str:
    return f"({place[0]}, {place[1]})"


def _read_program(core: CoreOp, path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        _refuse(core, f"its program '{path}' cannot be read: {error.strerror}")
    try:
        check_program(data)
    except ElfError as error:
        _refuse(core, f"'{path}' is no program for it: {error}", "name the ELF file that a compiler for cores made")
    return data


def _refuse(core: CoreOp, text: str, *remedies: str) -> NoReturn:
    # The place alone: what is there is not at fault.
    place = _shown(core.place) if core.place is not None else "that has no place"
    fail(core.location, f"core {place}: {text}", *((core.location, remedy) for remedy in remedies))


def check_program(data: bytes) -> None:
    """Raise `ElfError` for what is no program that a core could load."""
    segments = list(read_segments(data))
    machine = int.from_bytes(data[18:20], "little")
    if machine != EM_AIE:
        raise ElfError(f"it is for machine {machine}, and cores are machine {EM_AIE}")
    for segment in segments:
        end = segment.address + len(segment.data)
        if segment.address < PROGRAM_MEMORY_BYTES < end:
            raise ElfError(f"the program ends at {end:#x}, and program memory has {PROGRAM_MEMORY_BYTES:#x} bytes")


# Code of a core.


def core_ir(device: DeviceOp, core: CoreOp) -> str:
    """The LLVM IR of a core, as Peano takes it."""
    from tilewright.codegen.core_llvm import core_llvm  # llvmlite writes it

    place = core.place
    if place is None:
        fail(core.location, "the core is on a tile that is not placed; run --aie-place-tiles first")
    module, ctx = _alone(device, core), make_context()
    names = {"device": DEFAULT_DEVICE, "column": place.column, "row": place.row}
    steps = [step.format(**names) if "tilecol" in step else step for step in CORE_LOWERING]
    run_pipeline(ctx, module, pipeline_of(steps), verify_each=False)
    return core_llvm(
        module, device.model.arch, [f"core_{place.column}_{place.row}"], _alignments(device), core.stack_bytes
    )


def _alone(device: DeviceOp, core: CoreOp) -> ModuleOp:
    """A copy of a device that has only this core, and what it may use."""
    copy, copies = device.clone_without_regions(), dict[SSAValue, SSAValue]()
    copy.sym_name, body = StringAttr(DEFAULT_DEVICE), Block()
    copy.body_region.add_block(body)
    for op in device.body.ops:
        if op is core or isinstance(op, CARRIED):
            body.add_op(op.clone(copies))
    # What is in a buffer at the start is written when the device is configured, not by the program.
    for buffer in ops_of(body.ops, BufferOp):
        buffer.initial_value = None
    return ModuleOp([copy])


def _alignments(device: DeviceOp) -> dict[str, int]:
    """What addresses of buffers are multiples of, as far as they are known."""
    found = dict[str, int]()
    for buffer in ops_of(device.walk(), BufferOp):
        address = buffer.address_bytes
        if buffer.sym_name is not None and address is not None:
            found[buffer.sym_name.data] = min(address & -address or LARGEST_ALIGNMENT, LARGEST_ALIGNMENT)
    return found


# Compilation.


def compile_cores(
    device: DeviceOp, cores: Sequence[CoreOp], peano: Peano, options: CompileOptions
) -> dict[TileId, bytes]:
    """The programs of cores, compiled side by side; all that is wrong with any of them is one error."""
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    kernels, problems, units = CoreKernels(device, peano, options), list[Diagnostic](), dict[TileId, CoreUnit]()
    for core in cores:
        try:
            with showing_operations(operation_text):
                units[_place(core)] = _unit(device, core, kernels, options)
        except DiagnosedError as error:
            problems += error.diagnostics
    if problems:
        raise CompileError(problems)
    made, count = dict[TileId, bytes](), 0
    places = {_place(core): core for core in cores}
    pool = ThreadPoolExecutor(max_workers=options.jobs or os.cpu_count() or 1, thread_name_prefix="Peano")
    try:
        tasks = {
            place: pool.submit(make_elf, peano, unit, check_program, options.keep) for place, unit in units.items()
        }
        for place, task in tasks.items():
            try:
                made[place] = task.result()
            except (PeanoError, ElfError) as error:
                problems += _complaint(places[place], error, f"'{units[place].name}'")
                continue
            count += 1
            options.say(f"core {_shown(place)}: {len(made[place])} bytes ({count} of {len(tasks)})")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    if problems:
        raise CompileError(problems)
    return made


def _place(core: CoreOp) -> TileId:
    assert core.place is not None, "cores that have no place are not compiled"
    return core.place


def _unit(device: DeviceOp, core: CoreOp, kernels: CoreKernels, options: CompileOptions) -> CoreUnit:
    place = _place(core)
    ir, objects = core_ir(device, core), kernels.objects(core)
    script = linker_script(device, place, list(objects))
    return CoreUnit(core_name(device, place), device.model.arch, ir, script, objects, options.level)


def core_name(device: DeviceOp, place: TileId) -> str:
    """What files of a core are called after, as upstream's driver has it: `main_core_0_2`."""
    return f"{_file_name(device.sym_name.data)}_core_{place.column}_{place.row}"


def _file_name(name: str) -> str:
    """A name as one word to files and linkers."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _complaint(core: CoreOp, error: Error, about: str) -> list[Diagnostic]:
    """An error at a core, and all that a compiler says about it."""
    message = getattr(error, "message", "")
    found = Diagnostic(Severity.ERROR, f"core {_shown(_place(core))} cannot be compiled: {error}", core.location)
    return [found.note(core.location, f"of {about} it says:\n{message}") if message else found]


class CoreKernels:
    """Object files of the functions that the cores of a device call."""

    def __init__(self, device: DeviceOp, peano: Peano, options: CompileOptions):
        self.device, self.peano, self.options = device, peano, options
        functions = {op.sym_name.data: op for op in ops_of(device.body.ops, FuncOp)}
        self.declarations = {name: op for name, op in functions.items() if op.is_declaration}
        self.sources = DeviceSources(device, self.declarations, KernelMode.SOURCE)
        self._made: dict[tuple[KernelSource, tuple[tuple[str, str], ...]], bytes] = {}

    def objects(self, core: CoreOp) -> dict[str, bytes]:
        """What a core is linked with, by file names."""
        called = [self.declarations[name] for name in _called(self.device, core) if name in self.declarations]
        found, sources = dict[str, bytes](), dict[KernelSource, dict[str, str]]()
        for function in called:
            self._find(core, function, found, sources)
        for file in _linked(core):
            path = self._existing(core, file)
            if path is not None:
                found.setdefault(str(path), self._object(core, path))
        for source, names in sources.items():
            found[source.shown] = self._compiled(core, source, names)
        return {
            f"{number}_{_file_name(Path(name).stem)}{_suffix(data)}": data
            for number, (name, data) in enumerate(found.items())
        }

    def _find(
        self, core: CoreOp, function: FuncOp, found: dict[str, bytes], sources: dict[KernelSource, dict[str, str]]
    ) -> None:
        """The object or the source of one function: a source that its declaration names goes before an object."""
        declaration = Declaration.of(function)
        has_own = declaration.source is not None or declaration.source_file is not None
        paths = [self._existing(function, file) for file in self.sources.object_files(function)]
        there = [path for path in paths if path is not None]
        source = None if there and not has_own else self.sources.source(function)
        if source is not None and _is_text(source):
            names = sources.setdefault(source, {})
            if declaration.symbol is not None and declaration.symbol != declaration.name:
                names[declaration.symbol] = declaration.name
            return
        for path in there:
            found[str(path)] = self._object(core, path)
        if not there:
            self._say_missing(core, function, declaration)

    def _say_missing(self, core: CoreOp, function: FuncOp, declaration: Declaration) -> NoReturn:
        files = ", ".join(f"'{file}'" for file in self.sources.object_files(function))
        text = f"core {_shown(_place(core))} calls @{declaration.name}, of which there is no object file and no source"
        looked = (
            f"it is linked from {files}: put that, or its C++ source, beside the design"
            if files
            else ("name an object file with `link_with`, or its C++ source with `tilewright.source_file`")
        )
        upstream = (
            f"the source of this one is '{declaration.source_file}' of mlir-aie: one of {', '.join(CHECKOUTS)} can name"
            " the folder of a checkout"
        )
        notes = [looked, *([upstream] if declaration.source_file is not None else ())]
        fail(core.location, text, *((function.location, note) for note in notes))

    def _existing(self, op: Operation, file: str) -> Path | None:
        """An object file where it is looked for: here, in folders that are named, beside the design."""
        places = [Path(file).absolute(), *(folder / file for folder in self.options.search), *_beside(op, Path(file))]
        suffixes = (".o", ".a", ".ll", ".bc")
        return next((place for place in places if place.suffix in suffixes and place.is_file()), None)

    def _object(self, core: CoreOp, path: Path) -> bytes:
        data = path.read_bytes()
        if path.suffix == ".ll" or data.startswith(BITCODE_MAGIC):
            return self._translated(core, KernelUnit(_file_name(path.name), data))
        is_object = data.startswith(ELF_MAGIC) and int.from_bytes(data[18:20], "little") == EM_AIE
        if not is_object and not data.startswith(ARCHIVE_MAGIC):
            _refuse(
                core,
                f"'{path}' is no object file for cores",
                "compile it with Peano, or remove it: its source is compiled",
            )
        return data

    def _compiled(self, core: CoreOp, source: KernelSource, names: Mapping[str, str]) -> bytes:
        key = source, tuple(sorted(names.items()))
        if key not in self._made:
            self.options.say(f"kernel {Path(source.shown).name}")
            folder = None if source.path is None else source.path.absolute().parent
            name = _file_name(Path(source.shown).name)
            flags = [*(f"-I{each}" for each in header_folders()), *source.flags]
            unit = KernelUnit(name, source.read().encode(errors="surrogateescape"), flags, folder, names)
            self._made[key] = self._translated(core, unit)
        return self._made[key]

    def _translated(self, core: CoreOp, unit: KernelUnit) -> bytes:
        try:
            return kernel_object(self.peano, unit, self.device.model.arch)
        except PeanoError as error:
            raise CompileError(_complaint(core, error, f"'{unit.name}'")) from error


def header_folders() -> Iterator[Path]:
    """Folders with the headers that kernels include, `aie_api` above all: of an installed mlir-aie, or a checkout."""
    for variable in CHECKOUTS:
        if named := os.environ.get(variable):
            folder = Path(named).absolute()
            for place in (folder / "include", folder / "third_party" / "aie_api" / "include"):
                if (place / "aie_api").is_dir():
                    yield place


def _is_text(source: KernelSource) -> bool:
    return source.path is None or source.path.suffix in SUFFIXES


def _suffix(data: bytes) -> str:
    return ".a" if data.startswith(ARCHIVE_MAGIC) else ".o"


def _linked(core: CoreOp) -> Iterator[str]:
    named = (core.link_files or (), core.link_merge_files or (), () if core.link_with is None else (core.link_with,))
    yield from (file.data for files in named for file in files)


def _called(device: DeviceOp, core: CoreOp) -> list[str]:
    """Names of all functions that a core calls, also by way of others."""
    found, pending = dict[str, None](), [core.walk()]
    while pending:
        for op in pending.pop():
            name = op.callee.string_value() if isinstance(op, CallOp) else None
            if name is not None and name not in found:
                found[name] = None
                callee = symbol_in(device, name)
                if isinstance(callee, FuncOp) and not callee.is_declaration:
                    pending.append(callee.walk())
    return list(found)


def _beside(op: Operation, path: Path) -> Iterable[Path]:
    """A file beside the text of an operation."""
    position = file_position(op.location)
    return [] if position is None else [Path(position[0]).absolute().parent / path]
