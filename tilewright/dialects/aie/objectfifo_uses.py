"""Using object FIFOs: passing one on to another inside a tile, and acquiring buffers of one in a core."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tilewright.device import ObjectFifoPort
from tilewright.dialects._ods import ParentOp, enum_to_attr, enum_value, i32_attr, op_definition
from tilewright.dialects._syntax import print_attributes, split_attributes
from tilewright.dialects.aie.attributes import OBJECT_FIFO_PORT, BDDimLayoutArrayAttr
from tilewright.dialects.aie.core import INDEX, CoreOp
from tilewright.dialects.aie.lookup import arith_constant, constant_value, device_symbol, parent_of_type, tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp, find_fifo, wrong
from tilewright.dialects.aie.objectfifo_pools import ObjectFifoCoreEndpointOp, ObjectFifoRole
from tilewright.dialects.aie.objectfifo_types import ObjectFifoSubviewType
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.interned import wrapped_integer

SYMBOLS = ArrayAttr[SymbolRefAttr]
OFFSETS = ArrayAttr[IntegerAttr]
NUMBERS = TensorType.constr(i32)


@op_definition
class ObjectFifoLinkOp(IRDLOperation):
    """FIFOs that meet in a tile and share its buffers: one into one, several into one (join), one into several."""

    name = "aie.objectfifo.link"

    input_names = prop_def(SYMBOLS, prop_name="fifoIns")
    output_names = prop_def(SYMBOLS, prop_name="fifoOuts")
    src_offsets = prop_def(OFFSETS)
    dst_offsets = prop_def(OFFSETS)

    traits = traits_def(ParentOp("aie.device"))
    assembly_format = "$fifoIns `->` $fifoOuts `(` $src_offsets $dst_offsets `)` attr-dict"

    @property
    def is_join(self) -> bool:
        return len(self.input_names) > 1

    @property
    def is_distribute(self) -> bool:
        return len(self.output_names) > 1

    @property
    def inputs(self) -> list[ObjectFifoOp]:
        return self._fifos(self.input_names)

    @property
    def outputs(self) -> list[ObjectFifoOp]:
        return self._fifos(self.output_names)

    def _fifos(self, names: Iterable[SymbolRefAttr]) -> list[ObjectFifoOp]:
        return [fifo for fifo in (find_fifo(self, name) for name in names) if fifo is not None]

    @property
    def shared_tile(self) -> SSAValue | None:
        """The tile where the FIFOs meet."""
        inputs, outputs = self.inputs, self.outputs
        if not inputs or not outputs:
            return None
        meeting = outputs[0].producer
        # a plain link may leave other consumers to its input, beside the tile that is shared
        if self.is_join or self.is_distribute:
            ends = [fifo.consumers[0] for fifo in inputs] + [fifo.producer for fifo in outputs]
            return meeting if all(end == meeting for end in ends) else None
        return meeting if meeting in inputs[0].consumers else None

    @property
    def join_lengths(self) -> list[int]:
        """Elements of the output's buffer that each input fills."""
        return _lengths(self.src_offsets, self.outputs[0])

    @property
    def distribute_lengths(self) -> list[int]:
        """Elements of the input's buffer that each output empties."""
        return _lengths(self.dst_offsets, self.inputs[0])

    @property
    def repeat_count(self) -> int | None:
        counts = (fifo.repeat_count for fifo in self.outputs)
        return next((count.value.data for count in counts if count is not None), None)

    def verify_(self) -> None:
        if self.is_join and self.is_distribute:
            raise wrong("ObjectFifoLinkOp does not support 'join' and 'distribute' at the same time")
        shared = self.shared_tile
        if shared is None:
            raise wrong("ObjectFifoLinkOp must have a link point, i.e., a shared tile between objectFifos")
        tile = tile_of(shared)
        if tile is None:
            raise wrong("shared tile must implement TileLike interface")
        if not tile.is_mem and (self.is_join or self.is_distribute):
            raise wrong("ObjectFifoLinkOp join and distribute are unavailable on compute or shim tiles")
        if self.is_join:
            self._verify_join()
        elif self.is_distribute:
            self._verify_distribute(shared)
        elif len(self.src_offsets) and len(self.dst_offsets):
            raise VerifyException("all offsets should be empty if there is no join or distribute")

    def _verify_join(self) -> None:
        if len(self.input_names) != len(self.src_offsets):
            raise VerifyException("number of provided src offsets must be equal to the number of input objectFifos")
        if len(self.dst_offsets):
            raise VerifyException("dst offsets should be empty for join")
        _verify_in_bounds(self.outputs[0].dimensions_to_stream, self.join_lengths, "output", "join input")

    def _verify_distribute(self, shared: SSAValue) -> None:
        if len(self.output_names) != len(self.dst_offsets):
            raise VerifyException("number of provided dst offsets must be equal to the number of output objectFifos")
        if len(self.src_offsets):
            raise VerifyException("src offsets should be empty for distribute")
        dimensions = self.inputs[0].dimensions_from_stream(shared)
        _verify_in_bounds(dimensions, self.distribute_lengths, "input", "distribute output")
        # the outputs empty one buffer together, so it is kept for all of them as long
        if len({fifo.repeat_count for fifo in self.outputs}) > 1:
            raise wrong("repeat counts of output object FIFOs must be equal")


