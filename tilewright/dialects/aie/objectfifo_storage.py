"""Storage of object FIFOs: their buffers, and starting again the channels that fill and empty them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerType,
    MemRefType,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection, TileType
from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.objectfifo import I32_ARRAY, find_fifo, wrong


@op_definition
class ObjectFifoAllocateOp(IRDLOperation):
    """Puts the buffers of a FIFO between neighbours into the memory of one tile."""

    name = "aie.objectfifo.allocate"

    fifo_name = prop_def(FlatSymbolRefAttrConstr, prop_name="objFifo_name")
    tile = operand_def(INDEX)

    traits = traits_def(ParentOp("aie.device"))
    assembly_format = "$objFifo_name `(` $tile `)` attr-dict"

    def __init__(self, fifo: str, tile: SSAValue):
        super().__init__(operands=[tile], properties={"objFifo_name": SymbolRefAttr(fifo)})

    def verify_(self) -> None:
        fifo = find_fifo(self, self.fifo_name)
        if fifo is None:
            raise wrong("cannot retrieve associated object FIFO")
        # buffers that a DMA copies are needed in the memories of both ends
        if len(fifo.consumers) != 1:
            raise wrong("can only be used in 1-to-1 object FIFOs")
        for is_set, what in (
            (fifo.via_dma.value.data, "with set `via_DMA` attribute"),
            (fifo.repeat_count is not None, "with set `repeat_count` attribute"),
            (len(fifo.dimensions_to_stream), "with set dimensions attribute"),
            (fifo.aie_stream is not None, "using stream port"),
        ):
            if is_set:
                raise wrong(f"cannot allocate a shared memory module to objectfifo {what}")


@op_definition
class ObjectFifoRegisterExternalBuffersOp(TileElement):
    """Names the host buffers that a FIFO's shim end reads or writes."""

    name = "aie.objectfifo.register_external_buffers"

    fifo_name = prop_def(FlatSymbolRefAttrConstr, prop_name="objFifo_name")
    tile = operand_def(INDEX)
    buffers = var_operand_def(BaseAttr(MemRefType))

    traits = traits_def(ParentOp("aie.device"))
    assembly_format = "attr-dict $objFifo_name `(` $tile `,` `{` $buffers `}` `)` `:` `(` type($buffers) `)`"

    def result_names(self) -> Sequence[str | None]:
        return []

    def verify_(self) -> None:
        self.require_tile("shim tile with NOC connection", TileType.ShimNOCTile)


@op_definition
class ObjectFifoRearmBindingOp(IRDLOperation):
    """What it takes to start the channels of a FIFO again: where they are, its locks, and their first values."""

    name = "aie.objectfifo_rearm_binding"

    sym_name = prop_def(SymbolNameConstraint())
    channel_tiles = var_operand_def(INDEX)
    locks = var_operand_def(INDEX)
    channel_dirs = prop_def(I32_ARRAY)
    channel_indices = prop_def(I32_ARRAY)
    lock_inits = prop_def(I32_ARRAY)
    head_bd_ids = opt_prop_def(I32_ARRAY)  # where each channel's chain begins, once descriptors have numbers
    repeat_counts = opt_prop_def(I32_ARRAY)

    traits = traits_def(ParentOp("aie.device"), SymbolOpInterface())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$sym_name `channels` `(` ($channel_tiles^ `:` type($channel_tiles))? `)` "
        "`locks` `(` ($locks^ `:` type($locks))? `)` attr-dict"
    )

    @property
    def directions(self) -> list[DmaDirection]:
        return [DmaDirection(direction) for direction in self.channel_dirs.get_values()]

    def verify_(self) -> None:
        self._verify_channel_lists("channel_dirs", "channel_indices")
        if len(self.lock_inits) != (locks := len(self.locks)):
            raise VerifyException(
                f"expected one lock_inits entry per lock ({locks} locks, {len(self.lock_inits)} inits)"
            )
        if (self.head_bd_ids is None) != (self.repeat_counts is None):
            raise VerifyException("head_bd_ids and repeat_counts must both be set or both be absent")
        self._verify_channel_lists("head_bd_ids", "repeat_counts")
        for direction in self.channel_dirs.get_values():
            if direction not in (0, 1):
                raise VerifyException(f"channel_dirs entries must be 0 (S2MM) or 1 (MM2S), got {direction}")
        self._verify_operands()

    def _verify_channel_lists(self, *names: str) -> None:
        tiles = len(self.channel_tiles)
        for name in names:
            values: DenseArrayBase[IntegerType] | None = getattr(self, name)
            if values is not None and len(values) != tiles:
                found = name.rpartition("_")[2]
                raise VerifyException(
                    f"expected one {name} entry per channel tile ({tiles} tiles, {len(values)} {found})"
                )

    def _verify_operands(self) -> None:
        for tile in map(tile_of, self.channel_tiles):
            if tile is None or not tile.is_placed:
                raise VerifyException("channel_tiles operands must be aie.tile values")
            # a shim's channels run what the sequence gives them, and nothing else
            if tile.is_shim:
                raise VerifyException(
                    "channel_tiles must be non-shim tiles; a shim DMA endpoint is host-managed and is not re-armed here"
                )
        for lock in self.locks:
            if not isinstance(lock.owner, LockOp):
                raise VerifyException("locks operands must be aie.lock values")


OPS = [ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp, ObjectFifoRearmBindingOp]
