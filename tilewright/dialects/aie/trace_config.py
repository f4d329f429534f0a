"""Traces on their way to the hardware: the register writes that set one up, and the sequence that switches it on."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BoolAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Keyword
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    SignlessAttr,
    enum_attr,
    enum_to_attr,
    enum_value,
    i32_attr,
    op_definition,
)
from tilewright.dialects._syntax import parse_i32, parse_optional_i32, print_attributes, split_attributes
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.trace import PACKET_TYPE, TracePacketType
from tilewright.dialects.aie.trace_event import parse_event, print_event
from tilewright.ir.constraints import described


class TraceShimRouting(Keyword):
    single = 0  # all traces leave through one shim tile; upstream has no other way yet


@op_definition
class TraceConfigOp(BlockOp):
    """A trace as the register writes that set it up."""

    name = "aie.trace.config"

    tile = operand_def(INDEX)
    sym_name = prop_def(SymbolNameConstraint())
    packet_type = opt_prop_def(PACKET_TYPE)
    body = region_def("single_block")

    traits = lazy_traits_def(lambda: (SymbolOpInterface(), ParentOp("aie.device"), ImplicitTerminator(EndOp)))
    assembly_format = "$sym_name `(` $tile `)` (`packet_type` `=` $packet_type^)? $body attr-dict"

    def __init__(self, name: str, tile: SSAValue, packet_type: TracePacketType, writes: Sequence[TraceRegOp]):
        super().__init__(
            operands=[tile],
            properties={"sym_name": StringAttr(name), "packet_type": enum_to_attr(packet_type)},
            regions=[Region(Block([*writes]))],
        )

    @property
    def records_memory(self) -> bool:
        """Whether the unit of a core tile's memory module is meant."""
        return self.packet_type is not None and enum_value(TracePacketType, self.packet_type) is TracePacketType.mem

    @property
    def writes(self) -> list[TraceRegOp]:
        return [op for op in self.body.ops if isinstance(op, TraceRegOp)]


@irdl_custom_directive
class TraceRegValue(CustomDirective):
    """A number, or an event that will become one."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        number = parse_optional_i32(parser)  # a pattern of bits, so of either sign
        self.value.set(state, parse_event(parser) if number is None else number)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        value: Attribute | None = self.value.get(op)
        if value is not None:
            print_event(printer, value)


@op_definition
class TraceRegOp(IRDLOperation):
    """One write to a field of a register, or to the bits of it that a mask selects."""

    name = "aie.trace.reg"

    reg_name = prop_def(StringAttr)
    field = opt_prop_def(StringAttr)
    value = prop_def(described(i32_attr() | base(StringAttr), "32-bit number or name of an event"))
    mask = opt_prop_def(i32_attr())  # in place of a field
    comment = opt_prop_def(StringAttr)

    traits = traits_def(ParentOp("aie.trace.config"))
    custom_directives = (TraceRegValue,)
    assembly_format = (
        "`register` `=` $reg_name (`field` `=` $field^)? `value` `=` custom<TraceRegValue>($value) "
        "(`mask` `=` $mask^)? (`comment` `=` $comment^)? attr-dict"
    )

    def __init__(self, register: str, field: str, value: int | str, comment: str):
        """A write to a field; the value may be the name of an event, or a port of the switch: `North:1`."""
        super().__init__(
            properties={
                "reg_name": StringAttr(register),
                "field": StringAttr(field),
                "value": StringAttr(value) if isinstance(value, str) else IntegerAttr(int(value), i32),
                "comment": StringAttr(comment),
            }
        )


@op_definition
class TraceHostConfigOp(IRDLOperation):
    """The host buffer that a sequence's traces go to."""

    name = "aie.trace.host_config"

    buffer_size = prop_def(i32_attr())  # bytes
    reuse_output_buffer = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    routing = prop_def(
        enum_attr(TraceShimRouting, "Shim tile routing strategy for trace collection"),
        default_value=enum_to_attr(TraceShimRouting.single),
    )
    egress_shim_col = prop_def(i32_attr(), default_value=IntegerAttr(0, i32))

    traits = traits_def(ParentOp("aie.runtime_sequence"))

    @classmethod
    def parse(cls, parser: Parser) -> TraceHostConfigOp:
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        # the size is required, so a dictionary without properties is followed by the older form
        return cls.create(properties=properties or _parse_older_config(parser), attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)

    def verify_(self) -> None:
        if self.buffer_size.value.data <= 0:
            raise VerifyException("buffer_size must be positive")
        if self.egress_shim_col.value.data < 0:
            raise VerifyException("egress_shim_col must be >= 0")


def _parse_older_config(parser: Parser) -> dict[str, Attribute]:
    """`buffer_size = 8192 arg_idx = -1 routing = single egress_shim_col = 1`, all but the first optional.

    An index of -1 meant the end of the last argument; any other has become the argument that is added for the trace.
    """
    size = _parse_optional_number(parser, "buffer_size")
    index = _parse_optional_number(parser, "arg_idx")
    if parser.parse_optional_keyword("routing") is not None:
        parser.parse_punctuation("=")
        routing = parser.parse_identifier()
        if routing not in TraceShimRouting.__members__:
            parser.raise_error(f"unknown routing strategy: {routing}")
    column = _parse_optional_number(parser, "egress_shim_col")
    reuse = BoolAttr.from_bool(True) if index is not None and index.value.data == -1 else None
    found = {"buffer_size": size, "egress_shim_col": column, "reuse_output_buffer": reuse}
    return {name: attribute for name, attribute in found.items() if attribute is not None}


def _parse_optional_number(parser: Parser, name: str) -> SignlessAttr | None:
    if parser.parse_optional_keyword(name) is None:
        return None
    parser.parse_punctuation("=")
    return parse_i32(parser)


@op_definition
class TraceStartConfigOp(IRDLOperation):
    """Switch a trace on."""

    name = "aie.trace.start_config"

    trace_config = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "$trace_config attr-dict"

    def __init__(self, trace: str):
        super().__init__(properties={"trace_config": SymbolRefAttr(trace)})

    def verify_(self) -> None:
        if not self.trace_config.string_value():
            raise VerifyException("trace config symbol name cannot be empty")


OPS = [TraceConfigOp, TraceRegOp, TraceHostConfigOp, TraceStartConfigOp]
