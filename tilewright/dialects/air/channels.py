"""Channels by name, and the two ends of a transfer through one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._parents import ancestors, parent_of_type
from tilewright.dialects._syntax import (
    INDEX,
    SQUARE,
    parse_operands,
    print_attributes,
    print_operands,
    split_attributes,
)
from tilewright.dialects.air.accesses import Transfer, access_format
from tilewright.dialects.air.asynchronous import ASYNC
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.air.types import ANY_TOKEN, MemorySpace, memory_space
from tilewright.dialects.memref.types import ANY_MEMREF
from tilewright.dialects.scf import ForOp
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import lookup_symbol

STREAM, PACKET, CASCADE, MMIO, SYMMETRIC = CHANNEL_TYPES = (
    "npu_dma_stream",
    "npu_dma_packet",
    "npu_cascade",
    "npu_mmio",
    "gpu_symmetric_heap",
)
"""How data travels: by DMA, by DMA in packets, between neighbours, written by the host, between ranks."""

I64_ARRAY = described(ArrayAttr.constr(IntegerAttr.constr(i64)), "64-bit integer array attribute")
INDICES = DenseArrayBase.constr(i64)


@op_definition
class ChannelOp(IRDLOperation):
    """A channel, or an array of them of shape `size`."""

    name = "air.channel"

    sym_name = prop_def(StringAttr)
    size = prop_def(I64_ARRAY, ArrayAttr(()))
    channel_type = prop_def(StringAttr, StringAttr(STREAM))

    traits = traits_def(SymbolOpInterface())

    @property
    def broadcast_shape(self) -> ArrayAttr[Attribute] | None:
        """The shape of the array at the receiving end, where that is larger."""
        shape = self.attributes.get("broadcast_shape")  # discardable, as upstream has it
        return cast("ArrayAttr[Attribute]", shape) if isinstance(shape, ArrayAttr) else None

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        position = parser.pos
        entries = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        # numbers without a type are read as i64
        if not all(isinstance(entry, IntegerAttr) and cast(IntegerAttr, entry).type == i64 for entry in entries):
            parser.raise_error("expects the sizes to be integers", position)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        properties |= {"sym_name": name, "size": ArrayAttr(entries)}
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" [")
        printer.print_list(self.size, lambda size: printer.print_string(str(size.value.data)))
        printer.print_string("]")
        print_attributes(printer, self, ("sym_name", "size"))

    def verify_(self) -> None:
        kind = self.channel_type.data
        if kind not in CHANNEL_TYPES:
            *first, last = (f'"{known}"' for known in CHANNEL_TYPES)
            raise VerifyException(f'unsupported channel_type "{kind}"; expected one of {", ".join(first)}, or {last}')
        shape = self.broadcast_shape
        if shape is not None:
            verify_broadcast(self.size.data, shape.data)
        verify_refeed_count(self)
        verify_packet_ids(self, is_packet=kind == PACKET)


@irdl_custom_directive
class ChannelReference(CustomDirective):
    """`@name[%index, ...]`; any other attribute in place of the name is a mistake here, not in the verifier."""

    name: AttributeVariable
    indices: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.name.set(state, SymbolRefAttr(parser.parse_symbol_name()))
        self.indices.set(state, parse_operands(parser, SQUARE))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.name.print(printer, state, op)
        print_operands(printer, self.indices.get(op))


def _end_format(side: str, receiver: str = "") -> str:
    return (
        f"{ASYNC} custom<ChannelReference>($chan_name, $indices) ` ` `(` {access_format(side)} `)` {receiver} "
        f"attr-dict `:` `(` type(${side}) `)`"
    )


class ChannelEnd(Transfer):
    """Puts a part of a buffer into a channel, or gets it from there."""

    custom_directives = (*Transfer.custom_directives, ChannelReference)

    SIDE: ClassVar[str]

    channel_name = prop_def(FlatSymbolRefAttrConstr, prop_name="chan_name")

    @property
    def indices_in_bundle(self) -> Sequence[SSAValue]:
        """Which channel of an array of them."""
        return self._groups[1]

    @property
    def channel(self) -> ChannelOp | None:
        """The channel, if it is declared."""
        # an operation that is not registered might be a table; programs inside of one are read all the same
        tables = (op for op in ancestors(self) if op.has_trait(SymbolTable, value_if_unregistered=False))
        table = next(tables, None)
        found = lookup_symbol(table, self.channel_name) if table is not None else None
        return found if isinstance(found, ChannelOp) else None

    def verify_(self) -> None:
        self.verify_access(self.SIDE)
        verify_refeed_count(self)
        self._verify_indices()
        channel = self.channel
        if channel is not None:
            self._verify_channel_type(channel)
        self.verify_padding()

    def _verify_indices(self) -> None:
        """Which channel is used is a matter of space, not of time."""
        for number, index in enumerate(self.indices_in_bundle):
            owner = index.owner
            loop = owner.parent_op() if isinstance(index, BlockArgument) else None
            if isinstance(loop, ForOp) and index is loop.body.block.args[0]:
                raise VerifyError(
                    f"channel index {number} is an scf.for induction variable; channel bundle indices must not be "
                    "temporal scf.for induction variables",
                    (loop, "unroll this loop, or make it an scf.parallel"),
                )

    def _verify_channel_type(self, channel: ChannelOp) -> None:
        kind = channel.channel_type.data
        if kind == MMIO:
            self._verify_mmio()
        if kind == SYMMETRIC and parent_of_type(self, RankOp) is None:
            raise VerifyError(
                f'channel_type="{SYMMETRIC}" {self.verb} requires an enclosing air.rank scope',
                (channel, f"the channel is declared here as {quoted(channel.channel_type)}"),
            )

    @property
    def verb(self) -> str:
        return self.name.removeprefix("air.channel.")

    def _verify_mmio(self) -> None:
        """The host writes a constant of its own memory into the memory of a core."""
        wanted, what = (MemorySpace.L3, "source") if self.SIDE == "src" else (MemorySpace.L1, "destination")
        # a buffer whose space has no number, or no rank, is trusted
        type = self.buffer(self.SIDE).type
        space = memory_space(type)
        if isinstance(type, MemRefType) and space is not None and space != wanted:
            raise VerifyException(
                f'channel_type="{MMIO}" {self.verb} {what} must be in {wanted.name} (memory_space={int(wanted)}), '
                f"got memory_space={space}"
            )


@op_definition
class ChannelPutOp(ChannelEnd):
    """Send a part of a buffer; `dest` chooses among the receivers of a packet channel."""

    name = "air.channel.put"

    async_dependencies = var_operand_def(ANY_TOKEN)
    indices = var_operand_def(INDEX)
    src = operand_def(ANY_MEMREF)
    dynamic_src_offsets = var_operand_def(INDEX)
    dynamic_src_sizes = var_operand_def(INDEX)
    dynamic_src_strides = var_operand_def(INDEX)
    dest = opt_operand_def(INDEX)
    static_src_offsets = prop_def(INDICES)
    static_src_sizes = prop_def(INDICES)
    static_src_strides = prop_def(INDICES)

    SIDES: ClassVar[dict[str, int]] = {"src": 2}
    SIDE: ClassVar[str] = "src"
    assembly_format = _end_format("src", "(`dest` `` `(` $dest^ `)`)?")


@op_definition
class ChannelGetOp(ChannelEnd):
    """Receive into a part of a buffer."""

    name = "air.channel.get"

    async_dependencies = var_operand_def(ANY_TOKEN)
    indices = var_operand_def(INDEX)
    dst = operand_def(ANY_MEMREF)
    dynamic_dst_offsets = var_operand_def(INDEX)
    dynamic_dst_sizes = var_operand_def(INDEX)
    dynamic_dst_strides = var_operand_def(INDEX)
    static_dst_offsets = prop_def(INDICES)
    static_dst_sizes = prop_def(INDICES)
    static_dst_strides = prop_def(INDICES)

    SIDES: ClassVar[dict[str, int]] = {"dst": 2}
    SIDE: ClassVar[str] = "dst"
    assembly_format = _end_format("dst")


OPS: Sequence[type[IRDLOperation]] = [ChannelOp, ChannelPutOp, ChannelGetOp]


REFEED_COUNT = "air.refeed_count"
PACKET_IDS = "packet_ids"
MAX_PACKET_ID = 31
"""Packet headers have five bits for the id."""
INT32_MAX = (1 << 31) - 1


def verify_broadcast(sizes: Sequence[Attribute], shape: Sequence[Attribute]) -> None:
    """The receiving end follows from the sending one by NumPy's broadcasting rules."""
    if len(sizes) != len(shape):
        raise VerifyException("bundle rank should match broadcast_shape rank")
    for number, (size_attr, wide_attr) in enumerate(zip(sizes, shape, strict=True)):
        size, wide = _integer(size_attr, f"size[{number}]"), _integer(wide_attr, f"broadcast_shape[{number}]")
        if wide < size:
            raise VerifyException(
                f"broadcast_shape[{number}] ({wide}) must be >= size[{number}] ({size}): broadcasting cannot shrink "
                "a dimension"
            )
        if size not in (wide, 1):  # NumPy's rule, which upstream quotes
            raise VerifyException(
                f"size[{number}] ({size}) is not compatible with broadcast_shape[{number}] ({wide}): size must be 1 "
                "or equal to broadcast_shape (NumPy broadcasting rules)"
            )


