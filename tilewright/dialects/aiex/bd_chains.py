"""Starting descriptor chains that are defined once, with the buffers and locks to use."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IndexType, IntegerAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, i32_attr, op_definition
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.lookup import device_symbol
from tilewright.dialects.aie.sequence import BdChainOp
from tilewright.ir.shown import quoted

from .attributes import DmaChannelUser, TokenIssuer

INDEX = IndexType()
ZERO = IntegerAttr(0, i32)


class StartedChain(TokenIssuer):
    """Configures an `aie.bd_chain` with arguments and starts it at once."""

    symbol = prop_def(FlatSymbolRefAttrConstr)
    repeat_count = opt_prop_def(i32_attr(), ZERO)  # runs - 1

    def find_chain(self, args: Sequence[SSAValue]) -> BdChainOp:
        """What `symbol` names; raises what is wrong with it, or with arguments for it."""
        chain = device_symbol(self, self.symbol)
        if not isinstance(chain, BdChainOp):
            raise VerifyException("symbol does not reference valid BD chain")
        block = chain.body.first_block
        expected = block.arg_types if block is not None else ()
        if len(expected) != len(args):
            raise VerifyException("Number of arguments mismatches.")
        # counted from one, as upstream counts them in this text
        for number, (wanted, given) in enumerate(zip(expected, args, strict=True), start=1):
            if wanted != given.type:
                text = f"expected {quoted(wanted)} but got {quoted(given.type)}"
                raise VerifyException(f"Argument {number} types mismatch: {text}")
        return chain


@op_definition
class DmaStartBdChainOp(TileElement, DmaChannelUser, StartedChain):
    """Start a descriptor chain on one channel of a tile's DMA."""

    name = "aiex.dma_start_bd_chain"

    args = var_operand_def()
    tile = operand_def(INDEX)
    result = result_def(INDEX)

    traits = traits_def(ParentOp("aie.runtime_sequence"))
    assembly_format = (
        "$symbol `(` $args `)` `:` `(` type($args) `)` ` ` `on` ` ` `(` $tile `,` $direction `,` $channel `)` attr-dict"
    )

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
