"""Runs a bundle: a process for each rank, each with a device of its own."""

from __future__ import annotations

import ctypes
import struct
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.device.gpu_targets import GPU_TARGETS, Vendor
from tilewright.errors import ArgumentError
from tilewright.gpu.bundle.machine_code import load_object
from tilewright.gpu.bundle.manifest import HOST_OBJECT, EntryParameter, Manifest, read_manifest
from tilewright.gpu.device import (
    MOST_RANKS,
    DeviceError,
    DeviceOptions,
    RankLost,
    Size3,
    World,
    checked_timeout,
    whole_number,
)
from tilewright.gpu.driver_device import LoadableCode
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.processes import LocalWorld, RankProcess
from tilewright.gpu.host.runtime import Exited, NativeRuntime, arguments_at, shared_copy
from tilewright.gpu.host.supervisor import RankOutput, RankSupervisor
from tilewright.support.output_files import array_files, write_files

BACKENDS = {Vendor.NVIDIA: "tilewright.gpu.cuda", Vendor.AMD: "tilewright.gpu.hip"}
FAILED = 1
Array = npt.NDArray[Any]


def add_arguments(parser: ArgumentParser) -> None:
    """What a bundle is run with."""
    parser.add_argument("--ranks", metavar="N", type=int, help="how many processes (default: what the program says)")
    parser.add_argument("--arg", metavar="SPEC", action="append", default=[], help="an argument of the entry, in order")
    parser.add_argument("--out", metavar="DIR", help="write each array to DIR/NAME.npy, those of rank N to DIR/rankN")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="an option of the device")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="end the run after so long, with status 1")


def main(folder: Path, argv: Sequence[str] | None = None) -> int:
    """The command line of a bundle's own runner."""
    parser = ArgumentParser(description="Run a compiled AIR program.")
    add_arguments(parser)
    return run_bundle(folder, parser.parse_args(argv))


def run_bundle(folder: Path, args: Namespace) -> int:
    """Run all ranks; gives the exit status. Says on stderr what went wrong."""
    try:
        return _run(folder, args)
    except (DeviceError, ArgumentError) as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED


def _run(folder: Path, args: Namespace) -> int:
    manifest = read_manifest(folder)
    ranks = whole_number("ranks", args.ranks if args.ranks is not None else manifest.ranks or 1, 1, MOST_RANKS)
    # channels are compiled for a world of this size
    if manifest.ranks not in (None, ranks):
        raise DeviceError(f"the program is a world of {manifest.ranks} ranks, but there are {ranks}")
    settings = dict(_setting(text) for text in args.set)
    options = DeviceOptions(GPU_TARGETS[manifest.target], manifest.wave_size, settings=settings)
    # each rank has arrays of its own, as its device has memory of its own
    arguments = [prepare_arguments(manifest, args.arg) for _ in range(ranks)]
    status = BundleRun(folder, manifest, options, ranks, arguments).run(checked_timeout(args.timeout))
    # arrays of a run that failed are half done
    if args.out is not None and status == 0:
        save_arguments(Path(args.out), manifest, arguments)
    return status


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise DeviceError(f"--set takes NAME=VALUE, got '{text}'")
    return name, value


