"""A body of structured control flow and arithmetic as LLVM IR.

`Body` walks MLIR blocks and builds instructions; operations that it does not know go to the handlers that its user
gives it (a TXN generator's appends, a core's loads and stores).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from llvmlite import ir
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects import arith, scf
from tilewright.dialects.arith.meaning import MEANING, RESIZES
from tilewright.ir.diagnostics import fail_op
from tilewright.native.integers import combine, compare, resize
from tilewright.native.types import llvm_type

Handler = Callable[["Body", Operation], None]
TERMINATORS = ("scf.yield", "scf.condition", "aie.end")


class Body:
    """Builds one LLVM function from MLIR operations; `values` maps what is defined so far."""

    def __init__(self, builder: ir.IRBuilder, handlers: Mapping[str, Handler]):
        self.builder = builder
        self.handlers = handlers
        self.values: dict[SSAValue, ir.Value] = {}

    def __getitem__(self, value: SSAValue) -> ir.Value:
        return self.values[value]

    def lower_block(self, block: Block) -> None:
        """Everything in the block but its terminator."""
        for op in block.ops:
            if op.name not in TERMINATORS:
                self.lower(op)

    def lower(self, op: Operation) -> None:
        if handler := self.handlers.get(op.name) or _HANDLERS.get(op.name):
            handler(self, op)
        elif op.name in MEANING:
            lhs, rhs = op.operands
            self.values[op.results[0]] = combine(self.builder, op.name, self[lhs], self[rhs])
        else:
            fail_op(op, "has no native translation", *((op, text) for text in self.remedies(op)))

    def remedies(self, op: Operation) -> Sequence[str]:
        """What to do about an operation that cannot be translated."""
        return ()

    def terminator_operands(self, block: Block) -> list[ir.Value]:
        last = block.last_op
        return [self[value] for value in last.operands] if last else []

    def new_block(self, name: str) -> ir.Block:
        return self.builder.append_basic_block(name)


def is_translated(op: Operation, handlers: Mapping[str, Handler]) -> bool:
    """Whether a body with these handlers knows an operation."""
    return any(op.name in known for known in (handlers, _HANDLERS, MEANING, TERMINATORS))


def _constant(body: Body, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    match op.value:
        case IntegerAttr() as attr:
            body.values[op.result] = ir.Constant(llvm_type(op.result.type), attr.value.data)
        case FloatAttr() as attr:
            body.values[op.result] = ir.Constant(llvm_type(op.result.type), attr.value.data)
        case _:
            fail_op(op, "is no scalar constant: it has no native translation")


def _compare(body: Body, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    predicate = op.predicate.value.data
    body.values[op.result] = compare(body.builder, predicate, body[op.lhs], body[op.rhs])


def _resize(body: Body, op: Operation) -> None:
    unsigned = not RESIZES.get(op.name, True)
    body.values[op.results[0]] = resize(body.builder, body[op.operands[0]], llvm_type(op.results[0].type), unsigned)


def _select(body: Body, op: Operation) -> None:
    condition, yes, no = op.operands
    body.values[op.results[0]] = body.builder.select(body[condition], body[yes], body[no])


def _if(body: Body, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    blocks = [body.new_block(name) for name in ("then", "else")]
    body.builder.cbranch(body[op.cond], *blocks)
    _join(body, op, [op.true_region, op.false_region], blocks)


def _index_switch(body: Body, op: Operation) -> None:
    assert isinstance(op, scf.IndexSwitchOp)
    default, *cases = (body.new_block("case") for _ in range(1 + len(op.case_regions)))
    switch = body.builder.switch(body[op.arg], default)
    for number, block in zip(op.cases.get_values(), cases, strict=True):
        switch.add_case(ir.Constant(body[op.arg].type, number), block)
    _join(body, op, [op.default_region, *op.case_regions], [default, *cases])


def _join(body: Body, op: Operation, regions: Sequence[Region], blocks: Sequence[ir.Block]) -> None:
    """Fill one block for each region and go on where they meet, with what they yield as the operation's results."""
    join = body.new_block("join")
    arrivals: list[tuple[list[ir.Value], ir.Block]] = []
    for region, block in zip(regions, blocks, strict=True):
        body.builder.position_at_end(block)
        results: list[ir.Value] = []
        if region.blocks:
            body.lower_block(region.block)
            results = body.terminator_operands(region.block)
        arrivals.append((results, body.builder.block))
        body.builder.branch(join)
    body.builder.position_at_end(join)
    for index, result in enumerate(op.results):
        phi = body.builder.phi(llvm_type(result.type))
        for results, block in arrivals:
            phi.add_incoming(results[index], block)
        body.values[result] = phi


def _phis(body: Body, values: Sequence[SSAValue], initial: Sequence[ir.Value], before: ir.Block) -> list[ir.PhiInstr]:
    """Loop-carried values at the head of a loop; the caller adds what the back edge brings."""
    phis: list[ir.PhiInstr] = []
    for value, start in zip(values, initial, strict=True):
        phi = body.builder.phi(llvm_type(value.type))
        phi.add_incoming(start, before)
        body.values[value] = phi
        phis.append(phi)
    return phis


def lower_for(body: Body, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    builder, block = body.builder, op.body.block
    head, loop, after = (body.new_block(name) for name in ("for", "body", "done"))
    before = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    initial = [body[op.lb], *(body[value] for value in op.iter_args)]
    phis = _phis(body, block.args, initial, before)
    signed = "unsignedCmp" not in op.properties and "unsignedCmp" not in op.attributes
    below = (builder.icmp_signed if signed else builder.icmp_unsigned)("<", phis[0], body[op.ub])
    builder.cbranch(below, loop, after)
    builder.position_at_end(loop)
    body.lower_block(block)
    following = [_next_index(body, op, phis[0]), *body.terminator_operands(block)]
    for phi, value in zip(phis, following, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    body.values.update(zip(op.results, phis[1:], strict=True))


def _next_index(body: Body, op: scf.ForOp, index: ir.Value) -> ir.Value:
    """The index of the next iteration; at the end the bound, where a step of more than 1 could overflow beyond it."""
    builder, step = body.builder, body[op.step]
    following = builder.add(index, step)
    if isinstance(step, ir.Constant) and step.constant == 1:
        return following
    more = builder.icmp_unsigned(">", builder.sub(body[op.ub], index), step)
    return builder.select(more, following, body[op.ub])


def _while(body: Body, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    builder, test_block, loop_block = body.builder, op.before_region.block, op.after_region.block
    head, loop, after = (body.new_block(name) for name in ("while", "body", "done"))
    before = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    phis = _phis(body, test_block.args, [body[value] for value in op.arguments], before)
    body.lower_block(test_block)
    condition, *passed = body.terminator_operands(test_block)
    builder.cbranch(condition, loop, after)
    builder.position_at_end(loop)
    body.values.update(zip(loop_block.args, passed, strict=True))
    body.lower_block(loop_block)
    for phi, value in zip(phis, body.terminator_operands(loop_block), strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    body.values.update(zip(op.results, passed, strict=True))


_HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.select": _select,
    **dict.fromkeys(RESIZES, _resize),
    "builtin.unrealized_conversion_cast": _resize,  # between integers with and without sign
    "scf.if": _if,
    "scf.index_switch": _index_switch,
    "scf.for": lower_for,
    "scf.while": _while,
}
