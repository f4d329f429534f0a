"""Regions, blocks and block arguments."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser as XdslParser
from xdsl.utils.lexer import Span

from tilewright.ir.create import append_operation
from tilewright.ir.token_parser import DIGITS
from tilewright.ir.value_parser import ValueParser


class RegionParser(ValueParser):
    """The part of the reader that knows regions."""

    pending_ops: list[Operation]
    """What the custom form of an operation brings about besides it, to be put before it."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.blocks = {}
        self.forward_block_references = {}
        self.pending_ops = []

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
