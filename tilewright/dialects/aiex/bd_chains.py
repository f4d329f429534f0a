"""Starting descriptor chains that are defined once, with the buffers and locks to use."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, FlatSymbolRefAttrConstr, IndexType, IntegerAttr, SymbolRefAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection
from tilewright.dialects._ods import ParentOp, enum_to_attr, enum_value, i32_attr, op_definition
from tilewright.dialects.aie.attributes import DIRECTION
from tilewright.dialects.aie.interfaces import Target, TileElement
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type
from tilewright.dialects.aie.sequence import BdChainOp

from .attributes import ATTR_DICT

INDEX = IndexType()
FALSE = BoolAttr.from_bool(False)
ZERO = IntegerAttr(0, i32)


class StartedChain(IRDLOperation):
    """Configures an `aie.bd_chain` with arguments and starts it at once."""

    symbol = prop_def(FlatSymbolRefAttrConstr)
    issue_token = opt_prop_def(BoolAttr, FALSE)
    repeat_count = opt_prop_def(i32_attr(), ZERO)

    @property
    def issues_token(self) -> bool:
        return bool(self.issue_token)

    @property
    def bd_chain(self) -> BdChainOp | None:
        device = parent_of_type(self, Target)
        found = lookup_symbol(device, self.symbol) if device is not None else None
        return found if isinstance(found, BdChainOp) else None


@op_definition
class DmaStartBdChainOp(TileElement, StartedChain):
    """Start a descriptor chain on one channel of a tile's DMA."""

    name = "aiex.dma_start_bd_chain"

    args = var_operand_def()
    tile = operand_def(INDEX)
    direction = prop_def(DIRECTION)
    channel = prop_def(i32_attr())
    result = result_def(INDEX)

    traits = traits_def(ParentOp("aie.runtime_sequence"))
    irdl_options = ATTR_DICT
    assembly_format = (
        "$symbol `(` $args `)` `:` `(` type($args) `)` ` ` `on` ` ` `(` $tile `,` $direction `,` $channel `)` attr-dict"
    )

    def __init__(
        self,
        symbol: SymbolRefAttr,
        args: Sequence[SSAValue],
        tile: SSAValue,
        direction: DmaDirection,
        channel: int,
        *,
        issue_token: bool = False,
        repeat_count: int = 0,
    ):
        super().__init__(
            operands=[args, tile],
            result_types=[INDEX],
            properties={
                "symbol": symbol,
                "direction": enum_to_attr(direction),
                "channel": IntegerAttr(channel, i32),
                "issue_token": BoolAttr.from_bool(issue_token),
                "repeat_count": IntegerAttr(repeat_count, i32),
            },
        )

    @property
    def dma_direction(self) -> DmaDirection:
        return enum_value(DmaDirection, self.direction)

    def verify_(self) -> None:
        chain = self.bd_chain
        if chain is None:
            raise VerifyException("symbol does not reference valid BD chain")
        block = chain.body.first_block
        expected = block.arg_types if block is not None else ()
        if len(expected) != len(self.args):
            raise VerifyException("Number of arguments mismatches.")
        for number, (wanted, given) in enumerate(zip(expected, self.args.types, strict=True), start=1):
            if wanted != given:
                raise VerifyException(f"Argument {number} types mismatch: expected '{wanted}' but got '{given}'")


@op_definition
class DmaStartBdChainForOp(StartedChain):
    """Start a descriptor chain on the shim channel that `alloc` names."""

    name = "aiex.dma_start_bd_chain_for"

    args = var_operand_def()
    alloc = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(INDEX)

    traits = traits_def(ParentOp("aie.runtime_sequence"))
    irdl_options = ATTR_DICT
    assembly_format = "$symbol `(` $args `)` `:` `(` type($args) `)` ` ` `for` ` ` $alloc attr-dict"


OPS = [DmaStartBdChainOp, DmaStartBdChainForOp]
