"""Streams, cascades and events in core code, and the wiring of cascades."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.irdl import (
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Arch, CascadeDirection
from tilewright.dialects._ods import ParentOp, enum_value, i32_attr, op_definition
from tilewright.dialects.aie.attributes import CASCADE_DIRECTION
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.data_layout import type_bits
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import device_model, tile_of

# a port moves one word, or four of them at once
STREAM_VALUE = EqAttrConstraint(f32) | EqAttrConstraint(i32) | EqAttrConstraint(IntegerType(128))


def check_has_cascade(*tiles: TileLike) -> None:
    if any(tile.is_shim for tile in tiles):
        raise VerifyException("shimTile row has no cascade stream interface")
    if any(tile.is_mem for tile in tiles):
        raise VerifyException("memTile row has no cascade stream interface")


@op_definition
class CascadeFlowOp(IRDLOperation):
    """The accumulator stream of one core feeds that of a neighbour."""

    name = "aie.cascade_flow"

    source_tile = operand_def(INDEX)
    dest_tile = operand_def(INDEX)

    assembly_format = "`(` $source_tile `,` $dest_tile `)` attr-dict"

    def verify_(self) -> None:
        source, dest = tile_of(self.source_tile), tile_of(self.dest_tile)
        if source is None or dest is None:
            raise VerifyException("source and dest must be tile-like operations")
        check_has_cascade(source, dest)
        if source.place is None or dest.place is None:  # checked once both have a place
            return
        if abs(source.place.column - dest.place.column) + abs(source.place.row - dest.place.row) != 1:
            raise VerifyException("tiles must be adjacent")


@op_definition
class ConfigureCascadeOp(IRDLOperation):
    """From which side a tile's cascade input comes, and to which its output goes."""

    name = "aie.configure_cascade"

    tile = operand_def(INDEX)
    input_dir = prop_def(CASCADE_DIRECTION, prop_name="inputDir")
    output_dir = prop_def(CASCADE_DIRECTION, prop_name="outputDir")

    traits = traits_def(ParentOp("aie.device"))
    assembly_format = "`(` $tile `,` $inputDir `,` $outputDir `)` attr-dict"

    @property
    def input_direction(self) -> CascadeDirection:
        return enum_value(CascadeDirection, self.input_dir)

    @property
    def output_direction(self) -> CascadeDirection:
        return enum_value(CascadeDirection, self.output_dir)

    def verify_(self) -> None:
        tile = tile_of(self.tile)
        if tile is None or not tile.is_placed:
            raise VerifyException("requires a placed tile (aie.tile), not a logical tile")
        check_has_cascade(tile)
        arch = device_model(self).arch
        if arch is Arch.AIE1:
            raise VerifyException(f"cascade not supported in {arch}")
        # cascades run from west to east and from north to south, never back
        if self.input_direction not in (CascadeDirection.North, CascadeDirection.West):
            raise VerifyException(f"input direction of cascade must be North or West on {arch}")
        if self.output_direction not in (CascadeDirection.South, CascadeDirection.East):
            raise VerifyException(f"output direction of cascade must be South or East on {arch}")


@op_definition
class GetCascadeOp(IRDLOperation):
    """Take one accumulator from the cascade input."""

    name = "aie.get_cascade"

    cascade_value = result_def()

    assembly_format = "`(` `)` attr-dict `:` type($cascade_value)"

    def verify_(self) -> None:
        width = device_model(self).cascade_bits
        if type_bits(self.cascade_value.type) != width:
            raise VerifyException(f"must be a {width}-bit type")


@op_definition
class PutCascadeOp(IRDLOperation):
    """Give one accumulator to the cascade output."""

    name = "aie.put_cascade"

    cascade_value = operand_def()

    assembly_format = "`(` $cascade_value `:` type($cascade_value) `)` attr-dict"

    def verify_(self) -> None:
        model = device_model(self)
        if type_bits(self.cascade_value.type) != model.cascade_bits:
            raise VerifyException(
                f"type must match architecture cascade width ({model.cascade_bits} bits in {model.arch})"
            )


@op_definition
class GetStreamOp(IRDLOperation):
    """Read a word, or four, from a stream port of the core."""

    name = "aie.get_stream"

    channel = operand_def(BaseAttr(IntegerType))
    stream_value = result_def(STREAM_VALUE)

    traits = traits_def(ParentOp("aie.core"))
    assembly_format = "`(` $channel `:` type($channel) `)` attr-dict `:` type($stream_value)"


@op_definition
class PutStreamOp(IRDLOperation):
    """Write a word, or four, to a stream port of the core."""

    name = "aie.put_stream"

    channel = operand_def(BaseAttr(IntegerType))
    stream_value = operand_def(STREAM_VALUE)

    traits = traits_def(ParentOp("aie.core"))
    assembly_format = "`(` $channel `:` type($channel) `,` $stream_value `:` type($stream_value) `)` attr-dict"


@op_definition
class EventOp(IRDLOperation):
    """Raise one of the two events that a core can raise by an instruction."""

    name = "aie.event"

    val = prop_def(i32_attr(0, 1))

    assembly_format = "`(` $val `)` attr-dict"


OPS = [CascadeFlowOp, ConfigureCascadeOp, GetCascadeOp, PutCascadeOp, GetStreamOp, PutStreamOp, EventOp]
