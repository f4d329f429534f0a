"""Checks that pools of object FIFOs are whole: all of each object is filled and drained, and streams lead somewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from tilewright.dialects import scf
from tilewright.dialects.aie.buffers import ExternalBufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.objectfifo_pools import (
    ObjectFifoDanglingEndpointOp,
    ObjectFifoDmaEndpointOp,
    ObjectFifoFlowOp,
    ObjectFifoPoolOp,
    ObjectFifoRole,
    PoolEndpoint,
)
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoReleaseOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class ObjectFifoVerifyPass(DevicePass):
    """One of upstream's branch objfifo-disentangle. A design of which a part is elsewhere does without it."""

    name = "aie-objectfifo-verify"

    def apply_to(self, device: DeviceOp) -> None:
        endpoints = ops_of(device.body.ops, PoolEndpoint)
        pools = ops_of(device.body.ops, ObjectFifoPoolOp)
        if not pools:
            return
        for pool in pools:
            _check_coverage(pool)
        for pool in pools:
            _check_users(pool, [endpoint for endpoint in endpoints if endpoint.pool_op is pool])
        _check_flows(device)
        for core in ops_of(device.body.ops, CoreOp):
            for loop in ops_of(core.walk(), scf.ForOp):
                _check_releases(loop)


def _check_coverage(pool: ObjectFifoPoolOp) -> None:
    """What is between two segments is nobody's, and where they overlap two locks guard the same."""
    expected, size = 0, element_count(pool.element_type) or 0
    for segment in pool.all_segments:
        if segment.offset.data != expected:
            at = segment.offset.data
            fail_op(pool, f"segments must be contiguous, but segment at offset {at} follows {expected}")
        expected += segment.size.data
    if expected != size:
        fail_op(pool, f"segments cover {expected} of {size} elements")


def _check_users(pool: ObjectFifoPoolOp, endpoints: Iterable[PoolEndpoint]) -> None:
    users = Counter((endpoint.does, number) for endpoint in endpoints for number in endpoint.segment_numbers)
    is_hosts = any(isinstance(buffer, ExternalBufferOp) for buffer in pool.buffer_ops)
    for number in range(len(pool.all_segments)):
        fillers, drainers = users[ObjectFifoRole.fills, number], users[ObjectFifoRole.drains, number]
        for count, done in ((fillers, "filled"), (drainers, "drained")):
            if count > 1:
                fail_op(pool, f"segment {number} is {done} by more than one endpoint")
        # The host is at the other end of its own buffers; what begins full need not be filled.
        if not drainers and not (is_hosts and fillers):
            fail_op(pool, f"segment {number} has no drainer")
        if not fillers and pool.init_values is None and not (is_hosts and drainers):
            fail_op(pool, f"segment {number} has no filler")


def _check_flows(device: DeviceOp) -> None:
    flows = ops_of(device.body.ops, ObjectFifoFlowOp)
    names = chain.from_iterable((flow.source, *flow.destinations) for flow in flows)
    uses = Counter(name.root_reference.data for name in names if isinstance(name, SymbolRefAttr))
    for endpoint in ops_of(device.body.ops, ObjectFifoDmaEndpointOp, ObjectFifoDanglingEndpointOp):
        count = uses[endpoint.sym_name.data]
        if not count:
            fail_op(endpoint, "is not connected by any flow")
        if count > 1:
            fail_op(endpoint, f"appears in {count} flows; an endpoint drives one channel")


def _check_releases(loop: scf.ForOp) -> None:
    """A turn that releases more than it acquires has too few in the end. Inner loops may make up for it."""
    balance, first, elsewhere = Counter[str](), dict[str, Operation](), set[str]()
    for op in ops_of(loop.body.walk(), ObjectFifoAcquireOp, ObjectFifoReleaseOp):
        name = op.fifo_name.root_reference.data
        if parent_of_type(op, scf.ForOp) is not loop:
            elsewhere.add(name)
            continue
        acquires = isinstance(op, ObjectFifoAcquireOp)
        balance[name] += op.count if acquires else -op.count
        # Upstream's: an acquire of the FIFO, where the turn has one.
        if name not in first or (acquires and isinstance(first[name], ObjectFifoReleaseOp)):
            first[name] = op
    for name, op in first.items():
        if name not in elsewhere and balance[name] < 0:
            fail_op(op, "cannot release more elements than are already acquired")
