"""Descriptors of the DMAs of tiles: the words of each, written into its place among those of the tile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from xdsl.ir import Block

from tilewright.device import TileId
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.layout import Layout
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.configuration.descriptor_fields import DescriptorReader, Fields
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver


class Refusal(NamedTuple):
    """How the driver refuses what a field cannot hold, and what a program can do instead."""

    call: str
    code: str
    remedy: str


_ADDRESS = Refusal("XAie_DmaSetAddrLen", "XAIE_INVALID_ADDRESS", "keep the buffer in memory that the tile reaches")
_PATTERN = Refusal("XAie_DmaSetMultiDimAddr", "XAIE_ERR", "split the dimension in two, or move less at once")
_PADDING = Refusal("XAie_DmaSetPadding", "XAIE_INVALID_ARGS", "pad less, and only the three innermost dimensions")
_ITERATION = Refusal("XAie_DmaSetBdIteration", "XAIE_ERR", "iterate in smaller or fewer steps")
_LOCK = Refusal("XAie_DmaSetLock", "XAIE_INVALID_LOCK_ID", "acquire or release less at once")
_REFUSALS: Mapping[str, Refusal] = {
    "address": _ADDRESS,
    "address_high": _ADDRESS,
    "buffer_length": _ADDRESS._replace(remedy="move the data with more than one descriptor"),
    "next_bd": Refusal("XAie_DmaSetNextBd", "XAIE_INVALID_BD_NUM", "name a descriptor of this tile"),
    "lock_acq_value": _LOCK,
    "lock_rel_value": _LOCK,
    "iteration_step": _ITERATION,
    "iteration_wrap": _ITERATION,
    **{f"d{number}_{part}": _PATTERN for number in range(4) for part in ("wrap", "step")},
    **{f"d{number}_zero_{side}": _PADDING for number in range(4) for side in ("before", "after")},
}
_OTHERS = Refusal("XAie_DmaWriteBd", "XAIE_INVALID_DMA_DESC", "choose a value that fits")


Slots: TypeAlias = "dict[tuple[TileId, int], DmaBdOp]"
"""Which descriptor has which place, by tile and number."""


def configured_descriptors(tile: TileWriter, blocks: Iterable[Block], slots: Slots) -> Iterator[Write]:
    """Write the descriptors in blocks into places that are free; blocks without one start channels."""
    layout = BD_LAYOUTS[tile.model.tile_type(*tile.place)]
    for block in blocks:
        bd = descriptor_in(block)
        if bd is not None:
            _take_slot(tile, bd, slots)
            fields = DescriptorReader(tile.model, tile.place, layout, bd, block).fields()
            first = tile.model.registers(*tile.place).bds[descriptor_number(bd)]
            yield replace(tile, location=bd.location).block_write(first, _encoded(bd, layout, fields))


def _take_slot(tile: TileWriter, bd: DmaBdOp, slots: Slots) -> None:
    number = descriptor_number(bd)
    other = slots.setdefault((tile.place, number), bd)
    if other is not bd:
        remedy = (bd, "give one of them another bd_id, or leave the choice to --aie-assign-bd-ids")
        fail_op(bd, f"would overwrite descriptor {number} of its tile", (other, "this is the other one"), remedy)


def descriptor_in(block: Block) -> DmaBdOp | None:
    return next((op for op in block.ops if isinstance(op, DmaBdOp)), None)


def descriptor_number(bd: DmaBdOp) -> int:
    if bd.bd_id is None:
        remedy = (bd, "run --aie-assign-bd-ids first, or give the descriptor a bd_id")
        fail_op(bd, "DMABDOp must have assigned bd_id; did you forget to run aie-assign-bd-ids?", remedy)
    return bd.bd_id.value.data


def _encoded(bd: DmaBdOp, layout: type[Layout], fields: Fields) -> list[int]:
    for name, value in fields.items():
        field = layout.fields.get(name)
        if field is None or value not in field.limits:
            call, code, remedy = _REFUSALS.get(name, _OTHERS)
            held = "does not exist" if field is None else f"is in [{field.limits[0]}, {field.limits[-1]}]"
            why = f"{name} {held} in a descriptor of this tile, this one needs {value}"
            fail_as_driver(bd, call, code, (bd, why), (bd, remedy))
    return layout.encode(**fields)
