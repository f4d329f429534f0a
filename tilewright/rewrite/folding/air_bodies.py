"""Canonical forms of hierarchies, asynchronous bodies and channels."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable

from tilewright.dialects import scf
from tilewright.dialects.air.channels import ChannelEnd, ChannelOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.dialects.arith import ConstantOp
from tilewright.ir.symbols import symbol_in
from tilewright.rewrite.effects import Effect, facts_of, nested_effects
from tilewright.rewrite.folding.matching import defining
from tilewright.rewrite.folding.regions import has_one_op, is_defined_in, is_inside, terminator


def drop_unused_arguments(op: Hierarchy, rewriter: PatternRewriter) -> None:
    """Do not pass to a body what it does not use."""
    arguments = op.kernel_arguments
    used = [number for number, argument in enumerate(arguments) if argument.first_use is not None]
    if len(used) == len(arguments):
        return
    values = op.kernel_values
    op.set_kernel_operands([values[number] for number in used])
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
    found = dict[SSAValue, None]()
    for op in body.block.ops:
        for value in op.operands:
            if isinstance(value.type, AsyncTokenType) and not is_defined_in(value, body):
                found[value] = None
    return list(found)


def fold_execute(op: ExecuteOp, rewriter: PatternRewriter) -> None:
    """Take constants and outside values past a body, and drop one that nobody would notice."""
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
        if is_known and not any(_uses(user, name) for user in table.walk()):
            rewriter.erase(op)
            return
        table = table.parent_op()


def _uses(op: Operation, name: str) -> bool:
    return isinstance(op, ChannelEnd) and op.channel_name.root_reference.data == name
