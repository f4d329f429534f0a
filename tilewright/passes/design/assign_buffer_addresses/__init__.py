"""Gives the buffers of every tile their addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr

from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import MemTileDmaOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import emit_warning, fail_op
from tilewright.passes.design.assign_buffer_addresses.schemes import allocate_in_banks, allocate_sequentially
from tilewright.passes.design.assign_buffer_addresses.tile_memory import TileMemory, shown_name
from tilewright.rewrite.pass_bases import DevicePass

SCHEMES: dict[str, tuple[str, Callable[[TileMemory], bool]]] = {
    "basic-sequential": ("Basic sequential", allocate_sequentially),
    "bank-aware": ("Bank-aware", allocate_in_banks),
}


@dataclass(frozen=True)
class AssignBufferAddressesPass(DevicePass):
    name = "aie-assign-buffer-addresses"

    alloc_scheme: str = field(
        default="",
        metadata={
            "help": "basic-sequential or bank-aware; without it bank-aware, and basic-sequential where that fails"
        },
    )

    def apply_to(self, device: DeviceOp) -> None:
        buffers = [child for child in device.walk() if isinstance(child, BufferOp)]
        for buffer in buffers:
            _check_scope(buffer)
        _name_all(buffers)
        for memory in _memories(device, buffers):
            own = memory.tile.allocation_scheme
            _allocate(memory, self.alloc_scheme if own is None else own.data)


def _check_scope(buffer: BufferOp) -> None:
    """A buffer in a core's program is part of the program, unless it says what is in it."""
    tile = buffer.tile_like
    if not isinstance(tile, TileOp):
        fail_op(buffer, "is on a tile that is not placed; run --aie-place-tiles first")
    if isinstance(buffer.parent_op(), DeviceOp | MemTileDmaOp) or buffer.initial_value is not None:
        return
    fail_op(
        tile,
        f"Buffer '{shown_name(buffer)}' must be defined directly under the device scope. "
        "Currently it is nested inside a core tile.",
        (buffer, "move this buffer out of the core, or give it an initial value"),
    )


def _name_all(buffers: list[BufferOp]) -> None:
    unnamed = (buffer for buffer in buffers if buffer.sym_name is None)
    for number, buffer in enumerate(unnamed):
        buffer.sym_name = StringAttr(f"_anonymous{number}")


def _memories(device: DeviceOp, buffers: list[BufferOp]) -> Iterator[TileMemory]:
    """The memories with buffers in them, in the order of the tiles."""
    on_tile: dict[TileId | None, list[BufferOp]] = {}
    for buffer in buffers:
        on_tile.setdefault(buffer.place, []).append(buffer)
    # the stack stands at the start of a core's memory
    stacks = {core.place: core.stack_bytes for core in device.body.ops if isinstance(core, CoreOp)}
    for tile in device.tiles:
        found = on_tile.pop(tile.place, None)
        if found is not None:
            yield TileMemory(tile, found, stacks.get(tile.place, 0))


def _allocate(memory: TileMemory, scheme: str) -> None:
    if not scheme:
        _allocate_somehow(memory)
        return
    if scheme not in SCHEMES:
        known = ", ".join(f"'{name}'" for name in SCHEMES)
        fail_op(memory.tile, f"unknown allocation scheme '{scheme}'", (memory.tile, f"there are {known}"))
    label, allocate = SCHEMES[scheme]
    if not allocate(memory):
        fail_op(memory.tile, f"{label} allocation failed.")


def _allocate_somehow(memory: TileMemory) -> None:
    """In banks if possible; a large buffer may cross them."""
    if not allocate_in_banks(memory):
        emit_warning(memory.tile, "Bank-aware allocation failed, trying basic sequential allocation.")
        if not allocate_sequentially(memory):
            fail_op(memory.tile, "Basic sequential allocation also failed.")