class BundleRun:
    """One run of a bundle."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        options: DeviceOptions,
        ranks: int,
        arguments: Sequence[EntryArguments],
    ):
        self.folder, self.manifest, self.options, self.ranks = folder, manifest, options, ranks
        self.arguments = arguments

    def run(self, timeout_seconds: float | None) -> int:
        """Run all ranks; 0 if all end well."""
        gathering = RankSupervisor(RankOutput(self.ranks, self._show), self._complain, bool)
        try:
            for rank in range(self.ranks):
                gathering.start(rank, self._work, HostContext(self.manifest.context_bytes))
            gathering.wait(timeout_seconds)
        finally:
            gathering.close()
        return FAILED if any(gathering.reports.values()) else 0

    def _show(self, rank: int, line: str) -> None:
        print(line if self.ranks == 1 else f"[rank {rank}] {line}", flush=True)

    def _work(self, world: LocalWorld, context: HostContext) -> int:
        """What the process of a rank does; gives its status."""
        # in the process of the rank: a driver does not survive a fork
        backend = import_module(BACKENDS[self.options.target.vendor])
        own = self.arguments[world.rank]
        return run_rank(self.folder, self.manifest, world, self.options, backend.open_device, context, own)

    def _complain(self, process: RankProcess, text: str, is_consequence: bool) -> int:
        """Say what became of a rank that cannot say it any more; its context tells where it was."""
        print(f"error: rank {process.rank} {text}", file=sys.stderr)
        if self.manifest.sites:
            site = self.manifest.sites[process.context.site]
            inside = "it is in this call" if process.context.is_inside else "this was the last call of the runtime"
            print(f"{site.position}: note: {inside}", file=sys.stderr)
        return FAILED


def run_rank(
    folder: Path,
    manifest: Manifest,
    world: World,
    options: DeviceOptions,
    open_device: Callable[[World, DeviceOptions], Any],
    context: HostContext,
    arguments: EntryArguments,
) -> int:
    """Run the entry; gives the exit status and prints what went wrong."""
    try:
        device = open_device(world, options)
        try:
            return BundleRuntime(folder, manifest, world, device, context).call_entry(arguments)
        finally:
            device.close()
    except Exited as error:
        # as the system cuts it
        return error.status % 256
    except (DeviceError, RankLost) as error:
        print(error if isinstance(error, Located) else f"error: {error}", file=sys.stderr, flush=True)
        return FAILED


class Located(DeviceError):
    """An error whose text begins with the place in the source where the host asked for what failed."""


class BundleRuntime(NativeRuntime):
    """The runtime of a bundle: errors name the places that its manifest lists."""

    def __init__(self, folder: Path, manifest: Manifest, world: World, device: Any, context: HostContext):
        super().__init__(world, device, context)
        self.manifest = manifest
        self.code = load_object((folder / HOST_OBJECT).read_bytes())
        modules = {
            module.name: device.load_code(LoadableCode((folder / module.file).read_bytes(), module.kernels))
            for module in manifest.modules
        }
        self._launches = [(modules[entry.module].kernel(entry.kernel), entry.parameters) for entry in manifest.launches]
        self.publish(manifest.calls)

    def call_entry(self, arguments: EntryArguments) -> int:
        """Gives the exit status."""
        # on the device, where kernels and the host's code see the same memory
        placed = [self.place(array) for array in arguments.arrays]
        start = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(self.code.address(self.manifest.start))
        results = self.run(start, entry_parts(self.manifest, arguments, placed), self.manifest.results)
        for array, address in zip(arguments.arrays, placed, strict=True):
            self.take_back(array, address)
        return results[0] % 256 if self.manifest.returns_status else 0

    def trapped(self) -> Exception:
        trap = self.manifest.traps[self.context.trap]
        return Located(trap.site.error(trap.text.format(*self.context.details)))

    def located(self, error: BaseException) -> BaseException:
        if not isinstance(error, DeviceError | RankLost):
            return error
        return Located(self.manifest.sites[self.context.site].error(str(error)))

    def launch(self, number: int, *sizes_and_arguments: int) -> None:
        *sizes, shared, arguments = sizes_and_arguments
        kernel, widths = self._launches[number]
        self.device.launch(kernel, Size3(*sizes[:3]), Size3(*sizes[3:]), shared, arguments_at(arguments, widths))
        self.device.synchronize()


@dataclass
class EntryArguments:
    """The arrays, in memory that all processes share, and the bits of the numbers, each in order."""

    arrays: list[Array] = field(default_factory=list[Array])
    numbers: list[int] = field(default_factory=list[int])


def prepare_arguments(manifest: Manifest, specs: Sequence[str]) -> EntryArguments:
    """What the command line asks for: a number, a .npy file, zeros, arange or random:SEED for each parameter."""
    if len(specs) > len(manifest.parameters):
        names = ", ".join(parameter.name for parameter in manifest.parameters) or "nothing"
        raise DeviceError(f"@{manifest.entry} takes {names}, got {len(specs)} arguments")
    found = EntryArguments()
    for number, parameter in enumerate(manifest.parameters):
        spec = specs[number] if number < len(specs) else None
        if parameter.shape is not None:
            found.arrays.append(_array(parameter, spec or "zeros"))
        elif spec is None:
            raise DeviceError(f"@{manifest.entry} takes {parameter.name}, a {parameter.type}; give it: --arg NUMBER")
        else:
            found.numbers.append(_bits(parameter, spec))
    return found


def _array(parameter: EntryParameter, spec: str) -> Array:
    shape, type = parameter.shape or (), np.dtype(parameter.type)
    kind, _, seed = spec.partition(":")
    if kind in ("zeros", "arange", "random"):
        if -1 in shape:
            raise DeviceError(f"{parameter.name} has no size of its own: give it an array, --arg FILE.npy")
        if kind == "random":
            drawn = np.random.default_rng(int(seed or 0)).random(shape)
            # integers below 1 would all be 0
            values = (drawn if type.kind == "f" else 100 * drawn).astype(type)
        else:
            values = (np.arange(prod(shape)) * (kind == "arange")).astype(type).reshape(shape)
    else:
        values = _read(parameter, spec)
    return shared_copy(values)


def _is_like(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether elements can be taken as they are: of the same type, integers of either sign, or without a type."""
    kinds = {given.kind, wanted.kind}
    return (
        given.itemsize == wanted.itemsize and given.isnative and (len(kinds) == 1 or kinds <= {*"iub"} or "V" in kinds)
    )


