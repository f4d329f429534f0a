"""Control packets, and what a runtime sequence does to the locks, DMA channels and cores of tiles directly."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FlatSymbolRefAttrConstr, IndexType, IntegerAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Arch, DmaDirection, TileId, WireBundle
from tilewright.dialects._ods import ParentOp, enum_to_attr, i32_attr, op_definition, unsigned_attr
from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck, Target
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import device_model, device_symbol, parent_of_type
from tilewright.dialects.aie.tiles import TileOp
from tilewright.ir.diagnostics import VerifyError

from .attributes import UI32, DmaChannelUser

INDEX = IndexType()


class _TileControl(IRDLOperation):
    """An access of a sequence to parts of tiles, all of which it reaches."""

    traits = traits_def(ParentOp("aie.runtime_sequence"), SkipAccessibilityCheck())


@op_definition
class NpuControlPacketOp(IRDLOperation):
    """A packet to the control port of a tile, which the address names: read or write up to four of its words."""

    name = "aiex.control_packet"

    address = prop_def(unsigned_attr(32))
    length = opt_prop_def(i32_attr())  # of a read, in words; what is written has its own length
    opcode = prop_def(i32_attr())
    stream_id = prop_def(i32_attr())
    data = opt_prop_def(DenseArrayBase.constr(i32))

    assembly_format = "attr-dict"

    def __init__(self, address: int, data: Sequence[int], opcode: int = 0, stream_id: int = 0):
        super().__init__(
            properties={
                "address": IntegerAttr(address, UI32),
                "data": DenseArrayBase.from_list(i32, data),
                "opcode": IntegerAttr(opcode, i32),
                "stream_id": IntegerAttr(stream_id, i32),
            }
        )

    @property
    def payload(self) -> tuple[int, ...] | None:
        """The words to write."""
        return None if self.data is None else tuple(int(word) for word in self.data.iter_values())

    @property
    def place(self) -> TileId:
        """The tile that the address names."""
        tile, _ = device_model(self).locate(self.address.value.data)  # the upper bits are column and row
        return tile


@op_definition
class SetLockOp(_TileControl):
    """Give a lock a value, without waiting for anything."""

    name = "aiex.set_lock"

    lock = operand_def(INDEX)
    value = prop_def(i32_attr())

    assembly_format = "`(` $lock `,` $value `)` attr-dict"

    def __init__(self, lock: SSAValue, value: int):
        super().__init__(operands=[lock], properties={"value": IntegerAttr(value, i32)})

    @property
    def lock_op(self) -> LockOp | None:
        owner = self.lock.owner
        return owner if isinstance(owner, LockOp) else None

    def verify_(self) -> None:
        device = device_model(self)
        if device.arch is Arch.AIE1:
            raise VerifyException("SetLockOp is not supported on AIE1.")
        if not 0 <= self.value.value.data <= device.max_lock_value:
            raise VerifyException(f"Lock value exceeds the maximum value of {device.max_lock_value}")
        lock = self.lock_op
        if lock is None or lock.number is None or lock.place is None:  # checked once all is known
            return
        count = device.num_locks(*lock.place)
        if lock.number >= count:
            raise VerifyException(f"Lock ID out of range for given tile. Max ID: {count - 1}")
        if device.lock_address(*lock.place, lock.number) is None:
            raise VerifyException(
                "Invalid lock ID and tile combination when trying to retrieve the local lock address."
            )


def _placed_tile(tile: SSAValue) -> TileOp:
    if not isinstance(owner := tile.owner, TileOp):
        raise VerifyException("tile operand must be produced by an aie.tile op")
    return owner


@op_definition
class DmaChannelResetOp(_TileControl, DmaChannelUser):
    """Drop everything that a DMA channel is doing and has queued."""

    name = "aiex.dma_channel_reset"

    tile = operand_def(INDEX)

    assembly_format = "`(` $tile `,` $direction `,` $channel `)` attr-dict"

    def __init__(self, tile: SSAValue, direction: DmaDirection, channel: int):
        super().__init__(
            operands=[tile], properties={"direction": enum_to_attr(direction), "channel": IntegerAttr(channel, i32)}
        )

    def verify_(self) -> None:
        device = device_model(self)
        column, row = _placed_tile(self.tile).place
        if not device.is_core_tile(column, row) and not device.is_mem_tile(column, row):
            raise VerifyException(
                f"tile ({column}, {row}) has no DMA channel reset "
                "(only core and mem tiles do; shim NOC DMA has no reset bit)"
            )
        # the switch sees the DMA from outside: what the DMA takes in is a destination of the switch
        is_s2mm = self.dma_direction is DmaDirection.S2MM
        count_channels = device.num_switchbox_dests if is_s2mm else device.num_switchbox_sources
        count, channel = count_channels(column, row, WireBundle.DMA), self.channel.value.data
        if not 0 <= channel < count:
            raise VerifyException(
                f"channel {channel} out of range for this tile and direction "
                f"(tile has {count} DMA channel(s) in this direction)"
            )


@op_definition
class CoreResetOp(_TileControl):
    """Start the program of a core anew; its memory, locks and DMA stay as they are."""

    name = "aiex.core_reset"

    tile = operand_def(INDEX)

    assembly_format = "`(` $tile `)` attr-dict"

    def verify_(self) -> None:
        device = device_model(self)
        if device.arch is Arch.AIE1:
            raise VerifyError("aiex.core_reset is not supported on AIE1.")
        column, row = _placed_tile(self.tile).place
        if not device.is_core_tile(column, row):
            raise VerifyException(
                f"tile ({column}, {row}) has no core to reset (only core tiles have a CORE_CONTROL register)"
            )


REARMED = (
    "aie.objectfifo",
    "aie.objectfifo.dma_endpoint",
    "aie.objectfifo.dangling_endpoint",
    "aie.objectfifo_rearm_binding",
)
"""What can be started again: an object FIFO, in each state of its lowering."""


@op_definition
class DmaChannelResetForOp(_TileControl):
    """Reset the core and mem tile channels of an object FIFO, set its locks anew and start its descriptors again."""

    name = "aiex.dma_channel_reset_for"

    objfifo = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "`(` $objfifo `)` attr-dict"

    @property
    def target(self) -> Operation | None:
        """The object FIFO or, once that is lowered, what is known of its channels."""
        return device_symbol(self, self.objfifo)

    def verify_(self) -> None:
        if parent_of_type(self, Target) is None:
            return
        if device_model(self).arch is Arch.AIE1:
            raise VerifyException(
                "is not supported on AIE1 devices (the resident re-arm relies on the aie2p start-queue push)"
            )
        target = self.target  # one that does not exist is the lowering's to report
        if target is not None and target.name not in REARMED:
            raise VerifyException(
                f"'{self.objfifo.root_reference.data}' must reference an aie.objectfifo "
                "(or its aie.objectfifo_rearm_binding)"
            )


OPS = [NpuControlPacketOp, SetLockOp, DmaChannelResetOp, CoreResetOp, DmaChannelResetForOp]
