"""C++ expressions of what `emitc` operations compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.codegen.cpp_text import (
    CONDITIONAL,
    LOWEST,
    POSTFIX,
    PREFIX,
    PRIMARY,
    UNARY,
    attribute_text,
    binary_operator,
    type_text,
)
from tilewright.dialects import func
from tilewright.dialects.emitc import calls, control, globals, operators, references, variables
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.operators import CExpression

if TYPE_CHECKING:
    from tilewright.codegen.cpp_printer import CppPrinter

NAMED_BY_TEXT = (
    globals.GetGlobalOp,
    variables.LiteralOp,
    references.MemberOp,
    references.MemberOfPtrOp,
    references.SubscriptOp,
    references.DereferenceOp,
)
"""Operations that make no statement: their text stands wherever their result is used."""


def outside(value: SSAValue) -> SSAValue:
    """What an argument of an expression stands for; any other value itself."""
    if isinstance(value, BlockArgument) and isinstance(owner := value.owner.parent_op(), ExpressionOp):
        return owner.operands[value.index]
    return value


def precedence(op: Operation) -> int:
    """How tightly the text of an operation binds."""
    if (symbol := binary_operator(op)) is not None:
        return symbol[1]
    if type(op) in UNARY:
        return PREFIX
    return PRECEDENCES.get(type(op), LOWEST)


def is_expression(op: Operation) -> bool:
    """Whether an operation computes something that has a text."""
    return type(op) in EXPRESSIONS or binary_operator(op) is not None or type(op) in UNARY


def is_inlined_expression(op: ExpressionOp) -> bool:
    """What MLIR writes inline: an expression without effects that is used once, by a statement."""
    user = op.result.get_user_of_unique_use()
    # Written twice it would be computed twice.
    if op.do_not_inline is not None or user is None:
        return False
    # Moved to its use, an effect could come too late.
    if any(_has_effect(part) for part in op.region.block.ops) and not isinstance(user, control.YieldOp):
        return False
    return (
        not isinstance(user, NAMED_BY_TEXT) and not user.has_trait(CExpression) and not isinstance(user, ExpressionOp)
    )


def _has_effect(op: Operation) -> bool:
    dereferences = isinstance(op, operators.ApplyOp) and op.applicable_operator.data == "*"
    return dereferences or isinstance(op, calls.CallOp | calls.CallOpaqueOp | variables.LoadOp)


def _call_opaque_text(printer: CppPrinter, op: calls.CallOpaqueOp) -> str:
    template = ""
    if op.template_args is not None:
        template = f"<{', '.join(attribute_text(argument, op) for argument in op.template_args)}>"
    if op.args is None:
        return f"{op.callee.data}{template}({', '.join(printer.argument(value, op) for value in op.operands)})"
    return f"{op.callee.data}{template}({', '.join(_call_argument(printer, op, argument) for argument in op.args)})"


def _call_argument(printer: CppPrinter, op: calls.CallOpaqueOp, argument: Attribute) -> str:
    number = calls.operand_number(argument)  # attributes of type index stand for operands
    return attribute_text(argument, op) if number is None else printer.argument(op.operands[number], op)


def _call_text(printer: CppPrinter, op: calls.CallOp | func.CallOp) -> str:
    return f"{op.callee.root_reference.data}({printer.arguments(op.operands)})"


def _conditional_text(printer: CppPrinter, op: operators.ConditionalOp) -> str:
    condition, yes, no = (printer.operand(value, op, position) for position, value in enumerate(op.operands))
    return f"{condition} ? {yes} : {no}"


EXPRESSIONS: dict[type[Operation], Callable[[CppPrinter, Any], str]] = {
    calls.CallOp: _call_text,
    calls.CallOpaqueOp: _call_opaque_text,
    func.CallOp: _call_text,
    operators.ApplyOp: lambda printer, op: op.applicable_operator.data + printer.operand(op.operand, op),
    operators.CastOp: lambda printer, op: f"({type_text(op.dest.type, op)}) {printer.operand(op.source, op)}",
    operators.ConditionalOp: _conditional_text,
    references.AddressOfOp: lambda printer, op: f"&{printer.operand(op.reference, op)}",
    variables.ConstantOp: lambda printer, op: attribute_text(op.value, op),
    variables.LoadOp: lambda printer, op: printer.operand(op.operand),
}

PRECEDENCES: dict[type[Operation], int] = {
    calls.CallOp: POSTFIX,
    calls.CallOpaqueOp: POSTFIX,
    operators.ApplyOp: PREFIX,
    operators.CastOp: PREFIX,
    operators.ConditionalOp: CONDITIONAL,
    references.AddressOfOp: PREFIX,
    variables.ConstantOp: PRIMARY,
    variables.LoadOp: POSTFIX,
}
