"""DMA tasks: descriptor chains that a runtime sequence configures, starts, awaits and frees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    BoolAttr,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    SymbolRefAttr,
    i1,
    i32,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait, OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection
from tilewright.dialects._ods import ParentOp, enum_to_attr, enum_value, i32_attr, op_definition
from tilewright.dialects.aie.attributes import DIRECTION, PacketInfoAttr
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.dma_bd_checks import verify_mixed_lists
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import Target, TileElement, TileLike
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type, tile_of
from tilewright.dialects.aie.sequence import BdChainOp, RuntimeSequenceOp
from tilewright.ir.diagnostics import VerifyError

from .instructions import ATTR_DICT

INDEX = IndexType()
FALSE = BoolAttr.from_bool(False)
ZERO = IntegerAttr(0, i32)
SEGMENTED = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
BURST_NEEDS_SHIM = "Burst length is only supported in Shim NOC tiles that are connected to the memory-mapped NOC."


class InSequence(OpTrait):
    """The operation stands in a runtime sequence, possibly in loops and branches of it."""

    def verify(self, op: Operation) -> None:
        if parent_of_type(op, RuntimeSequenceOp) is None:
            raise VerifyException("expects ancestor op 'aie.runtime_sequence'")


class TaskPatterns(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import DropEmptyBlocks

        return (DropEmptyBlocks(),)


class ConfiguredTask(IRDLOperation):
    """A chain of descriptors in blocks, one descriptor each. Repeats and token apply to the task as a whole."""

    issue_token = opt_prop_def(BoolAttr, FALSE)
    repeat_count = opt_prop_def(i32_attr(), ZERO)  # runs - 1

    @property
    def chain(self) -> Region:
        return self.regions[0]

    @property
    def issues_token(self) -> bool:
        return bool(self.issue_token)

    @property
    def descriptors(self) -> Iterator[DmaBdOp]:
        """Every descriptor of the chain, in the order they are written."""
        return (op for op in self.walk() if isinstance(op, DmaBdOp))

    def verify_dimensions(self, tile: TileLike) -> None:
        """Descriptors in a task are checked here: their own verifier knows only those of tiles' DMAs.

        The outermost dimension goes into the iteration register, which mem tiles do not get on top of their four.
        """
        limit = tile.resources.bd_dims + (0 if tile.is_mem else 1)
        for bd in self.descriptors:
            verify_mixed_lists(bd)
            if bd.iteration is not None:
                raise VerifyError(
                    "the iteration attribute is not supported on the runtime-sequence path; express iteration via the "
                    "outermost sizes/strides dimension instead",
                    at=bd,
                )
            if (count := len(bd.mixed_sizes)) > limit:
                raise VerifyError(
                    f"Cannot give more than {limit} dimensions for step sizes and wraps on this tile "
                    f"(got {count} dimensions).",
                    at=bd,
                )


@op_definition
class DmaConfigureTaskOp(TileElement, ConfiguredTask):
    """A descriptor chain for one channel of a tile's DMA."""

    name = "aiex.dma_configure_task"

    tile = operand_def(INDEX)
    direction = prop_def(DIRECTION)
    channel = prop_def(i32_attr())
    repeat_count_val = opt_operand_def(i32)
    bd_id_val = opt_operand_def(i32)
    packet = opt_prop_def(PacketInfoAttr)
    body = region_def()
    result = result_def(INDEX)

    traits = traits_def(InSequence(), TaskPatterns())
    irdl_options = SEGMENTED
    assembly_format = (
        "`(` $tile `,` $direction `,` $channel (`,` $packet^)? `)` "
        "(`repeat` $repeat_count_val^ `:` type($repeat_count_val))? "
        "(`bd_id` $bd_id_val^ `:` type($bd_id_val))? $body attr-dict"
    )

    def __init__(
        self,
        tile: SSAValue,
        direction: DmaDirection,
        channel: int,
        body: Region,
        *,
        issue_token: bool = False,
        repeat_count: int = 0,
        repeat_count_val: SSAValue | None = None,
        bd_id_val: SSAValue | None = None,
        packet: PacketInfoAttr | None = None,
    ):
        super().__init__(
            operands=[tile, repeat_count_val, bd_id_val],
            result_types=[INDEX],
            regions=[body],
            properties={
                "direction": enum_to_attr(direction),
                "channel": IntegerAttr(channel, i32),
                "issue_token": IntegerAttr(issue_token, i1),
                "repeat_count": IntegerAttr(repeat_count, i32),
                "packet": packet,
            },
        )

    @property
    def dma_direction(self) -> DmaDirection:
        return enum_value(DmaDirection, self.direction)

    @property
    def first_descriptor(self) -> DmaBdOp | None:
        """Where the chain starts. An entry block that only jumps lets a chain come back to its first descriptor."""
        block = self.body.first_block
        if block is None:
            return None
        if block.first_op is block.last_op and block.last_op is not None and len(block.last_op.successors) == 1:
            block = block.last_op.successors[0]
        return next((op for op in block.ops if isinstance(op, DmaBdOp)), None)

    def verify_(self) -> None:
        tile = self.tile_like
        if tile is not None and tile.place is not None:
            self.verify_dimensions(tile)
        reached = {successor for block in self.body.blocks if block.last_op for successor in block.last_op.successors}
        for block in self.body.blocks:
            if block.last_op is None:
                continue
            if block is not self.body.first_block and block not in reached:
                text = "Block ending in this terminator does not form a chain with entry block."
                raise VerifyError(text, at=block.last_op, bare=True)
            if tile is not None and not tile.is_shim_noc:
                _verify_no_bursts(block)


