"""Turns the cascade connections between neighbours into the two directions that each tile is configured with."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import CascadeDirection
from tilewright.dialects._ods import enum_to_attr
from tilewright.dialects.aie.cascade import CascadeFlowOp, ConfigureCascadeOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op, location_of
from tilewright.rewrite.pass_bases import DevicePass, append_to, ops_of

SIDES = {
    (0, -1): (CascadeDirection.South, CascadeDirection.North),
    (1, 0): (CascadeDirection.East, CascadeDirection.West),
}
"""For each step from source to destination the side on which data leaves the one, and enters the other."""


class LowerCascadeFlowsPass(DevicePass):
    name = "aie-lower-cascade-flows"

    def apply_to(self, device: DeviceOp) -> None:
        flows = ops_of(device.body.ops, CascadeFlowOp)
        _refuse_shared_ends(flows)
        outputs, inputs = dict[SSAValue, CascadeDirection](), dict[SSAValue, CascadeDirection]()
        tiles = dict[SSAValue, None]()
        for flow in flows:
            tiles |= {flow.source_tile: None, flow.dest_tile: None}
            outputs[flow.source_tile], inputs[flow.dest_tile] = _sides(flow)
        for tile in tiles:
            # A direction that nothing uses is the one that hardware starts with.
            properties: dict[str, Attribute] = {
                "inputDir": enum_to_attr(inputs.get(tile, CascadeDirection.North)),
                "outputDir": enum_to_attr(outputs.get(tile, CascadeDirection.South)),
            }
            op = ConfigureCascadeOp.create(operands=[tile], properties=properties)
            append_to(device.body, op, location_of(tile))
        for flow in flows:
            Rewriter.erase_op(flow)


def _sides(flow: CascadeFlowOp) -> tuple[CascadeDirection, CascadeDirection]:
    source, dest = (tile.place if tile is not None else None for tile in map(tile_of, flow.operands))
    if source is None or dest is None:
        fail_op(flow, "connects a tile that is not placed; run --aie-place-tiles first")
    sides = SIDES.get((dest.column - source.column, dest.row - source.row))
    if sides is None:
        fail_op(flow, "source tile must be to the North or West of the destination tile")
    return sides


def _refuse_shared_ends(flows: list[CascadeFlowOp]) -> None:
    """A core has one cascade input and one output."""
    for end, name in ((0, "output"), (1, "input")):
        first: dict[SSAValue, CascadeFlowOp] = {}
        for flow in flows:
            other = first.setdefault(flow.operands[end], flow)
            if other is not flow:
                fail_op(flow, f"needs the cascade {name} that another flow has", (other, "which is this one"))
