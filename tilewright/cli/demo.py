"""Multiply matrices of several sizes with one build, on the simulated NPU, and show what happened.

The design uses all rows of the array, and all of its columns unless you say otherwise; its tiles are planned for the
largest product. It is compiled once: M, K and N are arguments of its sequence. NumPy checks each result.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import CommandLineError
from tilewright.cli.parsers import arguments, switch, value

if TYPE_CHECKING:
    from rich.table import Table

    from tilewright.designs import Gemm, Product, WholeArrayGemm

    PlannedGemm = Gemm[WholeArrayGemm]

SIZES = "512x512x512", "1024x1024x1024", "1000x600x1000", "300x200x100"
REPORT = "tilewright-demo.html"
BARS = " ▁▂▃▄▅▆▇█"


add_arguments = arguments(
    {
        "sizes": value("MxKxN", f"sizes to multiply (default: {' '.join(SIZES)})", nargs="*"),
        "--device": value("NAME", "npu1 or npu2 (default: npu2)", default="npu2"),
        "--columns": value("N", "1 to 8 columns (default: all)", type=int),
        "--type": value("NAME", "i8, i16 or bf16 (default: i16)", default="i16"),
        "--report": value("FILE", f"the page to write (default: {REPORT})", default=REPORT),
        "--json": switch("print the table for machines"),
    }
)


@dataclass(frozen=True)
class Row:
    """One product."""

    size: str
    padded: str
    words: int
    """Of the instruction stream."""
    cycles: int
    microseconds: float
    bound_microseconds: float
    """No order of its products and transfers takes less: see `Candidate.bound_cycles`."""
    bound: str
    """Whether that is what cores compute, what is read, or what is read and written."""
    tops: float
    utilisation: float
    """Of what the vector units of the cores could do."""
    simulated_seconds: float
    is_right: bool


def run(args: Namespace) -> int:
    from rich.console import Console
    from rich.markup import escape

    sizes = [_size(text) for text in args.sizes or SIZES]
    console = Console(highlight=False, stderr=args.json)  # stdout is for the JSON alone
    gemm, seconds = _compile(args, sizes, console)
    columns, tile = gemm.gemm.columns, gemm.gemm.tile
    console.print(f"one build, in {seconds:.1f} s: products of {args.type} on {columns} columns of {args.device}")
    console.print(
        f"a core multiplies {tile.m}x{tile.k} with {tile.k}x{tile.n}: the plan for the largest of these sizes"
    )
    made = list[tuple[Row, "Product"]]()
    for size in sizes:
        with console.status(f"multiplying {'x'.join(map(str, size))}"):
            made.append(_multiply(gemm, size))
    rows = [row for row, _ in made]
    if args.json:
        import json

        print(json.dumps([asdict(row) for row in rows]))
    else:
        console.print(_table(rows))
        seconds = sum(row.simulated_seconds for row in rows)
        console.print(f"simulated in {seconds:.1f} s; the bound is what no order of products and transfers beats")
    best, product = max(made, key=lambda pair: pair[0].tops)
    console.print(f"how much of {best.size} each core computed, as they lie on the chip:")
    for line in _picture(product):
        console.print(line)
    _write_report(args.report, gemm, product, best, rows)
    console.print(f"that run cycle by cycle: [bold]{escape(args.report)}[/]")
    console.print(f"next: [bold]{escape(_command_line('show'))}[/]", soft_wrap=True)
    return 0 if all(row.is_right for row in rows) else 1


def _command_line(arguments: str) -> str:
    """What to type for a command of this installation, here and now."""
    import shutil
    import sys
    from pathlib import Path
    from shlex import quote

    # the demo may run in a virtual environment that is not active
    beside = Path(sys.executable).parent
    found = shutil.which("tilewright")
    if found is not None and Path(found).parent == beside:
        return f"tilewright {arguments}"
    if (beside / "activate").exists() and (beside / "tilewright").exists():
        here = beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside
        return f". {quote(str(here))}/activate && tilewright {arguments}"
    return f"{quote(sys.executable)} -m tilewright {arguments}"


def _size(text: str) -> tuple[int, int, int]:
    numbers = text.lower().split("x")
    if len(numbers) != 3 or not all(number.isdecimal() and int(number) > 0 for number in numbers):
        raise CommandLineError(f"a size is MxKxN, such as 256x256x256, not {text!r}")
    m, k, n = map(int, numbers)
    return m, k, n


def _compile(args: Namespace, sizes: Sequence[tuple[int, int, int]], console: Any) -> tuple[PlannedGemm, float]:
    from tilewright.designs import Gemm
    from tilewright.device import DEVICES
    from tilewright.errors import ArgumentError

    if args.device not in {name.name for name in DEVICES}:
        raise CommandLineError(f"no device {args.device!r}; tilewright devices lists them")
    start, largest = time.perf_counter(), max(sizes, key=prod)
    with console.status("compiling"):
        try:
            options = {"any_k": True, "b_col_maj": True}
            design: WholeArrayGemm = Gemm.plan(*largest, args.type, args.device, args.columns, **options).best.gemm
            return Gemm(design), time.perf_counter() - start
        except (ValueError, ArgumentError) as error:  # a number of columns or a type that there is no product for
            raise CommandLineError(str(error)) from None


def _multiply(gemm: PlannedGemm, size: tuple[int, int, int]) -> tuple[Row, Product]:
    import numpy as np

    from tilewright.designs.gemm_candidate import Candidate
    from tilewright.device import model
    from tilewright.device.vector_unit import vector_unit
    from tilewright.iron.dtype import dtype_map

    m, k, n = size
    random = np.random.default_rng(m + k + n)  # small numbers, so that no type overflows
    a, b = (random.integers(-8, 8, shape).astype(dtype_map[gemm.gemm.operand]) for shape in ((m, k), (n, k)))
    b = b.T  # columns stand one after the other, as the design has them
    start = time.perf_counter()
    product = gemm.run(a, b)
    elapsed = time.perf_counter() - start
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype_map[gemm.gemm.result])
    record = product.result.record
    seconds = record.cycles / record.clock_hz
    padded, done = gemm.padded(m, k, n), Candidate(gemm.gemm, *gemm.sizes(m, k, n))
    peak = len(record.names.stops) * vector_unit(model(record.model.name).arch).macs[gemm.gemm.operand]
    return Row(
        size=f"{m}x{k}x{n}",
        padded="x".join(map(str, padded if gemm.sizes(m, k, n) == (m, k, n) else padded[::-1])),
        words=int(gemm.design.txn(M=padded[0], K=padded[1], N=padded[2]).size),
        cycles=record.cycles,
        microseconds=seconds * 1e6,
        bound_microseconds=done.bound_cycles / record.clock_hz * 1e6,
        bound=done.bound,
        tops=2 * m * k * n / seconds / 1e12,
        utilisation=m * k * n / (peak * record.cycles),
        simulated_seconds=elapsed,
        is_right=bool(np.array_equal(product.matrix, wanted)),
    ), product


HEADINGS = "M x K x N", "words", "time, us", "bound, us", "TOPS", "of peak", "= NumPy"


def _cells(row: Row) -> list[str]:
    """What the table says of a product; `HEADINGS` has the meanings."""
    return [
        row.size if row.padded == row.size else f"{row.size} *",
        f"{row.words:,}",
        f"{row.microseconds:.1f}",
        f"{row.bound_microseconds:.1f}",
        f"{row.tops:.2f}",
        f"{row.utilisation:.0%}",
        "yes" if row.is_right else "NO",
    ]


def _table(rows: Sequence[Row]) -> Table:
    from rich import box
    from rich.table import Table

    padded = any(row.padded != row.size for row in rows)
    table = Table(box=box.SIMPLE_HEAD, caption="* padded by the host" if padded else None)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in (HEADINGS[0], HEADINGS[-1]) else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row), style=None if row.is_right else "red")
    return table


def _picture(product: Product) -> Iterator[str]:
    """The cores as they lie on the chip, with how much of the time each one computed."""
    from tilewright.device import TileId
    from tilewright.report.spans import shares_of, spans_of
    from tilewright.sim.parts import PartKind, part_ids_of

    record = product.result.record
    shares, part_ids = shares_of(record, spans_of(record)), part_ids_of(record.model.name)
    columns, rows = ({place[axis] for place in record.names.stops} for axis in (0, 1))
    for row in sorted(rows, reverse=True):
        numbers = [part_ids.number(PartKind.CORE, TileId(column, row)) for column in sorted(columns)]
        busy = (shares.busy(number) / record.cycles for number in numbers)
        cells = (f"[green]{BARS[round(share * (len(BARS) - 1))] * 2}[/] {share:4.0%}" for share in busy)
        yield "  " + "  ".join(cells)  # eight of them in 80 columns


def _write_report(path: str, gemm: PlannedGemm, product: Product, best: Row, rows: Sequence[Row]) -> None:
    from tilewright.cli.files import write_text
    from tilewright.driver.sources import texts_of
    from tilewright.report.markup import Heading, table
    from tilewright.report.page import PageSection, page_html

    record = product.result.record
    headings = [Heading(heading, heading not in (HEADINGS[0], HEADINGS[-1])) for heading in HEADINGS]
    sizes = table("Products of one build", headings, [_cells(row) for row in rows], "sizes-table")
    lead = f"All of these came from one compilation. What follows is the run of {best.size}."
    title = f"{best.size} of {gemm.gemm.operand}"
    write_text(path, page_html(record, title, texts_of(record.locations), [PageSection("sizes", "Sizes", lead, sizes)]))
