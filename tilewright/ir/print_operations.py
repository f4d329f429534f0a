"""Printers of operations: their own `print`, except where xDSL's text is not MLIR's or is slow in coming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerType
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import IRDLOperation, OperandDef, ResultDef
from xdsl.irdl.declarative_assembly_format import (
    AttrDictDirective,
    AttributeVariable,
    CustomDirective,
    DenseArrayAttributeVariable,
    FormatDirective,
    FormatProgram,
    FunctionalTypeDirective,
    KeywordDirective,
    OperandsDirective,
    OperandVariable,
    OptionalGroupDirective,
    OptionalOperandVariable,
    OptionalRegionVariable,
    OptionalSuccessorVariable,
    OptionalUnitAttrVariable,
    PrintingState,
    PunctuationDirective,
    RegionVariable,
    ResultVariable,
    SuccessorVariable,
    TypeDirective,
    VariadicOperandVariable,
    VariadicRegionVariable,
    VariadicSuccessorVariable,
    WhitespaceDirective,
)
from xdsl.traits import SingleBlockImplicitTerminator

if TYPE_CHECKING:
    from tilewright.ir.printer import Printer


class PartDirective(CustomDirective):
    """A custom directive that always prints something, behind the space that is due."""

    @property
    def shown(self) -> FormatDirective | None:
        """The directive that prints the same, if there is one."""
        return None


OperationPrinter: TypeAlias = "Callable[[Any, Printer], None]"


def print_signature(
    printer: Printer,
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute],
    body: Region | None = None,
    argument_attributes: ArrayAttr[DictionaryAttr] | None = None,
    result_attributes: ArrayAttr[DictionaryAttr] | None = None,
) -> None:
    """`(%arg0: i32 {a.b}) -> (i32, f32)`; only types where there is no body, and nothing where there are no results."""
    entry = body._first_block if body is not None else None
    printer.print_string("(")
    for i, type in enumerate(inputs):
        if i:
            printer.print_string(", ")
        attributes: Mapping[str, Attribute] = argument_attributes.data[i].data if argument_attributes else {}
        if entry is None:
            printer.print_attribute(type)
            printer.print_op_attributes(attributes)
        else:
            printer.print_block_argument(entry._args[i], attributes=attributes)
    printer.print_string(")")
    if outputs:
        printer.print_string(" -> ")
        _print_results(printer, outputs, result_attributes)


def _print_results(printer: Printer, types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> None:
    # Attributes of a result need the parentheses.
    one_bare = (
        len(types) == 1 and not isinstance(types[0], FunctionType) and not (attributes and attributes.data[0].data)
    )
    if one_bare:
        printer.print_attribute(types[0])
        return
    printer.print_string("(")
    for i, type in enumerate(types):
        if i:
            printer.print_string(", ")
        printer.print_attribute(type)
        printer.print_op_attributes(attributes.data[i].data if attributes else {})
    printer.print_string(")")


IN_SIGNATURE = frozenset(("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"))
"""Properties of a function that its signature tells."""


def print_function(op: Any, printer: Printer) -> None:
    """A function, in the syntax that all functions of MLIR share."""
    visibility = f" {op.sym_visibility.data}" if op.sym_visibility else ""
    printer.print_string(f"{visibility} ")
    printer.print_symbol_name(op.sym_name.data)
    type: FunctionType = op.function_type
    print_signature(printer, type.inputs.data, type.outputs.data, op.body, op.arg_attrs, op.res_attrs)
    # Such as `no_inline`: properties that the shared syntax does not know.
    more = {name: value for name, value in op.properties.items() if name not in IN_SIGNATURE}
    printer.print_op_attributes(op.attributes | more, print_keyword=True)
    if op.body._first_block is not None:
        printer.print_string(" ")
        printer.print_region(op.body, print_entry_block_args=False)


def _print_relabelled(keyword: str) -> OperationPrinter:
    """`linalg.transpose` and `linalg.broadcast`; MLIR puts a space behind the list, whatever follows."""

    def print_operation(op: Any, printer: Printer) -> None:
        for label, value in zip(("ins", "outs"), op._operands, strict=True):
            printer.print_string(f" {label}({printer.value_text(value)} : {printer.attribute_text(value.type)})")
        numbers = ", ".join(map(str, op.properties[keyword].iter_values()))
        printer.print_string(f" {keyword} = [{numbers}] ")
        printer.print_op_attributes(op.attributes)

    return print_operation


def _print_then_space(op: Operation, printer: Printer) -> None:
    """MLIR's format ends with a type that it only prints where it cannot be inferred, which it always can."""
    op.print(printer)
    printer.print_string(" ")


