"""Memory: buffers in a tile, and buffers outside the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, base, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tilewright.device import TileType
from tilewright.dialects._ods import i32_attr, i64_attr, op_definition
from tilewright.dialects._syntax import parse_typed_elements, print_attributes, print_typed_elements, split_attributes
from tilewright.dialects.aie.accessibility import verify_users_reach
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted

ELEMENTS = described(base(DenseIntOrFPElementsAttr) | base(DenseResourceAttr), "constant vector/tensor attribute")
MEMREF = base(MemRefType)


@op_definition
class BufferOp(TileElement):
    """A buffer in the data memory of a tile."""

    name = "aie.buffer"

    tile = operand_def(INDEX)
    sym_name = opt_prop_def(StringAttr)
    address = opt_prop_def(i32_attr())  # bytes from the start of the tile's memory
    initial_value = opt_prop_def(ELEMENTS)
    mem_bank = opt_prop_def(i32_attr())  # asked for, or what the allocation of addresses chose
    aligned = prop_def(BoolAttr, default_value=BoolAttr.from_bool(True))
    buffer = result_def(MEMREF)

    def __init__(self, tile: SSAValue, type: MemRefType, sym_name: str | None = None, address: int | None = None):
        super().__init__(
            operands=[tile],
            result_types=[type],
            properties={
                "sym_name": None if sym_name is None else StringAttr(sym_name),
                "address": None if address is None else IntegerAttr(address, i32),
            },
        )

    @property
    def size_bytes(self) -> int:
        type = self.buffer.type
        return (element_count(type) or 0) * element_bytes(type)

    @property
    def address_bytes(self) -> int | None:
        return None if self.address is None else self.address.value.data

    def result_names(self) -> Sequence[str | None]:
        return super().result_names() if self.sym_name is None else [self.sym_name.data]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        with parser.in_parens():
            tile = parser.parse_operand(INDEX)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isa(type, MemRefType):
            parser.raise_error(f"invalid kind of type specified: expected builtin.memref, but found '{type}'")
        if not type.has_static_shape():
            parser.raise_error(f"type should be static shaped memref, but got '{type}'", start)
        if parser.parse_optional_punctuation("=") is not None:
            properties["initial_value"] = _parse_initial_value(parser, type)
        return cls.create(operands=[tile], result_types=[type], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_ssa_value(self.tile)
        printer.print_string(")")
        print_attributes(printer, self, elided=("initial_value",))
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        printer.print_string(" ")  # upstream writes it also where no value follows
        if self.initial_value is not None:
            printer.print_string("= ")
            print_typed_elements(printer, self.initial_value)

    def verify_(self) -> None:
        # shim tiles have no memory of their own: what they move lies in the host's
        self.require_tile("tile with local memory", TileType.CoreTile, TileType.MemTile)
        verify_users_reach(self)
        wanted = _contents_type(self.buffer.type)
        if self.initial_value is not None and self.initial_value.get_type() != wanted:
            given = quoted(self.initial_value.get_type())
            raise VerifyException(f"initial value should be of type {quoted(wanted)}, but is of type {given}")


def _contents_type(type: MemRefType) -> TensorType[Attribute]:
    # elements attributes are tensors: a memref is a place, not a value
    return TensorType(type.element_type, type.shape)


def _parse_initial_value(parser: Parser, type: MemRefType) -> Attribute:
    start = parser.pos
    value = parse_typed_elements(parser, _contents_type(type))
    if not isa(value, DenseIntOrFPElementsAttr) and not isinstance(value, DenseResourceAttr):
        parser.raise_error("initial value should be an elements attribute", start)
    return value


@op_definition
class ExternalBufferOp(IRDLOperation):
    """A buffer in host memory, whose address is known at run time."""

    name = "aie.external_buffer"

    sym_name = opt_prop_def(StringAttr)
    address = opt_prop_def(i64_attr())
    buffer = result_def(MEMREF)

    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, type: MemRefType, sym_name: str | None = None):
        super().__init__(
            result_types=[type], properties={"sym_name": None if sym_name is None else StringAttr(sym_name)}
        )

    def result_names(self) -> Sequence[str | None]:
        return [None if self.sym_name is None else self.sym_name.data]


OPS: Sequence[type[IRDLOperation]] = [BufferOp, ExternalBufferOp]
