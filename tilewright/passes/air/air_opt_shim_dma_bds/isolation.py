"""Preparation of loops for folding: one loop for each chain of transfers, and herds around loops.

Transfers that do not depend on each other need not share a loop; a herd stands for hardware, of which there is one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects._syntax import segments
from tilewright.dialects.air.asynchronous import SEGMENT_SIZES, AsyncOp
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.levels import HerdOp, HerdTerminatorOp
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.dialects.memref import AllocOp, DeallocOp
from tilewright.passes.air.shim.folding import FOLD, TOKEN_PATTERNS, acting_ops, counting_of
from tilewright.passes.air.shim.launches import open_tokens
from tilewright.rewrite.canonicalization import patterns_of
from tilewright.rewrite.driver import rewrite_with
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import is_defined_in, only_block
from tilewright.rewrite.unrolling import loops_innermost_first


def isolate(op: Operation) -> None:
    """A loop for each chain of transfers; loops that run once are no loops."""
    for loop in loops_innermost_first(op):
        _isolate(loop)
    hoist_herds(op)
    rewrite_with(
        op,
        lambda found: patterns_of(found) if isinstance(found, scf.ForOp) else TOKEN_PATTERNS.get(found.name, ()),
        FOLD,
    )


def _isolate(loop: scf.ForOp) -> None:
    carried = [value for value in loop.iter_args if isinstance(value.type, AsyncTokenType)]
    if len(carried) > 1 or len(carried) != len(loop.iter_args):
        return  # several tokens go round: the loop is a pipeline
    acting = list(acting_ops(only_block(loop.body)))
    if not all(_can_move(op) for op in acting):
        return
    groups = _groups(acting, loop)
    if len(groups) < 2:
        return
    parts = [_part(loop, group) for group in groups]
    for result in loop.results:
        # it carries one token, if any: that of all parts
        tokens = [part.results[0] for part in parts]
        join = Emitter.before(loop).insert(WaitAllOp.create(operands=tokens, result_types=[TOKEN]))
        result.replace_all_uses_with(join.results[0])
    Rewriter.erase_op(loop)


def _can_move(op: Operation) -> bool:
    """Whether an operation may go to a loop of its own: it says by tokens what it depends on."""
    # a buffer that is made or freed in the loop belongs to all of its parts
    if isinstance(op, ExecuteOp):
        return not any(isinstance(inner, AllocOp | DeallocOp) for inner in op.walk())
    if isinstance(op, AsyncOp):
        return op.token is not None
    is_loop = isinstance(op, scf.ForOp | scf.ParallelOp)
    return is_loop and any(isinstance(result.type, AsyncTokenType) for result in op.results)


class _End(NamedTuple):
    """An end of a channel as far as it is known; None is an index that may be any."""

    name: str
    is_put: bool
    indices: tuple[int | None, ...]

    def may_be(self, other: _End) -> bool:
        if len(self.indices) != len(other.indices):
            return True
        return not any(
            None not in pair and pair[0] != pair[1] for pair in zip(self.indices, other.indices, strict=True)
        )


def _ends(op: Operation) -> Iterator[_End]:
    for inner in op.walk():
        if isinstance(inner, ChannelEnd):
            indices = tuple(scalar_int(index) for index in inner.indices_in_bundle)
            yield _End(inner.channel_name.root_reference.data, isinstance(inner, ChannelPutOp), indices)


def _groups(acting: Sequence[Operation], loop: scf.ForOp) -> list[list[Operation]]:
    """The operations of a loop, those together that wait for each other or use one channel, in program order."""
    # each by itself at first; joining two takes all that is with them along
    group_of = {op: number for number, op in enumerate(acting)}

    def join(first: Operation, second: Operation) -> None:
        old, new = group_of[second], group_of[first]
        if old != new:
            for op, number in group_of.items():
                if number == old:
                    group_of[op] = new

    for op in acting:
        for source in _sources(op, loop):
            if source in group_of and source is not op:
                join(source, op)
    for first, second in _sharing_channels(acting):
        join(first, second)
    groups: dict[int, list[Operation]] = defaultdict(list)
    for op in acting:
        groups[group_of[op]].append(op)
    return list(groups.values())


def _sharing_channels(acting: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    users: dict[tuple[str, bool], list[tuple[_End, Operation]]] = defaultdict(list)
    for op in acting:
        for end in dict.fromkeys(_ends(op)):
            # transfers through one channel have to keep their order
            for other, user in users[end.name, end.is_put]:
                if user is not op and end.may_be(other):
                    yield user, op
            users[end.name, end.is_put].append((end, op))


def _needed(op: Operation) -> Iterator[SSAValue]:
    """The values that an operation uses, those used in its regions included."""
    yield from op.operands
    for region in op.regions:
        for inner in region.walk():
            yield from (value for value in inner.operands if not is_defined_in(value, region))


def _sources(op: Operation, loop: scf.ForOp) -> Iterable[Operation]:
    """What an operation depends on in the body of a loop, directly or not."""
    body, found = loop.body, dict[Operation, None]()
    pending = [op]
    while pending:
        for value in _needed(pending.pop()):
            source = value.owner
            if isinstance(source, Operation) and is_defined_in(value, body) and source not in found:
                found[source] = None
                pending.append(source)
    return found


def _part(loop: scf.ForOp, group: Sequence[Operation]) -> scf.ForOp:
    """A loop before `loop` with some of its operations and what they need."""
    body = only_block(loop.body)
    wanted = {*group, *(source for op in group for source in _sources(op, loop))}
    block = Block(arg_types=[argument.type for argument in body.args])
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=True))
    build = Emitter.at_end(block, loop.location)
    for op in body.ops:
        if op in wanted:
            build.insert(op.clone(copies))
    yielded: list[SSAValue] = []
    if loop.results:
        yielded = [build.value(WaitAllOp.create(operands=open_tokens(block), result_types=[TOKEN]))]
    build.insert(scf.YieldOp(*yielded))
    part = scf.ForOp(loop.lb, loop.ub, loop.step, list(loop.iter_args), Region(block))
    part.attributes.update(loop.attributes)
    return Emitter.before(loop).insert(part)


def hoist_herds(op: Operation) -> None:
    """Take herds out of the loops that hold nothing else, and make one of those with one name in one block."""
    # its loops may be nested: it leaves one after the other
    for herd in [found for found in op.walk() if isinstance(found, HerdOp)]:
        while _can_leave(herd):
            herd = _hoist(herd)
    for block in {herd.parent: None for herd in op.walk() if isinstance(herd, HerdOp)}:
        if block is not None:
            _merge_herds(block)


def _can_leave(herd: HerdOp) -> bool:
    """Whether all that a loop does is to run a herd, which waits for nothing and takes constants and counters."""
    loop = herd.parent_op()
    if not isinstance(loop, scf.ForOp) or loop.results or herd.token is not None or herd.dependencies:
        return False
    if counting_of(loop) is None or list(acting_ops(only_block(loop.body))) != [herd]:
        return False
    counter = only_block(loop.body).args[0]
    return all(value is counter or not is_defined_in(value, loop.body) for value in herd.operands)


def _hoist(herd: HerdOp) -> HerdOp:
    """A herd with the loop in it, in place of the loop with the herd in it."""
    loop = herd.parent_op()
    assert isinstance(loop, scf.ForOp)
    counter = only_block(loop.body).args[0]
    values = [value for value in herd.kernel_values if value is not counter]
    block = _body_for(herd, values)
    build = Emitter.at_end(block, herd.location)
    dims = 2 * len(herd.extents)
    counting = counting_of(loop)
    assert counting is not None
    first, step, trips = counting.lower, counting.step, counting.trips
    lower, upper, width = (build.index(number) for number in (first, first + trips * step, step))
    body = Block(arg_types=[counter.type])
    outer = iter(block.args[dims:])
    arguments = [body.args[0] if value is counter else next(outer) for value in herd.kernel_values]
    _move_body(herd, [*block.args[:dims], *arguments], body)
    Emitter.at_end(body, herd.location).insert(scf.YieldOp())
    build.insert(scf.ForOp(lower, upper, width, [], Region(body)))
    build.insert(HerdTerminatorOp())
    new = Emitter.before(loop).insert(_like(herd, values, block))
    Rewriter.erase_op(loop)
    return new


def _body_for(herd: HerdOp, values: Sequence[SSAValue]) -> Block:
    """An empty body for a herd of the same shape that takes these values."""
    dims = 2 * len(herd.extents)
    return Block(arg_types=[*(argument.type for argument in herd.block.args[:dims]), *(value.type for value in values)])


def _like(herd: HerdOp, values: Sequence[SSAValue], block: Block) -> HerdOp:
    """A herd of the same shape that takes these values and does this."""
    return HerdOp.create(
        operands=[*herd.extents, *values],
        properties=herd.properties | {SEGMENT_SIZES: segments(0, len(herd.extents), len(values))},
        attributes=dict(herd.attributes),
        regions=[Region(block)],
    )


def _move_body(herd: HerdOp, arguments: Sequence[SSAValue], block: Block) -> None:
    """Append what a herd does to a block."""
    for old, value in zip(herd.block.args, arguments, strict=True):
        old.replace_all_uses_with(value)
    end = herd.block.last_op
    for op in list(herd.block.ops):
        if op is not end:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_end(block))


def _merge_herds(block: Block) -> None:
    """Make one herd of those in a block that have one name and one shape and wait for nothing."""
    named: dict[object, list[HerdOp]] = defaultdict(list)
    for op in block.ops:
        if isinstance(op, HerdOp) and op.symbol is not None and op.token is None and not op.dependencies:
            named[op.symbol, tuple(map(scalar_int, op.extents))].append(op)
    for herds in named.values():
        if len(herds) > 1:
            _merge(herds)


def _merge(herds: Sequence[HerdOp]) -> None:
    values = list(dict.fromkeys(value for herd in herds for value in herd.kernel_values))
    last = herds[-1]
    block, dims = _body_for(last, values), 2 * len(last.extents)
    passed = dict(zip(values, block.args[dims:], strict=True))
    for herd in herds:
        _move_body(herd, [*block.args[:dims], *(passed[value] for value in herd.kernel_values)], block)
    Emitter.at_end(block, last.location).insert(HerdTerminatorOp())
    Emitter.before(last).insert(_like(last, values, block))
    for herd in herds:
        Rewriter.erase_op(herd)
