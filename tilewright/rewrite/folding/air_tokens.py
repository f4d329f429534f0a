"""Canonical forms of what waits for what: joins folded into those that wait, and waits that nothing calls for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias, cast

from xdsl.dialects import linalg, scf
from xdsl.dialects.affine import ForOp as AffineForOp
from xdsl.dialects.builtin import ArrayAttr, MemRefType, SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue, Use
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.rewrite.folding.air_views import VIEWS
from tilewright.rewrite.folding.regions import is_defined_in

Touched: TypeAlias = "Callable[[Operation], Iterable[SSAValue]]"


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
    indirect = {token for other in found for token in _dependencies_of(other)}
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


def _dependencies_of(token: SSAValue) -> Sequence[SSAValue]:
    return token.owner.dependencies if isinstance(token.owner, AsyncOp) else ()


def _is_false(token: SSAValue, sink: AsyncOp) -> bool:
    """Whether the maker of a token and the one that waits for it touch memory, but none in common."""
    source = token.owner
    if not isinstance(source, Operation):
        return False
    reads, writes = _accessed(source, _read), _accessed(source, _written)
    if not reads and not writes:
        return False
    touches = False
    # what waits for the sink waits for the token's maker through it
    for op in chain((sink,), _consumers(sink)):
        later_reads, later_writes = _accessed(op, _read), _accessed(op, _written)
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
    if isinstance(loop, scf.ForOp) and use.index >= 3:
        return (loop.body.block.args[use.index - 2],)
    if isinstance(loop, AffineForOp):
        number = use.index - (len(loop.operands) - len(loop.inits))
        return (loop.body.block.args[number + 1],) if number >= 0 else ()
    return ()


def _accessed(op: Operation, touched: Touched) -> set[SSAValue]:
    """The buffers behind what an operation touches, those that its body takes from outside included."""
    found = set(map(buffer_behind, touched(op)))
    for region in op.regions:
        found.update(map(buffer_behind, _touched_inside(region, touched)))
    return found


def _touched_inside(region: Region, touched: Touched) -> Iterator[SSAValue]:
    for inner in region.walk():
        for value in touched(inner):
            if not is_defined_in(value, region):
                yield value


def _read(op: Operation) -> Iterable[SSAValue]:
    if isinstance(op, Transfer):
        return [op.buffer("src")] if "src" in op.SIDES else []
    if op.name == "memref.copy":
        return op.operands[:1]
    if _is_structured(op):
        return cast(Any, op).inputs
    return _buffers(op)


def _written(op: Operation) -> Iterable[SSAValue]:
    if isinstance(op, Transfer):
        return [op.buffer("dst")] if "dst" in op.SIDES else []
    if op.name == "memref.copy":
        return op.operands[1:]
    if _is_structured(op):
        return [*cast(Any, op).outputs, *op.results]
    return _buffers(op)


def _is_structured(op: Operation) -> bool:
    return op.name.startswith("linalg.") and not isinstance(op, linalg.YieldOp | linalg.IndexOp)


def _buffers(op: Operation) -> Iterable[SSAValue]:
    return [value for value in op.operands if isinstance(value.type, MemRefType)]


def buffer_behind(value: SSAValue) -> SSAValue:
    """The value that a buffer came from, out of views, bodies and loops; two that differ are different memory."""
    while True:
        owner = value.owner
        if isinstance(owner, Operation):
            if owner.name not in VIEWS:
                return value
            value = owner.operands[0]
            continue
        outer = _passed_in(cast(BlockArgument, value))
        if outer is None:
            return value
        value = outer


def _passed_in(argument: BlockArgument) -> SSAValue | None:
    parent = argument.block.parent_op()
    if isinstance(parent, Hierarchy):
        return parent.tied_operand(argument)
    if isinstance(parent, scf.ForOp | AffineForOp) and argument.index > 0:
        inits = parent.iter_args if isinstance(parent, scf.ForOp) else parent.inits
        return inits[argument.index - 1]
    return None


def _symbols(op: Operation) -> set[SymbolRefAttr]:
    """The symbols that an operation refers to; one that does not wait is looked into."""
    found = set(_own_symbols(op))
    if not isinstance(op, AsyncOp):
        for region in op.regions:
            for inner in region.walk():
                found.update(_own_symbols(inner))
    return found


def _own_symbols(op: Operation) -> Iterator[SymbolRefAttr]:
    for attribute in (*op.properties.values(), *op.attributes.values()):
        entries = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else (attribute,)
        yield from (entry for entry in entries if isinstance(entry, SymbolRefAttr))
