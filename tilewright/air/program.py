"""AIR programs: compiled for a GPU, and run on an emulated or a real one, host code included."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from math import prod
from os import PathLike
from pathlib import Path
from typing import Self

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation

from tilewright.device.gpu_targets import DEFAULT_AMD, DEFAULT_NVIDIA, GpuTarget, Vendor
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.func import FuncOp
from tilewright.gpu.chips import amd_chip, compatible_chip, nvidia_chip
from tilewright.gpu.device import (
    BACKENDS,
    MOST_HEAP_BYTES,
    MOST_RANKS,
    DeviceError,
    DeviceOptions,
    checked_timeout,
    whole_number,
)
from tilewright.gpu.host.arguments import Argument, ArgumentError, give_back
from tilewright.gpu.host.outcome import AirRunResult as RunResult
from tilewright.gpu.host.outcome import RankReport
from tilewright.gpu.host.program import HostProgram, host_program
from tilewright.gpu.host.rank import RankJob, run_ranks
from tilewright.gpu.host.supervisor import Show
from tilewright.ir.context import make_context
from tilewright.ir.create import clone_operation
from tilewright.ir.diagnostics import CompileError, DiagnosedError, fail, fail_op, shortened
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pass, run_pipeline
from tilewright.ir.printer import module_text
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.ir.verifier import verify
from tilewright.native.object_cache import CacheFolder, package_key
from tilewright.passes.air.hierarchies import find_target, wave_size_of
from tilewright.passes.pipelines import pipeline_of
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.support.collector import unhurried_collector
from tilewright.support.tracebacks import at_user_line

__all__ = ["AirProgram", "ArgumentError", "RankReport", "RunResult", "compile"]

LOWERED = CacheFolder(".air")
"""What passes made of functions of Python, kept from one process to the next."""
LOWERING = "air", "device", "dialects", "ir", "passes", "rewrite"
"""Folders of this package that decide what passes make."""
DEFAULT_CHIPS = {"emulator": DEFAULT_AMD, "cuda": DEFAULT_NVIDIA, "hip": DEFAULT_AMD}
"""What programs are lowered for by default, by backend."""
DEFAULT_WAVES = {Vendor.NVIDIA: 64}
"""Lanes of a wave by default: programs are written for 64, so that on NVIDIA's GPUs a wave is two warps."""
MOST_LANES = 1024
MOST_SEED = (1 << 63) - 1
Watch = Callable[[str, ModuleOp], None]
"""Told the name of a pass, without its options, and the program after it."""
OPT_LEVELS = 0, 2
"""As the program says it, or with all steps that make copies and products faster."""
KERNELS = {Vendor.AMD: "air-to-rocdl", Vendor.NVIDIA: "air-to-nvvm"}
"""What turns launches, segments and herds into kernels that stand in place."""


def default_chip(backend: str) -> str:
    """The chip to lower for by default: that of this machine's GPU if the program shall run on it."""
    found = nvidia_chip() if backend == "cuda" else amd_chip() if backend == "hip" else None
    try:
        return DEFAULT_CHIPS[backend] if found is None else compatible_chip(found)
    except DeviceError as error:
        fail(None, str(error))


def lanes_of(target: GpuTarget, wanted: int | None) -> int:
    """The lanes of a wave: what is wanted, or what programs expect of such a GPU."""
    if wanted is None:
        return wave_size_of(target, DEFAULT_WAVES.get(target.vendor, 0))
    if whole_number("wave size", wanted, 1, MOST_LANES) & (wanted - 1):
        raise ArgumentError(f"wave size takes a power of two, got {wanted}")
    return wave_size_of(target, wanted)


@at_user_line
def compile(source: str | PathLike[str]) -> AirProgram:
    """Read and check a program.

    Args:
        source: a path to MLIR, or MLIR text

    Raises:
        CompileError: if it is wrong; with diagnostics that name lines of the source
    """
    # no path has a line break, and hardly any a brace
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return AirProgram(source, "<text>")
    path = Path(source)
    return AirProgram(path.read_text(encoding="utf-8", errors="surrogateescape"), str(path))


