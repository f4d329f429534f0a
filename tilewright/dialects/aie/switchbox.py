"""Streams after routing: the stream switch of a tile, the multiplexer below a shim's, and the connections in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i8
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.device import NUM_ARBITERS, NUM_MSELS, DeviceModel, TileId, TileType
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    i8_attr,
    op_definition,
)
from tilewright.dialects.aie.attributes import WIRE_BUNDLE
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.flows import CHANNEL, Port, true_or_absent
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.lookup import device_model, tile_of
from tilewright.ir.diagnostics import VerifyError


@op_definition
class ConnectOp(IRDLOperation):
    """A circuit through a switch."""

    name = "aie.connect"

    source_bundle = prop_def(WIRE_BUNDLE)
    source_channel = prop_def(CHANNEL)
    dest_bundle = prop_def(WIRE_BUNDLE)
    dest_channel = prop_def(CHANNEL)

    traits = traits_def(ParentOp("aie.switchbox", "aie.shim_mux"))
    assembly_format = "`<` $source_bundle `:` $source_channel `,` $dest_bundle `:` $dest_channel `>` attr-dict"

    def __init__(self, source: Port, dest: Port):
        super().__init__(properties=source.properties("source_") | dest.properties("dest_"))

    @property
    def source(self) -> Port:
        return Port.of(self.source_bundle, self.source_channel)

    @property
    def dest(self) -> Port:
        return Port.of(self.dest_bundle, self.dest_channel)


@op_definition
class AmselOp(IRDLOperation):
    """An arbiter of a switch together with one of its master selects."""

    name = "aie.amsel"

    arbiter_id = prop_def(i8_attr(0, NUM_ARBITERS - 1), prop_name="arbiterID")
    msel = prop_def(i8_attr(0, NUM_MSELS - 1))
    result = result_def(INDEX)

    traits = traits_def(ParentOp("aie.switchbox"))
    assembly_format = "`<` $arbiterID `>` `(` $msel `)` attr-dict"

    def __init__(self, arbiter: int, msel: int):
        super().__init__(
            result_types=[INDEX], properties={"arbiterID": IntegerAttr(arbiter, i8), "msel": IntegerAttr(msel, i8)}
        )

    @property
    def arbiter(self) -> int:
        return self.arbiter_id.value.data

    def users(self, kind: type[Operation]) -> Iterator[Operation]:
        return (use.operation for use in self.result.uses if isinstance(use.operation, kind))


@op_definition
class MasterSetOp(IRDLOperation):
    """A port through which packets leave, and the arbiter selects that send them there."""

    name = "aie.masterset"

    dest_bundle = prop_def(WIRE_BUNDLE)
    dest_channel = prop_def(CHANNEL)
    amsels = var_operand_def(INDEX)
    keep_pkt_header = opt_prop_def(BoolAttr)  # else the switch drops the header word here
    result = result_def(INDEX)

    traits = traits_def(ParentOp("aie.switchbox"))
    assembly_format = "`(` $dest_bundle `:` $dest_channel `,` $amsels `)` attr-dict"

    def __init__(self, dest: Port, amsels: Sequence[SSAValue], *, keep_header: bool = False):
        super().__init__(
            operands=[amsels],
            result_types=[INDEX],
            properties={**dest.properties("dest_"), "keep_pkt_header": true_or_absent(keep_header)},
        )

    @property
    def dest(self) -> Port:
        return Port.of(self.dest_bundle, self.dest_channel)

    @property
    def arbiters(self) -> set[int]:
        return {amsel.owner.arbiter for amsel in self.amsels if isinstance(amsel.owner, AmselOp)}


@op_definition
class PacketRuleOp(IRDLOperation):
    """Packets whose masked id has one value go to one arbiter select."""

    name = "aie.rule"

    mask = prop_def(i8_attr())  # a 1 says that the bit of the id matters
    value = prop_def(i8_attr())
    amsel = operand_def(INDEX)

    traits = traits_def(ParentOp("aie.packet_rules"))
    assembly_format = "`(` $mask `,` $value `,` $amsel `)` attr-dict"

    def __init__(self, mask: int, value: int, amsel: SSAValue):
        super().__init__(operands=[amsel], properties={"mask": IntegerAttr(mask, i8), "value": IntegerAttr(value, i8)})


@op_definition
class PacketRulesOp(BlockOp):
    """Where the packets that enter through one port go, the first rule that matches deciding."""

    name = "aie.packet_rules"

    source_bundle = prop_def(WIRE_BUNDLE)
    source_channel = prop_def(CHANNEL)
    rules = region_def()

    traits = lazy_traits_def(lambda: (ImplicitTerminator(EndOp),))
    assembly_format = "`(` $source_bundle `:` $source_channel `)` $rules attr-dict"

    def __init__(self, source: Port, rules: Sequence[PacketRuleOp]):
        super().__init__(properties=source.properties("source_"), regions=[Region(Block(rules))])

    @property
    def source(self) -> Port:
        return Port.of(self.source_bundle, self.source_channel)

    def verify_(self) -> None:
        if not self.rules.blocks:
            raise VerifyException("should have non-empty body")


class _ConnectionsOp(BlockOp, TileElement):
    """What connects ports of a tile."""

    tile = operand_def(INDEX)
    result = result_def(INDEX)
    connections = region_def()

    traits = lazy_traits_def(lambda: (ImplicitTerminator(EndOp),))
    assembly_format = "`(` $tile `)` $connections attr-dict"

    def __init__(self, tile: SSAValue, connections: Sequence[Operation] = ()):
        super().__init__(operands=[tile], result_types=[INDEX], regions=[Region(Block(connections))])


@op_definition
class SwitchboxOp(_ConnectionsOp):
    """The stream switch of a tile."""

    name = "aie.switchbox"

    def verify_(self) -> None:
        """Ports and wiring depend on where the tile is: a logical tile's are checked once it is placed."""
        tile = tile_of(self.tile)
        if tile is None or tile.place is None or not tile.is_placed:
            return
        if not self.connections.blocks:
            raise VerifyException("should have non-empty body")
        check = _SwitchCheck(device_model(self), tile.place)
        for op in self.connections.ops:
            check.visit(op)


