"""Statements that are written another way where the code is for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation, SSAValue

from tilewright.codegen.cpp_inlining import LEAVE_UNLESS
from tilewright.codegen.cpp_statements import STATEMENTS
from tilewright.codegen.cpp_text import type_text
from tilewright.dialects.emitc import calls, control, variables
from tilewright.dialects.emitc.types import ArrayType, OpaqueAttr

if TYPE_CHECKING:
    from tilewright.codegen.cpp_readable import ReadablePrinter

WORDS_PER_LINE = 4


def initialized_at_once(block: Block) -> list[SSAValue]:
    """The variables that are assigned to before anything else happens."""
    found: list[SSAValue] = []
    declared: set[SSAValue] = set()
    for op in block.ops:
        match op:
            case variables.VariableOp(value=OpaqueAttr()) if not isinstance(op.result.type, ArrayType):
                declared.add(op.result)
            case variables.AssignOp():
                if op.var in declared:
                    declared.discard(op.var)
                    found.append(op.var)
            case variables.ConstantOp() | variables.LiteralOp():
                pass
            case _:
                declared.clear()
    return found


def _print_variable(printer: ReadablePrinter, op: variables.VariableOp) -> None:
    if printer.is_declared_later(op.result):
        return
    if not isinstance(op.result.type, ArrayType) or not isinstance(op.value, OpaqueAttr):
        STATEMENTS[variables.VariableOp](printer, op)
        return
    words = op.value.value.data.strip("{}").split(", ")
    lines = [", ".join(words[start : start + WORDS_PER_LINE]) for start in range(0, len(words), WORDS_PER_LINE)]
    declaration = f"static constexpr {printer.declaration(op.result)} = {{"
    if len(lines) == 1:
        printer.line(f"{declaration}{lines[0]}}};")
        return
    printer.line(declaration)
    printer.line("\n".join(f"    {line}," for line in lines))
    printer.line("};")


def _print_assign(printer: ReadablePrinter, op: variables.AssignOp) -> None:
    value = printer.operand(op.value)
    if printer.is_declared_later(op.var) and op.var not in printer.names:
        printer.line(f"{printer.declaration(op.var)} = {value};")
    elif value != (name := printer.name(op.var)):
        printer.line(f"{name} = {value};")


def _print_for(printer: ReadablePrinter, op: control.ForOp) -> None:
    variable = op.body.block.args[0]
    lower, upper = printer.operand(op.lower_bound, op), printer.operand(op.upper_bound, op)
    step = printer.operand(op.step, op)
    name = printer.names[variable] = printer.loop_variable_name(variable)
    advance = f"++{name}" if step == "1" else f"{name} += {step}"
    printer.line(f"for ({type_text(variable.type, op)} {name} = {lower}; {name} < {upper}; {advance}) {{")
    printer.loops += 1
    printer.block(op.body.block)
    printer.loops -= 1
    printer.line("}")


def _print_do(printer: ReadablePrinter, op: control.DoOp) -> None:
    """A loop that is left from inside; where that is the first thing it does, with the condition in its head."""
    first = next((nested for nested in op.body.block.ops if not printer.is_inlined(nested)), None)
    if isinstance(first, calls.VerbatimOp) and first.value.data == LEAVE_UNLESS:
        printer.line(f"while ({printer.operand(first.operands[0])}) {{")
        printer.leave_out(first)
    else:
        printer.line("while (true) {")
    printer.block(op.body.block)
    printer.line("}")


def _print_verbatim(printer: ReadablePrinter, op: calls.VerbatimOp) -> None:
    pieces, arguments = op.pieces, iter(op.operands)
    text = ""
    for number, piece in enumerate(pieces):
        if piece is not None:
            text += piece
            continue
        value = next(arguments)
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        alone = text.endswith("(") and following is not None and following.startswith(")")
        argument = printer.operand(value, op)
        text += argument if alone or printer.binds_tightly(value) else f"({argument})"
    printer.line(text)


READABLE_STATEMENTS: dict[type[Operation], Callable[[ReadablePrinter, Any], None]] = {
    calls.VerbatimOp: _print_verbatim,
    control.DoOp: _print_do,
    control.ForOp: _print_for,
    variables.AssignOp: _print_assign,
    variables.VariableOp: _print_variable,
}
