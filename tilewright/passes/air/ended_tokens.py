"""Programs whose operations block: they run in program order, which is one that every token allows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, i1
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import scf
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.dialects.func import FuncOp
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.hierarchies import inline_execute
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import recreate

ENDED = i1
"""What a token becomes that is passed on in a way that cannot be left out: whether its operation has ended."""


def drop_tokens(body: Operation | Region) -> None:
    """Make what is in a kernel, or in host code, block instead of giving tokens."""
    everything = all_operations(body)
    ops = ops_of(everything, AsyncOp)
    for op in ops:
        op.set_dependencies([])
    is_same = not _drop_carried(everything) and not ops
    for op in ops:
        _end_token(op)
        # what runs in order can stand where it is
        if isinstance(op, ExecuteOp):
            inline_execute(op)
        elif isinstance(op, WaitAllOp):
            Rewriter.erase_op(op)
        elif op.token is not None:
            new = Emitter.before(op).insert(recreate(op, result_types=op.result_types[1:]))
            Rewriter.replace_op(op, (), [None, *new.results])
    # what gave a token is another operation now
    for op in everything if is_same else all_operations(body):
        _retype(op)


def _end_token(op: AsyncOp) -> None:
    """Give functions, branches and parallel loops that take a token the fact that nothing is left to wait for."""
    if op.token is not None and op.token.first_use is not None:
        op.token.replace_all_uses_with(Emitter.before(op).constant(1, ENDED))


def _retype(op: Operation) -> None:
    values: list[SSAValue] = [*op.results]
    for region in op.regions:
        values += [argument for block in region.blocks for argument in block.args]
    for value in values:
        if value._type.__class__ is AsyncTokenType:
            value._type = ENDED  # xDSL has no setter
    if op.regions and isinstance(op, FuncOp):
        type = op.function_type
        op.function_type = FunctionType.from_lists([*map(_ended, type.inputs)], [*map(_ended, type.outputs)])


def _ended(type: Attribute) -> Attribute:
    return ENDED if isinstance(type, AsyncTokenType) else type


def _is_token(value: SSAValue) -> bool:
    return isinstance(value.type, AsyncTokenType)


def _drop_carried(ops: Sequence[Operation]) -> bool:
    """Take tokens out of loops and branches: what they yield, then what loops begin with, then what nothing uses.

    Says whether there were any.
    """
    branches = [op for op in ops_of(ops, scf.ForOp, scf.IfOp) if any(map(_is_token, op.results))]
    for op in branches:
        for region in op.regions:
            end = region.block.last_op if region.blocks else None
            if end is not None:
                end.operands = [value for value in end.operands if not _is_token(value)]
    for op in branches:
        op.operands = [value for value in op.operands if not _is_token(value)]
    for op in branches:
        _without_tokens(op)
    return bool(branches)


def _without_tokens(op: scf.ForOp | scf.IfOp) -> None:
    """The loop or branch without its tokens, which have ended for what uses them elsewhere."""
    for token in filter(_is_token, op.results):
        if token.first_use is not None:
            token.replace_all_uses_with(Emitter.before(op).constant(1, ENDED))
    for region in op.regions:
        for block in region.blocks:
            for argument in [argument for argument in block.args if _is_token(argument)]:
                if argument.first_use is not None:
                    argument.replace_all_uses_with(Emitter.before(op).constant(1, ENDED))
                block.erase_arg(argument)
    kept = [result for result in op.results if not _is_token(result)]
    new = Emitter.before(op).insert(recreate(op, result_types=[result.type for result in kept]))
    for old, value in zip(kept, new.results, strict=True):
        old.replace_all_uses_with(value)
    Rewriter.erase_op(op)