REPLACED: dict[str, OperationPrinter] = {
    "linalg.broadcast": _print_relabelled("dimensions"),
    "linalg.transpose": _print_relabelled("permutation"),
    "llvm.extractvalue": _print_then_space,
    "llvm.insertvalue": _print_then_space,
}
"""Printers for operations that xDSL defines."""


def operation_printer(cls: type[Operation]) -> OperationPrinter | None:
    """What prints everything behind the name, or None where there is only the generic form."""
    if cls.print is Operation.print:
        return None
    # A class of ours may have replaced the operation, and prints itself.
    if cls.name in REPLACED and cls.print.__module__.startswith("xdsl."):
        return REPLACED[cls.name]
    return format_printer(cls) or cls.print


Step: TypeAlias = "Callable[[Any, Printer], None]"
State: TypeAlias = tuple[bool, bool]
"""Whether a space is asked for, and whether the last part was punctuation: xDSL's `PrintingState`."""

AFTER_PART: State = (True, False)
OPENING, CLOSING = ("<", "(", "{", "["), (">", ")", "}", "]", ",")


def format_printer(cls: type[Operation]) -> Step | None:
    """What prints operations of a class by its declared format, if it has one."""
    # A method that was made from a format has it in its closure; one by hand does not.
    held = (cell.cell_contents for cell in cls.print.__closure__ or ())
    program = next((one for one in held if isinstance(one, FormatProgram)), None)
    if program is None:
        return None
    try:
        steps = tuple(_Steps(cast(type[IRDLOperation], cls)).of(program.stmts))
    except _Undecided:
        return cls.print

    def print_by_format(op: Any, printer: Printer) -> None:
        for step in steps:
            step(op, printer)

    return print_by_format


def print_implicit_region(printer: Printer, region: Region) -> None:
    """A region whose terminator goes without saying, unless there is something to say about it."""
    block = region._first_block
    end = block._last_op if block is not None else None
    # Attributes, operands or results would be lost.
    says_something = end is not None and bool(end.attributes or end.properties or end._operands or end.results)
    printer.print_region(region, print_block_terminators=says_something)


class _Undecided(Exception):
    """Whether a space is due depends on the operation."""


