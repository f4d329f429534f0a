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
    AttrConstraint,
    AttrSizedOperandSegments,
    AttrSizedRegionSegments,
    AttrSizedResultSegments,
    AttrSizedSegments,
    AttrSizedSuccessorSegments,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    SameVariadicOperandSize,
    SameVariadicRegionSize,
    SameVariadicResultSize,
    SameVariadicSuccessorSize,
    VarConstraint,
    VariadicDef,
    VerificationContext,
)
from xdsl.irdl.declarative_assembly_format import (
    AttrDictDirective,
    AttributeVariable,
    FormatDirective,
    FormatProgram,
    KeywordDirective,
    OperandVariable,
    OptionalGroupDirective,
    ParsingState,
    PunctuationDirective,
    ResultVariable,
    TypeDirective,
    VariadicOperandVariable,
    WhitespaceDirective,
)
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import Following
from tilewright.ir.create import create_operation
from tilewright.ir.lexer import DIGITS, IDENTIFIER_STARTS

if TYPE_CHECKING:
    from tilewright.ir.operation_parser import OperationParser


_STARTS_LITERAL = DIGITS | IDENTIFIER_STARTS
_NO_OPERANDS: Sequence[UnresolvedOperand] = ()
Step: TypeAlias = "Callable[[OperationParser, Parts], None]"


@cache
def custom_parser(op_class: type[Operation]) -> Callable[[OperationParser], Operation]:
    """What reads an operation of this class in its own syntax, its name being read."""
    # xDSL's default `parse` only raises; MLIR words the error differently.
    if getattr(op_class.parse, "__func__", None) is getattr(Operation.parse, "__func__", None):
        return _fail_without_custom_form
    program = _format_of(op_class)
    if program is None:
        return cast("Callable[[OperationParser], Operation]", op_class.parse)
    reader = FormatParser(program, cast(type[IRDLOperation], op_class))
    return reader.parse_plain if reader.is_plain else reader.parse


def _fail_without_custom_form(parser: OperationParser) -> NoReturn:
    parser.raise_error("has no custom assembly form", parser.custom_op_offset)


def _format_of(op_class: type[Operation]) -> FormatProgram | None:
    """The format that a class is read with: a `parse` that is made from one has it in its closure."""
    cells = getattr(getattr(op_class.parse, "__func__", None), "__closure__", None) or ()
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
        rules = TypeRules(definition, program.stmts)
        self.operand_rules = [
            rules.rule(part.constr, ("operand", i)) for i, (_, part) in enumerate(definition.operands)
        ]
        self.result_rules = [rules.rule(part.constr, ("result", i)) for i, (_, part) in enumerate(definition.results)]
        self.checks = tuple(_size_checks(definition))
        read = {directive.index for directive in program.stmts if type(directive) is OperandVariable}
        # One operand for each name, read where its name stands, and one result: as most operations are.
        self.is_plain = read == {*range(len(definition.operands))} and self.counts[1:] == (1, 0, 0) and not self.checks

    def parse_plain(self, parser: OperationParser) -> Operation:
        """`parse` without lists of lists."""
        parts = Parts(cast(tuple[int, int, int, int], self.counts), self.op_class)
        for step in self.steps:
            step(parser, parts)
        operands: list[SSAValue] = []
        for written, types, rule in zip(parts.operands, parts.operand_types, self.operand_rules, strict=True):
            assert written is not None
            type = (types or rule(parser, parts, 1))[0]
            operands.append(parser.resolve_operand(written[0], type))
        result_types = parts.result_types[0]
        if result_types is None:
            result_types = self.result_rules[0](parser, parts, None)
        return create_operation(
            self.op_class, operands, result_types, parts.properties, parts.attributes, (), (), UNKNOWN_LOC
        )

    def parse(self, parser: OperationParser) -> Operation:
        parts = Parts(cast(tuple[int, int, int, int], self.counts), self.op_class)
        for step in self.steps:
            step(parser, parts)
        operands: list[SSAValue] = []
        resolve = parser.resolve_operand
        for index, written in enumerate(parts.operands):
            # Nothing, if an optional group was not there.
            unresolved = written or _NO_OPERANDS
            types = parts.operand_types[index]
            count = len(unresolved)
            if types is None:
                types = self.operand_rules[index](parser, parts, count)
            if len(types) != count:
                start = unresolved[0].span.start if unresolved else parser.pos
                parser._fail_operand_types(start, count, len(types))
            # Nearly all are single.
            if count == 1:
                operands.append(resolve(unresolved[0], types[0]))
            else:
                operands += map(resolve, unresolved, types)
        result_types = parts.result_types
        for index, types in enumerate(result_types):
            if types is None:
                result_types[index] = self.result_rules[index](parser, parts, None)
        for check in self.checks:
            check(parser, parts)
        return create_operation(
            self.op_class,
            operands,
            _flat(result_types),
            parts.properties,
            parts.attributes,
            _flat(parts.successors) if parts.successors else (),
            _flat(parts.regions) if parts.regions else (),
            UNKNOWN_LOC,
        )


