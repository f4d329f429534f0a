"""The DMAs of tiles: channels, and the chains of descriptors they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection, TileType
from tilewright.dialects._ods import ParentOp, enum_to_attr, enum_value, i32_attr, op_definition
from tilewright.dialects._syntax import parse_enum, parse_i32, print_attributes, split_attributes
from tilewright.dialects.aie.attributes import DIRECTION
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.interfaces import TileElement, TileLike
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.lookup import device_model
from tilewright.ir.diagnostics import VerifyError

ZERO = IntegerAttr(0, i32)
TRUE = BoolAttr.from_bool(True)


class Channel(NamedTuple):
    """One channel of a tile's DMA."""

    direction: DmaDirection
    number: int


class DmaBody(TileElement):
    """The DMA of a tile: blocks that start channels, and one block per descriptor."""

    tile = operand_def(INDEX)
    body = region_def()
    result = result_def(INDEX)

    assembly_format = "`(` $tile `)` $body attr-dict"

    def __init__(self, tile: SSAValue, body: Region):
        super().__init__(operands=[tile], result_types=[INDEX], regions=[body])

    @property
    def ops(self) -> Iterator[Operation]:
        """What stands in the blocks, nothing nested."""
        return (op for block in self.body.blocks for op in block.ops)

    @property
    def starts(self) -> Iterator[DmaStartOp]:
        return (op for op in self.ops if isinstance(op, DmaStartOp))

    def verify_body(self, tile: TileLike) -> None:
        self._verify_descriptors(tile)
        self._verify_channels(tile)
        # `aie.end` ends the chain of starts and every chain of descriptors that does not loop
        for block in self.body.blocks:
            last = block.last_op
            if last is not None and not isinstance(last, DmaStartOp | NextBdOp | EndOp):
                raise VerifyError("is not an allowed terminator", (self, "in this context: "), at=last)

    def _verify_descriptors(self, tile: TileLike) -> None:
        available = tile.resources.bds
        used = 0
        for block in self.body.blocks:
            bds = [op for op in block.ops if isinstance(op, DmaBdOp)]
            if not bds:
                continue
            if used >= available:
                raise VerifyError(f"has more than {available} blocks", (bds[0], "no space for this BD"))
            used += 1
            here = (block.first_op, "in this BD block")
            # a descriptor has one field for a lock to acquire and one for a lock to release
            if len(bds) != 1:
                raise VerifyError(f"BD block must have exactly one DMABDOp, found {len(bds)}", here)
            uses = [op.is_acquire for op in block.ops if isinstance(op, UseLockOp)]
            for action, count in (("acquire", uses.count(True)), ("release", uses.count(False))):
                if count > 1:
                    raise VerifyError(f"BD block must have at most one {action} UseLockOp, found {count}", here)

    def _verify_channels(self, tile: TileLike) -> None:
        if not self.body.blocks:
            raise VerifyException("should have non-empty body")
        channels = {start.channel for start in self.starts}  # one may be started more than once
        inputs = sum(channel.direction is DmaDirection.S2MM for channel in channels)
        if inputs > tile.resources.s2mm_channels:
            raise VerifyException("uses more input channels than available on this tile")
        if len(channels) - inputs > tile.resources.mm2s_channels:
            raise VerifyException("uses more output channels than available on this tile")

    def verify_allocation(self, op: Operation, kind: str) -> None:
        if op.name == "memref.alloc" and op.get_attr_or_prop("id") is None:
            raise VerifyError(f"allocOp in {kind} region should have an id attribute", at=op)


@op_definition
class MemOp(DmaBody):
    """The DMA of a core tile."""

    name = "aie.mem"

    def verify_(self) -> None:
        self.verify_body(self.require_tile("core tile", TileType.CoreTile))
        for op in self.ops:
            self.verify_allocation(op, "MemOp")


@op_definition
class MemTileDmaOp(DmaBody):
    """The DMA of a mem tile."""

    name = "aie.memtile_dma"

    def verify_(self) -> None:
        self.verify_body(self.require_tile("MemTile", TileType.MemTile))
        reach = device_model(self).adjacent_mem_tile_channels
        for op in self.ops:
            self.verify_allocation(op, "MemTileDMAOp")
            # a mem tile's first channels reach the memory and locks of the tiles to its left and right as well
            if isinstance(op, DmaStartOp) and op.channel.number >= reach:
                self._verify_local(op)

    def _verify_local(self, start: DmaStartOp) -> None:
        """The last channels of a mem tile do not reach its neighbours."""
        text = f"is reachable from DMA channel {start.channel.number} and attempts to access a non-local"
        for op in (op for block in reachable_blocks(start.dest) for op in block.ops):
            match op:
                case DmaBdOp() if (buffer := op.buffer_op) and buffer.tile is not self.tile:
                    raise VerifyError(f"{text} buffer", (start, "channel"), (buffer, "buffer"), at=op)
                case UseLockOp() if (lock := op.lock_op) and lock.tile is not self.tile:
                    raise VerifyError(f"{text} lock", (start, "channel"), (lock, "lock"), at=op)
                case _:
                    pass


@op_definition
class ShimDmaOp(DmaBody):
    """The DMA of a shim tile."""

    name = "aie.shim_dma"

    def verify_(self) -> None:
        self.verify_body(self.require_tile("shim tile with NOC connection", TileType.ShimNOCTile))


def reachable_blocks(first: Block) -> list[Block]:
    """A block and those that control can reach from it, as found depth first."""
    found = [first]
    pending = [first]  # chains loop: a block that was found is not visited again
    while pending:
        last = pending.pop().last_op
        for block in last.successors if last is not None else ():
            if block not in found:
                found.append(block)
                pending.append(block)
    return found


