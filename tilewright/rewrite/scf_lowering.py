"""Turns structured control flow into blocks and branches, laid out as MLIR lays them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from xdsl.dialects.builtin import DenseIntElementsAttr, IntegerAttr, VectorType, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import BlockInsertPoint, InsertPoint, Rewriter

from tilewright.dialects import arith, cf, scf
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.canonicalization import fold
from tilewright.rewrite.control_flow import branch_op, conditional_branch_op, sizes_attr
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import only_block, terminator


def lower_structured_control(op: Operation, *, except_in: type[Operation] | None = None) -> None:
    """Lower all that is nested in `op`, from outside in, but nothing in operations of one kind."""
    pending = list(_blocks(op))
    while pending:
        block = pending.pop()
        structured: list[Operation] = []
        for child in block.ops:
            if child.name in _LOWERINGS:
                structured.append(child)
            elif except_in is None or not isinstance(child, except_in):
                pending.extend(_blocks(child))
                # the words are MLIR's, of its conversion driver
                if child.name.startswith("scf.") and child.regions:
                    fail_op(child, f"failed to legalize operation '{child.name}' that was explicitly marked illegal")
        for child in reversed(structured):  # so that each operation that follows a loop is moved only once
            # MLIR folds everything that it converts: a condition `not x` becomes `x`, say
            while fold(child) == ():
                pass
            pending.extend(_LOWERINGS[child.name](child))


def _blocks(op: Operation) -> Iterator[Block]:
    return chain.from_iterable(region.blocks for region in op.regions)


def _at_end(block: Block, op: Operation) -> Emitter:
    """Appends to `block`, for the place in the source that `op` is from."""
    return Emitter.at_end(block, op.location)


def _split(op: Operation) -> tuple[Block, Block]:
    """The block up to `op`, which is left without an end, and the rest of it, which begins with `op`."""
    block = op.parent
    assert block is not None
    return block, block.split_before(op)


def _move_before(region: Region, block: Block) -> None:
    Rewriter.inline_region(region, BlockInsertPoint.before(block))


def _end_with_branch(end: Operation, block: Block) -> None:
    """Go on in `block` with what `end` yields."""
    assert end.parent is not None
    _at_end(end.parent, end).insert(branch_op(block, end.operands))
    Rewriter.erase_op(end)


def _lower_for(loop: scf.ForOp) -> list[Block]:
    """The block that takes the counter decides; the body goes back to it with the next one."""
    before, after = _split(loop)
    condition, end = only_block(loop.body), terminator(loop.body)
    first = condition.first_op
    assert first is not None
    body = condition.split_before(first)
    counter, *carried = condition.args
    # condition and body stay in this order between the two halves of the split block
    _move_before(loop.body, after)
    build = _at_end(body, loop)
    build.insert(branch_op(condition, (build.add(counter, loop.step), *end.operands)))
    Rewriter.erase_op(end)
    _at_end(before, loop).insert(branch_op(condition, (loop.lb, *loop.iter_args)))
    build = _at_end(condition, loop)
    goes_on = build.compare("ult" if "unsignedCmp" in loop.properties else "slt", counter, loop.ub)
    build.insert(conditional_branch_op(goes_on, (body, ()), (after, ())))
    Rewriter.replace_op(loop, (), carried)
    return [body]


def _lower_if(op: scf.IfOp) -> list[Block]:
    inner = list(_blocks(op))
    before, after = _split(op)
    join = after
    if op.results:  # a block of its own for the results, as MLIR has it, even if it only branches on
        join = Block(arg_types=[result.type for result in op.results])
        Rewriter.insert_block(join, BlockInsertPoint.before(after))
        _at_end(join, op).insert(branch_op(after))
    targets: list[Block] = []
    for region in (op.true_region, op.false_region):
        targets.append(region.first_block or join)
        if region.first_block is not None:
            _end_with_branch(terminator(region), join)
            _move_before(region, join)
    _at_end(before, op).insert(conditional_branch_op(op.cond, (targets[0], ()), (targets[1], ())))
    Rewriter.replace_op(op, (), join.args)
    return inner


def _lower_switch(op: scf.IndexSwitchOp) -> list[Block]:
    inner = list(_blocks(op))
    before, after = _split(op)
    # unlike an if, a switch hands its results straight to the block that follows: MLIR's layout
    for result in op.results:
        after.insert_arg(result.type, len(after.args))
    targets: list[Block] = []
    for region in (*op.case_regions, op.default_region):
        targets.append(only_block(region))
        _end_with_branch(terminator(region), after)
        _move_before(region, after)
    build = _at_end(before, op)
    flag = build.value(arith.IndexCastOp(op.arg, i32))
    build.insert(_switch(flag, op.cases.get_values(), targets))
    Rewriter.replace_op(op, (), after.args)
    return inner


def _switch(flag: SSAValue, cases: Sequence[int], targets: Sequence[Block]) -> Operation:
    """A branch to one of `targets`, the last of which is for all other values."""
    *blocks, default = targets
    properties: dict[str, Attribute] = {
        "case_operand_segments": sizes_attr([0] * len(cases)),
        "operandSegmentSizes": sizes_attr([1, 0, 0]),
    }
    if cases:
        # cf.switch compares 32 bits where scf.index_switch compares an index; MLIR truncates too
        numbers = [IntegerAttr(case, i32, truncate_bits=True).value.data for case in cases]
        properties["case_values"] = DenseIntElementsAttr.from_list(VectorType(i32, [len(cases)]), numbers)
    return cf.SwitchOp.create(operands=(flag,), properties=properties, successors=(default, *blocks))


def _lower_while(loop: scf.WhileOp) -> list[Block]:
    inner = list(_blocks(loop))
    current, after = _split(loop)
    before, body = only_block(loop.before_region), only_block(loop.after_region)
    end, condition = terminator(loop.after_region), terminator(loop.before_region)
    assert isinstance(condition, scf.ConditionOp)
    # a do-while: MLIR leaves out the empty body and branches back to the condition
    repeats_at_once = end.prev_op is None and tuple(end.operands) == tuple(body.args)
    _move_before(loop.before_region, after)
    if not repeats_at_once:
        _move_before(loop.after_region, after)
        _end_with_branch(end, before)
    _at_end(current, loop).insert(branch_op(before, loop.arguments))
    values = tuple(condition.args)
    target = before if repeats_at_once else body
    _at_end(before, condition).insert(conditional_branch_op(condition.condition, (target, values), (after, ())))
    Rewriter.erase_op(condition)
    Rewriter.replace_op(loop, (), values)
    return inner


def _lower_execute_region(op: scf.ExecuteRegionOp) -> list[Block]:
    inner = list(_blocks(op))
    before, after = _split(op)
    _at_end(before, op).insert(branch_op(only_block(op.region)))
    for block in op.region.blocks:
        if isinstance(block.last_op, scf.YieldOp):
            _end_with_branch(block.last_op, after)
    _move_before(op.region, after)
    Rewriter.replace_op(op, (), [after.insert_arg(type, index) for index, type in enumerate(op.result_types)])
    return inner


def _lower_parallel(op: scf.ParallelOp) -> list[Block]:
    return _lower_for(to_counted_loops(op))


_LOWERINGS: dict[str, Callable[..., list[Block]]] = {
    "scf.for": _lower_for,
    "scf.parallel": _lower_parallel,
    "scf.if": _lower_if,
    "scf.index_switch": _lower_switch,
    "scf.while": _lower_while,
    "scf.execute_region": _lower_execute_region,
}
"""Each gives the blocks that were in the operation, in which there may be more to lower."""


def to_counted_loops(op: scf.ParallelOp) -> scf.ForOp:
    """Put loops in place of `op`; gives the outermost."""
    ranges = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    outer, block, carried = _nest(op, ranges, op.body.block.args)
    _combine(terminator(op.body), carried)
    for child in list(op.body.block.ops):
        child.detach()
        Rewriter.insert_op(child, InsertPoint.at_end(block))
    Rewriter.replace_op(op, (), outer.results)
    return outer


def _nest(
    op: scf.ParallelOp, ranges: Sequence[tuple[SSAValue, SSAValue, SSAValue]], variables: Sequence[SSAValue]
) -> tuple[scf.ForOp, Block, Sequence[SSAValue]]:
    """A loop for each range, around each other: the outermost, the innermost body, and what that is handed over."""
    loops: list[scf.ForOp] = []
    values: Sequence[SSAValue] = op.initVals
    for (lower, upper, step), variable in zip(ranges, variables, strict=True):
        types = [value.type for value in values]
        block = Block(arg_types=[variable.type, *types])
        made = scf.ForOp.create(operands=(lower, upper, step, *values), result_types=types, regions=[Region(block)])
        if loops:
            end = scf.YieldOp.create(operands=made.results)
            made.location = end.location = op.location
            only_block(loops[-1].body).add_ops([made, end])
        else:
            Emitter.before(op).insert(made)
        variable.replace_all_uses_with(block.args[0])
        values = block.args[1:]
        loops.append(made)
    return loops[0], only_block(loops[-1].body), values


def _combine(reduce: Operation, carried: Sequence[SSAValue]) -> None:
    """Yield, instead of each value to be reduced, what its reduction makes of it and the one so far."""
    combined: list[SSAValue] = []
    for region, so_far, value in zip(reduce.regions, carried, reduce.operands, strict=True):
        block, end = only_block(region), terminator(region)
        for argument, new in zip(block.args, (so_far, value), strict=True):
            argument.replace_all_uses_with(new)
        combined.append(end.operands[0])
        for child in list(block.ops):
            child.detach()
            if child is not end:
                Rewriter.insert_op(child, InsertPoint.before(reduce))
        end.erase()
    made = scf.YieldOp.create(operands=combined)
    made.location = reduce.location
    Rewriter.replace_op(reduce, made)