def _flat(parts: list[Sequence[Any] | None]) -> Sequence[Any]:
    if len(parts) == 1:
        return parts[0] or ()
    return [element for part in parts if part for element in part] if parts else ()


# Steps


def _steps(directives: Iterable[FormatDirective]) -> tuple[Step, ...]:
    """What directives do, in order; what many formats have in a row is done at once, as calls cost most of the time."""
    rest = [directive for directive in directives if not isinstance(directive, WhitespaceDirective)]
    steps: list[Step] = []
    while rest:
        match rest:
            case [OperandVariable(_, first), PunctuationDirective(","), OperandVariable(_, second), *rest]:
                steps.append(_operand_pair_step(first, second))
            case [AttrDictDirective(False) as attributes, PunctuationDirective(":"), TypeDirective(), *_]:
                steps.append(_attr_dict_step(attributes, before_type=True))
                rest = rest[2:]
            case _:
                steps.append(_step(rest.pop(0)))
    return tuple(steps)


def _step(directive: FormatDirective) -> Step:
    """What a directive does, as a function; what is not known here does what xDSL's does."""
    match directive:
        case PunctuationDirective(punctuation):
            return _punctuation_step(punctuation)
        case KeywordDirective(keyword):
            # Where a keyword is missing MLIR names the operation, unlike with punctuation.
            return lambda parser, parts: cast(None, parser.parse_keyword(keyword))
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


def _punctuation_step(spelling: str) -> Step:
    def step(parser: OperationParser, parts: Parts) -> None:
        tokens = parser.tokens
        if tokens.texts[tokens.index] == spelling:
            tokens.index += 1
        else:
            parser._fail_expecting(f"expected '{spelling}'")

    return step


def _operand_step(index: int) -> Step:
    def step(parser: OperationParser, parts: Parts) -> None:
        parts.operands[index] = (parser.parse_unresolved_operand(),)

    return step


def _operand_pair_step(first: int, second: int) -> Step:
    """`%a, %b`."""

    def step(parser: OperationParser, parts: Parts) -> None:
        tokens = parser.tokens
        parts.operands[first] = (parser.parse_optional_unresolved_operand() or parser.parse_unresolved_operand(),)
        if tokens.texts[tokens.index] != ",":
            parser._fail_expecting("expected ','")
        tokens.index += 1
        parts.operands[second] = (parser.parse_optional_unresolved_operand() or parser.parse_unresolved_operand(),)

    return step


def _operands_step(index: int) -> Step:
    def step(parser: OperationParser, parts: Parts) -> None:
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
    def step(parser: OperationParser, parts: Parts) -> None:
        parts.operand_types[index] = (parser.parse_type(),)

    return step


def _result_type_step(index: int) -> Step:
    def step(parser: OperationParser, parts: Parts) -> None:
        parts.result_types[index] = (parser.parse_type(),)

    return step


def _attr_dict_step(directive: AttrDictDirective, before_type: bool = False) -> Step:
    """A dictionary, if there is one; and the colon of the type behind it."""
    reserved, expected = directive.reserved_attr_names, directive.expected_properties

    def step(parser: OperationParser, parts: Parts) -> None:
        tokens = parser.tokens
        start = tokens.index
        text = tokens.texts[start]
        if text == "{":
            entries = parser.parse_optional_attr_dict()
            if not reserved.isdisjoint(entries):
                tokens.index = start
                directive.parse(parser, parts)  # which complains
            for name, value in entries.items():
                (parts.properties if name in expected else parts.attributes)[name] = value
            text = tokens.texts[tokens.index]
        if before_type:
            if text != ":":
                parser._fail_expecting("expected ':'")
            tokens.index += 1

    return step