def _lengths(offsets: OFFSETS, whole: ObjectFifoOp) -> list[int]:
    starts = [offset.value.data for offset in offsets]  # each part ends where the next one begins
    return [end - start for start, end in pairwise([*starts, whole.element_type.element_count()])]


def _verify_in_bounds(dimensions: BDDimLayoutArrayAttr, lengths: list[int], side: str, where: str) -> None:
    if not len(dimensions):
        return
    last = sum(dimension.stride.data * (dimension.size.data - 1) for dimension in dimensions)
    if min(lengths) <= last:
        raise VerifyException(
            f"specified {side} stride(s) and size(s) result in out of bounds access in {where}, for index {last} in "
            f"transfer of length {min(lengths)}."
        )


class _CoreAccess(IRDLOperation):
    """A core takes buffers from a FIFO, or hands them on: at one end of it, or through an endpoint of its pool."""

    port = opt_prop_def(OBJECT_FIFO_PORT)  # an endpoint has a role instead
    fifo_name = prop_def(FlatSymbolRefAttrConstr, prop_name="objFifo_name")
    size = prop_def(i32_attr(minimum=1))

    SPELT_OUT: ClassVar = ("port", "objFifo_name", "size")

    @property
    def end(self) -> ObjectFifoPort:
        if self.port is not None:
            return enum_value(ObjectFifoPort, self.port)
        endpoint = self.endpoint
        drains = endpoint is not None and endpoint.does is ObjectFifoRole.drains
        return ObjectFifoPort.Consume if drains else ObjectFifoPort.Produce

    @property
    def fifo(self) -> ObjectFifoOp | None:
        return find_fifo(self, self.fifo_name)

    @property
    def endpoint(self) -> ObjectFifoCoreEndpointOp | None:
        found = device_symbol(self, self.fifo_name)
        return found if isinstance(found, ObjectFifoCoreEndpointOp) else None

    @property
    def count(self) -> int:
        return self.size.value.data

    @classmethod
    def parse_access(cls, parser: Parser) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """`@fifo(Produce, 1)`, or `@endpoint(1)`: properties and attributes."""
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        properties["objFifo_name"] = SymbolRefAttr(parser.parse_symbol_name())
        with parser.in_parens():
            position = parser.pos
            word = parser.parse_optional_identifier()
            if word is not None:
                if word not in ObjectFifoPort.__members__:
                    parser.raise_error(f"invalid objectFifo port: {word}", position)
                properties["port"] = enum_to_attr(ObjectFifoPort[word])
                parser.parse_punctuation(",")
            properties["size"] = wrapped_integer(parser.parse_integer(allow_boolean=False), i32)
        return properties, attributes

    def print_access(self, printer: Printer) -> None:
        print_attributes(printer, self, elided=self.SPELT_OUT)
        printer.print_string(" ")
        printer.print_symbol_name(self.fifo_name.root_reference.data)
        port = "" if self.port is None else f"{enum_value(ObjectFifoPort, self.port)}, "
        printer.print_string(f"({port}{self.count})")

    def verify_access(self) -> ObjectFifoOp | ObjectFifoCoreEndpointOp:
        """The FIFO, or the endpoint, if the core around this operation is at the end it uses."""
        core = parent_of_type(self, CoreOp)
        if core is None:
            raise VerifyException("must be called from inside a CoreOp")
        endpoint = self.endpoint
        if endpoint is not None:
            if self.port is not None:
                raise VerifyException("port is implied by the endpoint's role")
            if endpoint.tile is not core.tile:
                raise VerifyError("objectFifo endpoint accessed by core running on another tile", at=core)
            return endpoint
        fifo = self.fifo
        if fifo is None:
            raise wrong("cannot retrieve associated object FIFO")
        if self.port is None:
            raise VerifyException("port is required when accessing an objectFifo")
        is_producing = self.end is ObjectFifoPort.Produce
        if core.tile not in ([fifo.producer] if is_producing else fifo.consumers):
            end = "producer" if is_producing else "consumer"
            raise VerifyError(f"{end} port of objectFifo accessed by core running on non-{end} tile", at=core)
        return fifo


