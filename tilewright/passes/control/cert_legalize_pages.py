"""Cuts control code so that its pages fit the microcontroller, and what needs a page of its own has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import (
    CertApplyOffset57Op,
    CertJobOp,
    CertLoadPdiOp,
    CertLocalBarrierOp,
    CertMaskWrite32Op,
    CertPageOp,
    CertPreemptOp,
    CertRemoteBarrierOp,
    CertUcDmaChainOp,
    CertUcDmaWriteDesSyncOp,
    CertWaitTCTSOp,
    CertWrite32Op,
)
from tilewright.ir.diagnostics import emit_warning
from tilewright.ir.traversal import all_operations
from tilewright.passes.control.cert_chains import PAGE_BYTES, data_bytes, merge_chains
from tilewright.rewrite.pass_bases import DevicePass, ops_of

ALONE = (CertLoadPdiOp, CertPreemptOp)
"""Instructions that must be the only one of a page."""
PartT = TypeVar("PartT", CertPageOp, CertJobOp)


class CertLegalizePagesPass(DevicePass):
    name = "cert-legalize-pages"

    def apply_to(self, device: DeviceOp) -> None:
        _wrap_jobs(device)
        for page in ops_of(all_operations(device), CertPageOp):
            _isolate(device, page)
        # Before chains are merged, which takes instructions away: pages only become smaller by it.
        costs = PageCosts(device)
        for page in ops_of(all_operations(device), CertPageOp):
            _split(device, page, costs)
        merge_chains(device)


def _wrap_jobs(device: DeviceOp) -> None:
    """Give each job that is in no page one."""
    for job in ops_of(all_operations(device), CertJobOp):
        if isinstance(job.parent_op(), CertPageOp):
            continue
        following = job.next_op
        assert following is not None, "whatever has jobs has a terminator"
        job.detach()
        Rewriter.insert_op(_located(CertPageOp([job]), job), InsertPoint.before(following))


def _isolate(device: DeviceOp, page: CertPageOp) -> None:
    """Cut before and after each instruction that must be alone."""
    instructions = [(job, op) for job in page.jobs for op in job.instructions]
    for position, (job, op) in enumerate(instructions):
        if position > 0 and (isinstance(op, ALONE) or isinstance(instructions[position - 1][1], ALONE)):
            number = max(other.number for other in ops_of(all_operations(device), CertJobOp)) + 1
            # An earlier cut may have moved it to another job than the one it was in.
            page = cut_page(page, Cut(parent_of_type(op, CertJobOp) or job, op), number)


def _split(device: DeviceOp, page: CertPageOp, costs: PageCosts) -> None:
    """Cut a page where half of what fits is full, until all parts of it fit."""
    pending = [page]
    while pending:
        page = pending.pop()
        if costs.page(page) < PAGE_BYTES:
            continue
        cut = costs.cut_at(page, PAGE_BYTES // 2)
        if cut is None:
            emit_warning(page, f"page of about {costs.page(page)} bytes may be too big, and cannot be cut")
            continue
        if cut.before is not cut.job.instructions[0]:
            # The part that is cut off gets the next number, which later jobs make free.
            for job in ops_of(all_operations(device), CertJobOp):
                if job.number > cut.job.number:
                    job.renumber(job.number + 1)
        pending += [page, cut_page(page, cut, cut.job.number + 1)]


HEADER_BYTES = 32
DESCRIPTOR_BYTES = 16  # of the microcontroller's DMA, beside the words that it writes
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
        chains = ops_of(device.body.ops, CertUcDmaChainOp)
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
            # Never at the start: the first part would be empty, and the rest as large as before.
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
    following = _located(CertPageOp(moved), page)
    Rewriter.insert_op(following, InsertPoint.after(page))
    return following


def _cut_job(job: CertJobOp, instructions: list[Operation], number: int) -> CertJobOp:
    for op in instructions:
        op.detach()
    return _located(CertJobOp(number, Region(Block(instructions))), job)


def _located(made: PartT, origin: Operation) -> PartT:
    """Have an operation, and the terminator that its constructor adds, point to where another one is written."""
    for op in (made, made.body.block.last_op):
        if op is not None:
            op.location = origin.location
    return made
