"""Names that instructions with runtime operands had in mlir-aie for a while, for reading: today's are made of them.

Source: AIEX.td of mlir-aie at 4c8aea2a157f, and the tests beside it. Where the document that introduced them lists
fewer operands than the definitions had, both are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, SymbolRefAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand

from tilewright.dialects._mixed_indices import split_mixed
from tilewright.dialects._ods import op_definition
from tilewright.dialects._older import OlderAttributes, constant_before
from tilewright.dialects._syntax import PAREN, SQUARE, parse_types, segments
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.arith import ExtSIOp, IndexCastOp
from tilewright.ir.interned import i32_number

from .access_pattern import DIMENSIONS
from .instructions import NpuMaskWrite32Op, NpuSyncOp, NpuWrite32Op, NpuWriteWordsOp
from .memcpy import NpuDmaMemcpyNdOp
from .queue import FALSE, NpuAddressPatchOp, NpuPushQueueOp
from .runtime_fields import field_names
from .write_bd import NpuWriteBdOp


class EarlyInstruction(IRDLOperation):
    """An instruction `(operands) {attributes} : types`, which reading turns into another: none of this class exists."""

    COUNTS: ClassVar[Sequence[int]] = ()
    """How many operands it can have; any number if there are none."""
    TARGET: ClassVar[type[IRDLOperation]]
    """What it is read as, unless `today` makes more of it."""

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        position = parser.pos
        written = parser.parse_comma_separated_list(PAREN, parser.parse_unresolved_operand)
        attributes = OlderAttributes.parse(parser)
        at_types = parser.pos
        parser.parse_punctuation(":")
        operands = parser.resolve_operands(written, parse_types(parser), at_types)
        return cls._checked(parser, operands, attributes, position)

    @classmethod
    def from_generic(
        cls, parser: Parser, operands: Sequence[SSAValue], attributes: Mapping[str, Attribute]
    ) -> Operation:
        """What the generic form of it is read as."""
        return cls._checked(parser, operands, OlderAttributes(parser, parser.pos, dict(attributes)), parser.pos)

    @classmethod
    def _checked(
        cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes, position: int
    ) -> Operation:
        if cls.COUNTS and len(operands) not in cls.COUNTS:
            expected = " or ".join(map(str, cls.COUNTS))
            parser.raise_error(f"expected {expected} operands, but found {len(operands)}", position)
        return cls.today(parser, operands, attributes)

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        return _same(cls.TARGET, operands, attributes)


def _same(
    target: type[IRDLOperation], operands: Sequence[SSAValue], attributes: OlderAttributes, **given: Attribute
) -> Operation:
    """The instruction that has these operands today."""
    properties, others = attributes.split(target)
    return target.create(operands=operands, properties=given | properties, attributes=others)


@op_definition
class NpuDynWrite32Op(EarlyInstruction):
    name = "aiex.npu.dyn_write32"
    COUNTS: ClassVar = (2,)
    TARGET: ClassVar = NpuWrite32Op


@op_definition
class NpuDynMaskWrite32Op(EarlyInstruction):
    name = "aiex.npu.dyn_maskwrite32"
    COUNTS: ClassVar = (3,)
    TARGET: ClassVar = NpuMaskWrite32Op


@op_definition
class NpuDynSyncOp(EarlyInstruction):
    """Column, row, direction, channel and how many of both; or column, row, channel, direction for a single token."""

    name = "aiex.npu.dyn_sync"
    COUNTS: ClassVar = (4, 6)

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        if len(operands) == 4:
            column, row, channel, direction = operands
            operands = [column, row, direction, channel, *(constant_before(parser, 1) for _ in range(2))]
        return _same(NpuSyncOp, operands, attributes)


@op_definition
class NpuDynBlockWriteOp(EarlyInstruction):
    """The address, then the words."""

    name = "aiex.npu.dyn_blockwrite"

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        if len(operands) < 2:
            parser.raise_error("expected an address and words", attributes.position)
        return _same(NpuWriteWordsOp, operands, attributes)


@op_definition
class NpuDynAddressPatchOp(EarlyInstruction):
    """Register, argument, offset."""

    name = "aiex.npu.dyn_address_patch"
    COUNTS: ClassVar = (3,)

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        addr, argument, offset = operands
        patch = NpuAddressPatchOp(0, 0, offset, addr, argument)
        patch.attributes.update(attributes.entries)
        return patch


@op_definition
class NpuDynPushQueueOp(EarlyInstruction):
    """Column, row, direction, channel, token, repeat count, descriptor; or without token and repeat count."""

    name = "aiex.npu.dyn_push_queue"
    COUNTS: ClassVar = (7, 5)

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        *channel, bd_id = operands
        repeat_count = channel.pop() if len(operands) == 7 else constant_before(parser, 0)
        names = NpuPushQueueOp.RUNTIME_FIELDS[: len(channel)]
        numbers = dict.fromkeys(NpuPushQueueOp.SPELT_OUT, i32_number(0))
        return _same(
            NpuPushQueueOp,
            [repeat_count, bd_id, *channel],
            attributes,
            **numbers,
            issue_token=FALSE,
            **field_names(names),
        )


@op_definition
class NpuDynWriteBdOp(EarlyInstruction):
    """The values of a descriptor; its other fields are attributes."""

    name = "aiex.npu.dyn_writebd"

    FIELDS: ClassVar = (
        *("column", "row", "bd_id", "buffer_length", "buffer_offset"),
        *("d0_size", "d0_stride", "d1_size", "d1_stride", "d2_size", "d2_stride"),
        *("iteration_size", "iteration_stride"),
    )
    COUNTS: ClassVar = (len(FIELDS),)

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        properties, others = attributes.split(NpuWriteBdOp)
        fields = {"valid_bd": i32_number(1)} | properties
        descriptor = NpuWriteBdOp.of_values(fields, dict(zip(cls.FIELDS, operands, strict=True)))
        descriptor.attributes.update(others)
        return descriptor


@op_definition
class NpuDynDmaMemcpyNdOp(EarlyInstruction):
    """A transfer whose offsets, sizes and strides are values of type index: `(%b, [%o], [%s], [%t], ...)`.

    The definition has them in one list, without brackets. One to four of each are for the inner dimensions.
    """

    name = "aiex.npu.dyn_dma_memcpy_nd"

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        position = parser.pos
        written, lengths, properties = list[UnresolvedOperand](), list[int](), dict[str, Attribute]()

        def parse_part() -> None:
            values = parser.parse_optional_comma_separated_list(SQUARE, parser.parse_unresolved_operand)
            if values is not None:
                written.extend(values)
                lengths.append(len(values))
            elif (value := parser.parse_optional_unresolved_operand()) is not None:
                written.append(value)
            else:
                name = parser.parse_identifier()
                parser.parse_punctuation("=")
                properties[name] = _PARTS[name](parser) if name in _PARTS else parser.parse_attribute()

        parser.parse_comma_separated_list(PAREN, parse_part)
        if len(set(lengths)) > 1:
            parser.raise_error(_UNEQUAL, position)
        properties |= parser.parse_optional_attr_dict()
        at_types = parser.pos
        parser.parse_punctuation(":")
        types = list[Attribute]()

        def parse_type() -> None:
            found = parser.parse_optional_comma_separated_list(SQUARE, parser.parse_type)
            types.extend([parser.parse_type()] if found is None else found)

        parser.parse_comma_separated_list(Parser.Delimiter.NONE, parse_type)
        operands = parser.resolve_operands(written, types, at_types)
        return cls.today(parser, operands, OlderAttributes(parser, position, properties))

    @classmethod
    def today(cls, parser: Parser, operands: Sequence[SSAValue], attributes: OlderAttributes) -> Operation:
        memory, *numbers = operands or (parser.raise_error("expected a buffer", attributes.position),)
        count, rest = divmod(len(numbers), 3)
        if rest or not 1 <= count <= DIMENSIONS:
            parser.raise_error(_UNEQUAL, attributes.position)
        attributes.drop("operandSegmentSizes")  # all are of the same length
        lists = [numbers[start : start + count] for start in range(0, 3 * count, count)]
        # dimensions that are not written are outer ones that run once
        entries = [[fill] * (DIMENSIONS - count) for fill in (0, 1, 0)]
        mixed = [
            split_mixed([*outer, *(_as_i64(parser, value) for value in values)])
            for outer, values in zip(entries, lists, strict=True)
        ]
        given = {f"static_{name}": integers for name, (_, integers) in zip(_LISTS, mixed, strict=True)}
        values = [value for group, _ in mixed for value in group]
        sizes = {"operandSegmentSizes": segments(1, *(len(group) for group, _ in mixed))}
        return _same(NpuDmaMemcpyNdOp, [memory, *values], attributes, **given, **sizes)


_UNEQUAL = f"expected 1 to {DIMENSIONS} offsets, and as many sizes and strides"
_LISTS = ("offsets", "sizes", "strides")
_PARTS: dict[str, Callable[[Parser], Attribute]] = {
    "metadata": lambda parser: SymbolRefAttr(parser.parse_symbol_name()),
    "id": lambda parser: IntegerAttr(parser.parse_integer(), i64),
    "issue_token": lambda parser: IntegerAttr(int(parser.parse_boolean()), i1),
    "packet": lambda parser: PacketInfoAttr.new(PacketInfoAttr.parse_parameters(parser)),
}


def _as_i64(parser: Parser, value: SSAValue) -> SSAValue | int:
    """A number of a pattern as today's transfers take it."""
    if (number := constant_value(value)) is not None:
        return number
    type = value.type
    if type == i64:
        return value
    is_narrow = isinstance(type, IntegerType) and type.bitwidth < i64.bitwidth
    made = ExtSIOp(value, i64) if is_narrow else IndexCastOp(value, i64)
    cast(list[Operation], getattr(parser, "pending_ops")).append(made)  # noqa: B009
    return made.result


OPS: list[type[IRDLOperation]] = [
    NpuDynWrite32Op,
    NpuDynMaskWrite32Op,
    NpuDynSyncOp,
    NpuDynBlockWriteOp,
    NpuDynAddressPatchOp,
    NpuDynPushQueueOp,
    NpuDynWriteBdOp,
    NpuDynDmaMemcpyNdOp,
]
