"""Removes pools of object FIFOs that nothing refers to any more; their buffers and locks stay."""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.objectfifo_pools import ObjectFifoPoolOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import DevicePass, ops_of
from tilewright.rewrite.symbols import references_in


class ObjectFifoErasePoolsPass(DevicePass):
    """One of upstream's branch objfifo-disentangle."""

    name = "aie-objectfifo-erase-pools"

    def apply_to(self, device: DeviceOp) -> None:
        pools = ops_of(device.body.ops, ObjectFifoPoolOp)
        everything = all_operations(device.body) if pools else ()
        used = {name.root_reference.data for op in everything for name in references_in(op)}
        for pool in pools:
            if pool.sym_name.data not in used:
                Rewriter.erase_op(pool)
