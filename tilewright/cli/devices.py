"""Show the devices that programs can name, or one of them in full: a picture of its array and what its tiles offer."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tilewright import device
from tilewright.cli.parsers import arguments, switch, value
from tilewright.device import DeviceModel, TileResources, TileType

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

WIDE_ARRAY = 12  # columns from which a tile is drawn as one letter

KINDS = {  # how a kind of tile is called, its letter in wide pictures, its colour
    TileType.CoreTile: ("core", "C", "green"),
    TileType.MemTile: ("mem", "M", "blue"),
    TileType.ShimNOCTile: ("shim", "N", "yellow"),
    TileType.ShimPLTile: ("shim PL", "p", "bright_black"),
}


add_arguments = arguments(
    {
        "name": value("NAME", "a device, for example npu1", nargs="?", choices=device.NAMES),
        "--json": switch("print facts for programs instead of tables for people"),
    }
)


def run(args: Namespace) -> None:
    models = [device.model(args.name)] if args.name else list(device.DEVICES.values())
    if args.json:
        facts = [describe(model) for model in models]
        print(json.dumps(facts[0] if args.name else facts, indent=2))
        return
    # imported late everywhere: it takes longer than most commands need
    from rich.console import Console

    console = Console()
    for part in one_device(models[0]) if args.name else [all_devices(models)]:
        console.print(part)


def describe(model: DeviceModel) -> dict[str, Any]:
    """The facts about a device, in plain types."""
    return {
        "name": str(model),
        "arch": str(model.arch),
        "columns": model.columns,
        "rows": model.rows,
        "is_npu": model.is_npu,
        "is_virtualized": model.is_virtualized,
        "txn_generation": model.txn_generation,
        "burst_lengths": model.burst_lengths,
        "block_formats": sorted(model.architecture.block_formats or ()),
        "tiles": [[str(model.tile_type(column, row)) for column in range(model.columns)] for row in range(model.rows)],
        "resources": {str(kind): asdict(model.resources(kind)) for kind in TileType if kind in model.tile_types},
    }


def all_devices(models: Iterable[DeviceModel]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("device", no_wrap=True)
    for header in ("arch", "array", "cores", "mem tiles", "shims", "memory"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("NPU")
    for model in models:
        count = {kind: sum(model.tile_type(*tile) is kind for tile in model.tiles) for kind in TileType}
        cores, mems, shims = (count[kind] for kind in list(TileType)[:3])
        table.add_row(
            str(model),
            str(model.arch),
            f"{model.columns} x {model.rows}",
            str(cores),
            str(mems or "-"),
            str(shims),
            size_text(cores * model.local_memory_bytes + mems * model.mem_tile_bytes),
            "yes" if model.is_npu else "-",
        )
    return table


def one_device(model: DeviceModel) -> list[RenderableType]:
    title = f"[bold]{model}[/]: {model.arch}, {model.columns} columns x {model.rows} rows"
    return [title, wide_picture(model) if model.columns >= WIDE_ARRAY else picture(model), resources(model)]


def picture(model: DeviceModel) -> Table:
    """The array as it lies on the chip, row 0 at the bottom."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SQUARE, show_lines=True, show_header=False, show_footer=True)
    table.add_column("", footer="row / column", justify="right")
    for column in range(model.columns):
        table.add_column(footer=str(column), justify="center", min_width=8)
    # AMD counts rows from the shim tiles at the bottom
    for row in reversed(range(model.rows)):
        cells = (KINDS[model.tile_type(column, row)] for column in range(model.columns))
        table.add_row(str(row), *(f"[{colour}]{name}[/]" for name, _, colour in cells))
    return table


def wide_picture(model: DeviceModel) -> str:
    lines: list[str] = []
    for row in reversed(range(model.rows)):
        cells = (KINDS[model.tile_type(column, row)] for column in range(model.columns))
        lines.append(f"{row:3} " + "".join(f"[{colour}]{letter}[/]" for _, letter, colour in cells))
    tens = "".join(str(column // 10) if column % 10 == 0 else " " for column in range(model.columns))
    legend = ", ".join(f"{letter} {name}" for kind, (name, letter, _) in KINDS.items() if kind in model.tile_types)
    return "\n".join([*lines, f"    {tens}", f"    {legend}"])


ROWS: dict[str, Callable[[TileResources], object]] = {  # what a tile offers
    "data memory": lambda tile: size_text(tile.data_memory_bytes),
    "memory banks": lambda tile: tile.memory_banks or "-",
    "locks": lambda tile: tile.locks,
    "DMA channels, S2MM + MM2S": lambda tile: f"{tile.s2mm_channels} + {tile.mm2s_channels}",
    "descriptors": lambda tile: tile.bds,
    "dimensions of a descriptor": lambda tile: tile.bd_dims,
    "longest descriptor, words": lambda tile: tile.max_bd_length,
    "largest wrap": lambda tile: tile.max_wrap,
    "largest step, words": lambda tile: tile.max_step,
}


def resources(model: DeviceModel) -> Table:
    from rich import box
    from rich.table import Table

    # shim tiles to the programmable logic have no DMA
    kinds = [kind for kind in KINDS if kind in model.tile_types and kind is not TileType.ShimPLTile]
    table = Table("each tile has", box=box.SIMPLE_HEAD)
    for kind in kinds:
        table.add_column(KINDS[kind][0], justify="right")
    for what, read in ROWS.items():
        table.add_row(what, *(str(read(model.resources(kind))) for kind in kinds))
    return table


def size_text(size_bytes: int) -> str:
    if size_bytes == 0:
        return "-"
    return f"{size_bytes >> 10} KiB" if size_bytes < 1 << 20 else f"{size_bytes / (1 << 20):.4g} MiB"
