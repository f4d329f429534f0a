"""Show what a design puts on which tile of the array, and what it becomes when it is compiled."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tilewright
from tilewright.cli.files import design_arguments, read_design
from tilewright.cli.parsers import arguments
from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.switchbox import ConnectOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.report.floor_plan import FloorPlan, Occupant, floor_plans

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from tilewright.driver.compiled_design import Design
    from tilewright.driver.sources import Source

SHIPPED = Path(tilewright.__file__).parent / "demos" / "vector_scale.mlir"
WIDEST_PICTURE = 10  # columns that still get a readable cell


add_arguments = arguments(design_arguments(nargs="?", default=str(SHIPPED)))


def run(args: Namespace) -> None:
    from rich.console import Console

    from tilewright.ir.escapes import console_text as escape

    start = time.perf_counter()
    source = read_design(args)
    module = placed(source)
    elapsed = time.perf_counter() - start
    console = Console(highlight=False)
    count = sum(1 for _ in module.walk())
    # names from the input are escaped: rich would take brackets in them for its markup
    name = escape(Path(args.design).name)
    console.print(f"[bold]{name}[/]: {count} operations, read, checked and placed in {elapsed:.2f} s")
    for plan in floor_plans(module):
        for part in render(plan):
            console.print(part)
    for line in compiled(source):
        console.print(line)


def placed(source: Source) -> ModuleOp:
    """The program as it is written, but for tiles: each has its place."""
    from tilewright.ir.context import make_context
    from tilewright.ir.diagnostics import CompileError, DiagnosedError
    from tilewright.ir.pass_manager import run_pipeline
    from tilewright.ir.verifier import verify
    from tilewright.passes.pipelines import PLACEMENT, pipeline_of

    ctx = make_context()
    try:
        module = source.read(ctx)
        if errors := verify(module):
            raise CompileError(errors)
        # no further: what a design says of tiles is still to be seen
        run_pipeline(ctx, module, pipeline_of([*PLACEMENT]))
        return module
    except DiagnosedError as error:
        error.sources.update(source.texts)
        raise


def compiled(source: Source) -> Iterator[str]:
    """What the whole way down makes of a design, in a few lines."""
    from tilewright.driver.compiled_design import compile_source, devices_in
    from tilewright.ir.escapes import console_text as escape

    start = time.perf_counter()
    design = compile_source(source)
    yield f"\ncompiled in {time.perf_counter() - start:.2f} s"
    for device in devices_in(design.module):
        yield f"  device [bold]@{escape(device.sym_name.data)}[/]: {counted(resources(device))}"
        if device.model.is_npu:
            words = design.configuration(device.sym_name.data).size
            yield f"    configuration of {words} words: the array is set up by register writes alone"
    for name in design.sequences:
        yield f"  sequence [bold]{escape(name)}[/]: {escape(sequence_size(design, name))}"


def resources(device: DeviceOp) -> dict[str, int]:
    """How many of each resource a lowered device uses."""
    kinds: dict[type[Operation], str] = {
        BufferOp: "buffer",
        LockOp: "lock",
        DmaBdOp: "descriptor",
        ConnectOp: "stream connection",
    }
    # descriptors in sequences belong to the controller's program, not to the device's configuration
    counts = Counter(kinds[type(op)] for op in device.walk() if type(op) in kinds and not in_sequence(op))
    return {kind: counts[kind] for kind in kinds.values()}


def in_sequence(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and (isinstance(parent, RuntimeSequenceOp) or in_sequence(parent))


def counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{number} {kind}{'s' * (number != 1)}" for kind, number in numbers.items())


def sequence_size(design: Design, name: str) -> str:
    scalars = design.scalars(name)
    if not scalars:
        return f"{design.txn(name).size} words"
    # how many depends on the values
    return f"a function of {', '.join(scalars)} that makes the words for any value"


def render(plan: FloorPlan) -> Iterator[RenderableType]:
    from tilewright.ir.escapes import console_text as escape

    yield f"\ndevice [bold]@{escape(plan.name)}[/] on {plan.model}: {plan.model.columns} x {plan.model.rows} tiles\n"
    used = sorted({place.column for place in plan.tiles})
    if len(used) <= WIDEST_PICTURE and (used or plan.model.columns <= WIDEST_PICTURE):
        yield picture(plan, used or [*range(plan.model.columns)])
    if used and (idle := plan.model.columns - len(used)):
        yield f"{idle} of {plan.model.columns} columns have nothing on them and are left out"
    if plan.fifos:
        yield fifos(plan)
    for sequence in plan.sequences:
        arguments = ", ".join(f"%{a.name_hint or f'arg{a.index}'}: {a.type}" for a in sequence.body.block.args)
        steps = sum(1 for _ in sequence.walk()) - 1
        name = escape(sequence.sym_name.data)
        yield f"runtime sequence [bold]@{name}[/]({escape(arguments)}), {steps} operations"


def picture(plan: FloorPlan, columns: Sequence[int]) -> Table:
    """Columns of the array as they lie on the chip, row 0 at the bottom, with what is on each tile."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SQUARE, show_lines=True, show_header=False, show_footer=True)
    table.add_column("", footer="row / column", justify="right", vertical="middle")
    for column in columns:
        table.add_column(footer=str(column))
    for row in reversed(range(plan.model.rows)):
        table.add_row(str(row), *(cell(plan, TileId(column, row)) for column in columns))
    return table


def cell(plan: FloorPlan, place: TileId) -> str:
    from tilewright.cli.devices import KINDS

    kind, _, colour = KINDS[plan.model.tile_type(*place)]
    occupant = plan.tiles.get(place)
    if occupant is None:
        return f"[bright_black]{kind}[/]"
    return "\n".join([f"[{colour}]{kind}[/]", *contents(occupant)])


def contents(occupant: Occupant) -> Iterator[str]:
    from tilewright.ir.escapes import console_text as escape

    for operations in occupant.programs:
        yield f"program of {operations} operations"
    for name, size in occupant.buffers:
        yield f"buffer {escape(name)}, {size} B"
    if occupant.locks:
        yield f"{occupant.locks} lock{'s' * (occupant.locks > 1)}"
    if occupant.reads:
        yield f"reads  {escape(' '.join(occupant.reads))}"
    if occupant.writes:
        yield f"writes {escape(' '.join(occupant.writes))}"


def fifos(plan: FloorPlan) -> Table:
    from rich import box
    from rich.table import Table

    from tilewright.ir.escapes import console_text as escape

    table = Table("object FIFO", "from", "to", "carries", box=box.SIMPLE_HEAD)
    for header in ("bytes", "deep"):
        table.add_column(header, justify="right")
    for fifo in plan.fifos:
        targets = " ".join(place_text(target) for target in fifo.targets)
        depth = "/".join(map(str, fifo.depths))
        table.add_row(escape(fifo.name), place_text(fifo.source), targets, fifo.element, str(fifo.element_bytes), depth)
    return table


def place_text(place: TileId | None) -> str:
    return f"({place.column}, {place.row})" if place else "anywhere"
