"""Turns what cores acquire and release through endpoints of pools into uses of locks and choices between buffers."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import device_symbol
from tilewright.dialects.aie.objectfifo_pools import ObjectFifoCoreEndpointOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoReleaseOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.objectfifo_stateful_transform.core_accesses import (
    CoreEnd,
    CoreLowering,
    Use,
    add_unroll_hints,
)
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class ObjectFifoLowerCoresPass(DevicePass):
    """One of upstream's branch objfifo-disentangle. Pools need buffers and locks before."""

    name = "aie-objectfifo-lower-cores"

    def apply_to(self, device: DeviceOp) -> None:
        endpoints = {op: core_end(op) for op in ops_of(device.body.ops, ObjectFifoCoreEndpointOp)}
        uses_semaphores = device.model.architecture.semaphore_locks
        for core in ops_of(device.body.ops, CoreOp) if endpoints else ():
            ends: dict[Use, CoreEnd] = {}
            for op in ops_of(core.walk(), ObjectFifoAcquireOp, ObjectFifoReleaseOp):
                endpoint = op.endpoint
                if endpoint is not None:
                    ends[op] = endpoints[endpoint]
            if ends:
                add_unroll_hints(ends)
                CoreLowering(core, list(ends), ends, uses_semaphores).run()
        for endpoint in endpoints:
            Rewriter.erase_op(endpoint)


def core_end(endpoint: ObjectFifoCoreEndpointOp) -> CoreEnd:
    pool = endpoint.pool_op
    assert pool is not None and isa(pool.element_type, MemRefType), "the verifier knows its pool"
    buffers = [buffer.buffer for buffer in pool.buffer_ops]
    repeats = 1 if pool.repeat_count is None else pool.repeat_count.value.data
    end = CoreEnd(endpoint.does, buffers, pool.depth.value.data, repeats)
    if not buffers:
        text = f"works through pool @{pool.sym_name.data}, which has no buffers; run --aie-objectfifo-allocate"
        end.missing = (text, pool, "or name its buffers")
    if endpoint.object_type != pool.element_type:
        end.part = endpoint.object_type
    end.turns = [lock.result for lock in pool.lock_ops]
    pairs = [pair for segment in endpoint.selected if (pair := segment.locks(endpoint.does)) is not None]
    end.acquired, end.released = ([_lock(endpoint, pair[which]) for pair in pairs] for which in (0, 1))
    return end


def _lock(endpoint: ObjectFifoCoreEndpointOp, name: SymbolRefAttr) -> SSAValue:
    found = device_symbol(endpoint, name)
    if not isinstance(found, LockOp):
        fail_op(endpoint, f"works through a pool with a lock @{name.root_reference.data}, which there is not")
    return found.result
