"""Cuts control code so that its pages fit the microcontroller, and what needs a page of its own has one."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import CertJobOp, CertLoadPdiOp, CertPageOp, CertPreemptOp
from tilewright.ir.diagnostics import emit_warning
from tilewright.ir.pass_manager import Pass
from tilewright.passes.control.cert_chains import PAGE_BYTES, merge_chains
from tilewright.passes.control.cert_legalize_pages.pages import Cut, PageCosts, cut_page

ALONE = (CertLoadPdiOp, CertPreemptOp)
"""Instructions that must be the only one of a page."""


class CertLegalizePagesPass(Pass):
    name = "cert-legalize-pages"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        _wrap_jobs(op)
        for page in _pages(op):
            _isolate(op, page)
        costs = PageCosts(op)
        for page in _pages(op):
            _split(op, page, costs)
        merge_chains(op)


def _pages(device: DeviceOp) -> list[CertPageOp]:
    return [op for op in device.walk() if isinstance(op, CertPageOp)]


def _jobs(device: DeviceOp) -> list[CertJobOp]:
    return [op for op in device.walk() if isinstance(op, CertJobOp)]


def _wrap_jobs(device: DeviceOp) -> None:
    """Give each job that is in no page one."""
    for job in _jobs(device):
        if isinstance(job.parent_op(), CertPageOp):
            continue
        following = job.next_op
        assert following is not None, "whatever has jobs has a terminator"
        job.detach()
        page = CertPageOp([job])
        for op in (page, page.body.block.last_op):
            if op is not None:
                op.location = job.location
        Rewriter.insert_op(page, InsertPoint.before(following))


def _isolate(device: DeviceOp, page: CertPageOp) -> None:
    """Cut before and after each instruction that must be alone."""
    instructions = [(job, op) for job in page.jobs for op in job.instructions]
    for position, (job, op) in enumerate(instructions):
        is_alone = isinstance(op, ALONE)
        if position > 0 and (is_alone or isinstance(instructions[position - 1][1], ALONE)):
            number = max(other.number for other in _jobs(device)) + 1
            page = cut_page(page, Cut(_job_of(op, job), op), number)


def _job_of(op: Operation, job: CertJobOp) -> CertJobOp:
    """The job that an instruction is in by now: it may have been cut off the one it was in."""
    parent = op.parent_op()
    return parent if isinstance(parent, CertJobOp) else job


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
            _make_room_after(device, cut.job.number)
        pending += [page, cut_page(page, cut, cut.job.number + 1)]


def _make_room_after(device: DeviceOp, number: int) -> None:
    """Have a number free for the job that comes after one."""
    for job in _jobs(device):
        if job.number > number:
            job.renumber(job.number + 1)
