"""Logical transfers and streams that lowering turns into locks, descriptors and routes."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IntegerAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, operand_def, prop_def, region_def, traits_def
from xdsl.traits import SymbolOpInterface

from tilewright.device import LockAction
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    enum_to_attr,
    enum_value,
    i8_attr,
    i32_attr,
    op_definition,
)
from tilewright.dialects.aie.attributes import LOCK_ACTION, WIRE_BUNDLE
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.lookup import ancestors
from tilewright.ir.diagnostics import VerifyError

TOKEN_USERS = ("func.func", "aie.core", "aie.mem", "aie.shim_dma")


@op_definition
class TokenOp(IRDLOperation):
    """A logical lock: there are as many as a program wants."""

    name = "aiex.token"

    value = prop_def(i32_attr())

    # the name stands in the dictionary, as upstream has it
    traits = traits_def(SymbolOpInterface())
    assembly_format = "`(` $value `)` attr-dict"


@op_definition
class UseTokenOp(IRDLOperation):
    """Wait until a token has a value, or give it one."""

    name = "aiex.useToken"

    token_name = prop_def(FlatSymbolRefAttrConstr, prop_name="tokenName")
    value = prop_def(i32_attr())
    action = prop_def(LOCK_ACTION)

    assembly_format = "$tokenName `(` $action `,` $value `)` attr-dict"

    def __init__(self, token: SymbolRefAttr, action: LockAction, value: IntegerAttr):
        super().__init__(properties={"tokenName": token, "action": enum_to_attr(action), "value": value})

    @property
    def lock_action(self) -> LockAction:
        return enum_value(LockAction, self.action)

    def verify_(self) -> None:
        # anywhere inside them, also in loops and branches
        if not any(parent.name in TOKEN_USERS for parent in ancestors(self)):
            raise VerifyError("must be in a function, a core, or the DMA of a core or shim tile")


class TilePort(IRDLOperation):
    """One end of a stream: a port of a tile."""

    tile = operand_def(INDEX)
    bundle = prop_def(WIRE_BUNDLE)
    channel = prop_def(i32_attr())

    assembly_format = "`<` $tile `,` $bundle `:` $channel `>` attr-dict"

    @property
    def port(self) -> Port:
        return Port.of(self.bundle, self.channel)


class _FanOutOp(TilePort, BlockOp):
    """What goes from one port to those in the body."""

    ports = region_def()

    traits = traits_def(ImplicitTerminator(EndOp))
    assembly_format = "`(` $tile `,` $bundle `:` $channel `)` $ports attr-dict"

    def verify_ports(self, kind: type[Operation], what: str) -> None:
        # an empty body has no block in the generic form
        for op in (op for block in self.ports.blocks for op in block.ops):
            if not isinstance(op, kind | EndOp):
                raise VerifyError(f"cannot be contained in a {what} op", at=op)


@op_definition
class MulticastOp(_FanOutOp):
    """A stream from one port to several."""

    name = "aiex.multicast"

    def verify_(self) -> None:
        self.verify_ports(MultiDestOp, "Multicast")


@op_definition
class MultiDestOp(TilePort):
    """A port that a multicast reaches."""

    name = "aiex.multi_dest"

    traits = traits_def(ParentOp("aiex.multicast"))


@op_definition
class BroadcastPacketOp(_FanOutOp):
    """Packets from one port, each to the ports listed for its id."""

    name = "aiex.broadcast_packet"

    def verify_(self) -> None:
        self.verify_ports(BpIdOp, "BroadcastPacket")


@op_definition
class BpIdOp(BlockOp):
    """Where packets of one id go."""

    name = "aiex.bp_id"

    packet_id = prop_def(i8_attr(), prop_name="ID")
    ports = region_def()

    traits = traits_def(ImplicitTerminator(EndOp))
    assembly_format = "`(` $ID `)` $ports attr-dict"


@op_definition
class BpDestOp(TilePort):
    """A port that packets reach."""

    name = "aiex.bp_dest"

    traits = traits_def(ParentOp("aiex.bp_id"))


OPS = [
    TokenOp,
    UseTokenOp,
    MulticastOp,
    MultiDestOp,
    BroadcastPacketOp,
    BpIdOp,
    BpDestOp,
]
