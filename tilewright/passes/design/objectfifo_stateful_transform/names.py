"""The symbols of FIFOs, and what becomes of references to them."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr

from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoLinkOp, ObjectFifoReleaseOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp
from tilewright.rewrite.symbols import replace_references

KEPT = (
    ObjectFifoOp,
    ObjectFifoLinkOp,
    ObjectFifoAllocateOp,
    ObjectFifoRegisterExternalBuffersOp,
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    DmaChannelResetForOp,
)


def shim_allocation_name(fifo: str) -> str:
    return f"{fifo}_shim_alloc"


def rename_to_allocations(device: DeviceOp, fifos: Collection[str]) -> None:
    """Runtime sequences refer to FIFOs; from now on they refer to the shim channels of those.

    What is about the FIFOs themselves keeps its references, to be lowered with them.
    """

    def rename(reference: SymbolRefAttr) -> SymbolRefAttr:
        name = reference.root_reference.data
        if name not in fifos:
            return reference
        return SymbolRefAttr(StringAttr(shim_allocation_name(name)), reference.nested_references)

    for op in device.body.walk():
        if not isinstance(op, KEPT):
            replace_references(op, rename)