def _attribute_step(directive: AttributeVariable) -> Step:
    """An attribute; what one number or keyword stands for here is kept, together with what follows and so ends it."""
    directive_id = id(directive)

    def step(parser: OperationParser, parts: Parts) -> None:
        tokens = parser.tokens
        index = tokens.index
        text = tokens.texts[index]
        # What follows counts: `5` and `5 : i8` begin with the same token.
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
    # What a group that is not there would have set has to be empty, and not unknown.
    then_empty, else_empty = _emptying(group.then_elements), _emptying(group.else_elements)

    def step(parser: OperationParser, parts: Parts) -> None:
        tokens = parser.tokens
        start = tokens.index
        if spelling is None:
            first.parse_optional(parser, parts)
        elif tokens.texts[start] == spelling:
            tokens.index = start + 1
        entered = tokens.index != start
        # The first element has been read above, to find out.
        for inner in then_steps if entered else else_steps:
            inner(parser, parts)
        for set_empty in else_empty if entered else then_empty:
            set_empty(parts)

    return step


def _emptying(elements: Iterable[FormatDirective]) -> tuple[Callable[[ParsingState], None], ...]:
    return tuple(one.set_empty for one in elements if type(one).set_empty is not FormatDirective.set_empty)


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
    def step(parser: OperationParser, parts: Parts) -> None:
        sizes = tuple(len(part or ()) for part in getattr(parts, parts_name))
        container = parts.properties if option.as_property else parts.attributes
        container[option.attribute_name] = _segment_sizes(sizes)

    return step


@lru_cache(1024)
def _segment_sizes(sizes: tuple[int, ...]) -> Attribute:
    # Segment sizes of all operations of a kind are alike: one attribute for all of them.
    return DenseArrayBase.from_list(i32, sizes)


def _same_size_step(parts_name: str, variadic: Sequence[int]) -> Step:
    def step(parser: OperationParser, parts: Parts) -> None:
        sizes = [len(getattr(parts, parts_name)[index] or ()) for index in variadic]
        if len(set(sizes)) > 1:
            kind = parts_name.removesuffix("s").replace("_type", "")
            parser.raise_error(f"variadic {kind}s have different sizes: {sizes}")

    return step


Rule: TypeAlias = "Callable[[OperationParser, Parts, int | None], Sequence[Attribute]]"
"""Gives the types of an operand or result, of which there are so many if that is known."""


class Parts(ParsingState):
    """What has been read of an operation; the state that xDSL's own directives work on, without its overhead."""

    def __init__(self, counts: tuple[int, int, int, int], op_type: type[IRDLOperation]):
        operands, results, regions, successors = counts
        self.operands = [None] * operands
        self.operand_types = [None] * operands
        self.result_types = [None] * results
        self.regions = [None] * regions
        self.successors = [None] * successors
        self.attributes = {}
        self.properties = {}
        self.op_type = op_type

    @property
    def context(self) -> VerificationContext:  # pyright: ignore[reportIncompatibleVariableOverride]
        # Only xDSL's own directives ask for it; ours leave checking to the verifier.
        return VerificationContext()


_Slot: TypeAlias = tuple[str, int | str]
"""An operand or result by number, or an attribute or property by name."""

_Given: TypeAlias = Sequence[Attribute | None]
"""What stands in a slot."""

_NOT_GIVEN = (None,)