class ChannelOp(IRDLOperation):
    """What says that a channel runs descriptors."""

    channel_dir = prop_def(DIRECTION)
    channel_index = prop_def(i32_attr(minimum=0))

    @property
    def channel(self) -> Channel:
        return Channel(enum_value(DmaDirection, self.channel_dir), self.channel_index.value.data)

    def verify_pad_value(self, pad_value: IntegerAttr | None) -> None:
        if pad_value is None or pad_value.value.data == 0:  # zeros need no register
            return
        parent = self.parent_op()
        if parent is None or parent.name != "aie.memtile_dma":
            raise VerifyException("pad_value is only supported on memtile DMA channels")
        if self.channel.direction is not DmaDirection.MM2S:
            raise VerifyException("pad_value is only supported on MM2S DMA channels")
        if not device_model(self).architecture.mem_tile_pad_value:
            raise VerifyException("pad_value requires the CONSTANT_PAD_VALUE register, unavailable on this target")


@op_definition
class DmaStartOp(ChannelOp):
    """Start a channel on the descriptor in `dest`, then go on with `chain`: the next channel, or the end."""

    name = "aie.dma_start"

    repeat_count = prop_def(i32_attr(), default_value=ZERO)  # 0 runs the chain once
    pad_value = opt_prop_def(i32_attr(), default_value=ZERO)  # the 32-bit word that padding inserts
    dest = successor_def()
    chain = successor_def()
    valid = result_def(i1)

    traits = traits_def(ParentOp("aie.mem", "aie.memtile_dma", "func.func", "aie.shim_dma"), IsTerminator())
    assembly_format = (
        "`(` $channel_dir `,` $channel_index `,` $dest `,` $chain "
        "(`,` `repeat_count` `=` $repeat_count^)? `)` attr-dict"
    )

    def __init__(self, channel: Channel, dest: Block, chain: Block, repeat_count: int = 0):
        super().__init__(
            properties={
                "channel_dir": enum_to_attr(channel.direction),
                "channel_index": IntegerAttr(channel.number, i32),
                "repeat_count": IntegerAttr(repeat_count, i32),
            },
            successors=[dest, chain],
            result_types=[i1],
        )

    def verify_(self) -> None:
        self.verify_pad_value(self.pad_value)


@op_definition
class DmaOp(ChannelOp):
    """A channel with its descriptors, one region for each: the form without blocks."""

    name = "aie.dma"

    loop = prop_def(BoolAttr, default_value=TRUE)  # after the last descriptor comes the first one again
    repeat_count = prop_def(i32_attr(), default_value=ZERO)
    sym_name = opt_prop_def(StringAttr)
    pad_value = opt_prop_def(i32_attr(), default_value=ZERO)
    bds = var_region_def("single_block")
    valid = result_def(i1)

    traits = traits_def(ParentOp("aie.mem", "aie.memtile_dma", "aie.shim_dma"), NoTerminator())

    def result_names(self) -> Sequence[str | None]:
        return [None if self.sym_name is None else self.sym_name.data]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        with parser.in_parens():
            direction = parse_enum(parser, DmaDirection, "channel_dir")
            parser.parse_punctuation(",")
            properties: dict[str, Attribute] = {
                "channel_dir": enum_to_attr(direction),
                "channel_index": parse_i32(parser),
            }
        more, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        regions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_region)
        return cls.create(properties=properties | more, attributes=attributes, regions=regions, result_types=[i1])

    def print(self, printer: Printer) -> None:
        printer.print_string(f"({self.channel.direction}, {self.channel.number})")
        print_attributes(printer, self, elided=("channel_dir", "channel_index"))
        printer.print_string(" [")
        printer.print_list(self.bds, printer.print_region)
        printer.print_string("]")

    def verify_(self) -> None:
        parent = self.parent_op()
        assert parent is not None, "the trait requires a parent"
        around = parent.regions[0]  # a tile's DMA is written in one of the two forms, not in both
        if len(around.blocks) > 1:
            raise VerifyException("DMAOp can only appear in single block region")
        if any(isinstance(op, DmaStartOp) for op in around.block.ops):
            raise VerifyException("DMAOp is not compatible with DMAStart ops")
        for region in self.bds:
            if len(region.blocks) != 1:
                raise VerifyException("DMAOp regions must have only one block")
            ops = [*region.block.ops]
            if sum(isinstance(op, DmaBdOp) for op in ops) != 1:
                raise VerifyException("DMAOp regions/blocks must have exactly one DMABDOp")
            if sum(isinstance(op, UseLockOp) for op in ops) != 2:
                raise VerifyException("DMAOp regions/blocks must have exactly two UseLock ops")
        self.verify_pad_value(self.pad_value)


@op_definition
class NextBdOp(IRDLOperation):
    """The end of a descriptor's block: which descriptor comes next."""

    name = "aie.next_bd"

    dest = successor_def()

    traits = traits_def(IsTerminator())
    assembly_format = "$dest attr-dict"

    def __init__(self, dest: Block):
        super().__init__(successors=[dest])


@op_definition
class DmaBdPacketOp(IRDLOperation):
    """The packet header of the descriptor that follows in the block."""

    name = "aie.dma_bd_packet"

    packet_type = prop_def(i32_attr())
    packet_id = prop_def(i32_attr())

    assembly_format = "`(` $packet_type `,` $packet_id `)` attr-dict"

    def __init__(self, packet_type: int, packet_id: int):
        super().__init__(
            properties={"packet_type": IntegerAttr(packet_type, i32), "packet_id": IntegerAttr(packet_id, i32)}
        )


OPS: Sequence[type[IRDLOperation]] = [
    MemOp,
    MemTileDmaOp,
    ShimDmaOp,
    DmaStartOp,
    DmaOp,
    NextBdOp,
    DmaBdPacketOp,
]