class AirProgram:
    """A program that was read. How it is lowered depends on where it is to run."""

    def __init__(self, text: str, name: str):
        """A program in MLIR `text`, whose locations call its file `name`."""
        self.text, self.name = text, name
        self.sources = {name: text}
        self._context, self._keeps = make_context(), False
        with self._quoting():
            self.module = parse_source(self._context, text, name)
            _raise_errors(self.module)

    @classmethod
    def of_module(cls, module: ModuleOp, name: str, sources: Mapping[str, str]) -> Self:
        """A program, called `name`, that is built already as a `module`.

        `sources` are the texts of the files that its locations name.
        """
        program = cls.__new__(cls)
        program.name, program.sources, program.module = name, dict(sources), module
        program.text = module_text(module, debuginfo=True)
        program._context, program._keeps = make_context(), True
        with program._quoting():
            _raise_errors(module)
        return program

    def __repr__(self) -> str:
        return f"<AirProgram {shortened(self.name)}: functions {shortened(', '.join(self._functions())) or 'none'}>"

    def _repr_html_(self) -> str:
        from tilewright.report.markup import listing_html

        rows = [[name] for name in self._functions()]
        return listing_html(f"AIR program {self.name}", [(("function",), rows)])

    def _functions(self) -> list[str]:
        return [op.sym_name.data for op in self.module.body.block.ops if isinstance(op, FuncOp)]

    @unhurried_collector()
    def lowered(
        self,
        target: GpuTarget,
        wave_size: int | None = None,
        heap_bytes: int | None = None,
        watch: Watch | None = None,
        opt_level: int = 0,
    ) -> ModuleOp:
        """Host functions and modules of kernels in one module for a `target`; `watch` sees the program after each pass.

        `wave_size` is how many lanes a wave has, `heap_bytes` the size of each symmetric heap; `opt_level` is as in
        `run`.
        """
        if heap_bytes is not None:
            heap_bytes = whole_number("heap size", heap_bytes, 1, MOST_HEAP_BYTES)
        order = opt_passes(split_passes(target, lanes_of(target, wave_size), heap_bytes), opt_level)
        if not self._keeps or watch is not None:
            return self._run_passes(order, watch)
        key = sha256("\0".join((self.text, *order, package_key(*LOWERING))).encode()).hexdigest()
        kept = LOWERED.read(key)
        if kept is None:
            module = self._run_passes(order, None)
            names = json.dumps([argument.name_hint for argument in _arguments(module)])
            LOWERED.keep(key, f"{names}\n{module_text(module, debuginfo=True)}".encode())
            return module
        names, _, text = kept.decode().partition("\n")
        module = parse_source(self._context, text, self.name)
        for argument, name in zip(_arguments(module), json.loads(names), strict=True):
            argument.name_hint = name
        return module

    def _run_passes(self, order: Sequence[str], watch: Watch | None) -> ModuleOp:
        # passes change it in place, and the same program may be lowered for several targets
        module = clone_operation(self.module)

        def show(when: str, step: Pass, op: Operation) -> None:
            if watch is not None and when == "after" and isinstance(op, ModuleOp):
                watch(step.name, op)

        with self._quoting():
            run_pipeline(self._context, module, pipeline_of(order), verify_each=False, watch=show)
            _raise_errors(module)
        return module

    def host(self, module: ModuleOp, entry: str | None = None) -> HostProgram:
        """The host's side of a lowered program, a `module`, that begins with the function `entry`."""
        with self._quoting():
            return host_program(module, entry)

    def world_size(self, wanted: int | None = None) -> int:
        """How many ranks to run: what is wanted, else what the program says, else 1; they must not contradict."""
        if wanted is not None:
            wanted = whole_number("ranks", wanted, 1, MOST_RANKS)
        found = self.said_ranks(wanted)
        if found is not None and not 1 <= found <= MOST_RANKS:
            raise ArgumentError(f"the program is a world of {found} ranks; there can be 1 to {MOST_RANKS}")
        return 1 if found is None else found

    def said_ranks(self, wanted: int | None = None) -> int | None:
        """How many ranks there are: what is wanted, else what the program says, if it does."""
        found = wanted
        with self._quoting():
            for rank in ops_of(all_operations(self.module), RankOp):
                sizes = [scalar_int(extent) for extent in rank.extents]
                known = [size for size in sizes if size is not None]
                # a size that only a run knows is checked there
                if len(known) < len(sizes):
                    continue
                found = prod(known) if found is None else found
                if prod(known) != found:
                    remedy = f"run it with --ranks {prod(known)}, or change the size of its air.rank"
                    fail_op(rank, f"is a world of {prod(known)} ranks, but there are {found}", (rank, remedy))
        return found

    @at_user_line
    def run(
        self,
        *arguments: Argument,
        ranks: int | None = None,
        backend: str = "emulator",
        entry: str | None = None,
        chip: str | None = None,
        wave_size: int | None = None,
        heap_bytes: int | None = None,
        seed: int = 0,
        settings: Mapping[str, str] | None = None,
        timeout: float | None = None,
        show: Show | None = None,
        check: bool = True,
        profile: bool = False,
        opt_level: int = 0,
    ) -> RunResult:
        """Run a function of the program on a process for each rank.

        Each rank works on copies of the arrays; what rank 0 made of them is in them afterwards, and what the others
        did in the result. That a program ended itself with a status is not an error.

        Args:
            arguments: arrays and numbers for the function
            ranks: how many processes; what the program says unless given
            backend: `emulator`, `cuda` or `hip`
            entry: the function; `main`, or the only one, unless given
            chip: what to compile for, such as `gfx942` or `sm_90`; that of this machine's GPU on a real one
            wave_size: lanes of a wave
            heap_bytes: the size of the symmetric heap of each rank
            seed: of what the emulator draws by lot: orders of waves, lanes and messages
            settings: options of the backend by name
            timeout: seconds after which it counts as hung
            show: called with lines that ranks print as they come
            check: whether what the devices complain about is raised
            profile: whether what kernels do is counted, for `profile` of the result; the emulator can
            opt_level: 2 for all steps that make copies and products faster, 0 for none

        Raises:
            Hang: if ranks wait for each other, or longer than `timeout`
            Fault: if a rank fails
        """
        job = self.job(backend, entry, chip, wave_size, heap_bytes, seed, settings, profile, opt_level)
        job = job.with_arguments(arguments)
        return self.run_job(job, arguments, ranks, timeout, show, check)

    def run_job(
        self,
        job: RankJob,
        arguments: Sequence[Argument],
        ranks: int | None = None,
        timeout: float | None = None,
        show: Show | None = None,
        check: bool = True,
    ) -> RunResult:
        """Run what `job` gave, with `arguments`; `ranks`, `timeout`, `show` and `check` are as in `run`."""
        seconds = checked_timeout(timeout)
        size = self.world_size(ranks)
        result = run_ranks(job, size, seconds, show)
        # also of a run that failed
        give_back(arguments, result.ranks[0].arrays)
        if check and (error := result.error()) is not None:
            # what shows the error quotes the line
            error.sources.update(self.sources)
            raise error
        return result

    @unhurried_collector()
    def job(
        self,
        backend: str = "emulator",
        entry: str | None = None,
        chip: str | None = None,
        wave_size: int | None = None,
        heap_bytes: int | None = None,
        seed: int = 0,
        settings: Mapping[str, str] | None = None,
        profile: bool = False,
        opt_level: int = 0,
    ) -> RankJob:
        """Everything that ranks need to know to run, but for the arguments.

        `backend`, `entry`, `chip`, `wave_size`, `heap_bytes`, `seed`, `settings`, `profile` and `opt_level` are as in
        `run`.
        """
        if backend not in BACKENDS:
            fail(None, f"unknown backend '{backend}'; there is {', '.join(BACKENDS)}")
        if profile and backend != "emulator":
            raise ArgumentError(f"profiles are of the emulator: run it there, or with the maker's tools on {backend}")
        target = find_target(chip or default_chip(backend))
        lanes = lanes_of(target, wave_size)
        host = self.host(self.lowered(target, lanes, heap_bytes, opt_level=opt_level), entry)
        seed = whole_number("seed", seed, -MOST_SEED, MOST_SEED)
        options = DeviceOptions(target, lanes, seed, dict(settings or {}), dict(self.sources), profile)
        job = RankJob(host, (), backend, options)
        job.prepare()  # settings and kernels are checked before processes start
        return job

    def _quoting(self) -> _Quoting:
        return _Quoting(self.sources)


