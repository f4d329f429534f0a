"""Feed damaged inputs to all tools for as long as asked, going on where the journal stops.

    python -m fuzz --seconds 600                   all targets, each by its share
    python -m fuzz --total 100000                  however long that takes
    python -m fuzz --targets opt,air-run --jobs 2
    python -m fuzz --targets opt --seed 1234       that one case, here, with a traceback; its input goes to a folder
    python -m fuzz --again                         only what was found before: which of it is still so?
    python -m fuzz --summary                       what the journal says

Status 1 if something was found.
"""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import sys
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from contextlib import chdir
from pathlib import Path

from fuzz.cases import execute
from fuzz.journal import Journal
from fuzz.runner import Runner, run_batch
from fuzz.targets import TARGETS, Target

SECONDS = 600


def main() -> int:
    parser = ArgumentParser("fuzz", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help=f"how long (default: {SECONDS}, no limit with --total)")
    goals = parser.add_mutually_exclusive_group()
    goals.add_argument("--total", type=int, help="stop when this run has so many cases of all targets together")
    goals.add_argument("--cases", type=int, help="stop when each target has so many, in all runs together")
    parser.add_argument("--targets", default=",".join(TARGETS), help=f"default: all, {', '.join(TARGETS)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--journal", type=Path, default=Path(".fuzz"), help="the folder that keeps it (default: .fuzz)")
    parser.add_argument("--seed", type=int, help="run this case of one target alone")
    parser.add_argument("--again", action="store_true", help="run what was found before")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    parser.add_argument("--json", action="store_true", help="print the summary for machines")
    args = parser.parse_args()
    unknown = [name for name in args.targets.split(",") if name not in TARGETS]
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}; there is {', '.join(TARGETS)}")
    targets = [TARGETS[name] for name in args.targets.split(",")]
    os.environ.setdefault("TILEWRIGHT_CACHE", str((args.journal / "cache").resolve()))
    if args.seed is not None:
        return _one(targets[0], args.seed, args.journal)
    journal = Journal(args.journal)
    if args.again:
        return _again(targets, journal)
    if not args.summary:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # workers end with this process
        _warm_up(targets)
        if args.seconds is None:
            args.seconds = SECONDS if args.total is None else math.inf
        Runner(targets, journal, args.jobs).run(args.seconds, args.cases, args.total)
    return _report(journal, args)


def _report(journal: Journal, args: Namespace) -> int:
    print(json.dumps(journal.to_json()) if args.json else journal.summary())
    return 1 if any(it.findings for it in journal.totals.values()) else 0


def _warm_up(targets: list[Target]) -> None:
    """Import and build what all cases need, so that processes made from this one have it."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for target in targets:
            run_batch(target, -3, 3)
    gc.collect()
    gc.freeze()


def _one(target: Target, seed: int, folder: Path) -> int:
    case = target.case(seed)
    where = folder / "inputs" / f"{target.name}-{seed}"
    where.mkdir(parents=True, exist_ok=True)
    case.write(where)
    print(f"{where}: {' '.join(case.files)}\ntilewright {' '.join(case.argv)}" if case.argv else where)
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        outcome = execute(case)
    print(f"{outcome.ending}: {outcome.defect or 'as it may end'}\n{outcome.detail}")
    return 1 if outcome.defect else 0


def _again(targets: list[Target], journal: Journal) -> int:
    left = 0
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as folder, chdir(scratch):
        for target in targets:
            for finding in journal.of(target.name).findings:
                rerun = Journal(Path(folder) / f"{target.name}-{finding.seed}")
                rerun.of(target.name).next_seed = finding.seed
                Runner([target], rerun).run(120, 1)
                left += len(rerun.of(target.name).findings)
    print(f"{left} findings are left")
    return 1 if left else 0


sys.exit(main())