class _SwitchCheck:
    """Verifies a placed switch one operation at a time, in order: errors belong to the one that comes second."""

    def __init__(self, model: DeviceModel, tile: TileId):
        self.model, self.tile = model, tile
        self.sources: set[Port] = set()
        self.dests: dict[Port, None] = {}  # in order: an error lists them

    def visit(self, op: Operation) -> None:
        match op:
            case ConnectOp():
                self.connect(op)
            case MasterSetOp():
                self.master_set(op)
            case PacketRulesOp():
                self.packet_rules(op)
            case AmselOp():
                self.amsel(op)
            case EndOp():
                pass
            case _:
                raise VerifyError("cannot be contained in a Switchbox op", at=op)

    def connect(self, op: ConnectOp) -> None:
        # a source may be connected to several ports, a destination to one
        self.sources.add(op.source)
        if op.dest in self.dests:
            raise VerifyError(
                f"; connecting {op.source} to {op.dest} on {self.tile} targets same dst as another connect op; "
                f"existing destinations: {', '.join(map(str, self.dests))}",
                at=op,
            )
        self.dests[op.dest] = None
        self.bound(op, "source", op.source, self.model.num_switchbox_sources(*self.tile, op.source.bundle))
        self.bound(op, "dest", op.dest, self.model.num_switchbox_dests(*self.tile, op.dest.bundle))
        self.wiring(op, op.source, op.dest)

    def master_set(self, op: MasterSetOp) -> None:
        if op.dest in self.dests:
            raise VerifyError(
                f"targets same destination {op.dest.bundle}: {op.dest.channel} as another connect or masterset "
                "operation",
                at=op,
            )
        self.dests[op.dest] = None
        self.bound(op, "dest", op.dest, self.model.num_switchbox_dests(*self.tile, op.dest.bundle))
        if len(op.arbiters) > 1:
            raise VerifyError("a master port can only be tied to one arbiter", at=op)

    def packet_rules(self, op: PacketRulesOp) -> None:
        if op.source in self.sources:
            raise VerifyError(
                f"packet switched source {op.source.bundle}{op.source.channel} cannot match another connect or "
                "masterset operation",
                at=op,
            )
        self.sources.add(op.source)

    def amsel(self, op: AmselOp) -> None:
        # packets go from the port of a rule to every port that listens to its select
        rules = [user.parent_op() for user in op.users(PacketRuleOp)]
        for master in op.users(MasterSetOp):
            for rule in rules:
                if isinstance(master, MasterSetOp) and isinstance(rule, PacketRulesOp):
                    self.wiring(op, rule.source, master.dest)

    def bound(self, op: Operation, side: str, port: Port, bound: int) -> None:
        if port.channel < 0:
            raise VerifyError(f"{side} index cannot be less than zero", at=op)
        if port.channel < bound:
            return
        if bound:
            text = f"index {port.channel} for {side} bundle {port.bundle} must be less than {bound}"
        else:
            text = f"{side} bundle {port.bundle} not supported; index: {port.channel}, bound: {bound}"
        raise VerifyError(text, at=op)

    def wiring(self, op: Operation, source: Port, dest: Port) -> None:
        if not self.model.is_legal_tile_connection(*self.tile, *source, *dest):
            raise VerifyError("illegal stream switch connection", at=op)


@op_definition
class ShimMuxOp(_ConnectionsOp):
    """The multiplexer between a shim's stream switch and its DMA, NoC and PL ports."""

    name = "aie.shim_mux"

    def verify_(self) -> None:
        if not self.require_tile("shim tile", TileType.ShimNOCTile, TileType.ShimPLTile).is_placed:
            return
        if not self.connections.blocks:
            raise VerifyException("should have non-empty body")
        dests: set[Port] = set()
        for op in self.connections.ops:
            match op:
                case ConnectOp():
                    if op.dest in dests:
                        raise VerifyError(
                            f"targets same destination {op.dest.bundle}: {op.dest.channel} as another connect "
                            "operation",
                            at=op,
                        )
                    dests.add(op.dest)
                case EndOp():
                    pass
                case _:
                    # upstream's text: it has one for both
                    raise VerifyError("cannot be contained in a Switchbox op", at=op)


OPS = [SwitchboxOp, ShimMuxOp, ConnectOp, AmselOp, MasterSetOp, PacketRulesOp, PacketRuleOp]
