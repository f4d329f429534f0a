"""`emitc` operations as C++ text, the same text that MLIR's `mlir-translate --mlir-to-cpp` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.codegen.cpp_expressions import (
    EXPRESSIONS,
    NAMED_BY_TEXT,
    is_expression,
    is_inlined_expression,
    outside,
    precedence,
)
from tilewright.codegen.cpp_text import (
    INDENT,
    UNARY,
    attribute_text,
    binary_operator,
    declaration_text,
    result_text,
    type_text,
)
from tilewright.dialects import func
from tilewright.dialects.emitc import calls, control, functions, globals, references, variables
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.types import LValueType, OpaqueAttr
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import visible
from tilewright.ir.symbols import symbol_in


class CppPrinter:
    """Writes C++. Values are variables called v1, v2, ... in the order in which they are first mentioned."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.names: dict[SSAValue, str] = {}
        self.loops = 0
        self._count = 0

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    # Lines and names

    def line(self, text: str) -> None:
        """A line at the present depth; text that holds line breaks is several lines."""
        self.lines += [f"{INDENT * self.depth}{part}" if part else "" for part in text.split("\n")]

    def name(self, value: SSAValue) -> str:
        if value not in self.names:
            self.names[value] = self.new_name(value)
        return self.names[value]

    def new_name(self, value: SSAValue) -> str:
        self._count += 1
        return f"v{self._count}"

    def loop_variable_name(self, value: SSAValue) -> str:
        """`i`, `j`, ... by the depth of the loop, and a number that no other name has."""
        # MLIR counts loop variables with all others, and falls back to `u` where letters run out.
        self._count += 1
        letter = chr(ord("i") + self.loops) if self.loops < 12 else "u"
        return f"{letter}{self._count}"

    # Expressions

    def operand(self, value: SSAValue, outer: Operation | None = None, position: int = 0) -> str:
        """A value as an operand of `outer`; in parentheses if it is an expression that needs them there."""
        value = outside(value)  # arguments of an expression have no names of their own
        op = value.owner
        if not isinstance(op, Operation) or not self.is_inlined(op):
            return self.name(value)
        if isinstance(op, ExpressionOp):
            op = op.root
        text = self.expression(op)
        return f"({text})" if outer is not None and self.needs_parentheses(op, outer, position) else text

    def is_inlined(self, op: Operation) -> bool:
        """Whether an operation is written where its result is used."""
        if isinstance(op, ExpressionOp):
            return is_inlined_expression(op)
        return isinstance(op.parent_op(), ExpressionOp) and not isinstance(op, NAMED_BY_TEXT)

    def needs_parentheses(self, op: Operation, outer: Operation, position: int) -> bool:
        return precedence(op) <= precedence(outer)

    def expression(self, op: Operation) -> str:
        """What an operation computes."""
        if (symbol := binary_operator(op)) is not None:
            lhs, rhs = (self.operand(value, op, position) for position, value in enumerate(op.operands))
            return f"{lhs} {symbol[0]} {rhs}"
        if (prefix := UNARY.get(type(op))) is not None:
            return prefix + self.operand(op.operands[0], op)
        return EXPRESSIONS[type(op)](self, op)

    # Statements

    def print_module(self, module: ModuleOp) -> None:
        for op in module.body.block.ops:
            self.print_top_level(op)

    def print_top_level(self, op: Operation) -> None:
        """What may stand outside of functions."""
        match op:
            case ModuleOp():
                self.print_module(op)
                self.line("")
            case functions.IncludeOp():
                name = _name(op, op.include.data)
                self.line(f"#include <{name}>" if op.is_standard_include is not None else f'#include "{name}"')
            case functions.FuncOp() | func.FuncOp():
                self.print_function(op)
            case functions.DeclareFuncOp():
                self._print_declaration(op)
            case globals.GlobalOp():
                self._print_global(op)
            case functions.FileOp():
                self.line("")  # its contents are for another file
            case calls.VerbatimOp():
                self.statement(op)
            case _:
                fail_op(op, "unable to find printer for op")

    def print_function(self, op: functions.FuncOp | func.FuncOp) -> None:
        if len(op.body.blocks) > 1:
            fail_op(op, "with multiple blocks needs variables declared at top")
        self.names, self._count = {}, 0  # numbers begin anew in each function
        block = op.body.blocks.first
        if block is None:
            types = ", ".join(type_text(type, op) for type in op.function_type.inputs)
            self.line(f"{self.signature(op)}({types});")
            return
        self.line(f"{self.signature(op)}({self._parameters(op, block)}) {{")
        self.block(block)
        self.line("}")

    def signature(self, op: functions.FuncOp | func.FuncOp) -> str:
        words = op.specifier_words if isinstance(op, functions.FuncOp) else []
        return " ".join([*words, result_text(op.function_type.outputs.data, op), _name(op, op.sym_name.data)])

    def _parameters(self, op: Operation, block: Block) -> str:
        for argument in block.args:
            if isinstance(argument.type, LValueType):
                fail_op(op, "cannot emit lvalue type as argument type")
        return ", ".join(self.declaration(argument) for argument in block.args)

    def _print_declaration(self, op: functions.DeclareFuncOp) -> None:
        parent = op.parent_op()
        function = symbol_in(parent, op.sym_name.root_reference.data) if parent is not None else None
        if not isinstance(function, functions.FuncOp):
            fail_op(op, f"'{op.sym_name.root_reference.data}' does not reference a valid function")
        self.names, self._count = {}, 0
        self.line(f"{self.signature(function)}({self._parameters(function, function.body.block)});")

    def _print_global(self, op: globals.GlobalOp) -> None:
        words = [*op.specifiers, declaration_text(op.type, _name(op, op.sym_name.data), op)]
        initial = f" = {attribute_text(op.initial_value, op)}" if op.initial_value is not None else ""
        self.line(f"{' '.join(words)}{initial};")

    def block(self, block: Block) -> None:
        """The statements of a block, one deeper than here; the yield at its end is none."""
        self.depth += 1
        for op in block.ops:
            if not isinstance(op, control.YieldOp):
                self.statement(op)
        self.depth -= 1

    def statement(self, op: Operation) -> None:
        if isinstance(op, NAMED_BY_TEXT):
            self.names.setdefault(op.results[0], self.reference(op))
        elif isinstance(op, ExpressionOp) and self.is_inlined(op):
            pass
        elif (print_statement := STATEMENTS.get(type(op))) is not None:
            print_statement(self, op)
        elif is_expression(op):
            self.line(f"{self.assignment(op)}{self.expression(op)};")
        elif isinstance(op, ExpressionOp):
            self.line(f"{self.assignment(op)}{self.expression(op.root)};")
        else:
            fail_op(op, "unable to find printer for op")

    def reference(self, op: Operation) -> str:
        """The text that stands for the result of an operation that is no statement."""
        match op:
            case globals.GetGlobalOp():
                return op.name_.root_reference.data
            case variables.LiteralOp():
                return op.value.data
            case references.MemberOp():
                return f"{self.name(op.operand)}.{op.member.data}"
            case references.MemberOfPtrOp():
                return f"{self.name(op.operand)}->{op.member.data}"
            case references.DereferenceOp():
                return f"*{self.name(op.pointer)}"
            case references.SubscriptOp():
                return self.name(op.value) + "".join(f"[{self.name(index)}]" for index in op.indices)
            case _:
                raise TypeError(op.name)

    def assignment(self, op: Operation) -> str:
        """`type name = `, for what an operation computes; nothing if it computes nothing."""
        if len(op.results) < 2:  # several are declared first and then tied
            return "".join(f"{self.declaration(result)} = " for result in op.results)
        for result in op.results:
            self.line(f"{self.declaration(result)};")
        return f"std::tie({', '.join(map(self.name, op.results))}) = "

    def declaration(self, value: SSAValue) -> str:
        return declaration_text(value.type, self.name(value), value)

    def argument(self, value: SSAValue, call: Operation) -> str:
        """A value as an argument of a call."""
        return self.operand(value)

    def arguments(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(self.operand(value) for value in values)


def _name(op: Operation, name: str) -> str:
    """A name as it is. Operations that are code say so; a name must not become some."""
    if '"' in name or visible(name) != name:
        fail_op(op, f"has a name that cannot stand in C++: '{visible(name)}'")
    return name


def print_cpp(module: ModuleOp, *, readable: bool = False, guard: str | None = None) -> str:
    """The C++ text of a module of `emitc` operations: MLIR's, or one for people, in a header with an include guard."""
    if readable:
        # Here, as the readable printer is a subclass of the one in this module.
        from tilewright.codegen.cpp_readable import print_readable_cpp

        return print_readable_cpp(module, guard)
    printer = CppPrinter()
    printer.print_module(module)
    return f"{printer.text}\n"


def _print_constant(printer: CppPrinter, op: variables.ConstantOp | variables.VariableOp) -> None:
    text = attribute_text(op.value, op)
    initial = "" if isinstance(op.value, OpaqueAttr) and not text else f" = {text}"
    printer.line(f"{printer.declaration(op.result)}{initial};")


def _print_verbatim(printer: CppPrinter, op: calls.VerbatimOp) -> None:
    arguments = iter(op.operands)
    printer.line("".join(printer.operand(next(arguments)) if piece is None else piece for piece in op.pieces))


def _print_for(printer: CppPrinter, op: control.ForOp) -> None:
    variable = op.body.block.args[0]
    # The order in which operands are asked for numbers them, so it is that of MLIR.
    lower = printer.operand(op.lower_bound)
    name = printer.names[variable] = printer.loop_variable_name(variable)
    upper = printer.operand(op.upper_bound)
    if isinstance(op.upper_bound.owner, ExpressionOp) and printer.is_inlined(op.upper_bound.owner):
        upper = f"({upper})"
    print_loop(printer, op, f"{name} = {lower}; {name} < {upper}; {name} += {printer.operand(op.step)}")


def print_loop(printer: CppPrinter, op: control.ForOp, head: str) -> None:
    printer.line(f"for ({type_text(op.body.block.args[0].type, op)} {head}) {{")
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
    variables.AssignOp: lambda printer, op: printer.line(f"{printer.name(op.var)} = {printer.operand(op.value)};"),
    variables.ConstantOp: _print_constant,
    variables.VariableOp: _print_constant,
}
"""Operations whose statement is not `result = expression;`."""
