"""Object FIFOs split into their parts: pools of buffers, and the cores, DMAs and streams that work through them.

Upstream's branch objfifo-disentangle (mlir-aie pull request 3553) has these between `aie.objectfifo` and DMA programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import BaseAttr, IRDLOperation, irdl_attr_definition, operand_def, opt_prop_def, prop_def, traits_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tilewright.device import DmaDirection, WireBundle
from tilewright.device.enums import Keyword
from tilewright.dialects._ods import ParentOp, enum_attr, enum_value, i8_attr, i32_attr, op_definition
from tilewright.dialects.aie.attributes import (
    WIRE_BUNDLE,
    ArrayOfAttr,
    BDDimLayoutArrayArrayAttr,
    BDDimLayoutArrayAttr,
    BDPadLayoutArrayAttr,
    PacketInfoAttr,
)
from tilewright.dialects.aie.buffers import BufferOp, ExternalBufferOp
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import device_model, device_symbol, tile_of

FALSE, ZERO = BoolAttr.from_bool(False), IntegerAttr(0, i32)
I32_ARRAY = DenseArrayBase.constr(i32)


class ObjectFifoRole(Keyword):
    """What an endpoint does to the buffers of its pool."""

    fills = 0
    drains = 1


ROLE = enum_attr(ObjectFifoRole, "What an objectFifo endpoint does to its pool's buffers")


@irdl_attr_definition
class ObjectFifoSegmentAttr(ParametrizedAttribute):
    """A slice of every buffer of a pool, in elements, and the locks that guard it."""

    name = "aie.objectfifo_segment"
    offset: IntAttr
    size: IntAttr
    produce_lock: SymbolRefAttr | NoneAttr
    consume_lock: SymbolRefAttr | NoneAttr

    NUMBERS: ClassVar = ("offset", "size")
    LOCKS: ClassVar = ("produceLock", "consumeLock")

    def __init__(
        self, offset: int, size: int, produce: SymbolRefAttr | None = None, consume: SymbolRefAttr | None = None
    ):
        super().__init__(IntAttr(offset), IntAttr(size), produce or NoneAttr(), consume or NoneAttr())

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: dict[str, Attribute] = {}

        def parse_entry() -> None:
            position = parser.pos
            name = parser.parse_identifier("a parameter name in struct")
            if name not in (*cls.NUMBERS, *cls.LOCKS) or name in found:
                parser.raise_error(f"duplicate or unknown struct parameter name: {name}", position)
            parser.parse_punctuation("=")
            if name in cls.LOCKS:
                found[name] = SymbolRefAttr(parser.parse_symbol_name())
                return
            position = parser.pos
            number = parser.parse_integer(allow_boolean=False, allow_negative=False)
            if number >= 1 << 32:
                parser.raise_error("integer value too large", position)
            found[name] = IntAttr(number)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_entry)
        for name in cls.NUMBERS:
            if name not in found:
                parser.raise_error(f"struct is missing required parameter: {name}")
        return [found.get(name, NoneAttr()) for name in (*cls.NUMBERS, *cls.LOCKS)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<offset = {self.offset.data}, size = {self.size.data}")
        for name, lock in zip(self.LOCKS, (self.produce_lock, self.consume_lock), strict=True):
            if isinstance(lock, SymbolRefAttr):
                printer.print_string(f", {name} = ")
                printer.print_attribute(lock)
        printer.print_string(">")

    @property
    def end(self) -> int:
        return self.offset.data + self.size.data

    def locks(self, role: ObjectFifoRole) -> tuple[SymbolRefAttr, SymbolRefAttr] | None:
        """The lock that an endpoint acquires, and the one that it releases; none before they are allocated."""
        if not isinstance(self.produce_lock, SymbolRefAttr) or not isinstance(self.consume_lock, SymbolRefAttr):
            return None
        empty, full = self.produce_lock, self.consume_lock
        return (full, empty) if role is ObjectFifoRole.drains else (empty, full)


@irdl_attr_definition
class BDPadLayoutArrayArrayAttr(ArrayOfAttr[BDPadLayoutArrayAttr]):
    """Padding for each of several access patterns."""

    name = "aie.bd_pad_layout_array_array"
    ELEMENT: ClassVar[type[ParametrizedAttribute]] = BDPadLayoutArrayAttr
    elements: ArrayAttr[BDPadLayoutArrayAttr]


class AtTile(IRDLOperation):
    """A part of an object FIFO, at one tile."""

    sym_name = prop_def(SymbolNameConstraint())
    tile = operand_def(INDEX)

    @property
    def tile_like(self) -> TileLike | None:
        return tile_of(self.tile)


@op_definition
class ObjectFifoPoolOp(AtTile):
    """Buffers that take turns, each divided into the same segments, and the locks around them."""

    name = "aie.objectfifo.pool"

    depth = prop_def(i32_attr())
    element_type = prop_def(BaseAttr(MemRefType), prop_name="elemType")
    buffers = opt_prop_def(ArrayAttr)
    segments = opt_prop_def(ArrayAttr)
    locks = opt_prop_def(ArrayAttr)  # AIE1: one for each buffer, no segments
    repeat_count = opt_prop_def(i32_attr(), prop_name="repeatCount")  # how often what drains it sends each object
    disable_synchronization = prop_def(BoolAttr, default_value=FALSE, prop_name="disableSynchronization")
    fifo_name = opt_prop_def(StringAttr, prop_name="fifoName")
    init_values = opt_prop_def(ArrayAttr, prop_name="initValues")

    traits = traits_def(SymbolOpInterface(), ParentOp("aie.device"))
    assembly_format = "$sym_name `(` $tile `)` attr-dict `:` $elemType"

    @property
    def all_segments(self) -> list[ObjectFifoSegmentAttr]:
        """Its segments; the whole object where it is not divided."""
        if self.segments is None:
            return [ObjectFifoSegmentAttr(0, element_count(self.element_type) or 0)]
        return [segment for segment in self.segments if isinstance(segment, ObjectFifoSegmentAttr)]

    @property
    def buffer_ops(self) -> list[BufferOp | ExternalBufferOp]:
        return [op for op in self._named(self.buffers) if isinstance(op, BufferOp | ExternalBufferOp)]

    @property
    def lock_ops(self) -> list[LockOp]:
        return [op for op in self._named(self.locks) if isinstance(op, LockOp)]

    def _named(self, names: ArrayAttr | None) -> Iterator[Operation | None]:
        return (device_symbol(self, name) for name in names or () if isinstance(name, SymbolRefAttr))

    def verify_(self) -> None:
        depth, counts = self.depth.value.data, device_model(self).architecture.semaphore_locks
        if any(not isinstance(name, SymbolRefAttr) for names in (self.buffers, self.locks) for name in names or ()):
            raise VerifyException("names its buffers and locks by symbols")
        if any(not isinstance(segment, ObjectFifoSegmentAttr) for segment in self.segments or ()):
            raise VerifyException("has segments that are no #aie.objectfifo_segment")
        if self.locks is not None and counts:
            raise VerifyException("'locks' names binary locks, which this device has no use for")
        if self.locks is not None and len(self.locks) != depth:
            raise VerifyException("expects one lock per buffer")
        if self.buffers is not None and len(self.buffers) != depth:
            raise VerifyException("expects 'depth' buffers")
        if self.segments is not None:
            self._verify_segments(counts)

    def _verify_segments(self, counts: bool) -> None:
        segments, previous = self.all_segments, -1
        if not segments:
            raise VerifyException("expects at least one segment")
        for segment in segments:
            if segment.offset.data <= previous:
                raise VerifyException("segments must be ordered by increasing offset")
            previous = segment.offset.data
            locks = (segment.produce_lock, segment.consume_lock)
            if not counts and any(isinstance(lock, SymbolRefAttr) for lock in locks):
                raise VerifyException("segment locks are counting locks, which this device has no use for")
        if len(segments) > 1 and not counts:
            raise VerifyException("multi-segment pools are unsupported on binary lock architectures")


class PoolEndpoint(AtTile):
    """What fills or drains some segments of a pool's buffers."""

    role = prop_def(ROLE)
    pool = prop_def(FlatSymbolRefAttrConstr)
    segments = opt_prop_def(I32_ARRAY)

    traits = traits_def(SymbolOpInterface(), ParentOp("aie.device"))
    assembly_format = "$sym_name `(` $tile `)` $role $pool attr-dict"

    @property
    def does(self) -> ObjectFifoRole:
        return enum_value(ObjectFifoRole, self.role)

    @property
    def pool_op(self) -> ObjectFifoPoolOp | None:
        found = device_symbol(self, self.pool)
        return found if isinstance(found, ObjectFifoPoolOp) else None

    @property
    def segment_numbers(self) -> list[int]:
        return [0] if self.segments is None else list(self.segments.get_values())

    @property
    def selected(self) -> list[ObjectFifoSegmentAttr]:
        pool = self.pool_op
        return [] if pool is None else [pool.all_segments[number] for number in self.segment_numbers]

    def verify_(self) -> None:
        pool = self.pool_op
        if pool is None:
            raise VerifyException(f"references undefined pool '{self.pool.root_reference.data}'")
        count, previous = len(pool.all_segments), -1
        if self.segments is None and count > 1:
            raise VerifyException("must list segments explicitly for a multi-segment pool")
        if not self.segment_numbers:
            raise VerifyException("expects at least one segment index")
        for number in self.segment_numbers:
            if not 0 <= number < count:
                raise VerifyException(f"segment index {number} out of range")
            if number <= previous:
                raise VerifyException("segment indices must be strictly increasing")
            previous = number
        self.verify_selected()

    def verify_selected(self) -> None:
        """Check what is particular about one kind of endpoint."""


