"""`emitc` operations as C++ code that reads as if a person had written it.

The same operations give the same words as the text of `cpp_printer`; only the spelling differs: names from the
program, expressions written where they are used, constants `const`, and comments with the places in the source.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.codegen.cpp_expressions import outside, precedence
from tilewright.codegen.cpp_inlining import BITWISE, INT_BITS, LEAVE_UNLESS, Inlining
from tilewright.codegen.cpp_names import CppNames
from tilewright.codegen.cpp_printer import STATEMENTS, CppPrinter, print_loop
from tilewright.codegen.cpp_text import POSTFIX, binary_operator, type_text
from tilewright.dialects import func
from tilewright.dialects.emitc import calls, control, functions, operators, variables
from tilewright.dialects.emitc.calls import COMMENT
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.types import ArrayType, OpaqueAttr, is_integer, is_unsigned, width_of
from tilewright.ir.diagnostics import file_position
from tilewright.ir.escapes import comment_text

LONGEST_EXPRESSION = 72
HEX_FROM = 0x10000

ARITHMETIC = (operators.AddOp, operators.SubOp, operators.MulOp)
DIVISIONS = (operators.DivOp, operators.RemOp)
SHIFTS = (operators.BitwiseLeftShiftOp, operators.BitwiseRightShiftOp)
LOGICAL = (operators.LogicalAndOp, operators.LogicalOrOp)


class ReadablePrinter(CppPrinter):
    """Writes functions for people to read."""

    def __init__(self) -> None:
        super().__init__()
        self.inlined: set[Operation] = set()
        self._given_names: CppNames | None = None
        self._source: tuple[str, int] | None = None
        self._annotated = False
        self.declared_later: set[SSAValue] = set()
        """Variables whose declaration is their first assignment."""

    # Functions

    def print_top_level(self, op: Operation) -> None:
        if isinstance(op, functions.FuncOp):
            self.line("")
        super().print_top_level(op)

    def print_function(self, op: functions.FuncOp | func.FuncOp) -> None:
        if isinstance(op, functions.FuncOp) and op.body.blocks:
            self.inlined = Inlining(op).inlined
            self._given_names = CppNames(op)
            comment = op.attributes.get(COMMENT)
            self._annotated, self._source = comment is not None, None
            if isinstance(comment, StringAttr):
                self.line("\n".join(f"// {comment_text(line)}" for line in comment.data.split("\n")))
        super().print_function(op)

    def block(self, block: Block) -> None:
        self.declared_later |= set(initialized_at_once(block))
        super().block(block)

    def statement(self, op: Operation) -> None:
        if op in self.inlined:
            return
        self._mention_source(op)
        if (print_statement := READABLE_STATEMENTS.get(type(op))) is not None:
            print_statement(self, op)
        else:
            super().statement(op)
        comment = op.attributes.get(COMMENT)
        if isinstance(comment, StringAttr):
            self.lines[-1] += f"  // {comment_text(comment.data)}"

    def _mention_source(self, op: Operation) -> None:
        """A comment where what follows comes from another line of the program than what was before."""
        position = file_position(op.location) if self._annotated and _is_worth_a_mention(op) else None
        if position is None:
            return
        source = PurePath(position[0]).name, position[1]
        if source != self._source:
            self.line(f"// {comment_text(source[0])}:{source[1]}")
        self._source = source

    # Names and declarations

    def new_name(self, value: SSAValue) -> str:
        return self._given_names.of(value) if self._given_names is not None else super().new_name(value)

    def loop_variable_name(self, value: SSAValue) -> str:
        assert self._given_names is not None
        if value.name_hint is not None:
            return self._given_names.of(value)
        return self._given_names.unique("ijklmnop"[self.loops % 8])

    def signature(self, op: functions.FuncOp | func.FuncOp) -> str:
        return super().signature(op).replace("\n ", "\n")

    def declaration(self, value: SSAValue) -> str:
        return super().declaration(value).replace(" & ", " &").replace("* ", " *")

    def assignment(self, op: Operation) -> str:
        prefix = super().assignment(op)
        return f"const {prefix}" if prefix and len(op.results) == 1 else prefix

    # Expressions

    def argument(self, value: SSAValue, call: Operation) -> str:
        return self.operand(value, call)

    def is_inlined(self, op: Operation) -> bool:
        return op in self.inlined or (not isinstance(op, ExpressionOp) and super().is_inlined(op))

    def operand(self, value: SSAValue, outer: Operation | None = None, position: int = 0) -> str:
        value = outside(value)
        owner = value.owner
        if isinstance(owner, variables.ConstantOp) and owner in self.inlined:
            return self.constant(owner, outer, position)
        if isinstance(owner, operators.CastOp) and self._goes_without_saying(owner, outer, position):
            return self.operand(owner.source, outer, position)
        text = super().operand(value, outer, position)
        can_hoist = isinstance(owner, Operation) and owner in self.inlined and not isinstance(owner, operators.CastOp)
        if can_hoist and len(text) > LONGEST_EXPRESSION and outer is not None:
            return self._hoisted(value)
        return text

    def binds_tightly(self, value: SSAValue) -> bool:
        """Whether the text of a value is a name, a number or a call, which needs no parentheses anywhere."""
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in self.inlined:
            return True
        return isinstance(owner, operators.CastOp) or precedence(owner) >= POSTFIX

    def _hoisted(self, value: SSAValue) -> str:
        """Give an expression that is too long for its place a line of its own before it."""
        assert isinstance(value.owner, Operation)
        op = value.owner.root if isinstance(value.owner, ExpressionOp) else value.owner
        text = self.expression(op)
        # From here on it has a name, also for uses that come later.
        self.inlined.discard(value.owner)
        self.line(f"const {self.declaration(value)} = {text};")
        return self.name(value)

    def needs_parentheses(self, op: Operation, outer: Operation, position: int) -> bool:
        if isinstance(outer, calls.CallOpaqueOp | calls.VerbatimOp | operators.CastOp):
            return False
        inside, around = precedence(op), precedence(outer)
        if inside <= around:
            return inside < around or position > 0 or not isinstance(outer, (*ARITHMETIC, *BITWISE, *LOGICAL))
        if isinstance(outer, operators.CmpOp):
            return isinstance(op, operators.CmpOp | operators.BitwiseLeftShiftOp | operators.BitwiseRightShiftOp)
        mixes = isinstance(outer, (*BITWISE, *SHIFTS)) or (isinstance(outer, LOGICAL) and isinstance(op, LOGICAL))
        return mixes and binary_operator(op) is not None

    def expression(self, op: Operation) -> str:
        if isinstance(op, operators.CastOp):
            return f"{type_text(op.dest.type, op)}({self.operand(op.source, op)})"
        return super().expression(op)

    def constant(self, op: variables.ConstantOp, outer: Operation | None, position: int) -> str:
        """A constant, with what is needed behind or around it to be of its type."""
        match op.value, op.result.type:
            case OpaqueAttr(value=text), type:
                return f"{type_text(type)}({text.data})" if is_unsigned(type) else text.data
            case IntegerAttr(value=number), _ if isinstance(outer, SHIFTS) and position == 1:
                return str(number.data)
            case IntegerAttr(value=number), type:
                return _integer_text(number.data, type, outer, position)
            case _:
                return super().expression(op)

    def _goes_without_saying(self, op: operators.CastOp, outer: Operation | None, position: int) -> bool:
        """Whether C++ converts a 32-bit number to unsigned here anyway: as a parameter, or beside an unsigned one."""
        if not self._only_drops_sign(op):
            return False
        if isinstance(outer, calls.CallOpaqueOp):
            return True
        if not isinstance(outer, (*ARITHMETIC, *BITWISE)) or not _is_word(outer.results[0].type):
            return False
        # One of two operands must say that it is unsigned, or both would be added as signed numbers.
        return position == 1 or not self._only_drops_sign(outside(outer.operands[1]).owner)

    def _only_drops_sign(self, op: Operation | Block) -> bool:
        if not isinstance(op, operators.CastOp) or not self.is_inlined(op):
            return False
        return _is_word(op.dest.type) and is_integer(op.source.type) and width_of(op.source.type) == INT_BITS


def _is_worth_a_mention(op: Operation) -> bool:
    if isinstance(op, calls.VerbatimOp):
        return op.value.data.startswith(("if ", "uint32_t bd_"))
    return isinstance(op, calls.CallOpaqueOp | control.ForOp | control.IfOp | control.DoOp | control.SwitchOp)


def _is_word(type: Attribute) -> bool:
    return is_integer(type) and width_of(type) == INT_BITS and is_unsigned(type)


def _integer_text(number: int, type: Attribute, outer: Operation | None, position: int) -> str:
    match type:
        case IntegerType() if type.width.data == 1:
            return "true" if number else "false"
        case IntegerType() if is_unsigned(type):
            number %= 1 << type.width.data
        case _:
            pass
    # -2147483648 is a minus before a number that no int holds.
    if type == IntegerType(INT_BITS) and number == -(1 << INT_BITS - 1):
        return "INT32_MIN"
    as_hex = number >= HEX_FROM or (number > 9 and _is_about_bits(outer))
    text = f"{number:#x}" if as_hex else str(number)
    if width_of(type) <= INT_BITS:
        return f"{text}u" if is_unsigned(type) and width_of(type) == INT_BITS else text
    if number > (1 << width_of(type) - 1) - 1:
        text += "u"
    if number < 0 and is_unsigned(type):
        return f"{type_text(type)}({text})"
    return text if _has_typed_neighbour(outer, position) else f"{type_text(type)}({text})"


def _is_about_bits(op: Operation | None) -> bool:
    match op:
        case calls.CallOpaqueOp(callee=callee):
            return callee.data in ("aie_runtime::txn_append_maskwrite32", "aie_runtime::txn_append_maskpoll")
        case _:
            return isinstance(op, BITWISE)


def _has_typed_neighbour(outer: Operation | None, position: int) -> bool:
    """Whether a number beside it, or what it is assigned to, gives a wide constant its type."""
    if outer is None or isinstance(outer, control.ForOp):
        return True
    if isinstance(outer, operators.ConditionalOp) and position > 0:
        neighbour = 3 - position
    elif isinstance(outer, (*ARITHMETIC, *DIVISIONS, *BITWISE, operators.CmpOp)):
        neighbour = 1 - position
    else:
        return False
    return not isinstance(outside(outer.operands[neighbour]).owner, variables.ConstantOp)


def print_readable_cpp(module: ModuleOp, guard: str | None = None) -> str:
    """The C++ text of a module of `emitc` operations, for people; `guard` is the include guard of a header."""
    printer = ReadablePrinter()
    printer.print_module(module)
    text = printer.text
    return f"#ifndef {guard}\n#define {guard}\n\n{text}\n#endif // {guard}\n" if guard else text


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
    if op.result in printer.declared_later:
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
    if op.var in printer.declared_later and op.var not in printer.names:
        printer.line(f"{printer.declaration(op.var)} = {value};")
    elif value != (name := printer.name(op.var)):
        printer.line(f"{name} = {value};")


def _print_for(printer: ReadablePrinter, op: control.ForOp) -> None:
    variable = op.body.block.args[0]
    lower, upper = printer.operand(op.lower_bound, op), printer.operand(op.upper_bound, op)
    step = printer.operand(op.step, op)
    name = printer.names[variable] = printer.loop_variable_name(variable)
    advance = f"++{name}" if step == "1" else f"{name} += {step}"
    print_loop(printer, op, f"{name} = {lower}; {name} < {upper}; {advance}")


def _print_do(printer: ReadablePrinter, op: control.DoOp) -> None:
    """A loop that is left from inside; where that is the first thing it does, with the condition in its head."""
    first = next((nested for nested in op.body.block.ops if not printer.is_inlined(nested)), None)
    if isinstance(first, calls.VerbatimOp) and first.value.data == LEAVE_UNLESS:
        printer.line(f"while ({printer.operand(first.operands[0])}) {{")
        printer.inlined.add(first)  # no statement of its own: it is in the text already
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