def _read(parameter: EntryParameter, path: str) -> Array:
    shape, type = parameter.shape or (), np.dtype(parameter.type)
    try:
        values: Array = np.ascontiguousarray(np.load(path))
    except (OSError, ValueError) as error:
        raise DeviceError(f"{parameter.name}: cannot read {path}: {error}") from error
    fits = len(shape) == values.ndim and all(w in (-1, s) for w, s in zip(shape, values.shape, strict=True))
    if not fits or not _is_like(values.dtype, type):
        raise DeviceError(f"{parameter.name} is {shape} of {type}, {path} has {values.shape} of {values.dtype}")
    return values


def _bits(parameter: EntryParameter, text: str) -> int:
    try:
        packing = {"float32": "<f", "float64": "<d"}.get(parameter.type)
        if packing is not None:
            return int.from_bytes(struct.pack(packing, float(text)), "little")
        return int(text, 0) % (1 << 64)
    except ValueError as error:
        raise DeviceError(f"{parameter.name} is a {parameter.type}, got '{text}'") from error


def entry_parts(manifest: Manifest, arguments: EntryArguments, addresses: Sequence[int]) -> list[int]:
    """The arguments as the eight-byte parts that native code takes; arrays are at these addresses."""
    parts = list[int]()
    arrays, numbers = iter(zip(arguments.arrays, addresses, strict=True)), iter(arguments.numbers)
    for parameter in manifest.parameters:
        if parameter.shape is None:
            parts.append(next(numbers))
            continue
        array, address = next(arrays)
        sizes = [size for size, known in zip(array.shape, parameter.shape, strict=True) if known == -1]
        strides = [array.strides[dimension] // array.itemsize for dimension in parameter.dynamic_strides]
        # what the type says already is not passed; the offset always is
        parts += [address, array.nbytes, 0, *sizes, *strides]
    return parts


def save_arguments(folder: Path, manifest: Manifest, arguments: Sequence[EntryArguments]) -> None:
    """Arrays of rank 0 go into the folder itself, those of others into folders of their own."""
    names = [parameter.name for parameter in manifest.parameters if parameter.shape is not None]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = dict[str, bytes]()
        for rank, own in enumerate(arguments):
            below = "" if rank == 0 else f"rank{rank}/"
            arrays = array_files(dict(zip(names, own.arrays, strict=True)))
            files |= {below + name: data for name, data in arrays.items()}
        write_files(folder, files)
    except OSError as error:
        raise DeviceError(f"cannot write to '{error.filename or folder}': {error.strerror or error}") from error
