"""What `tilewright run` leaves behind of a run: the table at its end, a page, a trace."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.sim.record import RunRecord


def add_file_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--trace", metavar="FILE.json", help="write a trace for ui.perfetto.dev or chrome://tracing")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about the run: array, timeline, stalls")


def write_files(record: RunRecord, args: Namespace, sources: Mapping[str, str]) -> None:
    """Write the files that were asked for; they are as useful for a run that hangs."""
    from tilewright.cli.files import write_text

    if args.trace is not None:
        from tilewright.report.perfetto import perfetto_json

        write_text(args.trace, perfetto_json(record))
    if args.report is not None:
        from tilewright.report.page import page_html

        title = Path(args.design if args.design is not None else args.txn).name
        write_text(args.report, page_html(record, title, sources))


def print_table(record: RunRecord) -> None:
    """Who did what, in a few lines."""
    from rich.console import Console

    from tilewright.report.summary import summarise, table

    Console(highlight=False).print(table(summarise(record)))
