"""Turns the host side of AIR programs into calls of the AIR runtime; what devices compute is left to their designs."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import arith
from tilewright.dialects.aie.lookup import ancestors
from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, SegmentOp
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.dialects.airrt import events, loading, transfers
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.hierarchies import inline_body, inline_execute
from tilewright.passes.air.shim.host_transfers import host_access, host_side
from tilewright.passes.air.shim.launches import DUMMY, launches_in, serialize_launch
from tilewright.passes.air.shim.loops import innermost_first
from tilewright.passes.air.shim.patterns import buffer_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.strided_views import known_int


class AirToStdPass(Pass):
    name = "air-to-std"

    def apply(self, ctx: Context, op: Operation) -> None:
        module = cast(ModuleOp, op)
        for launch in launches_in(module):
            # air-opt-shim-dma-bds may have done so already
            if launch.extents or DUMMY not in launch.attributes:
                serialize_launch(launch)
        for inner in list(innermost_first(module)):
            _lower(inner)
        for inner in list(module.walk()):
            _carry_events(inner)
        # nothing names them any more
        for channel in [found for found in module.body.block.ops if isinstance(found, ChannelOp)]:
            Rewriter.erase_op(channel)


def _lower(op: Operation) -> None:
    if op.parent is None or _is_on_device(op):
        return
    if isinstance(op, LaunchOp):
        _inline_launch(op)
    elif isinstance(op, SegmentOp | HerdOp):
        _load(op)
    elif isinstance(op, WaitAllOp):
        types = [] if op.token is None else [events.EVENT]
        join = events.WaitAllOp.create(operands=op.operands, result_types=types, attributes=dict(op.attributes))
        Rewriter.replace_op(op, (), Emitter.before(op).insert(join).results)
    elif isinstance(op, ExecuteOp):
        op.async_token.replace_all_uses_with(_waited(op))
        inline_execute(op)
    elif isinstance(op, Transfer):
        _transfer(op)


def _is_on_device(op: Operation) -> bool:
    """Whether a segment or herd does this: it goes with the body."""
    return any(isinstance(parent, SegmentOp | HerdOp) for parent in ancestors(op))


def _waited(op: AsyncOp) -> SSAValue:
    """An event for what an operation waits for; the runtime works in program order."""
    return Emitter.before(op).value(events.WaitAllOp.create(operands=op.dependencies, result_types=[events.EVENT]))


def _inline_launch(op: LaunchOp) -> None:
    if op.token is not None:
        op.token.replace_all_uses_with(_waited(op))
    inline_body(op, [])


def _load(op: Hierarchy) -> None:
    """What runs on the array is loaded, and given the numbers that it is passed."""
    build = Emitter.before(op)
    name = StringAttr(op.symbol or op.name.removeprefix("air."))
    if op.token is not None:
        op.token.replace_all_uses_with(_waited(op))
    if isinstance(op, SegmentOp):
        build.insert(loading.SegmentLoadOp.create(result_types=[i64], properties={"sym_name": name}))
    else:
        # buffers reach a herd by channels; only numbers are loaded as parameters
        numbers = [value for value in op.kernel_values if not hasattr(value.type, "element_type")]
        build.insert(loading.HerdLoadOp.create(operands=numbers, result_types=[i64], properties={"sym_name": name}))
    Rewriter.erase_op(op)


def _transfer(op: Transfer) -> None:
    if host_side(op) is None:
        if op.token is not None:
            op.token.replace_all_uses_with(_waited(op))
        Rewriter.erase_op(op)
        return
    build = Emitter.before(op)

    def as_i64(entry: SSAValue | int) -> SSAValue | int:
        known = known_int(entry)
        if known is not None or isinstance(entry, int):
            return entry if known is None else known
        return build.value(arith.IndexCastOp(entry, i64))

    access = host_access(op)
    volume = buffer_of(access.memref.type).volume or 1
    lists = (
        ([0], [volume], [1]) if access.is_whole else tuple([as_i64(entry) for entry in part] for part in access.lists)
    )
    offsets, lengths, strides = (
        [*[filler] * (transfers.DIMS - len(entries)), *entries]
        for entries, filler in zip(lists, (0, 1, 0), strict=True)
    )
    identity = op.attributes.get("id")
    zero = build.i64(0)
    number = build.constant(identity.value.data if isinstance(identity, IntegerAttr) else 0)
    new = transfers.DmaMemcpyNdOp.create(
        operands=[number, zero, zero, access.memref],
        result_types=[] if op.token is None else [events.EVENT],
        attributes={name: value for name, value in op.attributes.items() if name != "id"},
    )
    new.set_entries(offsets, lengths, strides)
    build.insert(new)
    if op.token is not None and new.event is not None:
        op.token.replace_all_uses_with(new.event)
    Rewriter.erase_op(op)


def _carry_events(op: Operation) -> None:
    """Loops and branches carry events where they carried tokens."""
    values = [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]
    for value in values:
        if isinstance(value.type, AsyncTokenType) and not _is_on_device(op):
            value._type = events.EVENT  # xDSL has no setter
