"""Pages of control code: how much they hold, and cutting them in two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import (
    CertApplyOffset57Op,
    CertJobOp,
    CertLocalBarrierOp,
    CertMaskWrite32Op,
    CertPageOp,
    CertRemoteBarrierOp,
    CertUcDmaChainOp,
    CertUcDmaWriteDesSyncOp,
    CertWaitTCTSOp,
    CertWrite32Op,
)
from tilewright.passes.control.cert_chains import data_bytes

HEADER_BYTES = 32
DESCRIPTOR_BYTES = 16
INSTRUCTION_BYTES: Mapping[type[Operation], int] = {
    CertLocalBarrierOp: 8,
    CertRemoteBarrierOp: 8,
    CertWaitTCTSOp: 8,
    CertMaskWrite32Op: 16,
    CertWrite32Op: 12,
    CertApplyOffset57Op: 16,
    CertUcDmaWriteDesSyncOp: 16,
}
"""What an instruction takes; those that are not here have a page of their own."""


class Cut(NamedTuple):
    """A place between two instructions: it is before this one, of this job."""

    job: CertJobOp
    before: Operation


class PageCosts:
    """Estimates of what pages take, with the data that they play."""

    def __init__(self, device: DeviceOp):
        chains = (op for op in device.body.ops if isinstance(op, CertUcDmaChainOp))
        self._chains = {chain.sym_name.data: chain for chain in chains if chain.sym_name is not None}

    def instruction(self, op: Operation) -> int:
        cost = INSTRUCTION_BYTES.get(type(op), 0)
        chain = self._chains.get(op.symbol.string_value()) if isinstance(op, CertUcDmaWriteDesSyncOp) else None
        return cost if chain is None else cost + DESCRIPTOR_BYTES * len(chain.bds) + data_bytes(chain)

    def page(self, page: CertPageOp) -> int:
        return HEADER_BYTES + sum(self.instruction(op) for job in page.jobs for op in job.instructions)

    def cut_at(self, page: CertPageOp, target: int) -> Cut | None:
        """The first place at which a page holds so much, or the last; not its start, nor its end."""
        cost, places = HEADER_BYTES, [Cut(job, op) for job in page.jobs for op in job.instructions]
        for place in places:
            if cost >= target and place is not places[0]:
                return place
            cost += self.instruction(place.before)
        return places[-1] if len(places) > 1 else None


def cut_page(page: CertPageOp, cut: Cut, number: int) -> CertPageOp:
    """Move what is behind a cut to a new page after this one; what is cut off a job becomes a job of this number."""
    jobs, instructions = page.jobs, cut.job.instructions
    later = jobs[jobs.index(cut.job) + 1 :]
    if cut.before is instructions[0]:
        moved = [cut.job, *later]
    else:
        moved = [_cut_job(cut.job, instructions[instructions.index(cut.before) :], number), *later]
    for job in moved:
        if job.parent is not None:
            job.detach()
    following = CertPageOp(moved)
    for op in (following, following.body.block.last_op):
        if op is not None:
            op.location = page.location
    Rewriter.insert_op(following, InsertPoint.after(page))
    return following


def _cut_job(job: CertJobOp, instructions: list[Operation], number: int) -> CertJobOp:
    for op in instructions:
        op.detach()
    cut_off = CertJobOp(number, Region(Block(instructions)))
    for op in (cut_off, cut_off.body.block.last_op):
        if op is not None:
            op.location = job.location
    return cut_off
