"""Chains of the microcontroller's DMA: making them for block writes, and playing several as one."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import CertJobOp, CertUcDmaBdOp, CertUcDmaChainOp, CertUcDmaWriteDesSyncOp
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.symbols import FreeNames
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import located, ops_of

PAGE_BYTES = 8000
"""What is put into a page of 8 KiB: costs are estimates."""


class ChainMaker:
    """Adds chains to a device, behind the globals and chains at its start, under names `chain_0`, `chain_1`, ..."""

    def __init__(self, device: DeviceOp):
        self.device = device
        self._names = FreeNames.beside(device.body)
        self._last = _last_of_start(device)

    def make(self, bd: CertUcDmaBdOp, origin: Operation) -> str:
        name = self._names.numbered("chain_")
        at = InsertPoint.at_start(self.device.body) if self._last is None else InsertPoint.after(self._last)
        self._last = located(CertUcDmaChainOp(name, [bd]), origin.location)
        Rewriter.insert_op(self._last, at)
        return name


def _last_of_start(device: DeviceOp) -> Operation | None:
    last: Operation | None = None
    for op in device.body.ops:
        if not isinstance(op, CertUcDmaChainOp | GlobalOp):
            break
        last = op
    return last


def merge_chains(device: DeviceOp) -> None:
    """Play chains that jobs play one right after the other as one, as long as it fits a page."""
    chains = {op.sym_name.data: op for op in ops_of(device.body.ops, CertUcDmaChainOp) if op.sym_name}
    jobs = ops_of(all_operations(device), CertJobOp)
    syncs = (sync for job in jobs for sync in ops_of(job.instructions, CertUcDmaWriteDesSyncOp))
    uses = Counter(sync.symbol.string_value() for sync in syncs)
    for job in jobs:
        previous: CertUcDmaWriteDesSyncOp | None = None
        for op in job.instructions:
            # Another instruction between two plays must keep its place, so they stay two.
            if not isinstance(op, CertUcDmaWriteDesSyncOp):
                previous = None
                continue
            if previous is not None:
                names = previous.symbol.string_value(), op.symbol.string_value()
                # A chain that is played twice cannot become part of another.
                if all(name in chains and uses[name] == 1 for name in names):
                    _merge(previous, chains[names[0]], chains[names[1]])
            previous = op


def data_bytes(chain: CertUcDmaChainOp) -> int:
    return sum(WORD_BYTES * bd.length.value.data for bd in chain.bds)


def _merge(sync: CertUcDmaWriteDesSyncOp, first: CertUcDmaChainOp, second: CertUcDmaChainOp) -> None:
    """Put the descriptors of a chain in front of those of another."""
    if first is second or data_bytes(first) + data_bytes(second) >= PAGE_BYTES:
        return
    start = second.body.block.first_op
    assert start is not None, "a chain has a terminator at least"
    for bd in first.bds:
        bd.detach()
        # Only the last descriptor of a chain has nothing after it.
        bd.next_bd = BoolAttr.from_bool(True)
        Rewriter.insert_op(bd, InsertPoint.before(start))
    Rewriter.erase_op(first)
    Rewriter.erase_op(sync)