class _Steps:
    def __init__(self, cls: type[IRDLOperation]):
        definition = cls.get_irdl_definition()
        self.by_operand_index = all(type(operand) is OperandDef for _, operand in definition.operands)
        self.by_result_index = all(type(result) is ResultDef for _, result in definition.results)
        self.implicit_terminator = cls.has_trait(SingleBlockImplicitTerminator)
        self.steps: list[Step] = []
        self.text = ""
        self.states: set[State] = {AFTER_PART}
        self.at_run_time = False
        """A custom directive has left a state that only printing shows."""
        self.present: object = None
        """The variable that is there because an optional group that it anchors is printed."""

    def of(self, directives: Iterable[FormatDirective]) -> list[Step]:
        for directive in directives:
            self.add(directive)
        self.end_text()
        return self.steps

    def end_text(self) -> None:
        if text := self.text:
            self.steps.append(lambda op, p: p._out.append(text))
            self.text = ""

    def space(self, due: Callable[[State], bool]) -> str:
        decisions = {due(state) for state in self.states}
        # Depends on whether an optional part before it is there.
        if len(decisions) > 1:
            raise _Undecided
        return " " if decisions == {True} else ""

    def prefix(self, directive: object = None, *, optional: bool = False) -> str:
        """The fixed text before a part; only a space if that may be missing, what is before it being printed anyway."""
        # The variable that anchors the group is there whenever the group is.
        if optional and _variable(directive) != self.present:
            self.end_text()
            space = self.space(_due_before_part)
            self.states = self.states | {AFTER_PART}
            return space
        text = self.text + self.space(_due_before_part)
        self.text, self.states = "", {AFTER_PART}
        return text

    def add(self, directive: FormatDirective) -> None:
        if isinstance(directive, PartDirective):
            directive = directive.shown or directive
        # What a custom directive leaves behind only itself knows, so xDSL's state decides until a fixed part.
        if isinstance(directive, CustomDirective) or self.at_run_time:
            self.add_interpreted(directive)
        elif (add := _ADDERS.get(type(directive))) is not None:
            add(self, directive)
        elif isinstance(directive, AttributeVariable):
            self.add_attribute(directive)
        else:
            raise _Undecided

    def add_interpreted(self, directive: FormatDirective) -> None:
        self.end_text()
        if not self.at_run_time:
            if len(self.states) > 1:
                raise _Undecided
            ((space, punctuation),) = self.states
            self.steps.append(lambda op, p: p.set_format_state(PrintingState(punctuation, space)))
        self.steps.append(lambda op, p: directive.print(p, p.format_state, op))
        after = _state_after(directive)
        self.at_run_time = after is None
        self.states = {after} if after is not None else set()

    def add_whitespace(self, directive: WhitespaceDirective) -> None:
        if directive.whitespace == "\n":
            self.end_text()
            self.steps.append(lambda op, p: p._print_new_line())
        self.text += directive.whitespace.strip("\n")
        # An empty whitespace directive takes the space away that would be due.
        self.states = {(False, directive.whitespace == "")}

    def add_punctuation(self, directive: PunctuationDirective) -> None:
        mark = directive.punctuation
        # xDSL's rule: `a<b>` but `: <`, by whether punctuation stands before.
        without_space = {True: CLOSING, False: (*OPENING, *CLOSING)}
        self.text += self.space(lambda state: state[0] and mark not in without_space[state[1]]) + mark
        self.states = {(mark not in OPENING, True)}

    def add_keyword(self, directive: KeywordDirective) -> None:
        self.text += self.space(lambda state: state[0]) + directive.keyword
        self.states = {AFTER_PART}

    def add_operand(self, directive: OperandVariable) -> None:
        prefix, index, name = self.prefix(), directive.index, directive.name
        # An accessor of an operation with variadic operands counts segments at each call.
        if self.by_operand_index:
            self.steps.append(lambda op, p: p._out.append(prefix + p.value_text(op._operands[index])))
        else:
            self.steps.append(lambda op, p: p._out.append(prefix + p.value_text(getattr(op, name))))

    def add_optional_operand(self, directive: OptionalOperandVariable) -> None:
        prefix, get = self.prefix(directive, optional=True), directive.get

        def step(op: Any, p: Printer) -> None:
            if (operand := get(op)) is not None:
                p._out.append(prefix + p.value_text(operand))

        self.steps.append(step)

    def add_operands(self, directive: VariadicOperandVariable | OperandsDirective) -> None:
        prefix, name = self.prefix(directive, optional=True), getattr(directive, "name", "_operands")

        def step(op: Any, p: Printer) -> None:
            if operands := getattr(op, name):
                p._out.append(prefix + ", ".join([p.value_text(operand) for operand in operands]))

        self.steps.append(step)

    def add_type(self, directive: TypeDirective) -> None:
        inner = directive.inner
        if isinstance(inner, ResultVariable) and self.by_result_index:
            prefix, index = self.prefix(), inner.index
            self.steps.append(lambda op, p: p._out.append(prefix + p.attribute_text(op.results[index].type)))
        elif isinstance(inner, OperandVariable) and self.by_operand_index:
            prefix, index = self.prefix(), inner.index
            self.steps.append(lambda op, p: p._out.append(prefix + p.attribute_text(op._operands[index].type)))
        else:
            prefix = self.prefix(directive, optional=True)

            def step(op: Any, p: Printer) -> None:
                if types := inner.get_types(op):
                    p._out.append(prefix + ", ".join([p.attribute_text(type) for type in types]))

            self.steps.append(step)

    def add_function_type(self, directive: FunctionalTypeDirective) -> None:
        prefix = self.prefix()
        operands, results = directive.operand_typeable_directive, directive.result_typeable_directive

        def step(op: Any, p: Printer) -> None:
            p._out.append(prefix)
            p.print_function_type(operands.get_types(op), results.get_types(op))

        self.steps.append(step)

    def add_attribute(self, directive: AttributeVariable) -> None:
        prefix = self.prefix(directive, optional=directive.is_optional or directive.default_value is not None)
        name, default, is_property = directive.name, directive.default_value, directive.is_property
        plain = type(directive) is AttributeVariable
        # xDSL asks for the type of a list through generic aliases, which takes longer than all else here.
        integers = isinstance(directive, DenseArrayAttributeVariable) and isinstance(directive.elt_type, IntegerType)

        def step(op: Any, p: Printer) -> None:
            attribute = (op.properties if is_property else op.attributes).get(name)
            if attribute is None or (default is not None and attribute == default):
                return
            p._out.append(prefix)
            if plain:
                p._out.append(p.attribute_text(attribute))
            elif integers:
                p._out.append(f"[{', '.join(map(str, attribute.iter_values()))}]")
            else:
                directive.print_attr(p, attribute)

        self.steps.append(step)

    def add_dictionary(self, directive: AttrDictDirective) -> None:
        self.end_text()
        properties, keyword = frozenset(directive.expected_properties), directive.with_keyword
        reserved = frozenset(directive.reserved_attr_names)

        def step(op: Any, p: Printer) -> None:
            if not op.attributes and properties.isdisjoint(op.properties):
                return
            entries = {k: v for k, v in op.properties.items() if k in properties} | op.attributes
            definition = op.get_irdl_definition()
            declared = definition.properties | definition.attributes
            # Defaults go without saying, as in MLIR.
            said = {k for k, v in entries.items() if k in declared and v == declared[k].default_value}
            p.print_op_attributes(entries, reserved_attr_names=reserved | said, print_keyword=keyword)

        self.steps.append(step)
        self.states = self.states | {AFTER_PART}

    def add_group(self, directive: OptionalGroupDirective) -> None:
        self.end_text()
        before, steps, present = self.states, self.steps, self.present
        self.steps, self.present = [], _variable(directive.anchor)
        then = self.of((*directive.then_whitespace, directive.then_first, *directive.then_elements))
        after, self.states, self.steps, self.present = self.states, before, [], present
        otherwise = self.of(directive.else_elements)
        self.states, self.steps = after | self.states, steps
        # The group could end in two states, neither of them known.
        if self.at_run_time:
            raise _Undecided
        is_present = directive.anchor.is_present

        def step(op: Any, p: Printer) -> None:
            for part in then if is_present(op) else otherwise:
                part(op, p)

        self.steps.append(step)

    def add_region(self, directive: RegionVariable) -> None:
        prefix = self.prefix()
        self.add_region_step(prefix, lambda op: (directive.get(op),))

    def add_optional_region(self, directive: OptionalRegionVariable) -> None:
        self.add_region_step(
            self.prefix(directive, optional=True), lambda op: () if (r := directive.get(op)) is None else (r,)
        )

    def add_regions(self, directive: VariadicRegionVariable) -> None:
        self.add_region_step(self.prefix(directive, optional=True), directive.get)

    def add_region_step(self, prefix: str, regions_of: Callable[[Any], Iterable[Region]]) -> None:
        implicit = self.implicit_terminator

        def step(op: Any, p: Printer) -> None:
            before = prefix
            for region in regions_of(op):
                p._out.append(before)
                if implicit:
                    print_implicit_region(p, region)
                else:
                    p.print_region(region)
                before = ", "

        self.steps.append(step)

    def add_successor(self, directive: SuccessorVariable) -> None:
        prefix = self.prefix()
        self.steps.append(lambda op, p: p._out.append(prefix + p.block_text(directive.get(op))))

    def add_optional_successors(self, directive: VariadicSuccessorVariable | OptionalSuccessorVariable) -> None:
        prefix = self.prefix(directive, optional=True)

        def step(op: Any, p: Printer) -> None:
            if found := directive.get(op):
                blocks = found if isinstance(directive, VariadicSuccessorVariable) else (found,)
                p._out.append(prefix + ", ".join([p.block_text(block) for block in cast(Any, blocks)]))

        self.steps.append(step)

    # A unit attribute is there by its keyword, which stands in the group with it.
    def add_nothing(self, directive: FormatDirective) -> None:
        pass


