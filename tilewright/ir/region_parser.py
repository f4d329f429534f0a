"""Values by name, blocks and regions: uses that come before definitions, and scopes that end with their region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, UnresolvedOperand
from xdsl.parser import Parser as XdslParser
from xdsl.utils.lexer import Input, Span

from tilewright.ir.attribute_parser import AttributeParser
from tilewright.ir.create import append_operation
from tilewright.ir.lexer import DIGITS
from tilewright.ir.shown import quoted

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


class RegionParser(AttributeParser):
    """The part of the reader that knows values and regions."""

    definition_offsets: dict[str, int]
    """Where each value in scope got its name."""

    names_in_region: list[str]
    """Names that go out of scope with the region being read; no region copies the names around it."""

    pending_ops: list[Operation]
    """What the custom form of an operation brings about besides it, to be put before it."""

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

    # Values

    def parse_optional_unresolved_operand(self) -> Operand | None:
        tokens = self.tokens
        texts, index = tokens.texts, tokens.index
        text = texts[index]
        if text[0] != "%":
            return None
        tokens.index = index + 1
        if texts[index + 1][0] != "#":
            return Operand(text[1:], 0, tokens.starts[index], tokens.input)
        tokens.index = index + 2
        number = texts[index + 1][1:]
        if not number.isdigit():
            self._fail(tokens.starts[index + 1], "invalid SSA value result number")
        return Operand(text[1:], int(number), tokens.starts[index], tokens.input)

    def parse_unresolved_operand(self, msg: str = "expected SSA operand") -> Operand:
        operand = self.parse_optional_unresolved_operand()
        if operand is None:
            self._fail_expecting(msg)
        return operand

    def resolve_operand(self, operand: UnresolvedOperand, type: _AttributeT) -> SSAValue[_AttributeT]:
        name = operand.name if isinstance(operand, Operand) else operand.operand_name
        index = operand.index
        values = self.ssa_values.get(name)
        if values is not None:
            if index >= len(values):
                self._fail(operand.span.start, "reference to invalid result number")
            value = values[index]
            if value._type is type or value._type == type:
                return value  # pyright: ignore[reportReturnType]
            self._fail_prior_type(operand, value, self.definition_offsets[name], type)
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
        if name[0] not in DIGITS:
            for value in values:
                value._name = name

    def _resolve_references(self, name: str, values: tuple[SSAValue, ...], offset: int) -> None:
        for index, reference in self.forward_ssa_references.pop(name).items():
            used_at = cast(ForwardReference, reference).offset
            if index >= len(values):
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
        if argument is None:
            self._fail_expecting("expected SSA operand")
        return argument

    def parse_region(self, arguments: Iterable[XdslParser.Argument] | None = None) -> Region:
        region = self.parse_optional_region(arguments)
        if region is None:
            self._fail_expecting("expected '{' to begin a region")
        return region

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
        outer = self.blocks, self.forward_block_references, self.names_in_region
        self.blocks, self.forward_block_references, self.names_in_region = {}, {}, []
        region = Region()
        named, has_label = list(arguments or ()), texts[tokens.index][0] == "^"
        if named and has_label:
            self._fail_expecting("invalid block name in region with named arguments")
        if arguments is not None and not has_label:
            block = Block()
            self._add_arguments(block, ((a.name.text[1:], a.type, a.location, a.name.start) for a in named))
            region.add_block(block)
            self._parse_block_body(block)
        elif texts[tokens.index][0] not in "^}":
            block = Block()
            region.add_block(block)
            self._parse_block_body(block)
        while texts[tokens.index] != "}":
            region.add_block(self._parse_block())
        tokens.index += 1
        self._check_all_blocks_defined()
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
        self.forward_block_references.pop(name, None)
        self.blocks[name] = block, Span(start, start + len(label), tokens.input)
        if tokens.texts[tokens.index] == "(":
            self._parse_optional_block_arg_list(block)
        self.parse_characters(":", " after block name")
        self._parse_block_body(block)
        return block

    def _new_block(self, name: str) -> Block:
        block = Block()
        if not Block.is_default_block_name(name) and name[0] not in DIGITS:
            block._name = name
        return block

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        if self.tokens.texts[self.tokens.index] != "(":
            return None
        arguments = self.parse_list(self.Delimiter.PAREN, self._parse_block_argument)
        self._add_arguments(block, arguments)
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
        if block is None:
            self._fail_expecting("expected block name")
        return block

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
