"""Taking out of C++ code what it can do without."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.emitc.calls import CallOp, CallOpaqueOp
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.functions import FuncOp
from tilewright.dialects.emitc.operators import CastOp, CExpression, CmpOp, LogicalAndOp, Predicate
from tilewright.dialects.emitc.types import is_integral, is_unsigned, width_of
from tilewright.dialects.emitc.variables import AssignOp, ConstantOp, LoadOp, VariableOp
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import known


def erase_unused(function: FuncOp) -> None:
    """Erase what computes a value that nobody uses, and variables that are only assigned to."""
    changed = True
    while changed:
        changed = _erase_unused_in(function.body.block)


def _erase_unused_in(block: Block) -> bool:
    changed = False
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for nested in region.blocks:
                if not isinstance(op, ExpressionOp):
                    changed |= _erase_unused_in(nested)
        if isinstance(op, VariableOp) and (doomed := _only_kept(op)) is not None:
            for user in doomed:
                Rewriter.erase_op(user, safe_erase=False)
        elif not _computes(op) or any(result.first_use for result in op.results):
            continue
        Rewriter.erase_op(op)
        changed = True
    return changed


def _only_kept(variable: VariableOp) -> list[Operation] | None:
    """All uses of a variable, if it is read for nothing but to be assigned to itself."""
    users = [use.operation for use in variable.result.uses]
    loads = [user for user in users if isinstance(user, LoadOp)]
    readers = [use.operation for load in loads for use in load.result.uses]
    if all(_assigns(op, variable.result) for op in (*readers, *(user for user in users if user not in loads))):
        return users
    return None


def _computes(op: Operation) -> bool:
    """Whether an operation does nothing but give a value."""
    return isinstance(op, ExpressionOp) or (op.has_trait(CExpression) and not isinstance(op, CallOp | CallOpaqueOp))


def _assigns(op: Operation, variable: SSAValue) -> bool:
    return isinstance(op, AssignOp) and op.var is variable


def simplify(function: FuncOp) -> None:
    """Shorten chains of casts and cast constants, as a person would write them in the first place."""
    for op in list(function.walk()):
        if isinstance(op, CastOp) and (simpler := _simpler_cast(op)) is not None:
            value = simpler.results[0] if isinstance(simpler, Operation) else simpler
            if isinstance(simpler, Operation):
                simpler.location = op.location
                assert op.parent is not None
                op.parent.insert_op_before(simpler, op)
            value.name_hint = value.name_hint or op.dest.name_hint
            op.dest.replace_all_uses_with(value)
            Rewriter.erase_op(op)


def drop_contradictions(function: FuncOp) -> None:
    """Write `false` where one number would have to be two: compilers warn of conditions that cannot hold."""
    for op in list(function.walk()):
        if isinstance(op, LogicalAndOp) and _contradicts_itself(op):
            never = ConstantOp(IntegerAttr(0, i1), i1)
            never.location = op.location
            assert op.parent is not None
            op.parent.insert_op_before(never, op)
            op.result.replace_all_uses_with(never.result)
            Rewriter.erase_op(op)


def _contradicts_itself(op: LogicalAndOp) -> bool:
    wanted: dict[SSAValue, int] = {}
    for condition in _conjuncts(op):
        if known(condition) == 0:
            return True
        match condition.owner:
            case CmpOp(comparison=Predicate.eq, lhs=value, rhs=constant) if (number := known(constant)) is not None:
                if wanted.setdefault(value, number) != number:
                    return True
            case _:
                pass
    return False


def _conjuncts(op: LogicalAndOp) -> Iterator[SSAValue]:
    for operand in op.operands:
        if isinstance(operand.owner, LogicalAndOp):
            yield from _conjuncts(operand.owner)
        else:
            yield operand


def _simpler_cast(op: CastOp) -> Operation | SSAValue | None:
    source, target = op.source, op.dest.type
    if not is_integral(target) or width_of(target) == 1:
        return None
    if source.type == target:
        return source
    number = known(source)
    if number is not None:
        return _constant(_converted(number, source.type, target), target)
    inner = source.owner
    if not isinstance(inner, CastOp) or not is_integral(inner.source.type):
        return None
    start, through = inner.source, source.type
    if width_of(through) == 1 or width_of(target) > width_of(through):
        return None
    if start.type != target:
        return CastOp(start, target)
    start.name_hint = start.name_hint or source.name_hint
    return start


def _constant(number: int, type: Attribute) -> Operation | None:
    match type:
        case IntegerType():
            return ConstantOp(IntegerAttr(number, type), type)
        case _:
            return None if number >> 63 else ConstantOp(IntegerAttr(number, IndexType()), type)


def _converted(number: int, source: Attribute, target: Attribute) -> int:
    """What a number of one type is in another, as C++ converts it."""
    if is_unsigned(source):
        number %= 1 << width_of(source)
    number %= 1 << width_of(target)
    if not is_unsigned(target) and number >> width_of(target) - 1:
        number -= 1 << width_of(target)
    return number
