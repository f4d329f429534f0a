"""Structured control flow as C++ loops and branches; values that leave a region go through variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, Signedness, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects import scf
from tilewright.dialects.emitc import control, operators
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.operators import Predicate
from tilewright.dialects.emitc.types import width_of
from tilewright.dialects.emitc.variables import AssignOp, LoadOp, VariableOp
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import DIFFERENCE, SIZE, CppBuilder, cpp_types, known

LowerBlock: TypeAlias = Callable[[Block], None]
"""Lowers what is in a block of the program, up to its terminator, into the builder's block."""

UNSIGNED_64 = IntegerType(64, Signedness.UNSIGNED)


class ControlFlow:
    """Lowers loops and branches; `lower_block` lowers what is in them."""

    def __init__(self, builder: CppBuilder, lower_block: LowerBlock):
        self.builder = builder
        self.lower_block = lower_block

    def lower(self, op: Operation) -> bool:
        """False if the operation is none of these."""
        match op:
            case scf.ForOp():
                self._lower_for(op)
            case scf.IfOp():
                self._lower_if(op)
            case scf.WhileOp():
                self._lower_while(op)
            case scf.IndexSwitchOp():
                self._lower_switch(op)
            case _:
                return False
        return True

    # Variables

    def _variables(self, op: Operation, values: Sequence[SSAValue]) -> list[SSAValue]:
        types = cpp_types(op, [value.type for value in values])
        variables = [self.builder.value(VariableOp.uninitialized(type)) for type in types]
        for variable, value in zip(variables, values, strict=True):
            variable.name_hint = value.name_hint
        return variables

    def _assign(self, variables: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        """Hand values on; none of them reads a variable, so the order does not matter."""
        for variable, value in zip(variables, values, strict=True):
            self.builder.emit(AssignOp(variable, value))

    def _load(self, variables: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        for variable, value in zip(variables, values, strict=True):
            self.builder.define(value, self.builder.value(LoadOp(variable)))

    def _yielded(self, block: Block) -> list[SSAValue]:
        end = block.last_op
        assert end is not None
        if not all(self.builder.knows(value) for value in end.operands):
            raise CompileError([])  # what gives them has been refused
        return [self.builder[value] for value in end.operands]

    def _branch(self, region: Region, variables: Sequence[SSAValue]) -> Region:
        block = Block()
        with self.builder.inside(block):
            self._fill_branch(region.block, variables)
            self.builder.emit(control.YieldOp())
        return Region(block)

    # Operations

    def _lower_for(self, op: scf.ForOp) -> None:
        builder, body = self.builder, op.body.block
        bounds = _Range(builder, op)
        variables = self._variables(op, body.args[1:])
        for variable, result in zip(variables, op.results, strict=True):
            variable.name_hint = variable.name_hint or result.name_hint
        self._assign(variables, [builder[value] for value in op.iter_args])
        # Compilers warn of the condition of a loop that is known never to run.
        runs = not builder.style.readable or bounds.may_run
        block = Block(arg_types=[bounds.type] if runs else [])
        with builder.inside(block):
            self._load(variables, body.args[1:])
            counter = bounds.lower
            if runs:
                counter = block.args[0]
                counter.name_hint = body.args[0].name_hint
            builder.define(body.args[0], bounds.induction_value(counter))
            self.lower_block(body)
            self._assign(variables, self._yielded(body))
            builder.emit(control.YieldOp())
        if runs:
            builder.emit(control.ForOp(bounds.lower, bounds.upper, bounds.step, Region(block)))
        else:
            builder.emit(control.IfOp(builder.constant(0, i1), Region(block), None))
        self._load(variables, op.results)

    def _lower_if(self, op: scf.IfOp) -> None:
        variables = self._variables(op, op.results)
        # The else first: names that are counted up are given in this order.
        else_region = self._branch(op.false_region, variables) if op.false_region.blocks else None
        then_region = self._branch(op.true_region, variables)
        self.builder.emit(control.IfOp(self.builder[op.cond], then_region, else_region))
        self._load(variables, op.results)

    def _fill_branch(self, block: Block, variables: Sequence[SSAValue]) -> None:
        self.lower_block(block)
        self._assign(variables, self._yielded(block) if block.last_op is not None and variables else ())

    def _lower_switch(self, op: scf.IndexSwitchOp) -> None:
        builder = self.builder
        cases = op.cases.get_values()
        # `index` is unsigned in C++: negative cases are compared as ptrdiff_t.
        argument = builder[op.arg] if all(case >= 0 for case in cases) else builder.cast(builder[op.arg], DIFFERENCE)
        variables = self._variables(op, op.results)
        regions = [self._branch(region, variables) for region in op.case_regions]
        builder.emit(control.SwitchOp(argument, cases, self._branch(op.default_region, variables), regions))
        self._load(variables, op.results)

    def _lower_while(self, op: scf.WhileOp) -> None:
        """Both regions in one loop that is left between them."""
        builder, before, after = self.builder, op.before_region.block, op.after_region.block
        carried = self._variables(op, before.args)
        end = before.last_op
        assert end is not None
        # What goes on as it came in is still in its variable when the loop is left.
        kept = {n: before.args.index(value) for n, value in enumerate(end.operands[1:]) if value in before.args}
        results = [result for result in op.results if result.index not in kept]
        variables = self._variables(op, results)
        self._assign(carried, [builder[value] for value in op.arguments])
        block = Block()
        with builder.inside(block):
            self._load(carried, before.args)
            self.lower_block(before)
            condition, *passed = self._yielded(before)
            self._assign(variables, [passed[result.index] for result in results])
            builder.statement("if (!{}) break;", condition)
            for argument, value in zip(after.args, passed, strict=True):
                builder.define(argument, value)
            self._fill_branch(after, carried)
        builder.emit(control.DoOp(Region(block), Region(_forever(builder))))
        self._load(variables, results)
        for number, position in kept.items():
            self._load([carried[position]], [op.results[number]])


def _forever(builder: CppBuilder) -> Block:
    """The condition of a loop that is left from inside."""
    outer, inner = Block(), Block()
    with builder.inside(inner):
        builder.emit(control.YieldOp(builder.constant(1, i1)))
    with builder.inside(outer):
        builder.emit(control.YieldOp(builder.value(ExpressionOp([], i1, Region(inner)))))
    return outer


class _Range:
    """The bounds of a C++ loop that runs as often as the loop of the program.

    `index` is unsigned in C++ but not in the program, and stepping over the last number must not overflow, as it can
    by more than 1: narrow numbers are counted in 64 bits then; wide ones without sign, from 0 unless they begin at a
    number known not to be negative.
    """

    def __init__(self, builder: CppBuilder, op: scf.ForOp):
        self.builder = builder
        self.source_type = cpp_types(op, [op.body.block.args[0].type])[0]
        self.width = width_of(op.body.block.args[0].type)
        self.signed_type = DIFFERENCE if self.source_type == SIZE else self.source_type
        self.offset: SSAValue | None = None
        self.lower, self.upper, self.step = builder[op.lb], builder[op.ub], builder[op.step]
        with_sign = "unsignedCmp" not in op.properties and "unsignedCmp" not in op.attributes
        self._refuse_bad_step(with_sign)
        if self._fits(with_sign):
            self.type = self.source_type
        elif width_of(op.lb.type) == width_of(i64) or (self.source_type == i64 and not with_sign):
            self._count_unsigned(with_sign)
        else:
            self._widen(with_sign)

    @property
    def may_run(self) -> bool:
        lower, upper = known(self.lower), known(self.upper)
        return lower is None or upper is None or lower < upper

    def induction_value(self, variable: SSAValue) -> SSAValue:
        """What stands for the induction variable of the program."""
        if self.offset is not None:
            variable = self.builder.value(operators.AddOp(self.offset, variable))
        return self.builder.with_sign(self.builder.cast(variable, self.source_type), self.width)

    def _refuse_bad_step(self, with_sign: bool) -> None:
        """A step that leads nowhere is an error of the program, which is run nevertheless if that never gets there."""
        number = known(self.step)
        if number is None or number == 0 or (number < 0 and with_sign):
            step = self.builder.cast(self.step, self.signed_type) if with_sign else self.step
            self.builder.statement(f"if ({{}} <= 0) {self.builder.style.refuse}", step)

    def _fits(self, with_sign: bool) -> bool:
        """Whether the loop of the program is a C++ loop as it is: nothing can overflow."""
        lower, upper, step = known(self.lower), known(self.upper), known(self.step)
        # Counting by one never steps over the end, which itself is a number of the type.
        if step == 1 and with_sign and self.source_type != SIZE:
            return True
        if lower is None or upper is None or step is None:
            return self.source_type == SIZE and not with_sign
        return lower >= 0 and upper >= 0 and step > 0 and upper + step < 1 << width_of(self.source_type) - 1

    def _widen(self, with_sign: bool) -> None:
        self.type = i64
        self.lower, self.upper, self.step = (
            self.builder.cast(self._read(value, with_sign), i64) for value in (self.lower, self.upper, self.step)
        )

    def _read(self, bound: SSAValue, with_sign: bool) -> SSAValue:
        return bound if with_sign else self.builder.without_sign(bound, self.width)

    def _count_unsigned(self, with_sign: bool) -> None:
        builder = self.builder
        self.type = SIZE if self.source_type == SIZE else UNSIGNED_64
        start, end = self.lower, self.upper
        self.lower, self.upper, self.step = (
            builder.cast(self._read(value, with_sign), self.type) for value in (self.lower, self.upper, self.step)
        )
        if not with_sign:
            return
        runs = builder.compare(Predicate.gt, *(builder.cast(bound, self.signed_type) for bound in (end, start)))
        first = known(start)
        if first is not None and first >= 0:
            self.upper = builder.value(operators.ConditionalOp(runs, self.upper, self.lower))
            return
        # Negative starts: count the distance from 0 without sign, and add the start to the induction variable.
        self.offset = self.lower
        distance = builder.value(operators.SubOp(self.upper, self.lower))
        self.lower = builder.constant(0, self.type)
        self.upper = builder.value(operators.ConditionalOp(runs, distance, self.lower))