@op_definition
class ObjectFifoCoreEndpointOp(PoolEndpoint):
    """A core that fills or drains a pool."""

    name = "aie.objectfifo.core_endpoint"

    @property
    def extent(self) -> tuple[int, int]:
        """Where in an object its segments begin, and how many elements they have."""
        selected = self.selected
        return (selected[0].offset.data, selected[-1].end - selected[0].offset.data) if selected else (0, 0)

    @property
    def object_type(self) -> MemRefType:
        """What the core sees of an object: all of it, or the run of its segments."""
        pool = self.pool_op
        assert pool is not None and isa(pool.element_type, MemRefType), "the verifier knows its pool"
        whole, (offset, size) = pool.element_type, self.extent
        if offset == 0 and size == element_count(whole):
            return whole
        return MemRefType(whole.element_type, [size], StridedLayoutAttr([1], offset), whole.memory_space)

    def verify_selected(self) -> None:
        # a core sees one memref
        selected = self.selected
        if any(first.end != second.offset.data for first, second in pairwise(selected)):
            raise VerifyException("a core endpoint's segments must be contiguous")
        pool = self.pool_op
        assert pool is not None and isa(pool.element_type, MemRefType), "checked before"
        if pool.element_type.get_num_dims() != 1 and self.extent != (0, element_count(pool.element_type)):
            raise VerifyException("a core reaches a part of an object only if objects have one dimension")