def _variable(directive: object) -> object:
    """What a directive is about: itself, or what it prints the type of."""
    return getattr(directive, "inner", directive)


def _due_before_part(state: State) -> bool:
    space, punctuation = state
    return space or not punctuation


def _state_after(directive: FormatDirective) -> State | None:
    """The state after a directive, if it is always the same."""
    match directive:
        case PunctuationDirective():
            return directive.punctuation not in OPENING, True
        case (
            KeywordDirective() | OperandVariable() | RegionVariable() | SuccessorVariable() | FunctionalTypeDirective()
        ):
            return AFTER_PART
        case WhitespaceDirective():
            return False, directive.whitespace == ""
        case PartDirective():
            return AFTER_PART
        case _:
            return None


_ADDERS: dict[type[FormatDirective], Callable[[_Steps, Any], None]] = {
    AttrDictDirective: _Steps.add_dictionary,
    FunctionalTypeDirective: _Steps.add_function_type,
    KeywordDirective: _Steps.add_keyword,
    OperandVariable: _Steps.add_operand,
    OperandsDirective: _Steps.add_operands,
    OptionalGroupDirective: _Steps.add_group,
    OptionalOperandVariable: _Steps.add_optional_operand,
    OptionalRegionVariable: _Steps.add_optional_region,
    OptionalSuccessorVariable: _Steps.add_optional_successors,
    OptionalUnitAttrVariable: _Steps.add_nothing,
    PunctuationDirective: _Steps.add_punctuation,
    RegionVariable: _Steps.add_region,
    SuccessorVariable: _Steps.add_successor,
    TypeDirective: _Steps.add_type,
    VariadicOperandVariable: _Steps.add_operands,
    VariadicRegionVariable: _Steps.add_regions,
    VariadicSuccessorVariable: _Steps.add_optional_successors,
    WhitespaceDirective: _Steps.add_whitespace,
}
