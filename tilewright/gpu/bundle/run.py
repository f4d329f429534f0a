"""Runs a bundle: a process for each rank, each with a device of its own."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tilewright.device.gpu_targets import GPU_TARGETS, Vendor
from tilewright.errors import ArgumentError
from tilewright.gpu.bundle.arguments import Arguments, prepare_arguments, save_arguments
from tilewright.gpu.bundle.manifest import Manifest, read_manifest
from tilewright.gpu.bundle.rank import run_rank
from tilewright.gpu.device import DeviceError, DeviceOptions
from tilewright.gpu.host.context import Context
from tilewright.gpu.host.gathering import Gathering
from tilewright.gpu.host.local_world import LocalWorld
from tilewright.gpu.host.output import RankOutput
from tilewright.gpu.host.processes import RankProcess
from tilewright.gpu.run_options import MOST_RANKS, checked_timeout, whole_number

BACKENDS = {Vendor.NVIDIA: "tilewright.gpu.cuda", Vendor.AMD: "tilewright.gpu.hip"}
FAILED = 1


def add_arguments(parser: ArgumentParser) -> None:
    """What a bundle is run with."""
    parser.add_argument("--ranks", metavar="N", type=int, help="how many processes (default: what the program says)")
    parser.add_argument("--arg", metavar="SPEC", action="append", default=[], help="an argument of the entry, in order")
    parser.add_argument("--out", metavar="DIR", help="write each array to DIR/NAME.npy afterwards")
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
    if manifest.ranks not in (None, ranks):
        raise DeviceError(f"the program is a world of {manifest.ranks} ranks, but there are {ranks}")
    settings = dict(_setting(text) for text in args.set)
    options = DeviceOptions(GPU_TARGETS[manifest.target], manifest.wave_size, settings=settings)
    arguments = prepare_arguments(manifest, args.arg)
    status = Job(folder, manifest, options, ranks, arguments).run(checked_timeout(args.timeout))
    if args.out is not None and status == 0:
        save_arguments(Path(args.out), manifest, arguments)
    return status


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise DeviceError(f"--set takes NAME=VALUE, got '{text}'")
    return name, value


class Job:
    """One run of a bundle."""

    def __init__(self, folder: Path, manifest: Manifest, options: DeviceOptions, ranks: int, arguments: Arguments):
        self.folder, self.manifest, self.options, self.ranks = folder, manifest, options, ranks
        self.arguments = arguments

    def run(self, timeout_seconds: float | None) -> int:
        """Run all ranks; 0 if all end well."""
        gathering = Gathering(RankOutput(self.ranks, self._show), self._complain, bool)
        try:
            for rank in range(self.ranks):
                gathering.start(rank, self._work, Context(self.manifest.context_bytes))
            gathering.wait(timeout_seconds)
        finally:
            gathering.close()
        return FAILED if any(gathering.reports.values()) else 0

    def _show(self, rank: int, line: str) -> None:
        print(line if self.ranks == 1 else f"[rank {rank}] {line}", flush=True)

    def _work(self, world: LocalWorld, context: Context) -> int:
        """What the process of a rank does; gives its status."""
        backend = import_module(BACKENDS[self.options.target.vendor])
        return run_rank(self.folder, self.manifest, world, self.options, backend.open_device, context, self.arguments)

    def _complain(self, process: RankProcess, text: str, is_consequence: bool) -> int:
        """Say what became of a rank that cannot say it any more; its context tells where it was."""
        print(f"error: rank {process.rank} {text}", file=sys.stderr)
        if self.manifest.sites:
            site = self.manifest.sites[process.context.site]
            inside = "it is in this call" if process.context.is_inside else "this was the last call of the runtime"
            print(f"{site.position}: note: {inside}", file=sys.stderr)
        return FAILED