def _arguments(module: ModuleOp) -> list[BlockArgument]:
    """Those of all blocks, in their order. Texts number them: their names are kept beside a text."""
    blocks = (block for op in all_operations(module) for region in op.regions for block in region.blocks)
    return [argument for block in blocks for argument in block.args]


class _Quoting:
    """Errors inside of it take the program's text along, for what shows them."""

    def __init__(self, sources: Mapping[str, str]):
        self.sources = sources

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DiagnosedError):
            error.sources.update(self.sources)


def _raise_errors(module: ModuleOp) -> None:
    errors = verify(module)
    if errors:
        raise CompileError(errors)


def split_passes(target: GpuTarget, wave_size: int, heap_bytes: int | None = None) -> tuple[str, ...]:
    """Passes, with their options, after which a program is host functions beside modules of kernels.

    All of them leave alone what they have no business with, so one order serves every program.
    """
    heap = "" if heap_bytes is None else f"{{heap-size={heap_bytes}}}"
    return (
        f"air-gpu-channel-to-cacheline{{wave-size={wave_size}}}",
        "air-symmetric-alloc-to-mgpu",
        f"air-rank-to-mgpu{heap}",
        "air-translate-to-llvm",
        f"{KERNELS[target.vendor]}{{chip={target.chip} wave-size={wave_size}}}",
        "air-gpu-outlining",
    )


def opt_passes(order: Sequence[str], opt_level: int) -> tuple[str, ...]:
    """An order of `split_passes`, with the steps that a level adds to it."""
    if opt_level not in OPT_LEVELS:
        raise ArgumentError(f"opt_level is {' or '.join(map(str, OPT_LEVELS))}, got {opt_level}")
    if not opt_level:
        return tuple(order)
    *before, kernels, outlining = order
    wide = kernels.replace("}", " vector-bytes=16 spread-banks=true}")
    products = f"air-gpu-contract-to-mma{kernels[kernels.index('{') :]}"
    return (*before, "air-gpu-l2-layout", wide, products, "air-gpu-pipeline-copies", outlining)
