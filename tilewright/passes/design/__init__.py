"""Passes on the design: objectFifos, copies, locks, addresses, routes, placement, traces, cores."""

from __future__ import annotations

from abc import abstractmethod

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.pass_manager import Pass


class DevicePass(Pass):
    """A pass that runs on each device by itself, whatever the dialects in the context."""

    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        self.apply_to(op)

    @abstractmethod
    def apply_to(self, device: DeviceOp) -> None: ...
