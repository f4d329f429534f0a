"""Streams before routing: who sends to whom, and the shim channels the host feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, SymbolNameConstraint, i8, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    SignlessAttr,
    enum_to_attr,
    enum_value,
    i8_attr,
    i32_attr,
    i64_attr,
    op_definition,
)
from tilewright.dialects.aie.attributes import DIRECTION, WIRE_BUNDLE, PacketInfoAttr
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.ir.diagnostics import VerifyError

CHANNEL = i32_attr(minimum=0)

WireEnds: TypeAlias = "tuple[SSAValue, WireBundle, SSAValue, WireBundle]"

PortT = TypeVar("PortT", bound="_PacketPortOp")


class Port(NamedTuple):
    """One port of a tile or of its switch; `str` gives the text upstream's messages use."""

    bundle: WireBundle
    channel: int

    def __str__(self) -> str:
        return f"({self.bundle}: {self.channel})"

    @classmethod
    def of(cls, bundle: SignlessAttr, channel: SignlessAttr) -> Port:
        return Port(enum_value(WireBundle, bundle), channel.value.data)

    def properties(self, prefix: str = "") -> dict[str, Attribute]:
        """What an operation keeps of it; the inverse of `of`."""
        return {f"{prefix}bundle": enum_to_attr(self.bundle), f"{prefix}channel": IntegerAttr(self.channel, i32)}


# upstream leaves out what is false: such flags have no default
def true_or_absent(flag: bool) -> BoolAttr | None:
    return BoolAttr.from_bool(True) if flag else None


@op_definition
class FlowOp(IRDLOperation):
    """A circuit from one tile's port to another's."""

    name = "aie.flow"

    source = operand_def(INDEX)
    source_bundle = prop_def(WIRE_BUNDLE)
    source_channel = prop_def(CHANNEL)
    dest = operand_def(INDEX)
    dest_bundle = prop_def(WIRE_BUNDLE)
    dest_channel = prop_def(CHANNEL)

    assembly_format = (
        "`(` $source `,` $source_bundle `:` $source_channel `,` $dest `,` $dest_bundle `:` $dest_channel `)` attr-dict"
    )

    def __init__(self, source: SSAValue, source_port: Port, dest: SSAValue, dest_port: Port):
        super().__init__(
            operands=[source, dest],
            properties=source_port.properties("source_") | dest_port.properties("dest_"),
        )

    @property
    def source_port(self) -> Port:
        return Port.of(self.source_bundle, self.source_channel)

    @property
    def dest_port(self) -> Port:
        return Port.of(self.dest_bundle, self.dest_channel)


class _PacketPortOp(IRDLOperation):
    tile = operand_def(INDEX)
    bundle = prop_def(WIRE_BUNDLE)
    channel = prop_def(CHANNEL)

    traits = traits_def(ParentOp("aie.packet_flow"))
    assembly_format = "`<` $tile `,` $bundle `:` $channel `>` attr-dict"

    def __init__(self, tile: SSAValue, port: Port):
        super().__init__(operands=[tile], properties=port.properties())

    @property
    def port(self) -> Port:
        return Port.of(self.bundle, self.channel)


@op_definition
class PacketSourceOp(_PacketPortOp):
    """Where packets of a flow enter the streams."""

    name = "aie.packet_source"


@op_definition
class PacketDestOp(_PacketPortOp):
    """Where packets of a flow leave the streams."""

    name = "aie.packet_dest"


