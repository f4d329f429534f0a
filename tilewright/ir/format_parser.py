"""Custom syntax that is declared as an `assembly_format`, read without interpreting the format each time.

xDSL interprets a format: for every operation it verifies all types against all constraints in order to infer those that
the text leaves out, and then builds the operation through constructors that check everything again. Here each class is
looked at once. It gets one step per directive and one rule per type that may be missing, and what a rule inferred from
given types is kept. That types satisfy their constraints is left to the verifier, as in MLIR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedRegionSegments,
    AttrSizedResultSegments,
    AttrSizedSegments,
    AttrSizedSuccessorSegments,
    IRDLOperation,
    OpDef,
    SameVariadicOperandSize,
    SameVariadicRegionSize,
    SameVariadicResultSize,
    SameVariadicSuccessorSize,
    VariadicDef,
)
from xdsl.irdl.declarative_assembly_format import (
    AttrDictDirective,
    AttributeVariable,
    FormatDirective,
    FormatProgram,
    KeywordDirective,
    OperandVariable,
    OptionalGroupDirective,
    PunctuationDirective,
    ResultVariable,
    TypeDirective,
    VariadicOperandVariable,
    WhitespaceDirective,
)
from xdsl.parser import UnresolvedOperand

from tilewright.ir.create import create_operation
from tilewright.ir.format_types import Parts, TypeRules
from tilewright.ir.token_parser import DIGITS, IDENTIFIER_STARTS

if TYPE_CHECKING:
    from tilewright.ir.parser import Parser

_STARTS_LITERAL = DIGITS | IDENTIFIER_STARTS
Step: TypeAlias = "Callable[[Parser, Parts], None]"


@cache
def custom_parser(op_class: type[Operation]) -> Callable[[Parser], Operation]:
    """What reads an operation of this class in its own syntax, its name being read."""
    if getattr(op_class.parse, "__func__", None) is getattr(Operation.parse, "__func__", None):
        return _fail_without_custom_form
    program = _format_of(op_class)
    if program is None:
        return cast("Callable[[Parser], Operation]", op_class.parse)
    return FormatParser(program, cast(type[IRDLOperation], op_class)).parse


def _fail_without_custom_form(parser: Parser) -> NoReturn:
    parser.raise_error("has no custom assembly form", parser.custom_op_offset)


def _format_of(op_class: type[Operation]) -> FormatProgram | None:
    """The format that a class is read with.

    A `parse` made from a format has it as `format_program`, a function that gives it; the one that xDSL makes has it in
    its closure.
    """
    generated = getattr(op_class.parse, "__func__", None)
    program = getattr(generated, "format_program", None)
    if program is not None:
        return program()
    cells = getattr(generated, "__closure__", None) or ()
    programs = (cell.cell_contents for cell in cells)
    return next((program for program in programs if isinstance(program, FormatProgram)), None)


class FormatParser:
    """The reader of one operation class."""

    def __init__(self, program: FormatProgram, op_class: type[IRDLOperation]):
        definition = op_class.get_irdl_definition()
        self.op_class = op_class
        self.steps = _steps(program.stmts)
        self.counts = tuple(
            len(parts) for parts in (definition.operands, definition.results, definition.regions, definition.successors)
        )
        rules = TypeRules(definition)
        self.operand_rules = [
            rules.rule(part.constr, ("operand", i)) for i, (_, part) in enumerate(definition.operands)
        ]
        self.result_rules = [rules.rule(part.constr, ("result", i)) for i, (_, part) in enumerate(definition.results)]
        self.checks = tuple(_size_checks(definition))

    def parse(self, parser: Parser) -> Operation:
        parts = Parts(cast(tuple[int, int, int, int], self.counts), self.op_class)
        for step in self.steps:
            step(parser, parts)
        operands: list[SSAValue] = []
        resolve = parser.resolve_operand
        for index, unresolved in enumerate(parts.operands):
            if unresolved is None:
                parts.operands[index] = unresolved = ()
            types = parts.operand_types[index]
            if types is None:
                types = self.operand_rules[index](parser, parts, len(unresolved))
            if len(types) != len(unresolved):
                start = unresolved[0].span.start if unresolved else parser.pos
                parser._fail_operand_types(start, len(unresolved), len(types))
            for operand, type in zip(unresolved, types, strict=True):
                operands.append(resolve(operand, type))
        for index, types in enumerate(parts.result_types):
            if types is None:
                parts.result_types[index] = self.result_rules[index](parser, parts, None)
        for check in self.checks:
            check(parser, parts)
        return create_operation(
            self.op_class,
            operands,
            _flat(parts.result_types),
            parts.properties,
            parts.attributes,
            _flat(parts.successors),
            _flat(parts.regions),
            UNKNOWN_LOC,
        )


def _flat(parts: list[Sequence[Any] | None]) -> Sequence[Any]:
    if len(parts) == 1:
        return parts[0] or ()
    return [element for part in parts if part for element in part] if parts else ()


# Steps


def _steps(directives: Iterable[FormatDirective]) -> tuple[Step, ...]:
    return tuple(step for directive in directives if (step := _step(directive)) is not None)


def _step(directive: FormatDirective) -> Step | None:
    """What a directive does, as a function; what is not known here does what xDSL's does."""
    match directive:
        case WhitespaceDirective():
            return None
        case PunctuationDirective(punctuation) | KeywordDirective(punctuation):
            return _spelling_step(punctuation)
        case OperandVariable(_, index):
            return _operand_step(index)
        case TypeDirective(OperandVariable(_, index)):
            return _operand_type_step(index)
        case TypeDirective(ResultVariable(_, index)):
            return _result_type_step(index)
        case VariadicOperandVariable(_, index):
            return _operands_step(index)
        case AttrDictDirective(False):
            return _attr_dict_step(directive)
        case AttributeVariable() if type(directive).parse is AttributeVariable.parse:
            return _attribute_step(directive)
        case OptionalGroupDirective():
            return _group_step(directive)
        case _:
            return directive.parse


