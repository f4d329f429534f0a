"""Canonical forms of transfers: numbers instead of constants, buffers instead of views, nothing where all is moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects.air.accesses import Access, Transfer
from tilewright.dialects.air.channels import CASCADE, ChannelEnd
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import TOKEN
from tilewright.dialects.memref import CastOp
from tilewright.rewrite.folding.air_views import compose_views
from tilewright.rewrite.folding.strided_views import Mixed, known_int, with_constants

STEERING = (
    "air.append_barrier",
    "air.await_appends",
    "air.memtile_dma_channel_min",
    "air.refeed_count",
    "air.runtime_hoist",
    "keep_pkt_header",
    "packet_ids",
)
"""Attributes that say how the data travels; others name a place in the source, which a rewritten transfer leaves."""


def constants_to_numbers(op: Transfer, rewriter: PatternRewriter) -> None:
    for side in op.SIDES:
        old = op.access(side)
        new = Access(old.memref, *(with_constants(entries, allow_negative=True) for entries in old.lists))
        if new != old:
            op.set_access(side, new)
            rewriter.notify_op_modified(op)


def drop_self_copy(op: DmaMemcpyNdOp, rewriter: PatternRewriter) -> None:
    """Copying a part of a buffer onto itself takes no time."""
    if op.access("src") != op.access("dst") or op.properties.get("src_rank") != op.properties.get("dst_rank"):
        return
    if op.token is None:
        rewriter.erase(op)
    else:
        rewriter.replace(op, WaitAllOp.create(operands=op.dependencies, result_types=[TOKEN]))


def views_to_buffers(op: Transfer, rewriter: PatternRewriter) -> None:
    """Name the buffer instead of a view of it, and nothing else where all of it is moved in order."""
    if isinstance(op, ChannelEnd):
        channel = op.channel
        if channel is None:
            return
        if channel.channel_type.data == CASCADE:
            _drop_cast(op, rewriter)
            return
    for side in op.SIDES:
        access = op.access(side)
        composed = compose_views(access, rewriter)
        new = access if composed is None else composed
        if not (isinstance(op, ChannelEnd) and _is_padded(op)) and is_all_in_order(new):
            new = Access(new.memref, [], [], [])
        if new is not access and new != access:
            op.set_access(side, new)
            op.attributes = _kept(op)
            rewriter.notify_op_modified(op)
            return


def _drop_cast(op: ChannelEnd, rewriter: PatternRewriter) -> None:
    access = op.access(op.SIDE)
    if isinstance(access.memref.owner, CastOp) and access.is_whole:
        op.set_access(op.SIDE, replace(access, memref=access.memref.owner.source))
        op.attributes = {}
        rewriter.notify_op_modified(op)


def _is_padded(op: Transfer) -> bool:
    return "pad_before" in op.properties or "pad_after" in op.properties


def _kept(op: Transfer) -> dict[str, Attribute]:
    if not isinstance(op, ChannelEnd):
        return {}
    return {name: value for name, value in op.attributes.items() if name in STEERING}


def is_all_in_order(access: Access) -> bool:
    """Whether lists say what their absence says: every element of the buffer, one after the other."""
    type = access.memref.type
    if access.is_whole or not isinstance(type, MemRefType) or DYNAMIC_INDEX in type.get_shape():
        return False
    sizes = [known_int(size) for size in access.sizes]
    return _is_row_major(sizes, access.strides) and prod(size or 0 for size in sizes) == prod(type.get_shape())


def _is_row_major(sizes: Sequence[int | None], strides: Sequence[Mixed]) -> bool:
    if len(sizes) != len(strides):
        return False
    expected = 1
    for size, stride in zip(reversed(sizes), map(known_int, reversed(strides)), strict=True):
        if size == 1 and stride == 0:
            continue
        if size is None or stride != expected:
            return False
        expected *= size
    return True
