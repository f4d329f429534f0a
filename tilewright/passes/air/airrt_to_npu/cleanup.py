"""What is left of a host program once what devices compute is gone and loops carry no events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tilewright.dialects import scf
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.airrt.events import EVENT, EventType, WaitAllOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.dialects.func import FuncOp
from tilewright.passes.air.shim.walking import innermost_first
from tilewright.rewrite.driver import Config, rewrite_with
from tilewright.rewrite.effects import Effect, effects_of
from tilewright.rewrite.folding import patterns_of
from tilewright.rewrite.folding.regions import only_block, recreate
from tilewright.rewrite.insertion import building, building_before

HOST_DIALECTS = "airrt.", "aie.", "aiex."
_FOLD = Config(fold=True, remove_dead=True)


def drop_device_computing(function: FuncOp) -> None:
    """Keep what talks to the runtime or touches host memory, and what that needs."""
    live = set[Operation]()
    pending = [op for op in function.walk() if _is_root(op)]
    while pending:
        op = pending.pop()
        if op in live or op is function:
            continue
        live.add(op)
        pending += [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        parent = op.parent_op()
        if parent is not None:
            pending.append(parent)
    for op in [found for found in innermost_first(function) if found not in live]:
        if all(result.first_use is None for result in op.results):
            Rewriter.erase_op(op)


def _is_root(op: Operation) -> bool:
    if op.name.startswith(HOST_DIALECTS) or op.has_trait(IsTerminator, value_if_unregistered=False):
        return True
    touches = effects_of(op) & (Effect.READ | Effect.WRITE | Effect.FREE)
    return bool(touches) and any(_is_in_host_memory(value) for value in op.operands)


def _is_in_host_memory(value: SSAValue) -> bool:
    return memory_space(value.type) == MemorySpace.L3


def drop_idle_parallels(op: Operation) -> None:
    """Replace parallel loops that only join events."""
    for loop in reversed([found for found in op.walk() if isinstance(found, scf.ParallelOp)]):
        if not all(_only_joins(inner) for inner in loop.walk()):
            continue
        joined = building_before(loop).insert(WaitAllOp.create(operands=loop.initVals, result_types=[EVENT]))
        for result in loop.results:
            result.replace_all_uses_with(joined.results[0])
        Rewriter.erase_op(loop)


def _only_joins(op: Operation) -> bool:
    is_end = op.has_trait(IsTerminator, value_if_unregistered=False)
    return is_end or isinstance(op, WaitAllOp | scf.ParallelOp)


def share_allocations(device: DeviceOp) -> None:
    """Let transfers through one channel of one shim tile name it in one way."""
    first: dict[object, str] = {}
    names: dict[str, str] = {}
    for op in device.body.ops:
        if isinstance(op, ShimDmaAllocationOp):
            name = op.sym_name.data
            names[name] = first.setdefault((op.tile, op.direction, op.channel), name)
    for op in device.walk():
        if isinstance(op, DmaMemcpyNdOp) and op.metadata is not None:
            name = op.metadata.root_reference.data
            op.attributes["metadata"] = SymbolRefAttr(names.get(name, name))


def drop_carried_events(op: Operation) -> None:
    """Loops and branches do not hand on events: what waits after them waits for what it finds itself."""
    for inner in list(innermost_first(op)):
        is_carrier = isinstance(inner, scf.IfOp | scf.IndexSwitchOp | scf.ForOp)
        if is_carrier and any(isinstance(result.type, EventType) for result in inner.results):
            _without_events(inner)


def _without_events(op: scf.IfOp | scf.IndexSwitchOp | scf.ForOp) -> None:
    kept = [number for number, result in enumerate(op.results) if not isinstance(result.type, EventType)]
    build = building_before(op)
    operands = list(op.operands)
    if isinstance(op, scf.ForOp):
        operands = [op.lb, op.ub, op.step, *(op.iter_args[number] for number in kept)]
        _drop_arguments(only_block(op.body), kept)
    for region in op.regions:
        for block in region.blocks:
            end = cast(Operation, block.last_op)
            end.operands = [end.operands[number] for number in kept]
    types = [op.results[number].type for number in kept]
    new = build.insert(recreate(op, operands=operands, result_types=types))
    ended = building(InsertPoint.after(new), op.location)
    for number, result in enumerate(op.results):
        if number in kept:
            result.replace_all_uses_with(new.results[kept.index(number)])
        elif result.first_use is not None:
            result.replace_all_uses_with(ended.insert(WaitAllOp.create(result_types=[EVENT])).results[0])
    Rewriter.erase_op(op)


def _drop_arguments(block: Block, kept: Sequence[int]) -> None:
    """Take events out of what a loop carries; who waits for one waits for nothing."""
    build = building(InsertPoint.at_start(block), cast(Operation, block.first_op).location)
    for argument in list(block.args[1:])[::-1]:
        if argument.index - 1 not in kept:
            if argument.first_use is not None:
                argument.replace_all_uses_with(build.insert(WaitAllOp.create(result_types=[EVENT])).results[0])
            block.erase_arg(argument)


def fold_counters(op: Operation) -> None:
    """Compute what depends on the counters of loops that were copied out, and take the branches they choose."""
    rewrite_with(op, _branch_patterns, _FOLD)


def _branch_patterns(op: Operation) -> Sequence[RewritePattern]:
    return patterns_of(op) if isinstance(op, scf.IndexSwitchOp) else ()
