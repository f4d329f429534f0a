"""Structured control flow: `scf`, and what `affine` loops share with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from llvmlite import ir
from xdsl.ir import Attribute, Operation

from tilewright.dialects import memref, scf
from tilewright.dialects.arith.meaning import MEANING
from tilewright.native.context_layout import FLOW_LOOP
from tilewright.native.integers import LlvmIntegers, resize
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.traps import NO_STEP
from tilewright.native.values import I64, Value, index, number_of

SHORT_LOOP = 1 << 20
"""A loop that is known to go round no more often than this does not let others have the machine."""


def counted_loop(
    lowering: Lowering,
    op: Operation,
    bounds: tuple[ir.Value, ir.Value, ir.Value],
    carried: Sequence[tuple[Attribute, Value]],
    index_type: Attribute,
    body: Callable[[Value, list[Value]], list[Value]],
    signed: bool = True,
) -> list[Value]:
    """`for (i = low; i < high; i += step)`; `body` gets the index and the carried values and gives the next ones."""
    low, high, step = bounds
    builder, types = lowering.builder, [type for type, _ in carried]
    has_branches = lowering.unit.flow_log is None or _has_branches(op)
    if not has_branches:
        _log_turns(lowering, low, high, step)
    head, inside, after = (lowering.new_block(name) for name in ("for", "body", "done"))
    before = lowering.branch(head)
    lowering.at(head)
    phis = lowering.phis([index_type, *types])
    phis.add([low, *(value for _, value in carried)], before)
    variable = cast(ir.Value, phis.values[0])
    # Tested before the first turn too: a loop may not run at all.
    below = (builder.icmp_signed if signed else builder.icmp_unsigned)("<", variable, high)
    if has_branches:
        lowering.choose(below, inside, after)
    else:
        lowering.spend()
        builder.cbranch(below, inside, after)
    lowering.at(inside)
    results = body(variable, phis.values[1:])
    # A loop that is known to be short need not let others run.
    if not _is_short(low, high, step):
        lowering.go_round([op])
    elif any(inner.regions for region in op.regions for block in region.blocks for inner in block.ops):
        lowering.poll()
    following = _next_index(builder, variable, high, step)
    phis.add([following, *results], lowering.branch(head))
    lowering.at(after)
    return phis.values[1:]


def _has_branches(loop: Operation) -> bool:
    """Whether something in a loop goes elsewhere: else the processor goes round by itself, and tests nothing."""
    inside = [op for region in loop.regions for block in region.blocks for op in block.ops]
    return any(op.regions or op.name == "func.call" or op.name.startswith("aie.") for op in inside)


def _log_turns(lowering: Lowering, low: ir.Value, high: ir.Value, step: ir.Value) -> None:
    builder = lowering.builder
    turns = MEANING["arith.ceildivsi"](LlvmIntegers(builder), builder.sub(high, low), step)
    turns = resize(builder, turns, I64, unsigned=False)
    with lowering.aside("turns", builder.icmp_signed("<", low, high)):
        lowering.log_flow(builder.or_(builder.shl(turns, index(2)), index(FLOW_LOOP)))


def _is_short(low: ir.Value, high: ir.Value, step: ir.Value) -> bool:
    numbers = [number_of(bound) for bound in (low, high, step)]
    first, last, by = numbers
    return first is not None and last is not None and by is not None and by > 0 and (last - first) // by <= SHORT_LOOP


def _next_index(builder: ir.IRBuilder, variable: ir.Value, high: ir.Value, step: ir.Value) -> ir.Value:
    """The index of the next iteration; at the end the bound, where a step of more than 1 could overflow beyond it."""
    following, last, by = builder.add(variable, step), number_of(high), number_of(step)
    if by == 1 or (last is not None and by is not None and last + by < 1 << high.type.width - 1):
        return following
    # Unsigned: the distance of two signed bounds may not fit into a signed number.
    more = builder.icmp_unsigned(">", builder.sub(high, variable), step)
    return builder.select(more, following, high)


def positive_step(lowering: Lowering, op: Operation, step: ir.Value) -> None:
    """A loop must get somewhere."""
    known = number_of(step)
    if known is None or known <= 0:
        fine = lowering.builder.icmp_signed(">", step, ir.Constant(step.type, 0))
        lowering.trap_unless(op, fine, NO_STEP)


def _for(lowering: Lowering, op: scf.ForOp) -> None:
    positive_step(lowering, op, lowering[op.step])
    # Delay loops: LLVM would remove them, and with them the cycles that they take.
    if op.body.block.first_op is op.body.block.last_op and not op.results:
        _pass_time(lowering, lowering[op.lb], lowering[op.ub], lowering[op.step])
    else:
        for_loop(lowering, op)


def for_loop(lowering: Lowering, op: scf.ForOp) -> None:
    """A loop whose step is known to be positive."""
    results = counted_loop(
        lowering,
        op,
        (lowering[op.lb], lowering[op.ub], lowering[op.step]),
        [(value.type, lowering.get(value)) for value in op.iter_args],
        op.lb.type,
        lambda variable, carried: lowering.lower_region(op.body, [variable, *carried]),
        signed="unsignedCmp" not in op.properties and "unsignedCmp" not in op.attributes,
    )
    lowering.values.update(zip(op.results, results, strict=True))


def _pass_time(lowering: Lowering, low: ir.Value, high: ir.Value, step: ir.Value) -> None:
    """A loop with nothing in it takes a cycle each time."""
    if not lowering.counts_cycles:
        return
    builder = lowering.builder
    trips = MEANING["arith.divsi"](LlvmIntegers(builder), builder.sub(high, low), step)
    trips = builder.select(builder.icmp_signed("<", low, high), trips, ir.Constant(low.type, 0))
    lowering.spend()
    trips = resize(builder, trips, I64, unsigned=False)
    builder.store(builder.add(builder.load(lowering.cycles, typ=I64), trips), lowering.cycles)


def _while(lowering: Lowering, op: scf.WhileOp) -> None:
    head, inside, after = (lowering.new_block(name) for name in ("while", "body", "done"))
    initial = [lowering.get(value) for value in op.arguments]
    before = lowering.branch(head)
    lowering.at(head)
    phis = lowering.phis([value.type for value in op.arguments])
    phis.add(initial, before)
    # The condition comes first; the rest goes to the body, or out as results.
    condition, *passed = lowering.lower_region(op.before_region, phis.values)
    lowering.choose(cast(ir.Value, condition), inside, after)
    lowering.at(inside)
    results = lowering.lower_region(op.after_region, passed)
    lowering.go_round([op])
    phis.add(results, lowering.branch(head))
    lowering.at(after)
    lowering.values.update(zip(op.results, passed, strict=True))


def alternatives(lowering: Lowering, op: Operation, starts: Sequence[tuple[ir.Block, int]]) -> None:
    """Regions of which one runs, each from its native block; then what they hand on. `-1` stands for no region."""
    after = lowering.new_block("join")
    arrivals: list[tuple[ir.Block, list[Value]]] = []
    for block, number in starts:
        lowering.at(block)
        results = lowering.lower_region(op.regions[number]) if number >= 0 else []
        arrivals.append((lowering.branch(after), results))
    lowering.at(after)
    merged = lowering.merge(list(op.result_types), arrivals)
    lowering.values.update(zip(op.results, merged, strict=True))


def two_ways(lowering: Lowering, op: Operation, condition: ir.Value) -> None:
    """The first region of an operation if a condition holds, else the second if it has a body."""
    yes, no = lowering.new_block("then"), lowering.new_block("else")
    lowering.choose(condition, yes, no)
    alternatives(lowering, op, [(yes, 0), (no, 1 if op.regions[1].blocks else -1)])


def _index_switch(lowering: Lowering, op: scf.IndexSwitchOp) -> None:
    flag, default = lowering[op.arg], lowering.new_block("default")
    lowering.spend()
    switch = lowering.builder.switch(flag, default)
    starts = [(default, 0)]
    for number, value in enumerate(op.cases.get_values(), 1):
        case = lowering.new_block("case")
        switch.add_case(ir.Constant(flag.type, value), case)
        starts.append((case, number))
    alternatives(lowering, op, starts)


def _run_region(lowering: Lowering, op: Operation) -> None:
    """A region that runs once."""
    lowering.values.update(zip(op.results, lowering.lower_region(op.regions[0], (), op.result_types), strict=False))


def _parallel(lowering: Lowering, op: scf.ParallelOp) -> None:
    """One iteration after the other, which is one of the orders that are allowed."""
    bounds = [
        (lowering[low], lowering[high], lowering[step])
        for low, high, step in zip(op.lowerBound, op.upperBound, op.step, strict=True)
    ]
    for _, _, step in bounds:
        positive_step(lowering, op, step)

    def nest(variables: list[Value], carried: list[Value]) -> list[Value]:
        if len(variables) == len(bounds):
            return _reduced(lowering, op, variables, carried)
        types = [(value.type, now) for value, now in zip(op.initVals, carried, strict=True)]
        return counted_loop(
            lowering,
            op,
            bounds[len(variables)],
            types,
            op.lowerBound[0].type,
            lambda variable, inner: nest([*variables, variable], inner),
        )

    results = nest([], [lowering.get(value) for value in op.initVals])
    lowering.values.update(zip(op.results, results, strict=True))


def _reduced(lowering: Lowering, op: scf.ParallelOp, variables: list[Value], carried: list[Value]) -> list[Value]:
    """One iteration: the body, then each value that it gives combined with what there is."""
    given = lowering.lower_region(op.body, variables)
    end = op.body.block.last_op
    combiners = end.regions if isinstance(end, scf.ReduceOp) else ()
    return [
        lowering.lower_region(combiner, [now, value])[0]
        for combiner, now, value in zip(combiners, carried, given, strict=True)
    ]


HANDLERS: dict[str, Handler] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": lambda lowering, op: two_ways(lowering, op, lowering[op.cond]),
    "scf.index_switch": _index_switch,
    "scf.execute_region": _run_region,
    "scf.parallel": _parallel,
    memref.AllocaScopeOp.name: _run_region,
}