def _verify_no_bursts(block: Block) -> None:
    for bd in block.walk():
        if isinstance(bd, DmaBdOp) and bd.burst_length.value.data != 0:
            raise VerifyError(BURST_NEEDS_SHIM, at=bd)


@op_definition
class DmaConfigureTaskForOp(ConfiguredTask):
    """A descriptor chain for the shim channel that `alloc` names."""

    name = "aiex.dma_configure_task_for"

    alloc = prop_def(SymbolRefAttr)
    repeat_count_val = opt_operand_def(i32)
    body = region_def()
    result = result_def(INDEX)

    traits = traits_def(InSequence())
    irdl_options = ATTR_DICT
    assembly_format = "$alloc (`repeat` $repeat_count_val^ `:` type($repeat_count_val))? $body attr-dict"

    @property
    def allocation(self) -> ShimDmaAllocationOp | None:
        """The shim channel that `alloc` names, once it is known."""
        device = parent_of_type(self, Target)
        found = lookup_symbol(device, self.alloc) if device is not None else None
        return found if isinstance(found, ShimDmaAllocationOp) else None

    @property
    def tile(self) -> TileLike | None:
        """The shim tile whose DMA runs the task, once it is placed."""
        allocation = self.allocation
        tile = tile_of(allocation.tile) if allocation is not None else None
        return tile if tile is not None and tile.is_placed else None

    def verify_(self) -> None:
        if self.tile is not None:
            self.verify_dimensions(self.tile)


class TaskUser(IRDLOperation):
    """Does something with a task that was configured before."""

    task = operand_def(INDEX)

    def __init__(self, task: SSAValue):
        super().__init__(operands=[task])

    @property
    def configuration(self) -> DmaConfigureTaskOp | None:
        owner = self.task.owner
        return owner if isinstance(owner, DmaConfigureTaskOp) else None


@op_definition
class DmaStartTaskOp(TaskUser):
    """Append a task to its channel's queue."""

    name = "aiex.dma_start_task"
    traits = traits_def(InSequence())
    irdl_options = ATTR_DICT
    assembly_format = "`(` $task `)` attr-dict"


@op_definition
class DmaAwaitTaskOp(TaskUser):
    """Wait for the completion token of a task, which must issue one."""

    name = "aiex.dma_await_task"
    traits = traits_def(InSequence())
    irdl_options = ATTR_DICT
    assembly_format = "`(` $task `)` attr-dict"


@op_definition
class DmaFreeTaskOp(TaskUser):
    """The descriptors of a task may be used for others from here on."""

    name = "aiex.dma_free_task"
    traits = traits_def(InSequence())
    irdl_options = ATTR_DICT
    assembly_format = "`(` $task `)` attr-dict"


@op_definition
class DmaBdPoolPopOp(IRDLOperation):
    """Take a free descriptor of a tile, chosen when the stream is generated."""

    name = "aiex.dma_bd_pool_pop"

    column = prop_def(i32_attr())
    row = prop_def(i32_attr())
    bd_id = result_def(i32)

    traits = traits_def(InSequence())
    irdl_options = ATTR_DICT
    assembly_format = "`(` $column `,` $row `)` attr-dict `:` type($bd_id)"

    def __init__(self, column: int, row: int):
        super().__init__(
            properties={"column": IntegerAttr(column, i32), "row": IntegerAttr(row, i32)}, result_types=[i32]
        )


@op_definition
class DmaBdPoolPushOp(IRDLOperation):
    """Give a descriptor back to its tile's pool."""

    name = "aiex.dma_bd_pool_push"

    column = prop_def(i32_attr())
    row = prop_def(i32_attr())
    bd_id = operand_def(i32)

    traits = traits_def(InSequence())
    irdl_options = ATTR_DICT
    assembly_format = "`(` $column `,` $row `)` `bd_id` $bd_id attr-dict `:` type($bd_id)"

    def __init__(self, column: int, row: int, bd_id: SSAValue):
        super().__init__(
            properties={"column": IntegerAttr(column, i32), "row": IntegerAttr(row, i32)}, operands=[bd_id]
        )


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


OPS: Sequence[type[Operation]] = [
    DmaConfigureTaskOp,
    DmaConfigureTaskForOp,
    DmaStartTaskOp,
    DmaAwaitTaskOp,
    DmaFreeTaskOp,
    DmaBdPoolPopOp,
    DmaBdPoolPushOp,
    DmaStartBdChainOp,
    DmaStartBdChainForOp,
]
