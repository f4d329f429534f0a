"""Canonical forms of what waits for what: joins folded into those that wait, and waits that nothing calls for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, cast

from xdsl.dialects import linalg
from xdsl.dialects.builtin import ArrayAttr, MemRefType, SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, Use
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import scf
from tilewright.dialects.affine import ForOp as AffineForOp
from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.rewrite.folding.air_views import VIEWS
from tilewright.rewrite.folding.regions import is_defined_in


def fold_wait_all(op: WaitAllOp, rewriter: PatternRewriter) -> None:
    """Drop a join of nothing, forward a join of one, and let those that wait for a join wait for its parts."""
    token = op.token
    if not op.operands and (token is None or token.first_use is None):
        rewriter.erase(op)
    elif token is not None and len(op.operands) == 1:
        rewriter.replace(op, (), op.operands)
    # a loop that carries the token cannot take several in its place
    elif token is not None and all(isinstance(use.operation, AsyncOp) for use in token.uses):
        for user in dict.fromkeys(cast(AsyncOp, use.operation) for use in token.uses):
            others = [dependency for dependency in user.dependencies if dependency is not token]
            user.set_dependencies([*reversed(op.operands), *others])
            rewriter.notify_op_modified(user)
        rewriter.erase(op)


def drop_false_dependencies(op: AsyncOp, rewriter: PatternRewriter) -> None:
    """Do not wait for what touches other memory, what is waited for already, or what another dependency waits for."""
    if not op.dependencies:
        return
    leaves = dict.fromkeys(leaves_of(op.dependencies))
    found = [token for token in leaves if not _is_false(token, op)]
    makers = (token.owner for token in found)
    indirect = {token for maker in makers if isinstance(maker, AsyncOp) for token in maker.dependencies}
    kept = [token for token in found if token not in indirect]
    if len(kept) != len(op.dependencies):
        op.set_dependencies(kept[::-1])
        rewriter.notify_op_modified(op)


def leaves_of(tokens: Sequence[SSAValue]) -> Iterator[SSAValue]:
    """What joins stand for, each join looked into once."""
    pending, seen = [*reversed(tokens)], set[Operation]()
    while pending:
        token = pending.pop()
        maker = token.owner
        if not isinstance(maker, WaitAllOp):
            yield token
        elif maker not in seen:
            seen.add(maker)
            pending += reversed(maker.operands)


def _is_false(token: SSAValue, sink: AsyncOp) -> bool:
    """Whether the maker of a token and the one that waits for it touch memory, but none in common."""
    source = token.owner
    if not isinstance(source, Operation):
        return False
    reads, writes = _accessed(source)
    if not reads and not writes:
        return False
    touches = False
    # what waits for the sink waits for the token's maker through it
    for op in chain((sink,), _consumers(sink)):
        later_reads, later_writes = _accessed(op)
        if writes & (later_reads | later_writes) or reads & later_writes:
            return False
        touches = touches or bool(later_reads or later_writes)
    return touches and not _symbols(source) & _symbols(sink)


def _consumers(sink: Operation) -> Iterator[Operation]:
    """All that wait for `sink`, at any distance, through the tokens that loops carry."""
    pending: list[SSAValue] = list(sink.results)
    seen, found = set[SSAValue](), set[Operation]()
    while pending:
        token = pending.pop()
        if token in seen or not isinstance(token.type, AsyncTokenType):
            continue
        seen.add(token)
        for use in token.uses:
            pending += [*use.operation.results, *_carried(use)]
            if use.operation not in found:
                found.add(use.operation)
                yield use.operation


def _carried(use: Use) -> Sequence[SSAValue]:
    """The argument of a loop's body that begins with the value used."""
    loop = use.operation
    # its operands begin with bounds and step, its arguments with the counter
    if isinstance(loop, scf.ForOp) and use.index >= 3:
        return (loop.body.block.args[use.index - 2],)
    if isinstance(loop, AffineForOp):
        number = use.index - (len(loop.operands) - len(loop.inits))
        return (loop.body.block.args[number + 1],) if number >= 0 else ()
    return ()


def _accessed(op: Operation) -> tuple[set[SSAValue], set[SSAValue]]:
    """The buffers behind what an operation reads and writes, those that its body takes from outside included."""
    reads, writes = (set(map(buffer_behind, values)) for values in _own_accesses(op))
    for region in op.regions:
        for inner in region.walk():
            for found, values in zip((reads, writes), _own_accesses(inner), strict=True):
                found.update(buffer_behind(value) for value in values if not is_defined_in(value, region))
    return reads, writes


def _own_accesses(op: Operation) -> tuple[Iterable[SSAValue], Iterable[SSAValue]]:
    """What an operation itself reads and what it writes."""
    if isinstance(op, Transfer):
        return [op.buffer("src")] if "src" in op.SIDES else [], [op.buffer("dst")] if "dst" in op.SIDES else []
    if op.name == "memref.copy":
        return op.operands[:1], op.operands[1:]
    if op.name.startswith("linalg.") and not isinstance(op, linalg.YieldOp | linalg.IndexOp):
        return cast(Any, op).inputs, [*cast(Any, op).outputs, *op.results]
    # of any other operation it is not known what it does to the buffers it is given
    buffers = [value for value in op.operands if isinstance(value.type, MemRefType)]
    return buffers, buffers


def buffer_behind(value: SSAValue) -> SSAValue:
    """The value that a buffer came from, out of views, bodies and loops; two that differ are different memory."""
    while True:
        owner = value.owner
        if isinstance(owner, Operation):
            outer = owner.operands[0] if owner.name in VIEWS else None
        else:
            outer = _passed_in(cast(BlockArgument, value))
        if outer is None:
            return value
        value = outer


def _passed_in(argument: BlockArgument) -> SSAValue | None:
    parent = argument.block.parent_op()
    if isinstance(parent, Hierarchy):
        return parent.tied_operand(argument)
    if isinstance(parent, scf.ForOp | AffineForOp) and argument.index > 0:
        return (parent.iter_args if isinstance(parent, scf.ForOp) else parent.inits)[argument.index - 1]
    return None


def _symbols(op: Operation) -> set[SymbolRefAttr]:
    """The symbols that an operation refers to; one that does not wait is looked into."""
    ops = (op,) if isinstance(op, AsyncOp) else op.walk()
    return {symbol for inner in ops for symbol in _own_symbols(inner)}


def _own_symbols(op: Operation) -> Iterator[SymbolRefAttr]:
    for attribute in (*op.properties.values(), *op.attributes.values()):
        entries = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else (attribute,)
        yield from (entry for entry in entries if isinstance(entry, SymbolRefAttr))