def _integer(attribute: Attribute, what: str) -> int:
    if not isinstance(attribute, IntegerAttr):
        raise VerifyException(f"expected integer attribute for {what}, but found {attribute}")
    return cast(IntegerAttr, attribute).value.data


def verify_refeed_count(op: IRDLOperation) -> None:
    """How often one buffer is sent again: it sizes the locks of the producer."""
    count = op.attributes.get(REFEED_COUNT)
    if count is None:
        return
    if not isinstance(count, IntegerAttr):
        raise VerifyException(f'"{REFEED_COUNT}" must be an integer attribute')
    value = cast(IntegerAttr, count).value.data
    if not 1 <= value <= INT32_MAX:
        raise VerifyException(f'"{REFEED_COUNT}" ({value}) must be in [1, INT32_MAX]')


def verify_packet_ids(op: IRDLOperation, is_packet: bool) -> None:
    """Ids that packets of the channel are routed by."""
    ids = op.attributes.get(PACKET_IDS)
    if ids is None:
        return
    if not isinstance(ids, ArrayAttr):
        raise VerifyException(f'"{PACKET_IDS}" must be an array attribute')
    if not is_packet:
        raise VerifyException(f'"{PACKET_IDS}" is only valid on a "npu_dma_packet" channel')
    # a number twice could not tell two receivers apart
    seen: set[int] = set()
    for entry in cast("ArrayAttr[Attribute]", ids):
        if not isinstance(entry, IntegerAttr):
            raise VerifyException(f'"{PACKET_IDS}" elements must be integer attributes')
        number = cast(IntegerAttr, entry).value.data
        if not 0 <= number <= MAX_PACKET_ID:
            raise VerifyException(f'"{PACKET_IDS}" id ({number}) must be in [0, {MAX_PACKET_ID}]')
        if number in seen:
            raise VerifyException(f'"{PACKET_IDS}" id ({number}) is duplicated')
        seen.add(number)