@op_definition
class ObjectFifoDmaEndpointOp(PoolEndpoint):
    """A DMA channel that fills or drains a pool."""

    name = "aie.objectfifo.dma_endpoint"

    channel_index = opt_prop_def(i32_attr(), prop_name="channelIndex")
    dimensions = opt_prop_def(BDDimLayoutArrayArrayAttr)  # one entry for each selected segment, as is padding
    pad_dimensions = opt_prop_def(BDPadLayoutArrayArrayAttr, prop_name="padDimensions")
    pad_value = opt_prop_def(i32_attr(), default_value=ZERO, prop_name="padValue")
    iter_count = opt_prop_def(i32_attr(), prop_name="iterCount")  # rounds; for ever without
    packet = opt_prop_def(PacketInfoAttr)
    fifo_name = opt_prop_def(StringAttr, prop_name="fifoName")

    @property
    def direction(self) -> DmaDirection:
        return DmaDirection.MM2S if self.does is ObjectFifoRole.drains else DmaDirection.S2MM

    def verify_selected(self) -> None:
        count, pads = len(self.segment_numbers), self.pad_dimensions
        for what, entries in (("dimensions", self.dimensions), ("padDimensions", pads)):
            if entries is not None and len(entries) != count:
                raise VerifyException(f"{what} has {len(entries)} entries for {count} selected segments")
        if pads is not None and self.does is not ObjectFifoRole.drains:
            raise VerifyException("padDimensions is only valid on a draining endpoint")
        if self.pad_value.value.data and not any(len(entry) for entry in pads or ()):
            raise VerifyException("nonzero padValue requires a non-empty padDimensions entry")
        for position, segment in enumerate(self.selected):
            self._verify_pattern(position, segment)

    def _verify_pattern(self, position: int, segment: ObjectFifoSegmentAttr) -> None:
        dimensions, pads = self.pattern(position)
        if pads and not dimensions:
            raise VerifyException(f"padDimensions entry {position} requires dimensions for the same segment")
        if pads and len(pads) != len(dimensions):
            raise VerifyException(f"dimensions and padDimensions entry {position} have different ranks")
        if dimensions and sum((d.size.data - 1) * d.stride.data for d in dimensions) >= segment.size.data:
            number, size = self.segment_numbers[position], segment.size.data
            raise VerifyException(f"dimensions entry {position} exceeds selected segment {number} of size {size}")

    def pattern(self, position: int) -> tuple[BDDimLayoutArrayAttr, BDPadLayoutArrayAttr]:
        """How one of the selected segments is walked, and padded; both empty where it is moved as it lies."""
        return (
            BDDimLayoutArrayAttr.new([ArrayAttr([])]) if self.dimensions is None else self.dimensions[position],
            BDPadLayoutArrayAttr.new([ArrayAttr([])]) if self.pad_dimensions is None else self.pad_dimensions[position],
        )


