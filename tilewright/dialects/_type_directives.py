"""Types in formats: of one kind, or such as tell other types, which are then not written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._syntax import parse_types
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted

TypeT = TypeVar("TypeT", bound=ParametrizedAttribute)


def parse_type_of(parser: Parser, kind: type[TypeT]) -> TypeT:
    """A builtin type of one kind."""
    position = parser.pos
    type = parser.parse_type()
    # MLIR reads that kind here, and names the one that it found.
    if not isinstance(type, kind):
        parser.raise_error(
            f"invalid kind of type specified: expected builtin.{kind.name}, but found {quoted(type)}", position
        )
    return type


@irdl_custom_directive
class TypeOfKind(PartDirective):
    """A type of one kind: another is an error of the reader, and not of the verifier."""

    type: TypeDirective

    KIND: ClassVar[type[ParametrizedAttribute]]

    @property
    def shown(self) -> TypeDirective:
        return self.type

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.type.set(state, (parse_type_of(parser, self.KIND),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.type.print(printer, state, op)


class RankedMemRef(TypeOfKind):
    KIND = MemRefType


class AnyVector(TypeOfKind):
    KIND = VectorType


@irdl_custom_directive
class SomeTypes(CustomDirective):
    """Types, at least one of them."""

    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.types.set(state, parse_types(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.types.print(printer, state, op)


@irdl_custom_directive
class TellingType(PartDirective):
    """A type from which others follow."""

    written: TypeDirective
    told: TypeDirective

    @property
    def shown(self) -> TypeDirective:
        return self.written

    @classmethod
    @abstractmethod
    def read(cls, parser: Parser) -> tuple[Attribute, Sequence[Attribute]]:
        """The type, and what it tells."""

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type, told = self.read(parser)
        self.written.set(state, (type,))
        self.told.set(state, told)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.written.print(printer, state, op)


class TypeOfBuffer(TellingType):
    """The type of a ranked memref, which tells that of its elements."""

    @classmethod
    def read(cls, parser: Parser) -> tuple[Attribute, Sequence[Attribute]]:
        type = parse_type_of(parser, MemRefType)
        return type, (type.element_type,)