@op_definition
class PacketFlowOp(BlockOp):
    """Packets with one id, from every source to every destination in the body."""

    name = "aie.packet_flow"

    packet_id = prop_def(i8_attr(), prop_name="ID")
    keep_pkt_header = opt_prop_def(BoolAttr)  # destinations get the header word, too
    priority_route = opt_prop_def(BoolAttr)  # routed before the others
    ports = region_def()

    traits = lazy_traits_def(lambda: (ImplicitTerminator(EndOp),))
    assembly_format = "`(` $ID `)` $ports attr-dict"

    def __init__(
        self, packet_id: int, ports: Sequence[Operation], *, keep_header: bool = False, priority: bool = False
    ):
        super().__init__(
            properties={
                "ID": IntegerAttr(packet_id, i8),
                "keep_pkt_header": true_or_absent(keep_header),
                "priority_route": true_or_absent(priority),
            },
            regions=[Region(Block([*ports]))],
        )

    def ports_of(self, kind: type[PortT]) -> list[PortT]:
        return [op for op in self.ports.ops if isinstance(op, kind)]

    def verify_(self) -> None:
        if not self.ports.blocks:
            raise VerifyException("should have non-empty body")
        # the terminator is left out of the text, not of the body
        for op in self.ports.ops:
            if not isinstance(op, PacketSourceOp | PacketDestOp | EndOp):
                raise VerifyError("cannot be contained in a PacketFlow op", at=op)
        if not self.ports_of(PacketSourceOp):
            raise VerifyException("must have at least one aie.packet_source")
        if not self.ports_of(PacketDestOp):
            raise VerifyException("must have at least one aie.packet_dest")


@op_definition
class WireOp(IRDLOperation):
    """A bundle of physical wires between two components."""

    name = "aie.wire"

    source = operand_def(INDEX)
    source_bundle = prop_def(WIRE_BUNDLE)
    dest = operand_def(INDEX)
    dest_bundle = prop_def(WIRE_BUNDLE)

    assembly_format = "`(` $source `:` $source_bundle `,` $dest `:` $dest_bundle `)` attr-dict"

    def __init__(self, source: SSAValue, source_bundle: WireBundle, dest: SSAValue, dest_bundle: WireBundle):
        super().__init__(
            operands=[source, dest],
            properties={"source_bundle": enum_to_attr(source_bundle), "dest_bundle": enum_to_attr(dest_bundle)},
        )

    @property
    def ends(self) -> WireEnds:
        source, dest = enum_value(WireBundle, self.source_bundle), enum_value(WireBundle, self.dest_bundle)
        return self.source, source, self.dest, dest


@op_definition
class PlioOp(IRDLOperation):
    """An interface to the programmable logic below a column."""

    name = "aie.plio"

    col = prop_def(i32_attr())
    result = result_def(INDEX)

    assembly_format = "`(` $col `)` attr-dict"


@op_definition
class ShimDmaAllocationOp(IRDLOperation):
    """A shim DMA channel under a name, for the runtime sequence to refer to."""

    name = "aie.shim_dma_allocation"

    sym_name = prop_def(SymbolNameConstraint())
    tile = operand_def(INDEX)
    channel_dir = prop_def(DIRECTION)
    channel_index = prop_def(i64_attr())  # 64 bits here, 32 in `aie.flow`, as upstream has it
    plio = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    packet = opt_prop_def(PacketInfoAttr)

    traits = traits_def(ParentOp("aie.device"), SymbolOpInterface())
    assembly_format = "$sym_name `(` $tile `,` $channel_dir `,` $channel_index (`,` $packet^)? `)` attr-dict"

    def __init__(self, name: str, tile: SSAValue, direction: DmaDirection, channel: int):
        super().__init__(
            operands=[tile],
            properties={
                "sym_name": StringAttr(name),
                "channel_dir": enum_to_attr(direction),
                "channel_index": IntegerAttr(channel, i64),
            },
        )

    @property
    def direction(self) -> DmaDirection:
        return enum_value(DmaDirection, self.channel_dir)

    @property
    def channel(self) -> int:
        return self.channel_index.value.data

    def verify_(self) -> None:
        tile = tile_of(self.tile)
        if tile is None:
            raise VerifyException("tile operand must implement TileLike interface")
        if not tile.is_shim:
            place = tile.place  # a logical tile may have none
            got = "" if place is None else f", but got tile({place.column}, {place.row})"
            raise VerifyException(f"tile must be a shim tile{got}")


OPS = [FlowOp, PacketFlowOp, PacketSourceOp, PacketDestOp, WireOp, PlioOp, ShimDmaAllocationOp]