@op_definition
class ObjectFifoDanglingEndpointOp(AtTile):
    """An end of a stream that something else drives: the host through a shim, or a core's own port."""

    name = "aie.objectfifo.dangling_endpoint"

    bundle = prop_def(WIRE_BUNDLE)
    channel_index = opt_prop_def(i32_attr(), prop_name="channelIndex")
    packet = opt_prop_def(PacketInfoAttr)
    fifo_name = opt_prop_def(StringAttr, prop_name="fifoName")

    traits = traits_def(SymbolOpInterface(), ParentOp("aie.device"))
    assembly_format = "$sym_name `(` $tile `)` $bundle attr-dict"

    def verify_(self) -> None:
        tile = self.tile_like
        if tile is None:
            raise VerifyException("tile operand is not an aie.tile or aie.logical_tile")
        match enum_value(WireBundle, self.bundle):
            case WireBundle.DMA | WireBundle.PLIO:
                if not tile.is_shim:
                    raise VerifyException("a DMA or PLIO end the runtime drives is on a shim")
            case WireBundle.Core:
                pass
            case _:
                raise VerifyException("bundle must be DMA, PLIO or Core")


@op_definition
class ObjectFifoFlowOp(IRDLOperation):
    """A stream from an endpoint that drains to those that it feeds."""

    name = "aie.objectfifo.flow"

    source = prop_def(FlatSymbolRefAttrConstr)
    destinations = prop_def(ArrayAttr)
    packet = opt_prop_def(UnitAttr)
    packet_id = opt_prop_def(i8_attr(minimum=0))

    traits = traits_def(ParentOp("aie.device"))
    assembly_format = "`from` $source `to` $destinations attr-dict"

    def verify_(self) -> None:
        if not len(self.destinations):
            raise VerifyException("expects at least one destination")
        if self.packet_id is not None and self.packet is None:
            raise VerifyException("packet_id is only meaningful on a packet flow")
        if not self._is_endpoint(self.source):
            raise VerifyException(f"source '{self.source.root_reference.data}' is not an endpoint")
        for name in self.destinations:
            if not self._is_endpoint(name):
                text = name.root_reference.data if isinstance(name, SymbolRefAttr) else str(name)
                raise VerifyException(f"destination '{text}' is not an endpoint")

    def _is_endpoint(self, name: Attribute) -> bool:
        found = device_symbol(self, name) if isinstance(name, SymbolRefAttr) else None
        return isinstance(found, ObjectFifoDmaEndpointOp | ObjectFifoDanglingEndpointOp)


OPS = [
    ObjectFifoPoolOp,
    ObjectFifoCoreEndpointOp,
    ObjectFifoDmaEndpointOp,
    ObjectFifoDanglingEndpointOp,
    ObjectFifoFlowOp,
]
ATTRS = [ObjectFifoSegmentAttr, BDPadLayoutArrayArrayAttr]