@op_definition
class ObjectFifoAcquireOp(_CoreAccess):
    """Wait for buffers: to have them one by one, or to open a window on them. Buffers already held count."""

    name = "aie.objectfifo.acquire"

    acquired = var_result_def(BaseAttr(ObjectFifoSubviewType) | BaseAttr(MemRefType))

    @classmethod
    def parse(cls, parser: Parser) -> ObjectFifoAcquireOp:
        position = parser.pos
        properties, attributes = cls.parse_access(parser)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls.create(result_types=types, properties=properties, attributes=attributes)
        if not op.opens_window and op.count != len(types):
            parser.raise_error(f"acquires {op.count} objects but names {len(types)} of them", position)
        return op

    def print(self, printer: Printer) -> None:
        self.print_access(printer)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    @property
    def opens_window(self) -> bool:
        """Whether buffers are reached through a window, by `aie.objectfifo.subview.access`."""
        return len(self.results) == 1 and isinstance(self.results[0].type, ObjectFifoSubviewType)

    @property
    def subview(self) -> OpResult:
        assert self.opens_window, "what acquires buffers one by one has no window"
        return self.results[0]

    @property
    def element_type(self) -> MemRefType:
        type = self.results[0].type
        if isinstance(type, ObjectFifoSubviewType):
            return type.element_type
        assert isa(type, MemRefType)
        return type

    def verify_(self) -> None:
        target = self.verify_access()
        if self.opens_window:
            # either end may name the elements of either: the types differ where a consumer takes smaller pieces
            if not isinstance(target, ObjectFifoOp):
                raise VerifyException("an endpoint hands out objects one by one")
            if self.element_type not in (target.element_type, target.consumer_element_type):
                raise VerifyException("ObjectFifo element and ObjectFifoSubview element must match.")
            return
        if not self.results:
            raise VerifyException("must acquire at least one object")
        if self.count != len(self.results):
            raise VerifyException(f"acquires {self.count} objects but names {len(self.results)} of them")
        expected = self._object_types(target)
        for type in self.result_types:
            if expected and type not in expected:
                raise VerifyException(f"acquired object type {type} does not match the objectFifo's {expected[0]}")

    def _object_types(self, target: ObjectFifoOp | ObjectFifoCoreEndpointOp) -> list[MemRefType]:
        if isinstance(target, ObjectFifoCoreEndpointOp):
            return [] if target.pool_op is None else [target.object_type]
        depths, core = target.depths, parent_of_type(self, CoreOp)
        assert core is not None, "checked before"
        # a FIFO may have a depth for each of its ends, the producer's first
        number = 0 if self.end is ObjectFifoPort.Produce else list(target.consumers).index(core.tile) + 1
        depth = depths[number] if len(depths) > 1 else depths[0]
        if self.count > depth:
            raise VerifyException(f"acquires {self.count} objects from an objectFifo that holds {depth}")
        return [target.element_type, target.consumer_element_type]


