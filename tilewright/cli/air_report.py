"""How `tilewright air run` tells what happens: lines of ranks as they come, then the outcome."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import show_diagnostics

if TYPE_CHECKING:
    from tilewright.gpu.host.outcome import AirRunResult, DiagnosticRecord, RankReport
    from tilewright.gpu.host.rank import RankJob


class Printer:
    """Prints what ranks print."""

    def __init__(self, ranks: int, prefix: bool, quiet: bool):
        self.ranks, self.prefix, self.quiet = ranks, prefix, quiet
        self.width = len(str(ranks - 1))

    def announce(self, job: RankJob) -> None:
        """Say what is going to run."""
        entry, options = job.program.entry.sym_name.data, job.options
        where = f"{job.backend}, {options.target.chip} with waves of {options.wave_size} lanes"
        ranks = f"{self.ranks} rank{'s' * (self.ranks > 1)}"
        print(f"tilewright: @{entry} is lowered; {ranks} on {where}", file=sys.stderr)

    def line(self, rank: int, text: str) -> None:
        if not self.quiet:
            print(f"[rank {rank:{self.width}}] {text}" if self.prefix else text, flush=True)

    def all(self, result: AirRunResult) -> None:
        """What each rank printed, one after the other."""
        for rank in result.ranks:
            for text in rank.output.splitlines():
                self.line(rank.rank, text)


def report(result: AirRunResult, sources: Mapping[str, str], as_json: bool, verbose: bool = False) -> int:
    """Say what failed, on stderr; gives the exit status."""
    show_diagnostics(result.diagnostics(), sources)
    for rank in result.failed:
        if not rank.is_consequence and not rank.messages:
            print(f"tilewright: error: rank {rank.rank} ended with status {rank.status}", file=sys.stderr)
    if as_json:
        print(json.dumps(outcome(result)))
    elif verbose:
        count = len(result.ranks)
        print(f"tilewright: {count} rank{'s' * (count > 1)} in {result.seconds:.2f} s", file=sys.stderr)
        for name, count in result.counters.items():
            print(f"  {name:24}{count:>16,}", file=sys.stderr)
    return result.status


def outcome(result: AirRunResult) -> dict[str, Any]:
    """A run for machines."""
    return {
        "status": result.status,
        "seconds": round(result.seconds, 6),
        "counters": result.counters,
        "ranks": [_rank(rank) for rank in result.ranks],
    }


def _rank(rank: RankReport) -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "status": rank.status,
        "consequence": rank.is_consequence,
        "output": rank.output,
        "values": list(rank.values),
        "counters": dict(rank.counters),
        "errors": [_message(message) for message in rank.messages],
    }


def _message(message: DiagnosticRecord) -> dict[str, Any]:
    place = dict(zip(("file", "line", "column"), message.position, strict=True)) if message.position else {}
    notes = {"notes": [_message(note) for note in message.notes]} if message.notes else {}
    return {"message": message.text, **place, **notes}
