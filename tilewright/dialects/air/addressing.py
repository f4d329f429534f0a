"""Devices and their memories as values: pools of devices, addresses of other ranks, and user-defined operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    base,
    operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    parse_operands,
    parse_types,
    print_operands,
    print_types,
    segments,
    split_attributes,
)
from tilewright.dialects.air.asynchronous import SEGMENT_SIZES, AsyncOp, parse_dependencies, print_dependencies
from tilewright.dialects.air.types import ANY_TOKEN, ANY_UNIVERSE, TOKEN
from tilewright.ir.constraints import described

RANKED = described(base(MemRefType), "memref of any type values")
HEAP_BASES = described(MemRefType.constr(IndexType()), "1D memref of index values", lambda t: t.get_num_dims() == 1)


@op_definition
class UniverseAllocOp(IRDLOperation):
    """A pool of at most `capacity` devices."""

    name = "air.universe.alloc"

    capacity = operand_def(INDEX)
    universe = result_def(ANY_UNIVERSE)

    traits = traits_def(Pure())
    assembly_format = "`(` $capacity `)` attr-dict"


@op_definition
class TranslateOp(IRDLOperation):
    """The buffer of another rank: `source` moved from the heap of `from_rank` to that of `to_rank`.

    `heap_bases` holds the address of each rank's heap, as this process sees it.
    """

    name = "air.translate"

    T: ClassVar = VarConstraint("T", RANKED)
    source = operand_def(T)
    from_rank = operand_def(INDEX)
    to_rank = operand_def(INDEX)
    heap_bases = operand_def(HEAP_BASES)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = (
        "$source `,` $from_rank `,` $to_rank `,` $heap_bases attr-dict `:` type($source) `,` type($heap_bases)"
    )

    def __init__(self, source: SSAValue, from_rank: SSAValue, to_rank: SSAValue, heap_bases: SSAValue):
        super().__init__(operands=[source, from_rank, to_rank, heap_bases], result_types=[source.type])

    @property
    def is_identity(self) -> bool:
        """Whether both ranks are known to be the same."""
        if self.from_rank is self.to_rank:  # whatever its number is
            return True
        ranks = [_constant(rank) for rank in (self.from_rank, self.to_rank)]
        return None not in ranks and ranks[0] == ranks[1]


def _constant(value: SSAValue) -> int | None:
    maker = value.owner
    number = maker.properties.get("value") if isinstance(maker, Operation) and maker.name == "arith.constant" else None
    return cast(IntegerAttr, number).value.data if isinstance(number, IntegerAttr) else None


@op_definition
class CustomOp(AsyncOp):
    """Stands for an operation of the user's."""

    name = "air.custom"

    async_dependencies = var_operand_def(ANY_TOKEN)
    custom_operands = var_operand_def()  # of any types: only the user knows
    symbol = opt_prop_def(SymbolRefAttr)
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_optional_symbol_name()
        is_async, operands = parse_dependencies(parser)
        count = len(operands)
        if parser.parse_optional_keyword("operands") is not None:
            written = parse_operands(parser, PAREN)
            if written:
                parser.parse_punctuation(":")
                operands += parser.resolve_operands(written, parse_types(parser), parser.pos)
        dictionary = parser.parse_optional_attr_dict_with_keyword()
        properties, attributes = split_attributes(cls, {} if dictionary is None else dictionary.data)
        # the name is no property here: the operation only stands for one that is defined elsewhere
        attributes |= {} if name is None else {"sym_name": name}
        properties[SEGMENT_SIZES] = segments(count, len(operands) - count)
        return cls.create(
            operands=operands, result_types=[TOKEN] if is_async else [], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        name = self.attributes.get("sym_name")
        if isinstance(name, StringAttr):
            printer.print_string(" ")
            printer.print_symbol_name(name.data)
        print_dependencies(printer, self)
        if self.custom_operands:
            printer.print_string(" operands ")
            print_operands(printer, self.custom_operands, "()")
            printer.print_string(" : ")
            print_types(printer, [value.type for value in self.custom_operands])
        shown = {key: value for key, value in self.attributes.items() if key != "sym_name"}
        shown |= {"symbol": self.symbol} if self.symbol is not None else {}
        if shown:
            printer.print_op_attributes(shown, print_keyword=True)


OPS: Sequence[type[IRDLOperation]] = [UniverseAllocOp, TranslateOp, CustomOp]