@op_definition
class ObjectFifoReleaseOp(_CoreAccess):
    """Hand the oldest buffers held to the other end."""

    name = "aie.objectfifo.release"

    @classmethod
    def parse(cls, parser: Parser) -> ObjectFifoReleaseOp:
        properties, attributes = cls.parse_access(parser)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        self.print_access(printer)

    def verify_(self) -> None:
        self.verify_access()


@op_definition
class ObjectFifoSubviewAccessOp(IRDLOperation):
    """One of the buffers of a window."""

    name = "aie.objectfifo.subview.access"

    subview = operand_def(ObjectFifoSubviewType)
    index = prop_def(i32_attr(minimum=0))
    output = result_def(BaseAttr(MemRefType))

    assembly_format = "$subview `[` $index `]` attr-dict `:` type($subview) `->` type($output)"

    def verify_(self) -> None:
        if parent_of_type(self, CoreOp) is None:
            raise VerifyException("must be called from inside a CoreOp")
        acquire = self.subview.owner
        # the size of the window is the acquire's: a value that comes from elsewhere does not tell it
        if not isinstance(acquire, ObjectFifoAcquireOp):
            raise VerifyException(
                "subview operand must be the direct result of an aie.objectfifo.acquire; flowing the subview through "
                "scf.yield / iter_args / region results is not supported"
            )
        if self.index.value.data >= acquire.count:
            raise VerifyException("accessed farther than number of acquired elements (index out of bounds).")


@op_definition
class ObjectFifoRegisterProcessOp(IRDLOperation):
    """A function to call again and again, and how many buffers of a FIFO to acquire before and release after each time.

    A pattern is a constant; one with a single number stands for as many of them as the process is long. Upstream has
    dropped this operation; programs written for its older versions have it.
    """

    name = "aie.objectfifo.register_process"

    port = prop_def(OBJECT_FIFO_PORT)
    fifo_name = prop_def(FlatSymbolRefAttrConstr, prop_name="objFifo_name")
    acquire_tensor = operand_def(NUMBERS)
    release_tensor = operand_def(NUMBERS)
    callee = prop_def(FlatSymbolRefAttrConstr)
    length = operand_def(INDEX)

    assembly_format = (
        "attr-dict $objFifo_name `(` $port `,` $acquire_tensor `:` type($acquire_tensor) `,` "
        "$release_tensor `:` type($release_tensor) `,` $callee `,` $length `)`"
    )

    @property
    def end(self) -> ObjectFifoPort:
        return enum_value(ObjectFifoPort, self.port)

    @property
    def fifo(self) -> ObjectFifoOp | None:
        return find_fifo(self, self.fifo_name)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """How many buffers to acquire and to release, for each call."""
        length = constant_value(self.length) or 0
        patterns = [_numbers(self.acquire_tensor), _numbers(self.release_tensor)]
        acquires, releases = (pattern * length if len(pattern) == 1 else pattern for pattern in patterns)
        return list(zip(acquires, releases, strict=True))

    def verify_(self) -> None:
        length = constant_value(self.length)
        if length is None:
            raise VerifyException("process length must be a constant")
        if length < 1:
            raise VerifyException("process length must be >= 1")
        if self.fifo is None:
            raise wrong("cannot retrieve associated object FIFO")
        sizes = {len(_numbers(self.acquire_tensor)), len(_numbers(self.release_tensor))}
        if len(sizes) > 1 and sizes != {1, length}:
            raise VerifyException(
                "Acquire and Release patterns must be of equal length, or longest length of one must be equal to "
                "process length of the other"
            )


def _numbers(pattern: SSAValue) -> list[int]:
    # unrolled into calls, so the numbers have to be known
    constant = arith_constant(pattern)
    if not isinstance(constant, DenseIntOrFPElementsAttr):
        raise VerifyException("patterns must be constants")
    return [cast(int, number) for number in constant.iter_values()]


OPS = [
    ObjectFifoLinkOp,
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
    ObjectFifoRegisterProcessOp,
]
