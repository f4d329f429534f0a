"""Folding and canonical forms of AIR programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable

from tilewright.dialects import scf
from tilewright.dialects.air.accesses import Access, Transfer
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.dialects.air.channels import CASCADE, ChannelEnd, ChannelOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import CastOp
from tilewright.ir.symbols import symbol_in
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.effects import Effect, facts_of, nested_effects
from tilewright.rewrite.folding.air_tokens import drop_false_dependencies, fold_wait_all
from tilewright.rewrite.folding.air_views import compose_views
from tilewright.rewrite.folding.constants import Folded, defining
from tilewright.rewrite.folding.regions import has_one_op, is_defined_in, is_inside, terminator
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
        # a cascade moves whole vectors between neighbours, without offsets and strides
        if channel.channel_type.data == CASCADE:
            _drop_cast(op, rewriter)
            return
    for side in op.SIDES:
        access = op.access(side)
        composed = compose_views(access, rewriter)
        new = access if composed is None else composed
        # padding has a number for each dimension of the lists
        is_padded = isinstance(op, ChannelEnd) and bool(op.properties.keys() & {"pad_before", "pad_after"})
        if not is_padded and is_all_in_order(new):
            new = Access(new.memref, [], [], [])
        if new is not access and new != access:
            op.set_access(side, new)
            kept = STEERING if isinstance(op, ChannelEnd) else ()
            op.attributes = {name: value for name, value in op.attributes.items() if name in kept}
            rewriter.notify_op_modified(op)
            return


def _drop_cast(op: ChannelEnd, rewriter: PatternRewriter) -> None:
    access = op.access(op.SIDE)
    if isinstance(access.memref.owner, CastOp) and access.is_whole:
        op.set_access(op.SIDE, replace(access, memref=access.memref.owner.source))
        op.attributes = {}
        rewriter.notify_op_modified(op)


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
        # a single element is at the same place with any stride, and 0 is how it is written
        if size == 1 and stride == 0:
            continue
        if size is None or stride != expected:
            return False
        expected *= size
    return True


def drop_unused_arguments(op: Hierarchy, rewriter: PatternRewriter) -> None:
    """Do not pass to a body what it does not use."""
    arguments = op.kernel_arguments
    used = [number for number, argument in enumerate(arguments) if argument.first_use is not None]
    if len(used) == len(arguments):
        return
    values = op.kernel_values
    op.set_kernel_operands([values[number] for number in used])
    # from the last, so that those to come keep their numbers
    for number in reversed(range(len(arguments))):
        if number not in used:
            op.block.erase_arg(arguments[number])
    rewriter.notify_op_modified(op)


def carry_tokens_into_loops(op: Hierarchy | ExecuteOp, rewriter: PatternRewriter) -> None:
    """A loop that carries a token waits for tokens from outside once, before it starts."""
    for loop in list(_loops_in(op.regions[0])):
        tokens = _tokens_from_outside(loop.body)
        carried = next((arg for arg in loop.body.block.args[1:] if isinstance(arg.type, AsyncTokenType)), None)
        if not tokens or carried is None or tokens == [loop.iter_args[carried.index - 1]]:
            continue
        for token in tokens:
            rewriter.replace_uses_with_if(token, carried, lambda use, body=loop.body: is_inside(use.operation, body))
        initial = [value for value in loop.iter_args if isinstance(value.type, AsyncTokenType)]
        joined = dict.fromkeys([*tokens, *initial])
        join = rewriter.insert(WaitAllOp.create(operands=[*joined], result_types=[TOKEN]), InsertPoint.before(loop))
        operands = list(loop.operands)
        operands[len(operands) - len(loop.iter_args) + carried.index - 1] = join.results[0]
        loop.operands = operands
        rewriter.notify_op_modified(loop)


def _loops_in(region: Region) -> Iterator[scf.ForOp]:
    """Loops at any depth, but not in what is isolated from above."""
    for block in region.blocks:
        for op in block.ops:
            if facts_of(op).isolated:
                continue
            if isinstance(op, scf.ForOp):
                yield op
            for nested in op.regions:
                yield from _loops_in(nested)


def _tokens_from_outside(body: Region) -> list[SSAValue]:
    """Tokens that operations directly in a body use and that are made outside of it."""
    tokens = (value for op in body.block.ops for value in op.operands if isinstance(value.type, AsyncTokenType))
    return list(dict.fromkeys(token for token in tokens if not is_defined_in(token, body)))


def fold_execute(op: ExecuteOp, rewriter: PatternRewriter) -> None:
    """Take constants and outside values past a body, and drop one without effects."""
    if has_one_op(op.body.first_block) and all(result.first_use is None for result in op.results):
        rewriter.erase(op)
        return
    for result, value in zip(op.values, terminator(op.body).operands, strict=True):
        replacement = None if result.first_use is None else _known_outside(value, op, rewriter)
        if replacement is not None:
            rewriter.replace_all_uses_with(result, replacement)
            return
    if not op.values or any(result.first_use is not None for result in op.values):
        return
    # a body that only reads and allocates does nothing that is seen once its values are unused
    if nested_effects(op) & (Effect.WRITE | Effect.UNKNOWN):
        return
    join = rewriter.insert(WaitAllOp.create(operands=op.operands, result_types=[TOKEN]))
    rewriter.replace_all_uses_with(op.async_token, join.results[0])
    rewriter.erase(op)


def _known_outside(value: SSAValue, op: ExecuteOp, rewriter: PatternRewriter) -> SSAValue | None:
    """What a value that a body hands on is outside of the body; a constant is made again there."""
    if not is_defined_in(value, op.body):
        return value
    constant = defining(value, ConstantOp)
    return None if constant is None else rewriter.insert(constant.clone()).results[0]


def drop_unused_channel(op: ChannelOp, rewriter: PatternRewriter) -> None:
    """A channel that nothing is put into or got from."""
    name = op.sym_name.data
    table = op.parent_op()
    while table is not None:
        is_known = table.has_trait(SymbolTable, value_if_unregistered=False) and symbol_in(table, name) is not None
        ends = (end for end in table.walk() if isinstance(end, ChannelEnd))
        if is_known and all(end.channel_name.root_reference.data != name for end in ends):
            rewriter.erase(op)
            return
        table = table.parent_op()


def _fold_translate(op: TranslateOp) -> Folded:
    return (op.source,) if op.is_identity else None


FOLDERS = {"air.translate": _fold_translate}

_HIERARCHY: tuple[PatternFunction, ...] = (drop_unused_arguments, drop_false_dependencies, carry_tokens_into_loops)
_CHANNEL_END: tuple[PatternFunction, ...] = (constants_to_numbers, views_to_buffers, drop_false_dependencies)

PATTERNS: dict[str, tuple[PatternFunction, ...]] = {
    "air.channel": (drop_unused_channel,),
    "air.channel.get": _CHANNEL_END,
    "air.channel.put": _CHANNEL_END,
    "air.dma_memcpy_nd": (constants_to_numbers, drop_self_copy, views_to_buffers, drop_false_dependencies),
    "air.execute": (fold_execute, drop_false_dependencies, carry_tokens_into_loops),
    "air.herd": _HIERARCHY,
    "air.launch": _HIERARCHY,
    "air.rank": _HIERARCHY,
    "air.segment": _HIERARCHY,
    "air.wait_all": (fold_wait_all, drop_false_dependencies),
}
