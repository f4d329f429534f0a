"""Values by name: uses that come before definitions, and scopes that end with their region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import ForwardDeclaredValue, UnresolvedOperand
from xdsl.utils.lexer import Input, Span

from tilewright.ir.attribute_parser import AttributeParser
from tilewright.ir.shown import quoted
from tilewright.ir.token_parser import DIGITS

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


class ValueParser(AttributeParser):
    """The part of the reader that knows values."""

    definition_offsets: dict[str, int]
    """Where each value in scope got its name."""

    names_in_region: list[str]
    """Names that go out of scope with the region being read; no region copies the names around it."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.ssa_values = {}
        self.forward_ssa_references = {}
        self.resolved_references: list[ForwardReference] = []
        self.definition_offsets = {}
        self.names_in_region = []

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