class TypeRules:
    """How the types of operands and results follow from those that are written."""

    def __init__(self, definition: OpDef, directives: Sequence[FormatDirective]):
        written = [directive.inner for directive in directives if isinstance(directive, TypeDirective)]
        self.written = {
            "operand": {inner.index for inner in written if isinstance(inner, OperandVariable)},
            "result": {inner.index for inner in written if isinstance(inner, ResultVariable)},
        }
        self.constraints: dict[_Slot, RangeConstraint | AttrConstraint] = {
            **{("operand", i): part.constr for i, (_, part) in enumerate(definition.operands)},
            **{("result", i): part.constr for i, (_, part) in enumerate(definition.results)},
            **{("property", name): part.constr for name, part in definition.properties.items()},
            **{("attribute", name): part.constr for name, part in definition.attributes.items()},
        }
        self.defaults: dict[_Slot, Attribute | None] = {
            **{("property", name): part.default_value for name, part in definition.properties.items()},
            **{("attribute", name): part.default_value for name, part in definition.attributes.items()},
        }
        self.binding = [slot for slot, constraint in self.constraints.items() if _binds(constraint)]
        self.sizes_matter = any(part.constr.variables_from_length() for _, part in definition.operands)

    def rule(self, constraint: RangeConstraint, slot: _Slot) -> Rule:
        # Most formats leave out types that are always the same, or the same as another: no inference at all.
        each = _element_constraint(constraint)
        if isinstance(each, BaseAttr | EqAttrConstraint) and each.can_infer(set()):
            return _constant_rule(each.infer(VerificationContext()))
        general = self._general_rule(constraint)
        if isinstance(each, VarConstraint | Following):
            same = [
                other
                for other, other_constraint in self.constraints.items()
                if other != slot and other[0] in ("operand", "result")
                if isinstance(found := _single_constraint(other_constraint), VarConstraint) and found.name == each.name
            ]
            if same:
                # The one that is always given before those that may be.
                same.sort(key=lambda other: other[1] not in self.written[other[0]])
                return _same_rule(same, general, each.follow if isinstance(each, Following) else None)
        return general

    def _general_rule(self, constraint: RangeConstraint) -> Rule:
        """Let xDSL infer from whatever is given, once for each combination of what is given."""

        def infer(parser: OperationParser, parts: Parts, length: int | None) -> Sequence[Attribute]:
            given = [self._given(parts, slot) for slot in self.binding]
            sizes = [len(operands or ()) for operands in parts.operands] if self.sizes_matter else ()
            # By identity, since hashing types takes long; `given` below keeps them alive.
            key = (rule_id, length, *sizes, *(id(one) for some in given for one in some))
            found = parser.inferred_types.get(key)
            if found is None:
                types = self._infer(constraint, parts, given, length)
                found = parser.inferred_types[key] = types, given
            return found[0]

        rule_id = id(infer)
        return infer

    def _infer(
        self, constraint: RangeConstraint, parts: Parts, given: Sequence[_Given], length: int | None
    ) -> Sequence[Attribute]:
        """What xDSL infers from what is given; what does not satisfy its constraint is a reason only if it fails."""
        context = VerificationContext()
        reasons: list[VerifyException] = []
        for slot, attributes in zip(self.binding, given, strict=True):
            try:
                self._bind(parts, slot, attributes, context)
            except VerifyException as reason:
                reasons.append(reason)
        try:
            return constraint.infer(context, length=length)
        except ValueError as error:
            # A type that is wrong is the better explanation than one that cannot be inferred from it.
            raise (reasons or [error])[0] from None

    def _given(self, parts: Parts, slot: _Slot) -> _Given:
        """What stands in a slot; `(None,)` if it is not known yet."""
        kind, where = slot
        if kind == "operand":
            return parts.operand_types[cast(int, where)] or _NOT_GIVEN
        if kind == "result":
            return parts.result_types[cast(int, where)] or _NOT_GIVEN
        values = parts.properties if kind == "property" else parts.attributes
        return (values.get(cast(str, where), self.defaults[slot]),)

    def _bind(self, parts: Parts, slot: _Slot, given: Sequence[Attribute | None], context: VerificationContext) -> None:
        """Let what stands in a slot determine variables."""
        constraint = self.constraints[slot]
        if isinstance(constraint, RangeConstraint):
            if slot[0] == "operand":
                constraint.verify_length(len(parts.operands[cast(int, slot[1])] or ()), context)
            if given is not _NOT_GIVEN:
                constraint.verify(cast(Sequence[Attribute], given), context)
        elif given[0] is not None:
            constraint.verify(given[0], context)


def _binds(constraint: RangeConstraint | AttrConstraint) -> bool:
    """Whether something that satisfies the constraint tells the value of a variable."""
    if constraint.variables():
        return True
    return isinstance(constraint, RangeConstraint) and bool(constraint.variables_from_length())


def _element_constraint(constraint: RangeConstraint) -> AttrConstraint | None:
    """The constraint on each type of a range, if that is all there is to it."""
    # One operand is a range of length one to xDSL.
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    return constraint.constr if isinstance(constraint, RangeOf) else None


def _single_constraint(constraint: RangeConstraint | AttrConstraint) -> AttrConstraint | None:
    return _element_constraint(constraint) if isinstance(constraint, RangeLengthConstraint) else None


def _constant_rule(type: Attribute) -> Rule:
    def rule(parser: OperationParser, parts: Parts, length: int | None) -> Sequence[Attribute]:
        return (type,) if length is None or length == 1 else (type,) * length

    return rule


def _same_rule(slots: Sequence[_Slot], otherwise: Rule, follow: Callable[[Any], Attribute] | None) -> Rule:
    """The type of the first of these operands and results that has one, or the type that follows from it."""

    def rule(parser: OperationParser, parts: Parts, length: int | None) -> Sequence[Attribute]:
        for kind, index in slots:
            types = (parts.operand_types if kind == "operand" else parts.result_types)[cast(int, index)]
            if types is not None and len(types) == 1:
                if follow is not None:
                    types = (follow(types[0]),)
                return types if length is None or length == 1 else (types[0],) * length
        return otherwise(parser, parts, length)

    return rule
