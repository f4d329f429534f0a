"""Control flow: `scf`, `affine` and `cf`, and calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import Attribute, Operation

from tilewright.dialects import affine, cf, memref, scf
from tilewright.dialects.func import CallOp, FuncOp, callee_of
from tilewright.dialects.memref.access import GenericAtomicRMWOp
from tilewright.dialects.memref.types import memref_type, static_sizes
from tilewright.interpreter.affine_maps import affine_condition, bound, results_of
from tilewright.interpreter.body import Body, BodyBuilder, Control, Process, RegionCode, Run
from tilewright.interpreter.memory import (
    RUN,
    Frame,
    MemRef,
    Trapped,
    copy_elements,
    place,
    position,
)
from tilewright.interpreter.numbers import integer_function, kind_of, width_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.context_layout import FLOW_LOOP
from tilewright.native.traps import DEEPEST_CALL, NO_STEP, TOO_DEEP, stopping
from tilewright.rewrite.integers import mask, signed

SHORT_LOOP = 1 << 20
"""A loop that is known to go round no more often than this does not let others have the machine."""
Bounds = Callable[[Frame], tuple[int, int, int]]


def _put(f: Frame, slots: Sequence[int], values: Sequence[Any]) -> None:
    for slot, value in zip(slots, values, strict=True):
        f[slot] = value


# Loops


class CountedLoop:
    """`for (i = low; i < high; i += step)`: how one that is known at its translation goes."""

    def __init__(
        self, b: BodyBuilder, op: Operation, known: Sequence[int | None], type: Attribute, *, is_signed: bool = True
    ):
        self.width, self.is_signed = width_of(type), is_signed
        low, high, step = known
        self.is_short = False
        if low is not None and high is not None and step is not None and step > 0:
            self.is_short = (high - low) // step <= SHORT_LOOP
        self.goes_round, self.suspends = b.go_round([op]), b.meanings.suspends(op)
        self.has_branches = _has_branches(op)

    def run(
        self, f: Frame, bounds: tuple[int, int, int], values: Sequence[Any], body: Callable[..., Process]
    ) -> Process:
        """`body` gets the index and the carried values and gives the next ones."""
        run: Run = f[RUN]
        low, high, step = bounds if self.is_signed else (number & mask(self.width) for number in bounds)
        logs = run.flow is not None and self.has_branches
        if run.flow is not None and not self.has_branches and low < high:
            run.log(-(-(high - low) // step) << 2 | FLOW_LOOP)
        for number in range(low, high, step):
            if logs:
                run.log(1)
            values = yield from body(f, signed(number, self.width), values)
            if self.is_short:
                continue
            if self.suspends:
                yield from self.goes_round(f)
            else:
                run.cycles += 1
        if logs:
            run.log(0)
        return values


def _has_branches(loop: Operation) -> bool:
    """Whether something in a loop goes elsewhere: else the processor goes round by itself, and tests nothing."""
    inside = [op for region in loop.regions for block in region.blocks for op in block.ops]
    return any(op.regions or op.name == "func.call" or op.name.startswith("aie.") for op in inside)


def _loop_over(region: RegionCode) -> Callable[..., Process]:
    def body(f: Frame, number: int, values: Sequence[Any]) -> Process:
        if region.plain is not None:
            return region.plain.execute(f, [number, *values])
        return (yield from region.run(f, [number, *values]))

    return body


def _for(b: BodyBuilder, op: scf.ForOp) -> Control:
    low, high, step = b.slots([op.lb, op.ub, op.step])
    inits, results, is_signed = b.slots(op.iter_args), b.slots(op.results), "unsignedCmp" not in op.properties
    known = [b.known(value) for value in (op.lb, op.ub, op.step)]
    loop = CountedLoop(b, op, known, op.lb.type, is_signed=is_signed and "unsignedCmp" not in op.attributes)
    is_empty = op.body.block.first_op is op.body.block.last_op and not op.results
    body = _loop_over(b.region(op.body))
    trips = integer_function("arith.divsi", loop.width)

    def run(f: Frame) -> Process:
        if f[step] <= 0:
            raise Trapped(op, NO_STEP)
        # A loop with nothing in it takes a cycle each time.
        if is_empty:
            if f[low] < f[high]:
                f[RUN].cycles += trips(signed(f[high] - f[low], loop.width), f[step])
            return
        values = yield from loop.run(f, (f[low], f[high], f[step]), [f[slot] for slot in inits], body)
        _put(f, results, values)

    return run


def _affine_for(b: BodyBuilder, op: affine.ForOp) -> Control:
    # Several bounds of a loop hold together: the greatest below, the least above.
    low = bound(b, op.lowerBoundMap.data, op.lowerBoundOperands, max)
    high = bound(b, op.upperBoundMap.data, op.upperBoundOperands, min)
    step, inits, results = op.step.value.data, b.slots(op.inits), b.slots(op.results)
    known = [_known_bound(map.data) for map in (op.lowerBoundMap, op.upperBoundMap)]
    loop = CountedLoop(b, op, [*known, step], op.body.block.args[0].type)
    body = _loop_over(b.region(op.body))

    def run(f: Frame) -> Process:
        values = yield from loop.run(f, (low(f), high(f), step), [f[slot] for slot in inits], body)
        _put(f, results, values)

    return run


def _known_bound(map: Any) -> int | None:
    is_constant = len(map.results) == 1 and not map.num_dims and not map.num_symbols
    return results_of(map, [])[0] if is_constant else None


def _parallel(b: BodyBuilder, op: scf.ParallelOp) -> Control:
    """One iteration after the other, which is one of the orders that are allowed."""
    triples = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    slots, inits, results = [b.slots(triple) for triple in triples], b.slots(op.initVals), b.slots(op.results)
    loops = [CountedLoop(b, op, [b.known(value) for value in triple], op.lowerBound[0].type) for triple in triples]
    body, end = b.region(op.body), op.body.block.last_op
    combiners = [b.region(region) for region in end.regions] if isinstance(end, scf.ReduceOp) else []

    def nest(f: Frame, numbers: list[int], values: Sequence[Any]) -> Process:
        if len(numbers) == len(loops):
            given = yield from body.run(f, numbers)
            following = list[Any]()
            for combiner, now, value in zip(combiners, values, given, strict=True):
                following += yield from combiner.run(f, [now, value])
            return following
        loop, (low, high, step) = loops[len(numbers)], slots[len(numbers)]

        def inner(f: Frame, number: int, values: Sequence[Any]) -> Process:
            return nest(f, [*numbers, number], values)

        return (yield from loop.run(f, (f[low], f[high], f[step]), values, inner))

    def run(f: Frame) -> Process:
        if any(f[step] <= 0 for _, _, step in slots):
            raise Trapped(op, NO_STEP)
        _put(f, results, (yield from nest(f, [], [f[slot] for slot in inits])))

    return run


def _while(b: BodyBuilder, op: scf.WhileOp) -> Control:
    inits, results = b.slots(op.arguments), b.slots(op.results)
    before, after, again = b.region(op.before_region), b.region(op.after_region), b.go_round([op])

    def run(f: Frame) -> Process:
        values: Sequence[Any] = [f[slot] for slot in inits]
        while True:
            # The condition comes first; the rest goes to the body, or out as results.
            condition, *passed = yield from before.run(f, values)
            if not f[RUN].choose(condition):
                _put(f, results, passed)
                return
            values = yield from after.run(f, passed)
            yield from again(f)

    return run


def _copy(b: BodyBuilder, op: memref.CopyOp) -> Control:
    source, target = b.slots([op.source, op.destination])
    known = static_sizes(memref_type(op.source).get_shape())

    def run(f: Frame) -> Process:
        whole, run = f[source], f[RUN]
        copy_elements(op, whole, f[target])
        # Each turn of a loop takes a cycle if nothing is known of its length.
        for dim, size in enumerate(known):
            if size is None:
                run.cycles += prod(whole.sizes[: dim + 1])
        yield from ()

    return run


# Choices


def _two_ways(b: BodyBuilder, op: Operation, condition: Callable[[Frame], object]) -> Control:
    """The first region of an operation if a condition holds, else the second if it has a body."""
    yes, no = (b.region(region) if region.blocks else None for region in op.regions)
    results = b.slots(op.results)

    def run(f: Frame) -> Process:
        chosen = yes if f[RUN].choose(condition(f)) else no
        if chosen is not None:
            _put(f, results, (yield from chosen.run(f))[: len(results)])

    return run


def _if(b: BodyBuilder, op: scf.IfOp) -> Control:
    condition = b.slot(op.cond)
    return _two_ways(b, op, lambda f: f[condition])


def _affine_if(b: BodyBuilder, op: affine.IfOp) -> Control:
    return _two_ways(b, op, affine_condition(b, op))


def _index_switch(b: BodyBuilder, op: scf.IndexSwitchOp) -> Control:
    which, results = b.slot(op.arg), b.slots(op.results)
    default, *regions = [b.region(region) for region in op.regions]
    cases = dict(zip(op.cases.get_values(), regions, strict=True))

    def run(f: Frame) -> Process:
        _put(f, results, (yield from cases.get(f[which], default).run(f)))

    return run


def _run_region(b: BodyBuilder, op: Operation) -> Control:
    """A region that runs once."""
    region, results = b.region(op.regions[0]), b.slots(op.results)

    def run(f: Frame) -> Process:
        _put(f, results, (yield from region.run(f))[: len(results)])

    return run


def _generic_atomic_rmw(b: BodyBuilder, op: GenericAtomicRMWOp) -> Control:
    """The region computes the new element from the old one."""
    target, *indices = b.slots(op.operands)
    result, region, kind = b.slot(op.results[0]), b.region(op.regions[0]), kind_of(op.results[0].type)

    def run(f: Frame) -> Process:
        whole: MemRef = f[target]
        at = place(op, whole, position(op, whole, [f[index] for index in indices]), 1, kind.size)
        (f[result],) = yield from region.run(f, [kind.read(whole.buffer.view, at)])
        kind.write(whole.buffer.view, at, f[result])

    return run


# Functions


def call(b: BodyBuilder, op: CallOp) -> Control:
    """A call of a function that has a body."""
    callee = callee_of(op)
    if b.meanings.suspends(callee):
        return _in_place(b, op, callee)
    is_recursive = callee in b.meanings.functions and b.meanings.functions[callee] is None
    b.meanings.is_recursive |= is_recursive
    if callee not in b.meanings.functions:
        b.meanings.functions[callee] = None
        b.meanings.functions[callee] = BodyBuilder(callee, b.meanings).body(callee.body)
    functions, declared = b.meanings.functions, b.meanings.declared_cycles(callee)
    arguments, results = b.slots(op.arguments), b.slots(op.results)

    def run(f: Frame) -> Process:
        body, run = functions[callee], f[RUN]
        assert isinstance(body, Body), "what is run has been translated"
        before, depth = run.cycles, run.depth
        if is_recursive:
            if depth >= DEEPEST_CALL:
                raise Trapped(op, TOO_DEEP)
            run.depth += 1
        _put(f, results, (yield from body.run(run, [f[slot] for slot in arguments])))
        run.depth = depth
        if declared is not None:
            run.cycles = before + declared

    return run


def _in_place(b: BodyBuilder, op: CallOp, callee: FuncOp) -> Control:
    """A function that waits, translated anew for each call: what is passed to it may be known."""
    if callee in b.roots:
        fail_op(op, f"has no native translation: @{callee.sym_name.data} waits for something and calls itself")
    parameters = callee.body.block.args if len(callee.body.blocks) == 1 else callee.body.blocks[0].args
    for parameter, argument in zip(parameters, op.arguments, strict=True):
        known = b.lock(argument) or b.known(argument)
        if known is not None:
            b.static[parameter] = known
    arguments = b.slots([argument for argument in op.arguments if b.lock(argument) is None])
    b.roots.append(callee)
    body = b.region(callee.body)
    b.roots.pop()
    for parameter in parameters:
        b.static.pop(parameter, None)
    results = b.slots(op.results)

    def run(f: Frame) -> Process:
        _put(f, results, (yield from body.run(f, [f[slot] for slot in arguments])))

    return run


def _assert(b: BodyBuilder, op: cf.AssertOp) -> Control:
    condition, text = b.slot(op.arg), stopping(op.msg.data)

    def run(f: Frame) -> Process:
        if not f[condition]:
            raise Trapped(op, text)
        yield from ()

    return run


CONTROLS: dict[str, Callable[[BodyBuilder, Any], Control]] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "scf.index_switch": _index_switch,
    "scf.execute_region": _run_region,
    "scf.parallel": _parallel,
    memref.AllocaScopeOp.name: _run_region,
    "affine.for": _affine_for,
    "affine.if": _affine_if,
    "memref.copy": _copy,
    "memref.generic_atomic_rmw": _generic_atomic_rmw,
    "cf.assert": _assert,
    "func.call": call,
}
