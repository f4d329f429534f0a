"""One loop for each chain of transfers: what does not depend on each other need not share a loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.dialects.memref import AllocOp, DeallocOp
from tilewright.passes.air.shim.draining import open_tokens
from tilewright.passes.air.shim.wrapping import acting_ops
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import is_defined_in, only_block
from tilewright.rewrite.insertion import building, building_before
from tilewright.rewrite.unrolling import loops_innermost_first


def isolate_loops(op: Operation) -> None:
    """Split the loops in an operation, inner ones first."""
    for loop in list(loops_innermost_first(op)):
        _isolate(loop)


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
        tokens = [part.results[0] for part in parts]
        join = building_before(loop).insert(WaitAllOp.create(operands=tokens, result_types=[TOKEN]))
        result.replace_all_uses_with(join.results[0])
    Rewriter.erase_op(loop)


def _can_move(op: Operation) -> bool:
    """Whether an operation may go to a loop of its own: it says by tokens what it depends on."""
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
    build = building(InsertPoint.at_end(block), loop.location)
    for op in body.ops:
        if op in wanted:
            build.insert(op.clone(copies))
    yielded: list[SSAValue] = []
    if loop.results:
        join = WaitAllOp.create(operands=open_tokens(block), result_types=[TOKEN])
        yielded = [build.insert(join).results[0]]
    build.insert(scf.YieldOp(*yielded))
    part = scf.ForOp(loop.lb, loop.ub, loop.step, list(loop.iter_args), Region(block))
    part.attributes.update(loop.attributes)
    return building_before(loop).insert(part)
