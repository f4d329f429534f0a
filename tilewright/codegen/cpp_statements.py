"""`emitc` operations that are more than `result = expression;`, as C++ statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, Region

from tilewright.codegen.cpp_text import INDENT, attribute_text, type_text
from tilewright.dialects import func
from tilewright.dialects.emitc import calls, control, functions, variables
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.types import OpaqueAttr

if TYPE_CHECKING:
    from tilewright.codegen.cpp_printer import CppPrinter


def _print_constant(printer: CppPrinter, op: variables.ConstantOp | variables.VariableOp) -> None:
    text = attribute_text(op.value, op)
    initial = "" if isinstance(op.value, OpaqueAttr) and not text else f" = {text}"
    printer.line(f"{printer.declaration(op.result)}{initial};")


def _print_assign(printer: CppPrinter, op: variables.AssignOp) -> None:
    printer.line(f"{printer.name(op.var)} = {printer.operand(op.value)};")


def _print_verbatim(printer: CppPrinter, op: calls.VerbatimOp) -> None:
    arguments = iter(op.operands)
    printer.line("".join(printer.operand(next(arguments)) if piece is None else piece for piece in op.pieces))


def _print_for(printer: CppPrinter, op: control.ForOp) -> None:
    variable = op.body.block.args[0]
    lower = printer.operand(op.lower_bound)
    name = printer.names[variable] = printer.loop_variable_name(variable)
    upper = printer.operand(op.upper_bound)
    if isinstance(op.upper_bound.owner, ExpressionOp) and printer.is_inlined(op.upper_bound.owner):
        upper = f"({upper})"
    header = f"{type_text(variable.type, op)} {name} = {lower}; {name} < {upper}; {name} += {printer.operand(op.step)}"
    printer.line(f"for ({header}) {{")
    printer.loops += 1
    printer.block(op.body.block)
    printer.loops -= 1
    printer.line("}")


def _print_if(printer: CppPrinter, op: control.IfOp) -> None:
    printer.line(f"if ({printer.operand(op.condition)}) {{")
    printer.block(op.then_region.block)
    if op.else_region.blocks:
        printer.line("} else {")
        printer.block(op.else_region.block)
    printer.line("}")


def _print_do(printer: CppPrinter, op: control.DoOp) -> None:
    printer.line("do {")
    printer.block(op.body.block)
    end = op.condition_region.block.last_op
    assert end is not None
    printer.line(f"}} while ({printer.operand(end.operands[0])});")


def _print_switch(printer: CppPrinter, op: control.SwitchOp) -> None:
    printer.line(f"switch ({printer.operand(op.arg)}) {{")
    for value, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        _print_case(printer, f"case {value}", region)
    _print_case(printer, "default", op.default_region)
    printer.line("}")


def _print_case(printer: CppPrinter, label: str, region: Region) -> None:
    printer.line(f"{label}: {{")
    printer.block(region.block)
    printer.line(f"{INDENT}break;")
    printer.line("}")


def _print_return(printer: CppPrinter, op: Operation) -> None:
    match printer.arguments(op.operands):
        case "":
            printer.line("return;")
        case text if len(op.operands) > 1:
            printer.line(f"return std::make_tuple({text});")
        case text:
            printer.line(f"return {text};")


STATEMENTS: dict[type[Operation], Callable[[CppPrinter, Any], None]] = {
    calls.VerbatimOp: _print_verbatim,
    control.DoOp: _print_do,
    control.ForOp: _print_for,
    control.IfOp: _print_if,
    control.SwitchOp: _print_switch,
    func.ReturnOp: _print_return,
    functions.ReturnOp: _print_return,
    variables.AssignOp: _print_assign,
    variables.ConstantOp: _print_constant,
    variables.VariableOp: _print_constant,
}
"""Operations whose statement is not `result = expression;`."""
