"""Logical transfers and streams that lowering turns into locks, descriptors and routes."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IndexType, MemRefType
from xdsl.irdl import IRDLOperation, operand_def, prop_def, region_def, traits_def
from xdsl.traits import SymbolOpInterface

from tilewright.device import LockAction, WireBundle
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    enum_value,
    i8_attr,
    i32_attr,
    op_definition,
)
from tilewright.dialects.aie.attributes import LOCK_ACTION, WIRE_BUNDLE
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck
from tilewright.ir.diagnostics import VerifyError

from .attributes import ATTR_DICT

INDEX = IndexType()
TOKEN_USERS = ("func.func", "aie.core", "aie.mem", "aie.shim_dma")


@op_definition
class TokenOp(IRDLOperation):
    """A logical lock: there are as many as a program wants."""

    name = "aiex.token"

    value = prop_def(i32_attr())

    traits = traits_def(SymbolOpInterface())
    irdl_options = ATTR_DICT
    assembly_format = "`(` $value `)` attr-dict"


@op_definition
class UseTokenOp(IRDLOperation):
    """Wait until a token has a value, or give it one."""

    name = "aiex.useToken"

    token_name = prop_def(FlatSymbolRefAttrConstr, prop_name="tokenName")
    value = prop_def(i32_attr())
    action = prop_def(LOCK_ACTION)

    irdl_options = ATTR_DICT
    assembly_format = "$tokenName `(` $action `,` $value `)` attr-dict"

    @property
    def lock_action(self) -> LockAction:
        return enum_value(LockAction, self.action)

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is None or parent.name not in TOKEN_USERS:
            raise VerifyError("must be directly in a function, a core, or the DMA of a core or shim tile")


@op_definition
class MemcpyOp(IRDLOperation):
    """Copy from a buffer of one tile to a buffer of another, between two values of a token."""

    name = "aiex.memcpy"

    token_name = prop_def(FlatSymbolRefAttrConstr, prop_name="tokenName")
    acquire_value = prop_def(i32_attr(), prop_name="acqValue")
    release_value = prop_def(i32_attr(), prop_name="relValue")
    source_tile = operand_def(INDEX)
    source = operand_def(MemRefType)
    source_offset = prop_def(i32_attr(), prop_name="srcOffset")
    source_length = prop_def(i32_attr(), prop_name="srcLen")
    destination_tile = operand_def(INDEX)
    destination = operand_def(MemRefType)
    destination_offset = prop_def(i32_attr(), prop_name="dstOffset")
    destination_length = prop_def(i32_attr(), prop_name="dstLen")

    traits = traits_def(SkipAccessibilityCheck())  # it names the tiles of its buffers itself
    irdl_options = ATTR_DICT
    assembly_format = (
        "$tokenName `(` $acqValue `,` $relValue `)` `(` "
        "$source_tile `:` `<` $source `,` $srcOffset `,` $srcLen `>` `,` "
        "$destination_tile `:` `<` $destination `,` $dstOffset `,` $dstLen `>` `)` "
        "attr-dict `:` `(` type($source) `,` type($destination) `)`"
    )


class TilePort(IRDLOperation):
    """One end of a stream: a port of a tile."""

    tile = operand_def(INDEX)
    bundle = prop_def(WIRE_BUNDLE)
    channel = prop_def(i32_attr())

    @property
    def port(self) -> Port:
        return Port(enum_value(WireBundle, self.bundle), self.channel.value.data)


@op_definition
class MulticastOp(TilePort, BlockOp):
    """A stream from one port to several."""

    name = "aiex.multicast"

    ports = region_def()

    traits = traits_def(ImplicitTerminator(EndOp))
    irdl_options = ATTR_DICT
    assembly_format = "`(` $tile `,` $bundle `:` $channel `)` $ports attr-dict"

    def verify_(self) -> None:
        for op in (op for block in self.ports.blocks for op in block.ops):
            if not isinstance(op, MultiDestOp | EndOp):
                raise VerifyError("cannot be contained in a Multicast op", at=op)


@op_definition
class MultiDestOp(TilePort):
    """A port that a multicast reaches."""

    name = "aiex.multi_dest"

    traits = traits_def(ParentOp("aiex.multicast"))
    irdl_options = ATTR_DICT
    assembly_format = "`<` $tile `,` $bundle `:` $channel `>` attr-dict"


@op_definition
class BroadcastPacketOp(TilePort, BlockOp):
    """Packets from one port, each to the ports listed for its id."""

    name = "aiex.broadcast_packet"

    ports = region_def()

    traits = traits_def(ImplicitTerminator(EndOp))
    irdl_options = ATTR_DICT
    assembly_format = "`(` $tile `,` $bundle `:` $channel `)` $ports attr-dict"

    def verify_(self) -> None:
        for op in (op for block in self.ports.blocks for op in block.ops):
            if not isinstance(op, BpIdOp | EndOp):
                raise VerifyError("cannot be contained in a BroadcastPacket op", at=op)


@op_definition
class BpIdOp(BlockOp):
    """Where packets of one id go."""

    name = "aiex.bp_id"

    packet_id = prop_def(i8_attr(), prop_name="ID")
    ports = region_def()

    traits = traits_def(ImplicitTerminator(EndOp))
    irdl_options = ATTR_DICT
    assembly_format = "`(` $ID `)` $ports attr-dict"


@op_definition
class BpDestOp(TilePort):
    """A port that packets reach."""

    name = "aiex.bp_dest"

    traits = traits_def(ParentOp("aiex.bp_id"))
    irdl_options = ATTR_DICT
    assembly_format = "`<` $tile `,` $bundle `:` $channel `>` attr-dict"


OPS = [
    TokenOp,
    UseTokenOp,
    MemcpyOp,
    MulticastOp,
    MultiDestOp,
    BroadcastPacketOp,
    BpIdOp,
    BpDestOp,
]
