"""Control flow of `scf`, `cf`, `affine` and calls as blocks and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, Region, SSAValue

from tilewright.dialects import affine, cf, func, scf
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder
from tilewright.gpu.emulator.lower_memory import extreme, holds, results
from tilewright.gpu.emulator.program import I1, Block, Constant, Edge, Operand, Unsupported, Value, index, postorder
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import lookup_symbol

RETURNS = ("gpu.return", "func.return", "llvm.return", "scf.yield")
NEVER_REACHED = ("llvm.unreachable", "ub.unreachable")
Leave = Callable[[Sequence[SSAValue]], None]
"""What becomes of the values that a region returns."""


def lower_region(b: ProgramBuilder, region: Region, arguments: Sequence[Value], leave: Leave) -> None:
    """A region of any number of blocks, entered from the current one."""
    blocks = {block: Block() for block in region.blocks}
    first, *others = region.blocks
    b.values.update(zip(first.args, arguments, strict=True))
    for block in others:
        b.parameters(blocks[block], block.args)
    b.goto(blocks[first])
    for block in in_order(region):
        b.block = blocks[block]
        _terminate(b, b.lower_block(block), blocks, leave)


def in_order(region: Region) -> list[IrBlock]:
    """Blocks so that a definition comes before its uses: what dominates a block is on every way to it."""
    return postorder(region.blocks[0], lambda block: reversed(block.last_op.successors if block.last_op else ()))[::-1]


def _terminate(b: ProgramBuilder, op: Operation, blocks: dict[IrBlock, Block], leave: Leave) -> None:
    match op:
        case cf.BranchOp():
            b.goto(blocks[op.successor], b.all_leaves(op.arguments))
        case cf.ConditionalBranchOp():
            yes = Edge(blocks[op.then_block], b.all_leaves(op.then_arguments))
            b.branch(b[op.cond], yes, Edge(blocks[op.else_block], b.all_leaves(op.else_arguments)))
        case cf.SwitchOp():
            _switch(b, op, blocks)
        case _ if op.name in RETURNS:
            leave(op.operands)
        case _ if op.name in NEVER_REACHED:
            # lanes that get here say so, rather than run on into anything
            b.effect("check", Constant(I1, False), text=f"reaches {op.name}, which the program says cannot be")
        case _:
            fail_op(op, "cannot end a block of a kernel")


def _switch(b: ProgramBuilder, op: cf.SwitchOp, blocks: dict[IrBlock, Block]) -> None:
    """One question after the other."""
    flag, values = b[op.flag], op.case_values.get_values() if op.case_values is not None else ()
    for number, target, arguments in zip(values, op.case_blocks, op.case_operand, strict=True):
        rest = Block()
        asked = b.emit("eq", I1, flag, Constant(flag.kind, number))
        b.branch(asked, Edge(blocks[target], b.all_leaves(arguments)), Edge(rest))
        b.block = rest
    b.goto(blocks[op.default_block], b.all_leaves(op.default_operands))


def _if(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    two_ways(b, op, b[op.cond], op.true_region, op.false_region)


def two_ways(b: ProgramBuilder, op: Operation, condition: Operand, yes: Region, no: Region) -> None:
    after, ways = Block(), [Block(), Block()]
    b.branch(condition, Edge(ways[0]), Edge(ways[1]))
    for block, region in zip(ways, (yes, no), strict=True):
        b.block = block
        b.goto(after, b.all_leaves(b.yielded(region)) if region.blocks else [])
    b.parameters(after, op.results)
    b.block = after


def _index_switch(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, scf.IndexSwitchOp)
    after, chosen = Block(), b[op.arg]
    for number, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        here, rest = Block(), Block()
        b.branch(b.emit("eq", I1, chosen, index(number)), Edge(here), Edge(rest))
        b.block = here
        b.goto(after, b.all_leaves(b.yielded(region)))
        b.block = rest
    b.goto(after, b.all_leaves(b.yielded(op.default_region)))
    b.parameters(after, op.results)
    b.block = after


def counted(
    b: ProgramBuilder,
    bounds: tuple[Operand, Operand, Operand],
    body: IrBlock,
    initial: Sequence[SSAValue],
    results: Sequence[SSAValue],
    unsigned: bool = False,
) -> None:
    """A loop from the first bound up to below the second, by the third."""
    start, end, step = bounds
    # MLIR does not say what such a loop does
    if not isinstance(step, Constant) or step.value <= 0:
        goes_up = b.emit("sgt", I1, step, Constant(step.kind, 0))
        b.effect("check", goes_up, text="never ends this loop: its step is not positive")
    head, inside, after = Block(), Block(), Block()
    b.goto(head, [start, *b.all_leaves(initial)])
    b.parameters(head, body.args)
    b.block = head
    # the comparison and the step are instructions of the loop that no operation stands for
    b.block.lane_operations += 1
    goes_on = b.emit("ult" if unsigned else "slt", I1, b[body.args[0]], end)
    b.branch(goes_on, Edge(inside), Edge(after, [*head.parameters[1:]]))
    b.block = inside
    last = b.lower_block(body)
    b.block.lane_operations += 1
    following = b.emit("add", b[body.args[0]].kind, b[body.args[0]], step)
    b.goto(head, [following, *b.all_leaves(last.operands)])
    b.parameters(after, results)
    b.block = after


def _for(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    bounds, unsigned = (b[op.lb], b[op.ub], b[op.step]), isinstance(op.properties.get("unsignedCmp"), UnitAttr)
    counted(b, bounds, op.body.block, op.iter_args, op.results, unsigned)


def _affine_for(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, affine.ForOp)
    low = extreme(b, "maxs", results(b, op.lowerBoundMap.data, op.lowerBoundOperands))
    high = extreme(b, "mins", results(b, op.upperBoundMap.data, op.upperBoundOperands))
    counted(b, (low, high, index(op.step.value.data)), op.body.block, op.inits, op.results)


def _affine_if(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, affine.IfOp)
    two_ways(b, op, holds(b, op.condition.data, op.operands), op.then_region, op.else_region)


def _while(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    head, inside, after = Block(), Block(), Block()
    test, body = op.before_region.block, op.after_region.block
    b.goto(head, b.all_leaves(op.arguments))
    b.parameters(head, test.args)
    b.block = head
    condition = b.lower_block(test)
    assert isinstance(condition, scf.ConditionOp)
    # a report of a loop that waits names the loop, not its condition
    b.where = op.location
    passed = b.all_leaves(condition.operands[1:])
    b.branch(b[condition.operands[0]], Edge(inside, passed), Edge(after, list(passed)))
    b.parameters(inside, body.args)
    b.block = inside
    b.goto(head, b.all_leaves(b.lower_block(body).operands))
    b.parameters(after, op.results)
    b.block = after


def _call(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    name = op.callee.string_value()
    callee = lookup_symbol(op, op.callee)
    if callee is None or not callee.regions or not callee.regions[0].blocks:
        fail_op(op, f"calls @{name}, which has no body in its gpu.module", (op, "define it beside the kernel"))
    # calls are inlined
    if name in b.calls:
        fail_op(op, f"calls @{name} again while it runs", (op, "kernels of the emulator do not call themselves"))
    b.calls.append(name)
    _inline(b, callee.regions[0], [b.values[value] for value in op.arguments], op.results)
    b.calls.pop()


def _inline(b: ProgramBuilder, region: Region, arguments: Sequence[Value], results: Sequence[SSAValue]) -> None:
    after = Block()
    lower_region(b, region, arguments, lambda values: b.goto(after, b.all_leaves(values)))
    b.parameters(after, results)
    b.block = after


def _parallel(b: ProgramBuilder, op: Operation) -> None:
    raise Unsupported("loops that may run in parallel have no lanes of their own here: run convert-scf-to-cf on it")


def _assert(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, cf.AssertOp)
    b.effect("check", b[op.arg], text=f"stops the program: {op.msg.data}")


HANDLERS: dict[str, Handler] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.index_switch": _index_switch,
    "scf.execute_region": lambda b, op: _inline(b, op.regions[0], [], op.results),
    "scf.parallel": _parallel,
    "scf.forall": _parallel,
    "affine.for": _affine_for,
    "affine.if": _affine_if,
    "func.call": _call,
    "cf.assert": _assert,
}
