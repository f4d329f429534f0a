"""Gives every tile the packet id under which it answers control packets and completion tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntAttr

from tilewright.device import Arch
from tilewright.device.model import CONTROLLER_IDS
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail
from tilewright.rewrite.pass_bases import DevicePass


@dataclass(frozen=True)
class AssignTileControllerIdsPass(DevicePass):
    name = "aie-assign-tile-controller-ids"

    column_wise_unique_ids: bool = field(
        default=True, metadata={"help": "ids differ within a column only, not across the whole array"}
    )

    def apply_to(self, device: DeviceOp) -> None:
        model = device.model
        if model.arch is Arch.AIE1:
            return
        if not self.column_wise_unique_ids and model.columns > len(CONTROLLER_IDS):
            fail(
                device,
                f"Device has {model.columns} columns but only {len(CONTROLLER_IDS)} globally-unique controller ID sets "
                "are defined; use column-wise unique IDs mode.",
            )
        ids = model.controller_ids(unique_per_column=self.column_wise_unique_ids)
        for tile in device.tiles:
            if tile.controller_id is None:
                tile.attributes["controller_id"] = PacketInfoAttr.new([IntAttr(0), IntAttr(ids[tile.place])])
