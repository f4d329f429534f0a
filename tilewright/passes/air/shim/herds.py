"""Herds around loops instead of loops around herds: a herd stands for hardware, of which there is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects._syntax import segments
from tilewright.dialects.air.asynchronous import SEGMENT_SIZES
from tilewright.dialects.air.levels import HerdOp, HerdTerminatorOp
from tilewright.passes.air.shim.linear import constant
from tilewright.passes.air.shim.wrapping import acting_ops, counting_of
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import is_defined_in, only_block
from tilewright.rewrite.insertion import building, building_before


def hoist_herds(op: Operation) -> None:
    """Take herds out of the loops that hold nothing else, and make one of those with one name in one block."""
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
    build = building(InsertPoint.at_end(block), herd.location)
    dims = 2 * len(herd.extents)
    counting = counting_of(loop)
    assert counting is not None
    first, step, trips = counting.lower, counting.step, counting.trips
    lower, upper, width = (constant(number, build) for number in (first, first + trips * step, step))
    body = Block(arg_types=[counter.type])
    outer = iter(block.args[dims:])
    arguments = [body.args[0] if value is counter else next(outer) for value in herd.kernel_values]
    _move_body(herd, [*block.args[:dims], *arguments], body)
    building(InsertPoint.at_end(body), herd.location).insert(scf.YieldOp())
    build.insert(scf.ForOp(lower, upper, width, [], Region(body)))
    build.insert(HerdTerminatorOp())
    new = building_before(loop).insert(_like(herd, values, block))
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
    building(InsertPoint.at_end(block), last.location).insert(HerdTerminatorOp())
    building_before(last).insert(_like(last, values, block))
    for herd in herds:
        Rewriter.erase_op(herd)
