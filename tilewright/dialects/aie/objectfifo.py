"""Object FIFOs between tiles: what they are, where their buffers live, how to start them again."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    MemRefType,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tilewright.dialects._ods import ParentOp, i8_attr, i32_attr, op_definition
from tilewright.dialects._syntax import print_attributes, split_attributes
from tilewright.dialects.aie.attributes import (
    BDDimLayoutArrayArrayAttr,
    BDDimLayoutArrayAttr,
    BDPadLayoutArrayAttr,
)
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import ancestors, device_model, lookup_symbol, tile_of
from tilewright.dialects.aie.objectfifo_types import ObjectFifoType
from tilewright.ir.diagnostics import VerifyError

FALSE = BoolAttr.from_bool(False)
I32_ARRAY = DenseArrayBase.constr(i32)


def wrong(text: str) -> VerifyError:
    """Upstream words most errors of this family without naming the operation."""
    return VerifyError(text, bare=True)


@op_definition
class ObjectFifoOp(IRDLOperation):
    """A ring of buffers that a producer fills and consumers empty."""

    name = "aie.objectfifo"

    sym_name = prop_def(SymbolNameConstraint())
    producer = operand_def(INDEX)
    consumers = var_operand_def(INDEX)
    depth = prop_def(i32_attr(minimum=0) | BaseAttr(ArrayAttr), prop_name="elemNumber")
    fifo_type = prop_def(ObjectFifoType, prop_name="elemType")
    consumer_fifo_type = opt_prop_def(ObjectFifoType, prop_name="consumerElemType")
    dimensions_to_stream = prop_def(BDDimLayoutArrayAttr, prop_name="dimensionsToStream")
    dimensions_per_consumer = prop_def(BDDimLayoutArrayArrayAttr, prop_name="dimensionsFromStreamPerConsumer")
    via_dma = prop_def(BoolAttr, default_value=FALSE, prop_name="via_DMA")
    plio = prop_def(BoolAttr, default_value=FALSE)
    disable_synchronization = prop_def(BoolAttr, default_value=FALSE)
    repeat_count = opt_prop_def(i32_attr(minimum=1))  # how often the producer's DMA sends each buffer
    aie_stream = opt_prop_def(i32_attr(0, 2))
    aie_stream_port = opt_prop_def(i32_attr(0, 1))
    prod_dma_channel = opt_prop_def(i32_attr(minimum=0))
    cons_dma_channels = opt_prop_def(I32_ARRAY)
    init_values = opt_prop_def(ArrayAttr, prop_name="initValues")
    pad_dimensions = opt_prop_def(BDPadLayoutArrayAttr, prop_name="padDimensions")
    pad_value = opt_prop_def(i32_attr(), default_value=IntegerAttr(0, i32), prop_name="padValue")
    iter_count = opt_prop_def(i32_attr())  # the DMAs stop after so many rounds; without it they never do
    packet = opt_prop_def(UnitAttr)  # its data goes in packets, whatever that of others does
    packet_id = opt_prop_def(i8_attr(minimum=0))  # the id of these; without it one that is free

    traits = traits_def(ParentOp("aie.device"), SymbolOpInterface())

    @property
    def depths(self) -> list[int]:
        """How many buffers the producer has, and then each consumer if that is said."""
        depths = self.depth.data if isinstance(self.depth, ArrayAttr) else [self.depth]
        return [depth.value.data for depth in depths if isinstance(depth, IntegerAttr)]

    @property
    def element_type(self) -> MemRefType:
        return self.fifo_type.element_type

    @property
    def consumer_element_type(self) -> MemRefType:
        return (self.consumer_fifo_type or self.fifo_type).element_type

    @property
    def consumer_dimensions(self) -> Sequence[BDDimLayoutArrayAttr]:
        """How each consumer lays its data out; none need be listed if all take it as it comes."""
        return self.dimensions_per_consumer.elements.data or [BDDimLayoutArrayAttr(ArrayAttr(()))] * len(self.consumers)

    def dimensions_from_stream(self, consumer: SSAValue) -> BDDimLayoutArrayAttr:
        return self.consumer_dimensions[list(self.consumers).index(consumer)]

    @classmethod
    def parse(cls, parser: Parser) -> ObjectFifoOp:
        start = parser.pos
        name = parser.parse_symbol_name()
        with parser.in_parens():
            producer = parser.parse_unresolved_operand()
            to_stream = _parse_dimensions(parser, "dimensionsToStream")
            parser.parse_punctuation(",")
            consumers = parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_consumer(parser))
            parser.parse_punctuation(",")
            depth = parser.parse_attribute()
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        properties |= {
            "sym_name": name,
            "elemNumber": depth,
            "elemType": _parse_fifo_type(parser),
            "dimensionsToStream": to_stream,
            "dimensionsFromStreamPerConsumer": BDDimLayoutArrayArrayAttr(ArrayAttr(dims for _, dims in consumers)),
        }
        if parser.parse_optional_punctuation("->") is not None:
            properties["consumerElemType"] = _parse_fifo_type(parser)
        op = cls.create(
            operands=[parser.resolve_operand(tile, INDEX) for tile in (producer, *(tile for tile, _ in consumers))],
            properties=properties,
            attributes=attributes,
        )
        op._parse_init_values(parser, start)  # how many there are depends on the depth, which the operation knows
        return op

    def _parse_init_values(self, parser: Parser, start: int) -> None:
        if not self.element_type.has_static_shape():
            parser.raise_error(f"type should be static shaped memref, but got {self.element_type}", start)
        if parser.parse_optional_punctuation("=") is None:
            return
        values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        if self.depths[:1] != [len(values)]:
            parser.raise_error("initial values should initialize all objects", start)
        if not all(isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr) for value in values):
            parser.raise_error("initial value should be an elements attribute", start)
        self.init_values = ArrayAttr(values)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        printer.print_operand(self.producer)
        _print_dimensions(printer, "dimensionsToStream", self.dimensions_to_stream)
        printer.print_string(", {")
        for index, (consumer, dimensions) in enumerate(zip(self.consumers, self.consumer_dimensions, strict=True)):
            printer.print_string(", " if index else "")
            printer.print_operand(consumer)
            _print_dimensions(printer, "dimensionsFromStream", dimensions)
        printer.print_string("}, ")
        printer.print_attribute(self.depth)
        printer.print_string(")")
        print_attributes(printer, self, elided=_SPELT_OUT)
        printer.print_string(" : ")
        printer.print_attribute(self.fifo_type)
        printer.print_string(" ")  # upstream writes these spaces whether or not anything follows
        if self.consumer_fifo_type is not None:
            printer.print_string(" -> ")
            printer.print_attribute(self.consumer_fifo_type)
        printer.print_string(" ")
        if self.init_values is not None:
            printer.print_string("= ")
            printer.print_attribute(self.init_values)

    def verify_(self) -> None:
        if isinstance(self.depth, ArrayAttr):
            if len(self.depth) != len(self.consumers) + 1:
                raise VerifyException("does not have enough depths specified for producer and for each consumer.")
            if len(self.depths) != len(self.depth):
                raise VerifyException("depths must be integers")
        if len(self.consumer_dimensions) != len(self.consumers):
            raise VerifyException(
                f"expected dimensions for each of {len(self.consumers)} consumers, got {len(self.consumer_dimensions)}"
            )
        producer = tile_of(self.producer)
        if producer is None:
            raise wrong("producer tile must implement TileLike interface")
        self._verify_layouts(producer)
        if self.repeat_count is not None and producer.is_shim:
            raise wrong("`repeat_count` unavailable for shim tiles")
        self._verify_padding()
        self._verify_stream_ports(producer)
        self._verify_init_values(producer)
        self._verify_iterations(producer)
        self._verify_granularity()
        if self.packet_id is not None and self.packet is None:
            raise VerifyException("packet_id is only meaningful with packet")

    def _verify_layouts(self, producer: TileLike) -> None:
        """Transformations at a shim tile are the runtime sequence's to make."""
        if producer.is_shim and len(self.dimensions_to_stream):
            raise wrong("`dimensionsToStream` data layout transformations are not supported on shim tile producers")
        for consumer in self.consumers:
            tile = tile_of(consumer)
            if tile is None:
                raise wrong("consumer tile must implement TileLike interface")
            # the shim's descriptors are written by the runtime sequence, which has its own sizes and strides
            if tile.is_shim and len(self.dimensions_from_stream(consumer)):
                raise wrong(
                    "`dimensionsFromStreamPerConsumer` data layout transformations are not supported on shim tile "
                    "consumers"
                )

    def _verify_padding(self) -> None:
        if self.pad_value.value.data == 0:
            return
        if self.pad_dimensions is None:
            raise wrong("`padValue` requires `padDimensions`")
        if not device_model(self).architecture.mem_tile_pad_value:
            raise wrong("`padValue` requires the CONSTANT_PAD_VALUE register, unavailable on this target")

    def _verify_stream_ports(self, producer: TileLike) -> None:
        """`aie_stream` replaces the DMA at an end of the FIFO by a stream port of the core: 0 producer, 1 consumer."""
        if self.aie_stream is None:
            if self.aie_stream_port is not None:
                raise wrong("`aie_stream` must be defined")
            return
        if len(self.consumers) != 1:
            raise wrong("`aie_stream` can only be used in 1-to-1 object FIFOs")
        if self.aie_stream_port is None:
            raise wrong("`aie_stream_port` must be defined")
        ends = self.aie_stream.value.data
        if ends in (0, 2):
            if not producer.is_core:
                raise wrong("`aie_stream` is not available for shim and mem tiles")
            # all of these are things that a DMA does
            for name in ("repeat_count", "init_values", "iter_count"):
                if getattr(self, name) is not None:
                    raise wrong(f"`{name}` unavailable on stream end")
            if len(self.dimensions_to_stream):
                raise wrong("`dimensionsToStream` data layout transformations are unavailable on stream end")
        if ends in (1, 2):
            consumer = tile_of(self.consumers[0])
            if consumer is not None and not consumer.is_core:
                raise wrong("`aie_stream` is not available for shim and mem tiles")
        if len(self.consumer_dimensions[0]):
            raise wrong("`dimensionsFromStreamPerConsumer` data layout transformations are unavailable on stream end")

    def _verify_init_values(self, producer: TileLike) -> None:
        if self.init_values is None:
            return
        if producer.is_shim:
            raise wrong("`init_values` unavailable for shim tiles")
        if len(self.init_values) != self.depths[0]:
            raise wrong("`init_values` does not initialize all objects")
        # as when they are read: other attributes have no elements to put into buffers
        if not all(isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr) for value in self.init_values):
            raise wrong("`init_values` should be elements attributes")

    def _verify_iterations(self, producer: TileLike) -> None:
        if self.iter_count is None:
            return
        if not 1 <= self.iter_count.value.data <= 256:  # the queue of a channel counts rounds less one in eight bits
            raise wrong("`iter_count` must be between 1 and 256")
        consumers = map(tile_of, self.consumers)
        if not producer.is_mem and not any(tile is not None and tile.is_mem for tile in consumers):
            raise wrong("`iter_count` is currently only supported on MemTiles")

    def _verify_granularity(self) -> None:
        """A consumer may take smaller pieces than the producer makes, if they add up."""
        if self.consumer_fifo_type is None:
            return
        made, taken = self.element_type, self.consumer_element_type
        if made.element_type != taken.element_type:
            raise wrong(
                "producer and consumer must have the same scalar element type, but got "
                f"'{made.element_type}' vs '{taken.element_type}'"
            )
        if taken.element_count() <= 0:
            raise wrong("consumer element count must be positive")
        if made.element_count() % taken.element_count():
            raise wrong(
                f"producer element size ({made.element_count()}) must be an integer multiple of consumer element size "
                f"({taken.element_count()})"
            )


