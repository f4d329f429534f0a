"""Read what trace units wrote to a host buffer.

FILE has the words of the buffer: as numbers in hexadecimal, one in a line, as raw bytes, or as an array of NumPy.
"""

from __future__ import annotations

import io
import json
import re
from argparse import Namespace
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tilewright.cli.errors import InputError
from tilewright.cli.files import design_arguments, read_bytes, read_design, write_text
from tilewright.cli.parsers import Tool, arguments, tools, value

if TYPE_CHECKING:
    from tilewright.report.hardware_trace import RecordedEvent

_DESIGN = design_arguments()
add_arguments = tools(
    {
        "decode": Tool(
            "turn the packets of a trace buffer into events: a table, or JSON for ui.perfetto.dev",
            arguments(
                {
                    "file": value("FILE"),
                    "--design": value("DESIGN", "the program that ran, in MLIR or a .py file", required=True),
                    "--entry": _DESIGN["--entry"],
                    "--device": value("NAME", "which device of the design (default: the first)"),
                    "--column-shift": value("N", "columns that it was moved by (default: as it seems)", type=int),
                    "-o": value("OUT.json", "write the events to a file", dest="output"),
                }
            ),
        ),
    }
)
NPY_MAGIC = b"\x93NUMPY"
WORD = re.compile(rb"(0[xX])?[0-9a-fA-F]{1,8}")


def run(args: Namespace) -> None:
    from tilewright.driver.compiled_design import compile_source
    from tilewright.report.hardware_trace import decode_trace, trace_entries, trace_setups

    words = read_words(args.file)
    setups = trace_setups(compile_source(read_design(args)).device(args.device))
    if not setups:
        raise InputError(f"{args.design} sets up no trace unit: the trace is of another design")
    events = decode_trace(words, setups, args.column_shift)
    if args.output is not None:
        write_text(args.output, json.dumps(trace_entries(events, setups)))
    if args.output != "-":
        _print_table(events)


def read_words(path: str) -> npt.NDArray[np.uint32]:
    """The words in a file, in whichever form they are."""
    data = read_bytes(path)
    if data.startswith(NPY_MAGIC):
        try:
            array: npt.NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise InputError(f"'{path}' is no array of NumPy that can be read: {error}") from error
        data = np.ascontiguousarray(array).tobytes()
    else:
        lines = data.split()
        if all(WORD.fullmatch(line) for line in lines):
            return np.array([int(line, 16) for line in lines], np.uint32)
    if len(data) % 4:
        raise InputError(f"'{path}' has {len(data)} bytes: no whole words, and no text with words in hexadecimal")
    return np.frombuffer(data, np.uint32)


def _print_table(events: list[RecordedEvent]) -> None:
    """How often each event happened, and for how many cycles."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from tilewright.report.hardware_trace import EXECUTED

    table = Table("module", "event", "times", "cycles", "first", box=box.SIMPLE_HEAD, show_edge=False)
    found = defaultdict[tuple[str, int, str], "list[RecordedEvent]"](list)
    for event in events:
        column, row = event.source.tile
        found[f"{event.source.module.name} ({column}, {row})", event.slot, event.name].append(event)
    for (module, _, name), times in sorted(found.items()):
        if times[0].name in EXECUTED:
            cycles, first = "", "" if times[0].counter is None else f"{times[0].counter:,}"
        elif times[0].counter is None:
            cycles, first = f"{sum(event.end - event.begin for event in times):,}", f"{times[0].begin:,}"
        else:
            cycles, first = "", f"pc {times[0].counter}"
        table.add_row(module, name, f"{len(times):,}", cycles, first)
    Console(highlight=False).print(table if events else "the buffer has no packets of trace units")
