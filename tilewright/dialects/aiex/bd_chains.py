"""Starting descriptor chains that are defined once, with the buffers and locks to use."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, FlatSymbolRefAttrConstr, IndexType, IntegerAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection
from tilewright.dialects._ods import ParentOp, enum_value, i32_attr, op_definition
from tilewright.dialects.aie.attributes import DIRECTION
from tilewright.dialects.aie.interfaces import Target, TileElement
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type
from tilewright.dialects.aie.sequence import BdChainOp
from tilewright.ir.shown import quoted

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

    def find_chain(self, args: Sequence[SSAValue]) -> BdChainOp:
        """What `symbol` names; raises what is wrong with it, or with arguments for it."""
        device = parent_of_type(self, Target)
        chain = lookup_symbol(device, self.symbol) if device is not None else None
        if not isinstance(chain, BdChainOp):
            raise VerifyException("symbol does not reference valid BD chain")
        block = chain.body.first_block
        expected = block.arg_types if block is not None else ()
        if len(expected) != len(args):
            raise VerifyException("Number of arguments mismatches.")
        for number, (wanted, given) in enumerate(zip(expected, args, strict=True), start=1):
            if wanted != given.type:
                text = f"expected {quoted(wanted)} but got {quoted(given.type)}"
                raise VerifyException(f"Argument {number} types mismatch: {text}")
        return chain


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
    assembly_format = (
        "$symbol `(` $args `)` `:` `(` type($args) `)` ` ` `on` ` ` `(` $tile `,` $direction `,` $channel `)` attr-dict"
    )

    @property
    def dma_direction(self) -> DmaDirection:
        return enum_value(DmaDirection, self.direction)

    def verify_(self) -> None:
        self.find_chain(self.args)


@op_definition
class DmaStartBdChainForOp(StartedChain):
    """Start a descriptor chain on the shim channel that `alloc` names."""

    name = "aiex.dma_start_bd_chain_for"

    args = var_operand_def()
    alloc = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(INDEX)

    traits = traits_def(ParentOp("aie.runtime_sequence"))
    assembly_format = "$symbol `(` $args `)` `:` `(` type($args) `)` ` ` `for` ` ` $alloc attr-dict"


OPS = [DmaStartBdChainOp, DmaStartBdChainForOp]