_SPELT_OUT = (
    "sym_name",
    "elemNumber",
    "elemType",
    "consumerElemType",
    "dimensionsToStream",
    "dimensionsFromStreamPerConsumer",
    "initValues",
)


def _parse_dimensions(parser: Parser, keyword: str) -> BDDimLayoutArrayAttr:
    if parser.parse_optional_keyword(keyword) is None:
        return BDDimLayoutArrayAttr(ArrayAttr(()))
    if parser._current_token.kind is MLIRTokenKind.HASH_IDENT:  # an alias, or the attribute in full
        written = parser.parse_attribute()
        return written if isinstance(written, BDDimLayoutArrayAttr) else parser.raise_error("invalid kind of attribute")
    return BDDimLayoutArrayAttr.new(BDDimLayoutArrayAttr.parse_parameters(parser))


def _parse_consumer(parser: Parser) -> tuple[UnresolvedOperand, BDDimLayoutArrayAttr]:
    return parser.parse_unresolved_operand(), _parse_dimensions(parser, "dimensionsFromStream")


def _parse_fifo_type(parser: Parser) -> ObjectFifoType:
    position = parser.pos
    written = parser.parse_type()
    if not isinstance(written, ObjectFifoType):
        parser.raise_error("expected an !aie.objectfifo<memref<...>> type", position)
    return written


def _print_dimensions(printer: Printer, keyword: str, dimensions: BDDimLayoutArrayAttr) -> None:
    if len(dimensions):
        printer.print_string(f" {keyword} ")
        dimensions.print_parameters(printer)


def find_fifo(op: Operation, name: SymbolRefAttr) -> ObjectFifoOp | None:
    """The FIFO of a name, in the innermost symbol table around `op` that has one."""
    # further out, too: a FIFO of the device is used in bodies that have symbols of their own
    for parent in ancestors(op):
        if parent.has_trait(SymbolTable):
            found = lookup_symbol(parent, name)
            if isinstance(found, ObjectFifoOp):
                return found
    return None


OPS = [ObjectFifoOp]