def _spelling_step(spelling: str) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        tokens = parser.tokens
        if tokens.texts[tokens.index] == spelling:
            tokens.index += 1
        else:
            parser._fail_expecting(f"expected '{spelling}'")

    return step


def _operand_step(index: int) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        parts.operands[index] = (parser.parse_unresolved_operand(),)

    return step


def _operands_step(index: int) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        tokens = parser.tokens
        operands: list[UnresolvedOperand] = []
        operand = parser.parse_optional_unresolved_operand()
        while operand is not None:
            operands.append(operand)
            if tokens.texts[tokens.index] != ",":
                break
            tokens.index += 1
            operand = parser.parse_unresolved_operand()
        parts.operands[index] = operands

    return step


def _operand_type_step(index: int) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        parts.operand_types[index] = (parser.parse_type(),)

    return step


def _result_type_step(index: int) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        parts.result_types[index] = (parser.parse_type(),)

    return step


def _attr_dict_step(directive: AttrDictDirective) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        if parser.tokens.texts[parser.tokens.index] == "{":
            directive.parse(parser, parts)

    return step


def _attribute_step(directive: AttributeVariable) -> Step:
    """An attribute; what one number or keyword stands for here is kept, together with what follows and so ends it."""
    directive_id = id(directive)

    def step(parser: Parser, parts: Parts) -> None:
        tokens = parser.tokens
        index = tokens.index
        text = tokens.texts[index]
        key = directive_id, text, tokens.texts[index + 1] if text[0] in _STARTS_LITERAL else ""
        attribute = parser.literals.get(key)
        if attribute is not None:
            tokens.index = index + 1
        else:
            attribute = directive.parse_attr(parser)
            if attribute is None:
                return
            if tokens.index == index + 1 and text[0] in _STARTS_LITERAL:
                parser.literals[key] = attribute
        directive.set(parts, attribute)

    return step


def _group_step(group: OptionalGroupDirective) -> Step:
    """An optional group, entered if its first element is there: by its spelling, or by whether it consumed anything."""
    first = group.then_first
    spelling = first.punctuation if isinstance(first, PunctuationDirective) else None
    if isinstance(first, KeywordDirective):
        spelling = first.keyword
    then_steps, else_steps = _steps(group.then_elements), _steps(group.else_elements)
    then_empty = tuple(element.set_empty for element in group.then_elements)
    else_empty = tuple(element.set_empty for element in group.else_elements)

    def step(parser: Parser, parts: Parts) -> None:
        tokens = parser.tokens
        start = tokens.index
        if spelling is None:
            first.parse_optional(parser, parts)
        elif tokens.texts[start] == spelling:
            tokens.index = start + 1
        entered = tokens.index != start
        for inner in then_steps if entered else else_steps:
            inner(parser, parts)
        for set_empty in else_empty if entered else then_empty:
            set_empty(parts)

    return step


# Sizes of the parts


def _size_checks(definition: OpDef) -> Iterator[Step]:
    """What is recorded or checked about how many operands, results, regions and successors each name stands for."""
    constructs = (
        ("operands", definition.operands, AttrSizedOperandSegments, SameVariadicOperandSize),
        ("result_types", definition.results, AttrSizedResultSegments, SameVariadicResultSize),
        ("regions", definition.regions, AttrSizedRegionSegments, SameVariadicRegionSize),
        ("successors", definition.successors, AttrSizedSuccessorSegments, SameVariadicSuccessorSize),
    )
    for option in definition.options:
        for parts_name, parts, segments, same_size in constructs:
            if isinstance(option, segments):
                yield _segment_step(parts_name, option)
            elif isinstance(option, same_size):
                variadic = [i for i, (_, part) in enumerate(parts) if isinstance(part, VariadicDef)]
                yield _same_size_step(parts_name, variadic)


def _segment_step(parts_name: str, option: AttrSizedSegments) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        sizes = tuple(len(part or ()) for part in getattr(parts, parts_name))
        container = parts.properties if option.as_property else parts.attributes
        container[option.attribute_name] = _segment_sizes(sizes)

    return step


@lru_cache(1024)
def _segment_sizes(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def _same_size_step(parts_name: str, variadic: Sequence[int]) -> Step:
    def step(parser: Parser, parts: Parts) -> None:
        sizes = [len(getattr(parts, parts_name)[index] or ()) for index in variadic]
        if len(set(sizes)) > 1:
            kind = parts_name.removesuffix("s").replace("_type", "")
            parser.raise_error(f"variadic {kind}s have different sizes: {sizes}")

    return step
