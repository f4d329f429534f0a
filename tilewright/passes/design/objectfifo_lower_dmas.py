"""Makes DMA programs of the endpoints of pools: a descriptor for each object, and in it for each segment."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.rewriter import Rewriter

from tilewright.device import LockAction
from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import device_symbol
from tilewright.dialects.aie.objectfifo_pools import (
    ObjectFifoDanglingEndpointOp,
    ObjectFifoDmaEndpointOp,
    ObjectFifoPoolOp,
    ObjectFifoRole,
    ObjectFifoSegmentAttr,
)
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.objectfifo_stateful_transform.dma_programs import (
    BdLockUse,
    Chain,
    ChainUser,
    DmaPrograms,
    FifoBd,
)
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class ObjectFifoLowerDmasPass(DevicePass):
    """One of upstream's branch objfifo-disentangle. Endpoints need channels, and pools buffers and locks, before."""

    name = "aie-objectfifo-lower-dmas"

    def apply_to(self, device: DeviceOp) -> None:
        programs = DmaPrograms(device)
        for endpoint in ops_of(device.body.ops, ObjectFifoDmaEndpointOp):
            if endpoint.channel_index is None:
                fail_op(
                    endpoint, "has no channel; run --aie-objectfifo-allocate", (endpoint, "or give it a channelIndex")
                )
            pool, tile = endpoint.pool_op, endpoint.tile_like
            assert pool is not None and tile is not None, "the verifier knows both"
            chain = _chain(endpoint, pool, device.model.architecture.semaphore_locks)
            if chain.descriptors:
                channel = Channel(endpoint.direction, endpoint.channel_index.value.data)
                programs.add(ChainUser(endpoint, endpoint.sym_name.data, tile), channel, chain, endpoint.packet)
            Rewriter.erase_op(endpoint)
        # Something else drives these; their flows are laid by now.
        for dangling in ops_of(device.body.ops, ObjectFifoDanglingEndpointOp):
            Rewriter.erase_op(dangling)


def _chain(endpoint: ObjectFifoDmaEndpointOp, pool: ObjectFifoPoolOp, counts: bool) -> Chain:
    objects = [list(_descriptors(endpoint, pool, number, counts)) for number in range(len(pool.buffer_ops))]
    drains = endpoint.does is ObjectFifoRole.drains
    # What fills the pool covers all repetitions of an object at once, by its locks.
    repeats = pool.repeat_count.value.data if drains and pool.repeat_count is not None else 1
    rounds = None if endpoint.iter_count is None else endpoint.iter_count.value.data
    # A channel can repeat one descriptor by itself; else there is a descriptor for each repetition.
    in_hardware = repeats > 1 and sum(map(len, objects)) == 1 and rounds is None
    copies = 1 if in_hardware else repeats
    again = rounds - 1 if rounds is not None else repeats - 1 if in_hardware else 0
    pad_value = endpoint.pad_value if endpoint.pad_value.value.data else None
    copied = [descriptor for descriptors in objects for _ in range(copies) for descriptor in descriptors]
    return Chain(copied, repeat_count=again, stops=rounds is not None, pad_value=pad_value)


def _descriptors(
    endpoint: ObjectFifoDmaEndpointOp, pool: ObjectFifoPoolOp, number: int, counts: bool
) -> Iterator[FifoBd]:
    """Of one object: the segments that the endpoint is responsible for."""
    buffer = pool.buffer_ops[number].buffer
    for position, segment in enumerate(endpoint.selected):
        dimensions, padding = endpoint.pattern(position)
        length = segment.size.data
        if dimensions and padding:
            pads = zip(dimensions, padding, strict=True)
            length = prod(d.size.data + p.const_pad_before.data + p.const_pad_after.data for d, p in pads)
        if counts:
            acquire, release = _counting_locks(endpoint, pool, segment)
        else:
            acquire, release = _binary_lock(endpoint, pool, number)
        yield FifoBd(buffer, segment.offset.data, length, acquire, release, dimensions, padding or None)


def _counting_locks(
    endpoint: ObjectFifoDmaEndpointOp, pool: ObjectFifoPoolOp, segment: ObjectFifoSegmentAttr
) -> tuple[BdLockUse, BdLockUse] | tuple[None, None]:
    names = segment.locks(endpoint.does)
    if names is None:
        return None, None
    first, last = (_lock(endpoint, name) for name in names)
    fills = endpoint.does is ObjectFifoRole.fills
    amount = pool.repeat_count.value.data if fills and pool.repeat_count is not None else 1
    return (
        BdLockUse(first.result, LockAction.AcquireGreaterEqual, amount),
        BdLockUse(last.result, LockAction.Release, amount),
    )


def _lock(endpoint: ObjectFifoDmaEndpointOp, name: SymbolRefAttr) -> LockOp:
    found = device_symbol(endpoint, name)
    if not isinstance(found, LockOp):
        fail_op(endpoint, f"works through a pool with a lock @{name.root_reference.data}, which there is not")
    return found


def _binary_lock(
    endpoint: ObjectFifoDmaEndpointOp, pool: ObjectFifoPoolOp, number: int
) -> tuple[BdLockUse, BdLockUse] | tuple[None, None]:
    """AIE1: the lock of a buffer says by its value whose turn it is."""
    if number >= len(pool.lock_ops):
        return None, None
    lock, full = pool.lock_ops[number].result, int(endpoint.does is ObjectFifoRole.drains)
    return BdLockUse(lock, LockAction.Acquire, full), BdLockUse(lock, LockAction.Release, 1 - full)
