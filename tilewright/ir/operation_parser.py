"""Operations, in their own syntax or the generic one, with their values by name, blocks and regions.

Uses may come before definitions, and scopes end with their region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn, TypeAlias, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    LocationAttr,
    ModuleOp,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import ForwardDeclaredValue, UnresolvedOperand
from xdsl.parser import Parser as XdslParser
from xdsl.utils.lexer import Input, Span

from tilewright.ir.attribute_parser import AttributeParser
from tilewright.ir.create import append_operation, create_operation
from tilewright.ir.diagnostics import CompileError, Diagnostic, Severity
from tilewright.ir.lexer import DIGITS, END, IDENTIFIER_STARTS, integer_value
from tilewright.ir.limits import MOST_ALIAS_TOKENS
from tilewright.ir.locations import SourceLocation, as_location
from tilewright.ir.shown import quoted

_CustomSyntax: TypeAlias = "tuple[str, str, Callable[[OperationParser], Operation]]"
"""The name of an operation, its dialect and what reads it in its own syntax."""


class _ResultName(NamedTuple):
    name: str
    size: int
    offset: int


_AttributeT = TypeVar("_AttributeT", bound=Attribute)


class Operand(UnresolvedOperand):
    """The use of a value by name, with the span made when asked for."""

    __slots__ = ("index", "input", "name", "start")

    def __init__(self, name: str, index: int, start: int, input: Input[str]):
        self.name = name
        self.index = index
        self.start = start
        self.input = input

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Span(self.start, self.start + 1 + len(self.name), self.input)

    @property
    def operand_name(self) -> str:
        return self.name


class ForwardReference(ForwardDeclaredValue[Attribute]):
    """A value used before its definition, with the place of its first use."""

    def __init__(self, type: Attribute, offset: int):
        super().__init__(type)
        self.offset = offset


class OperationParser(AttributeParser):
    """The layer of the reader that knows operations: their syntax, values by name, blocks, regions and whole files."""

    definition_offsets: dict[str, int]
    """Where each value in scope got its name."""

    names_in_region: list[str]
    """Names that go out of scope with the region being read; no region copies the names around it."""

    pending_ops: list[Operation]
    """What the custom form of an operation brings about besides it, to be put before it."""

    inferred_types: dict[tuple[int | None, ...], tuple[Sequence[Attribute], object]]
    """Types that followed from others, by the identity of a rule and of those others, which are kept alive here."""

    literals: dict[tuple[int, str, str], Attribute]
    """What a number or keyword stood for in a format, by the identity of the place in the format."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.ssa_values = {}
        self.forward_ssa_references = {}
        self.resolved_references: list[ForwardReference] = []
        self.definition_offsets = {}
        self.names_in_region = []
        self.blocks = {}
        self.forward_block_references = {}
        self.pending_ops = []
        self.inferred_types = {}
        self.literals = {}
        self._generic_classes: dict[str, type[Operation]] = {}
        self._op_classes: dict[str, _CustomSyntax] = {}

    # Values

    def parse_optional_unresolved_operand(self) -> Operand | None:
        tokens = self.tokens
        texts, index = tokens.texts, tokens.index
        text = texts[index]
        if text[0] != "%":
            return None
        tokens.index = index + 1
        # `%0#1` is lexed as two tokens, the second like an attribute alias.
        if texts[index + 1][0] != "#":
            return Operand(text[1:], 0, tokens.starts[index], tokens.input)
        tokens.index = index + 2
        number = texts[index + 1][1:]
        if not number.isdigit():
            self._fail(tokens.starts[index + 1], "invalid SSA value result number")
        return Operand(text[1:], int(number), tokens.starts[index], tokens.input)

    def parse_unresolved_operand(self, msg: str = "expected SSA operand") -> Operand:
        operand = self.parse_optional_unresolved_operand()
        return self._fail_expecting(msg) if operand is None else operand

    def resolve_operand(self, operand: UnresolvedOperand, type: _AttributeT) -> SSAValue[_AttributeT]:
        name = operand.name if isinstance(operand, Operand) else operand.operand_name
        index = operand.index
        values = self.ssa_values.get(name)
        if values is not None:
            if index >= len(values):
                self._fail(operand.span.start, "reference to invalid result number")
            value = values[index]
            # Types are read once for each spelling, so nearly always they are the same object.
            if value._type is type or value._type == type:
                return value  # pyright: ignore[reportReturnType]
            self._fail_prior_type(operand, value, self.definition_offsets[name], type)
        # Not defined yet: legal in graph regions and across blocks; the verifier checks dominance.
        references = self.forward_ssa_references.setdefault(name, {})
        value = references.get(index)
        if value is None:
            value = references[index] = ForwardReference(type, operand.span.start)
        elif value.type != type:
            self._fail_prior_type(operand, value, cast(ForwardReference, value).offset, type)
        return cast(SSAValue[_AttributeT], value)

    def _fail_prior_type(self, operand: UnresolvedOperand, value: SSAValue, offset: int, type: Attribute) -> NoReturn:
        self._fail(
            operand.span.start,
            f"use of value '%{operand.operand_name}' expects different type than prior uses: "
            f"{quoted(type)} vs {quoted(value.type)}",
            (offset, "prior use here"),
        )

    def resolve_operands(
        self, args: Sequence[UnresolvedOperand], input_types: Sequence[Attribute], error_pos: int
    ) -> list[SSAValue]:
        if len(args) != len(input_types):
            self._fail_operand_types(error_pos, len(args), len(input_types))
        resolve = self.resolve_operand
        return [resolve(operand, type) for operand, type in zip(args, input_types, strict=True)]

    def _fail_operand_types(self, offset: int, operands: int, types: int) -> NoReturn:
        if self.custom_op is None:
            self._fail(offset, f"expected {operands} operand types but had {types}")
        self.raise_error(
            f"number of operands and types do not match: got {operands} operands and {types} types", offset
        )

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span[str]) -> None:
        self.define_values(name, tuple(values), span.start)

    def define_values(self, name: str, values: tuple[SSAValue, ...], offset: int) -> None:
        """Give values a name, from here to the end of the region."""
        if name in self.ssa_values:
            note = (self.definition_offsets[name], "previously defined here")
            self._fail(offset, f"redefinition of SSA value '%{name}'", note)
        self.ssa_values[name] = values
        self.definition_offsets[name] = offset
        self.names_in_region.append(name)
        if name in self.forward_ssa_references:
            self._resolve_references(name, values, offset)
        # Numbers are not names to keep: printing deals them out anew.
        if name[0] not in DIGITS:
            for value in values:
                value._name = name

    def _resolve_references(self, name: str, values: tuple[SSAValue, ...], offset: int) -> None:
        for index, reference in self.forward_ssa_references.pop(name).items():
            used_at = cast(ForwardReference, reference).offset
            if index >= len(values):
                # Left for the end of the file, where it is reported as undeclared.
                self.forward_ssa_references.setdefault(name, {})[index] = reference
                continue
            if reference.type != values[index].type:
                self._fail(
                    offset,
                    f"definition of SSA value '%{name}#{index}' has type {quoted(values[index].type)}",
                    (used_at, f"previously used here with type {quoted(reference.type)}"),
                )
            reference.replace_all_uses_with(values[index])
            self.resolved_references.append(cast(ForwardReference, reference))

    # Regions

    def parse_optional_argument(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, expect_type: bool = True
    ) -> XdslParser.UnresolvedArgument | XdslParser.Argument | None:
        tokens = self.tokens
        if tokens.texts[tokens.index][0] != "%":
            return None
        span = Span(tokens.starts[tokens.index], tokens.end(tokens.index), tokens.input)
        tokens.index += 1
        if not expect_type:
            return self.UnresolvedArgument(span)
        self.parse_characters(":")
        type = self.parse_type()
        return self.Argument(span, type, self.parse_optional_location())

    def parse_argument(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, expect_type: bool = True
    ) -> XdslParser.UnresolvedArgument | XdslParser.Argument:
        argument = self.parse_optional_argument(expect_type)
        return self._fail_expecting("expected SSA operand") if argument is None else argument

    def parse_region(self, arguments: Iterable[XdslParser.Argument] | None = None) -> Region:
        region = self.parse_optional_region(arguments)
        return self._fail_expecting("expected '{' to begin a region") if region is None else region

    def parse_region_list(self) -> list[Region]:
        if self.parse_optional_characters("(") is None:
            return []
        regions = self.parse_list(self.Delimiter.NONE, self.parse_region)
        self.parse_characters(")", " to end region list")
        return regions

    def parse_optional_region(self, arguments: Iterable[XdslParser.Argument] | None = None) -> Region | None:
        tokens = self.tokens
        texts = tokens.texts
        if texts[tokens.index] != "{":
            return None
        tokens.index += 1
        self._descend()
        # Blocks are known in their own region only; values also in those inside.
        outer = self.blocks, self.forward_block_references, self.names_in_region
        self.blocks, self.forward_block_references, self.names_in_region = {}, {}, []
        region = Region()
        named, has_label = list(arguments or ()), texts[tokens.index][0] == "^"
        if named and has_label:
            self._fail_expecting("invalid block name in region with named arguments")
        if (arguments is not None and not has_label) or texts[tokens.index][0] not in "^}":
            block = Block()
            if named:
                self._add_arguments(block, ((a.name.text[1:], a.type, a.location, a.name.start) for a in named))
            # the first of a new region: nothing to look for
            block.parent = region
            region._first_block = region._last_block = block
            self._parse_block_body(block)
        while texts[tokens.index] != "}":
            region.add_block(self._parse_block())
        tokens.index += 1
        self._check_all_blocks_defined()
        # Deleted by name: copying the table for each region would be quadratic in their depth.
        for name in self.names_in_region:
            del self.ssa_values[name]
        self.blocks, self.forward_block_references, self.names_in_region = outer
        self.depth -= 1
        return region

    def _add_arguments(
        self, block: Block, arguments: Iterable[tuple[str, Attribute, LocationAttr | None, int]]
    ) -> None:
        for index, (name, type, location, offset) in enumerate(arguments):
            argument = block.insert_arg(type, index, location or self.source.location(offset))
            self.define_values(name, (argument,), offset)

    def _parse_block_body(self, block: Block) -> None:
        tokens = self.tokens
        texts = tokens.texts
        while texts[tokens.index][0] not in "}^":
            self._parse_operation_into(block)

    def _parse_operation_into(self, block: Block) -> None:
        op = self.parse_operation()
        if self.pending_ops:
            for pending in self.pending_ops:
                # They have no text of their own.
                pending.location = op.location
                append_operation(block, pending)
            self.pending_ops.clear()
        append_operation(block, op)

    def _parse_block(self) -> Block:
        tokens = self.tokens
        label, start = tokens.texts[tokens.index], self.pos
        if label[0] != "^":
            self._fail_expecting("expected block name")
        tokens.index += 1
        name = label[1:]
        block, defined_at = self.blocks.get(name, (None, None))
        if block is None:
            block = self._new_block(name)
        elif defined_at is not None:
            self._fail(start, f"redefinition of block '{label}'", (defined_at.start, "previously defined here"))
        # A branch before this block may have asked for it.
        self.forward_block_references.pop(name, None)
        self.blocks[name] = block, Span(start, start + len(label), tokens.input)
        if tokens.texts[tokens.index] == "(":
            self._parse_optional_block_arg_list(block)
        self.parse_characters(":", " after block name")
        self._parse_block_body(block)
        return block

    def _new_block(self, name: str) -> Block:
        block = Block()
        # `^bb3` says where a block was, which changes; only chosen names are kept.
        if not Block.is_default_block_name(name) and name[0] not in DIGITS:
            block._name = name
        return block

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        if self.tokens.texts[self.tokens.index] != "(":
            return None
        self._add_arguments(block, self.parse_list(self.Delimiter.PAREN, self._parse_block_argument))
        return block

    def _parse_block_argument(self) -> tuple[str, Attribute, LocationAttr | None, int]:
        tokens = self.tokens
        text, start = tokens.texts[tokens.index], self.pos
        if text[0] != "%":
            self._fail_expecting("expected SSA operand")
        tokens.index += 1
        if tokens.texts[tokens.index] != ":":
            self._fail_expecting("expected ':' and type for SSA operand")
        tokens.index += 1
        type = self.parse_type()
        return text[1:], type, self.parse_optional_location(), start

    def parse_optional_successor(self) -> Block | None:
        tokens = self.tokens
        label = tokens.texts[tokens.index]
        if label[0] != "^":
            return None
        block = self._get_block_from_name(Span(self.pos, self.pos + len(label), tokens.input))
        tokens.index += 1
        return block

    def parse_successor(self) -> Block:
        block = self.parse_optional_successor()
        return self._fail_expecting("expected block name") if block is None else block

    def _get_block_from_name(self, block_name: Span[str]) -> Block:
        name = block_name.text[1:]
        known = self.blocks.get(name)
        if known is not None:
            return known[0]
        self.forward_block_references[name] = [block_name]
        block = self._new_block(name)
        self.blocks[name] = block, None
        return block

    def _check_all_blocks_defined(self) -> None:
        for spans in self.forward_block_references.values():
            self._fail(spans[0].start, "reference to an undefined block")

    # Files

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        block = Block()
        texts, tokens = self.tokens.texts, self.tokens
        while (text := texts[tokens.index]) is not END:
            if text[0] in "#!":
                self._parse_alias_def()
            elif text == "{-#":
                self._parse_file_metadata_dictionary()
            else:
                self._parse_operation_into(block)
        self._check_all_defined()
        # MLIR makes a module around what stands at the top level, unless that is one module.
        first = block.first_op
        if isinstance(first, ModuleOp) and first.next_op is None:
            block.detach_op(first)
            module = first
        elif allow_implicit_module:
            # Ours, which prints and verifies as MLIR's does.
            module_class = cast(type[ModuleOp], self.ctx.get_op("builtin.module"))
            module = module_class(Region(block))
            module.location = self.source.location(0)
        else:
            self._fail(0, "expected a single 'builtin.module' operation")
        self._resolve_pending_locations(module)
        return module

    def _check_all_defined(self) -> None:
        uses = [value for values in self.forward_ssa_references.values() for value in values.values()]
        # An operation whose own body defines what it uses did not exist yet when that was resolved.
        uses += [reference for reference in self.resolved_references if reference.first_use is not None]
        offsets = sorted(use.offset for use in uses if isinstance(use, ForwardReference))
        if offsets:
            raise CompileError([self._error(offset, "use of undeclared SSA value name") for offset in offsets])
        self._check_all_blocks_defined()

    def _error(self, offset: int, text: str) -> Diagnostic:
        return Diagnostic(Severity.ERROR, text, self.source.location(offset))

    def _resolve_pending_locations(self, module: ModuleOp) -> None:
        if not self.pending_locations:
            return
        found: dict[int, LocationAttr] = {}
        for key, (_, alias, offset) in self.pending_locations.items():
            attribute = self.attribute_aliases.get(alias)
            if attribute is None:
                self._fail(offset, "operation location alias was never defined")
            found[key] = as_location(self, offset, attribute)
        for op in module.walk():
            op.location = found.get(id(op.location), op.location)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.location = found.get(id(argument.location), argument.location)

    def _parse_alias_def(self) -> None:
        tokens = self.tokens
        name, start = tokens.texts[tokens.index], self.pos
        kind = "type" if name[0] == "!" else "attribute"
        if name in self.attribute_aliases:
            self._fail(start, f"redefinition of {kind} alias id '{name[1:]}'")
        if "." in name:
            self._fail(start, f"{kind} names with a '.' are reserved for dialect-defined names")
        tokens.index += 1
        self.parse_characters("=", f" in {kind} alias definition")
        # Aliases of aliases multiply, so inside a definition also short ones count.
        first, before, self.counts_all_aliases = tokens.index, self.expanded_tokens, True
        self.attribute_aliases[name] = self.parse_type() if kind == "type" else self.parse_attribute()
        size, self.counts_all_aliases = tokens.index - first + self.expanded_tokens - before, False
        if size > MOST_ALIAS_TOKENS and size > tokens.index - first:
            self._fail(start, f"'{name}' stands for more than {MOST_ALIAS_TOKENS} tokens when it is written out")
        self.alias_tokens[name], self.expanded_tokens = size, before

    def _parse_metadata_element(self) -> None:
        start = self.pos
        key = self.parse_optional_identifier()
        if key is None:
            self._fail_expecting("expected identifier key in file metadata dictionary")
        self.parse_characters(":")
        if key == "dialect_resources":
            self._parse_dialect_resources()
        elif key == "external_resources":
            self.parse_list(self.Delimiter.BRACES, self._skip_resource)
        else:
            self._fail(start, f"unknown key '{key}' in file metadata dictionary")

    def _skip_resource(self) -> None:
        """A key and what it stands for: resources of other tools mean nothing here."""
        self.parse_identifier_or_str_literal()
        self.parse_characters(":")
        if self.tokens.texts[self.tokens.index] == "{":
            self.parse_list(self.Delimiter.BRACES, self._skip_resource)
        elif self.parse_optional_str_literal() is None:
            self.parse_boolean()

    # Operations

    def parse_optional_operation(self) -> Operation | None:
        first = self.tokens.texts[self.tokens.index][0]
        return self.parse_operation() if first in IDENTIFIER_STARTS or first in '%"' else None

    def parse_operation(self) -> Operation:
        tokens = self.tokens
        texts, first = tokens.texts, tokens.index
        names: Sequence[_ResultName] = ()
        if texts[first][0] == "%":
            if texts[first + 1] == "=":
                tokens.index = first + 2
                # The usual case, without the loop below.
                names = (_ResultName(texts[first][1:], 1, tokens.starts[first]),)
            else:
                names = self._parse_result_names()
        name = texts[tokens.index]
        location = self.source.location(tokens.starts[tokens.index])
        if name[0] in IDENTIFIER_STARTS:
            op = self._parse_custom_operation(name)
            op.location = location
            # A terminator that was left out has been made by the parser of the operation, without location.
            if op.regions:
                _locate_terminators(op)
            if texts[tokens.index] == "loc":
                op.location = self.parse_optional_location() or location
        elif name[0] == '"':
            op = self._parse_quoted_operation(location)
        else:
            self._fail_expecting("expected operation name in quotes")
        if names:
            self._define_results(op, names, tokens.starts[first])
        return op

    def _parse_result_names(self) -> list[_ResultName]:
        tokens = self.tokens
        texts = tokens.texts
        names: list[_ResultName] = []
        while True:
            index = tokens.index
            text = texts[index]
            if text[0] != "%":
                self._fail_expecting("expected valid ssa identifier")
            tokens.index = index + 1
            count = self._parse_result_count() if texts[index + 1] == ":" else 1
            names.append(_ResultName(text[1:], count, tokens.starts[index]))
            if texts[tokens.index] != ",":
                break
            tokens.index += 1
        self.parse_characters("=", " after SSA name")
        return names

    def _parse_result_count(self) -> int:
        tokens = self.tokens
        text = tokens.texts[tokens.index + 1]
        tokens.index += 1
        if text[0] not in DIGITS or "." in text:
            self._fail_expecting("expected integer number of results")
        count = integer_value(text)
        if count < 1:
            self._fail_expecting("expected named operation to have at least 1 result")
        tokens.index += 1
        return count

    def _define_results(self, op: Operation, names: Sequence[_ResultName], offset: int) -> None:
        results = op.results
        if len(names) == 1:
            name, size, start = names[0]
            if size == len(results):
                self.define_values(name, results, start)
                return
        if not results:
            self._fail(offset, "cannot name an operation with no results")
        given = sum(name.size for name in names)
        if given != len(results):
            self._fail(offset, f"operation defines {len(results)} results but was provided {given} to bind")
        first = 0
        for name, size, start in names:
            self.define_values(name, results[first : first + size], start)
            first += size

    # Operations in their own syntax

    def _parse_custom_operation(self, name: str) -> Operation:
        stack = self._parser_state.dialect_stack
        full_name, dialect, parse = self._op_classes.get(name) or self._find_custom_operation(name)
        tokens = self.tokens
        outer = self.custom_op, self.custom_op_offset
        self.custom_op, self.custom_op_offset = full_name, tokens.starts[tokens.index]
        tokens.index += 1
        # Inside its own syntax an operation's dialect goes without saying: `func.func` may write `return`.
        stack.append(dialect)
        op = parse(self)
        if op.attributes and isinstance(op, IRDLOperation):
            # As in MLIR, what stands in the attr-dict under the name of a property is that property.
            for name in op.get_irdl_definition().properties.keys() & op.attributes.keys():
                op.properties[name] = op.attributes.pop(name)
        stack.pop()
        self.custom_op, self.custom_op_offset = outer
        return op

    def _find_custom_operation(self, name: str) -> _CustomSyntax:
        from tilewright.ir.format_parser import custom_parser

        stack = self._parser_state.dialect_stack
        op_class = self.ctx.get_optional_op(name, dialect_stack=stack)
        if op_class is None or issubclass(op_class, UnregisteredOp):
            self._fail_unknown_operation(name)
        found = op_class.name, op_class.dialect_name(), custom_parser(op_class)
        # A name without dialect means something else in another region, so it is not kept.
        if op_class.name == name:
            self._op_classes[name] = found
        return found

    def _fail_unknown_operation(self, name: str) -> NoReturn:
        dialect, dot, _ = name.partition(".")
        if not dot:
            tried = f"{self._parser_state.dialect_stack[-1]}.{name}"
            self._fail(self.pos, f"custom op '{name}' is unknown (tried '{tried}' as well)")
        if self.ctx.get_optional_dialect(dialect) is not None:
            self._fail(self.pos, f"custom op '{name}' is unknown")
        self._fail(self.pos, f"Dialect `{dialect}' not found for custom op '{name}' ", self._known_dialects())

    # Operations in generic syntax

    def _parse_quoted_operation(self, location: SourceLocation) -> Operation:
        name = self.parse_str_literal()
        if not name:
            self._fail(location.offset, "empty operation name is invalid")
        op_class = self._generic_classes.get(name)
        if op_class is None:
            op_class = self._generic_classes[name] = self._get_op_by_name(name)
        stack = self._parser_state.dialect_stack
        outer, self.custom_op = self.custom_op, None
        stack.append(name.partition(".")[0])
        op = self._parse_generic_operation(op_class, location)
        stack.pop()
        self.custom_op = outer
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        dialect, dot, _ = name.partition(".")
        known = dot and self.ctx.get_optional_dialect(dialect) is not None
        op_class = self.ctx.get_optional_op(name) if dot or self.ctx.allow_unregistered else None
        if known and (op_class is None or issubclass(op_class, UnregisteredOp)):
            self._fail(
                self.tokens.starts[self.tokens.index - 1],
                f"unregistered operation '{name}' found in dialect ('{dialect}') "
                "that does not allow unknown operations",
            )
        if op_class is None:
            self._fail(
                self.pos,
                "operation being parsed with an unregistered dialect. If this is intended, please use "
                "-allow-unregistered-dialect with the MLIR tool used",
                self._known_dialects(),
            )
        return op_class

    def _parse_generic_operation(self, op_type: type[Operation], location: LocationAttr | None = None) -> Operation:
        tokens = self.tokens
        texts = tokens.texts
        operands = self._parse_generic_operands()
        successors = self.parse_list(self.Delimiter.SQUARE, self.parse_successor) if texts[tokens.index] == "[" else ()
        properties = self.parse_optional_properties_dict() if texts[tokens.index] == "<" else {}
        regions = self.parse_region_list() if texts[tokens.index] == "(" else ()
        attributes = self._parse_entries() if texts[tokens.index] == "{" else {}
        if texts[tokens.index] != ":":
            self._fail_expecting("expected ':' followed by operation type")
        tokens.index += 1
        start = self.pos
        if texts[tokens.index] != "(":
            self.parse_type()
            self._fail(start, "expected function type")
        inputs, outputs = self._parse_signature()
        if attributes and issubclass(op_type, IRDLOperation):
            # Before properties had a place of their own they stood among the attributes; MLIR still reads that.
            for name in op_type.get_irdl_definition().properties:
                if name in attributes and name not in properties:
                    properties[name] = attributes.pop(name)
        values = self.resolve_operands(operands, inputs, start)
        location = self.parse_optional_location() or location or self.source.location(start)
        if (read := getattr(op_type, "from_generic", None)) is not None:
            # A name of former times: what is read is another operation.
            op: Operation = read(self, values, properties | attributes)
            op.location = location
            return op
        return create_operation(op_type, values, outputs, properties, attributes, successors, regions, location)

    def _parse_generic_operands(self) -> list[Operand]:
        self.parse_characters("(", " to start operand list")
        operands = self.parse_optional_undelimited_comma_separated_list(
            self.parse_optional_unresolved_operand, self.parse_unresolved_operand
        )
        self.parse_characters(")", " to end operand list")
        return operands or []

    def parse_optional_properties_dict(self) -> dict[str, Attribute]:
        if self.parse_optional_characters("<") is None:
            return {}
        if self.tokens.texts[self.tokens.index] != "{":
            self._fail_expecting("expected attribute value")
        properties = self._parse_entries()
        self.parse_characters(">", " to close properties")
        return properties


def _locate_terminators(op: Operation) -> None:
    """Terminators that the text leaves out are where their operation is, whatever location is written behind it."""
    for region in op.regions:
        block = region._first_block
        while block is not None:
            last = block._last_op
            if last is not None and last.location is UNKNOWN_LOC:
                last.location = op.location
            block = block._next_block
