"""Types and closed vocabularies of `aiex`, and what its operations share."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    BoolAttr,
    FixedBitwidthType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, opt_prop_def, prop_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilewright.device import BlockFormat, DmaDirection, Keyword
from tilewright.device.architecture import AIE2P
from tilewright.dialects._ods import enum_attr, enum_value, i32_attr
from tilewright.dialects.aie.attributes import DIRECTION
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import device_symbol, tile_of
from tilewright.ir.diagnostics import VerifyError


class StateTableFunction(Keyword):
    """What the firmware does with a scratchpad value and an argument before it adds the result to a register pair."""

    mul = 0
    incr = 1
    decr = 2


class ParameterKind(Keyword):
    """Who uses a scratchpad parameter: a core reads it, or it offsets the address of a descriptor."""

    core = 0
    addr = 1


class ExpandMode(Keyword):
    """What becomes of a `load_pdi`: it stays, or turns into register writes or control packets."""

    none = 0
    write32 = 1
    ctrlpkt = 2


UI8, UI32, UI64 = (IntegerType(bits, Signedness.UNSIGNED) for bits in (8, 32, 64))


@lru_cache(1 << 13)  # sequences write to few registers, each often
def register_number(address: int) -> IntegerAttr[IntegerType]:
    """The address of a register as an attribute."""
    return IntegerAttr(address, UI32)


# The wording is upstream's: verification errors quote it.
STATE_TABLE_FUNCTION = enum_attr(StateTableFunction, "Function to apply between scratchpad value and register pair")
EXPAND_MODE = enum_attr(ExpandMode, "How to expand a load_pdi op")
PARAMETER_KIND = enum_attr(
    ParameterKind,
    "Usage kind of a scratchpad runtime parameter: `core` parameters are read by AIE cores via "
    "`aiex.read_scratchpad_parameter` (values are shift-2 encoded); `addr` parameters are used as BD address offsets "
    "via the `offset_parameter` attribute on DMA ops (values written raw)",
)

# the only architecture that has any; the type can be read in programs for all of them
BLOCK_FORMATS = AIE2P.block_formats or {}


@irdl_attr_definition
class BlockFloatType(ParametrizedAttribute, FixedBitwidthType):
    """Numbers that share one exponent, as one element of a buffer."""

    name = "aiex.bfp"

    block_type: StringAttr

    def __init__(self, block_type: str | StringAttr):
        super().__init__(StringAttr(block_type) if isinstance(block_type, str) else block_type)

    @property
    def format(self) -> BlockFormat:
        return BLOCK_FORMATS[self.block_type.data]

    @property
    def bitwidth(self) -> int:
        return self.format.bits

    @property
    def compile_time_size(self) -> int:
        return self.size  # xDSL asks for it by this name

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.block_type.data)

    def verify(self) -> None:
        if self.block_type.data not in BLOCK_FORMATS:
            known = ", ".join(BLOCK_FORMATS)
            raise VerifyError(f"Invalid block type: {self.block_type.data}. Known types are: {known}.", bare=True)


class TokenIssuer(IRDLOperation):
    """A transfer that may tell its end by a token, which a wait takes."""

    issue_token = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    @property
    def issues_token(self) -> bool:
        return bool(self.issue_token)


class DmaChannelUser(IRDLOperation):
    """Names a channel of a tile's DMA."""

    direction = prop_def(DIRECTION)
    channel = prop_def(i32_attr())

    @property
    def dma_direction(self) -> DmaDirection:
        return enum_value(DmaDirection, self.direction)


class ShimChannelUser(IRDLOperation):
    """Names a channel of a shim's DMA by its allocation, or by the object FIFO that has none until it is lowered."""

    CHANNEL_NAME: ClassVar[str]  # the property that has the name

    @property
    def named_channel(self) -> Operation | None:
        return device_symbol(self, cast(SymbolRefAttr, self.properties[self.CHANNEL_NAME]))

    @property
    def allocation(self) -> ShimDmaAllocationOp | None:
        """The shim channel, once it is known."""
        found = self.named_channel
        return found if isinstance(found, ShimDmaAllocationOp) else None

    @property
    def tile(self) -> TileLike | None:
        """The shim tile whose DMA moves the data, once it is placed."""
        allocation = self.allocation
        tile = tile_of(allocation.tile) if allocation is not None else None
        return tile if tile is not None and tile.is_placed else None


ATTRS: list[type[Attribute]] = [BlockFloatType]
