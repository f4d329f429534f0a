"""DMA tasks: descriptor chains that a runtime sequence configures, starts, awaits and frees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects._ods import enum_to_attr, i32_attr, op_definition
from tilewright.dialects._syntax import INDEX, segments
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.dma_bd_checks import verify_mixed_lists
from tilewright.dialects.aie.interfaces import TileElement, TileLike
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.create import initialize
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.interned import i32_number
from tilewright.ir.traversal import all_operations, ops_of

from .attributes import DmaChannelUser, ShimChannelUser, TokenIssuer
from .queue import FALSE, TRUE

ZERO = IntegerAttr(0, i32)
BURST_NEEDS_SHIM = "Burst length is only supported in Shim NOC tiles that are connected to the memory-mapped NOC."


class InSequence(OpTrait):
    """The operation stands in a runtime sequence, possibly in loops and branches of it."""

    def verify(self, op: Operation) -> None:
        if parent_of_type(op, RuntimeSequenceOp) is None:
            raise VerifyException("expects ancestor op 'aie.runtime_sequence'")


class ConfiguredTask(TokenIssuer):
    """A chain of descriptors in blocks, one descriptor each. Repeats and token apply to the task as a whole."""

    repeat_count = opt_prop_def(i32_attr(), ZERO)  # runs - 1

    traits = traits_def(InSequence())

    @property
    def chain(self) -> Region:
        return self.regions[0]

    @property
    def descriptors(self) -> Sequence[DmaBdOp]:
        """Every descriptor of the chain, in the order they are written."""
        first = self.regions[0]._first_block
        bd = None if first is None else first._first_op
        # most consist of one, and an end
        if isinstance(bd, DmaBdOp) and isinstance(bd._next_op, EndOp) and first is self.regions[0]._last_block:
            return [bd]
        return ops_of(all_operations(self.chain), DmaBdOp)

    @property
    def first_descriptor(self) -> DmaBdOp | None:
        """Where the chain starts. An entry block that only jumps lets a chain come back to its first descriptor."""
        block = self.chain.first_block
        if block is None:
            return None
        if block.first_op is block.last_op and block.last_op is not None and len(block.last_op.successors) == 1:
            block = block.last_op.successors[0]
        return next((op for op in block.ops if isinstance(op, DmaBdOp)), None)

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
            # what the fields hold is checked when the task is lowered
            if (count := len(bd.mixed_sizes)) > limit:
                raise VerifyError(
                    f"Cannot give more than {limit} dimensions for step sizes and wraps on this tile "
                    f"(got {count} dimensions).",
                    at=bd,
                )


@op_definition
class DmaConfigureTaskOp(TileElement, DmaChannelUser, ConfiguredTask):
    """A descriptor chain for one channel of a tile's DMA."""

    name = "aiex.dma_configure_task"

    tile = operand_def(INDEX)
    repeat_count_val = opt_operand_def(i32)
    bd_ids = var_operand_def(i32)  # numbers that are known at run time only, one for each of `descriptors`
    packet = opt_prop_def(PacketInfoAttr)
    body = region_def()
    result = result_def(INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "`(` $tile `,` $direction `,` $channel (`,` $packet^)? `)` "
        "(`repeat` $repeat_count_val^ `:` type($repeat_count_val))? "
        "(`bd_id` $bd_ids^ `:` type($bd_ids))? $body attr-dict"
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
        packet: PacketInfoAttr | None = None,
    ):
        operands = (tile,) if repeat_count_val is None else (tile, repeat_count_val)
        properties: dict[str, Attribute] = {
            "direction": enum_to_attr(direction),
            "channel": i32_number(channel),
            "issue_token": TRUE if issue_token else FALSE,
            "repeat_count": i32_number(repeat_count),
        }
        if packet is not None:
            properties["packet"] = packet
        properties["operandSegmentSizes"] = segments(1, len(operands) - 1, 0)
        initialize(self, operands, properties, [INDEX], [body])  # sequences may have thousands of these

    def set_bd_ids(self, ids: Sequence[SSAValue]) -> None:
        """Have the descriptors numbered by values, in the order of `descriptors`."""
        repeat = () if self.repeat_count_val is None else (self.repeat_count_val,)
        self.operands = [self.tile, *repeat, *ids]
        self.properties["operandSegmentSizes"] = segments(1, len(repeat), len(ids))

    @property
    def runtime_ids(self) -> dict[DmaBdOp, SSAValue]:
        """The numbers of the descriptors; none if they are known, or will be, without running the program."""
        if len(self._operands) == 1:  # the tile
            return {}
        return dict(zip(self.descriptors, self.bd_ids, strict=True)) if self.bd_ids else {}

    def verify_(self) -> None:
        ids = self.bd_ids if len(self._operands) > 1 else ()
        if ids and (count := len(self.descriptors)) != len(ids):
            raise VerifyException(f"expected one bd_id for each descriptor ({count}), got {len(ids)}")
        tile = self.tile_like
        if tile is not None and tile.place is not None:
            self.verify_dimensions(tile)
        is_chain = self.regions[0]._first_block is not self.regions[0]._last_block
        if not is_chain and all(bd.burst_length.value.data == 0 for bd in self.descriptors):
            return  # nearly all
        # descriptors that nothing leads to would take numbers and never be run
        reached = {successor for block in self.body.blocks if block.last_op for successor in block.last_op._successors}
        for block in self.body.blocks:
            if block.last_op is None:
                continue
            if block is not self.body.first_block and block not in reached:
                text = "Block ending in this terminator does not form a chain with entry block."
                raise VerifyError(text, at=block.last_op, bare=True)
            for bd in ops_of(all_operations(block), DmaBdOp):
                if bd.burst_length.value.data != 0 and tile is not None and not tile.is_shim_noc:
                    raise VerifyError(BURST_NEEDS_SHIM, at=bd)


@op_definition
class DmaConfigureTaskForOp(ConfiguredTask, ShimChannelUser):
    """A descriptor chain for the shim channel that `alloc` names."""

    name = "aiex.dma_configure_task_for"

    alloc = prop_def(SymbolRefAttr)
    repeat_count_val = opt_operand_def(i32)
    body = region_def()
    result = result_def(INDEX)

    CHANNEL_NAME: ClassVar[str] = "alloc"
    assembly_format = "$alloc (`repeat` $repeat_count_val^ `:` type($repeat_count_val))? $body attr-dict"

    def verify_(self) -> None:
        if self.tile is not None:
            self.verify_dimensions(self.tile)


class TaskUser(IRDLOperation):
    """Does something with a task that was configured before."""

    task = operand_def(INDEX)

    traits = traits_def(InSequence())
    assembly_format = "`(` $task `)` attr-dict"

    def __init__(self, task: SSAValue):
        super().__init__(operands=[task])

    @property
    def configuration(self) -> DmaConfigureTaskOp | None:
        owner = self.task.owner
        return owner if isinstance(owner, DmaConfigureTaskOp) else None


@op_definition
class DmaStartTaskOp(TaskUser):
    """Append a task to its channel's queue.

    A task that loops or branches hand on may be one of several; `bd_id` then is the number of its first descriptor.
    """

    name = "aiex.dma_start_task"

    task = operand_def(INDEX)  # again, to come before the other: a class's own operands are the first
    bd_id = opt_operand_def(i32)

    assembly_format = "`(` $task `)` (`bd_id` $bd_id^ `:` type($bd_id))? attr-dict"

    def __init__(self, task: SSAValue, bd_id: SSAValue | None = None):
        super(TaskUser, self).__init__(operands=[task, bd_id])


@op_definition
class DmaAwaitTaskOp(TaskUser):
    """Wait for the completion token of a task, which must issue one."""

    name = "aiex.dma_await_task"


@op_definition
class DmaFreeTaskOp(TaskUser):
    """The descriptors of a task may be used for others from here on."""

    name = "aiex.dma_free_task"


class PoolUser(IRDLOperation):
    """Takes a descriptor of a tile from the pool of free ones, or gives it back. The stream's generator keeps the pool.

    Where `channel` is set, the pool is that of the descriptors which the channel reaches. It begins with number `first`
    where the tile uses those before it otherwise. Where it has holes, `ids` are all numbers, in the order of taking.
    """

    column = prop_def(i32_attr())
    row = prop_def(i32_attr())
    channel = opt_prop_def(i32_attr())
    first = opt_prop_def(i32_attr())
    ids = opt_prop_def(DenseArrayBase.constr(i32))

    traits = traits_def(InSequence())

    @property
    def place(self) -> TileId:
        return TileId(self.column.value.data, self.row.value.data)

    def verify_(self) -> None:
        if self.ids is not None:
            numbers = self.ids.get_values()
            if self.first is not None or not numbers or len(set(numbers)) != len(numbers) or min(numbers) < 0:
                raise VerifyException("has 'ids' for all descriptors of its pool: each once, and no 'first'")

    def numbers(self, model: DeviceModel) -> Sequence[int]:
        """The descriptors that are in the pool when a sequence begins. Pools with the same are the same pool."""
        if self.ids is not None:
            return tuple(self.ids.get_values())
        first = 0 if self.first is None else self.first.value.data
        if self.channel is None:
            return range(first, model.num_bds(*self.place))
        # a channel of a mem tile reaches half of the descriptors
        reached = model.accessible_bds(*self.place, self.channel.value.data)
        return range(max(first, reached[0]), reached[-1] + 1)


@dataclass(frozen=True)
class PoolPart:
    """Which descriptors of its tile a pool has: those that a channel reaches, from a number on, or just these."""

    channel: int | None = None
    first: int | None = None
    ids: Sequence[int] = ()

    def properties(self, place: TileId) -> dict[str, Attribute | None]:
        numbers = {"column": place.column, "row": place.row, "channel": self.channel, "first": self.first}
        properties: dict[str, Attribute | None] = {
            name: None if number is None else i32_number(number) for name, number in numbers.items()
        }
        properties["ids"] = DenseArrayBase.from_list(i32, self.ids) if self.ids else None
        return properties


@op_definition
class DmaBdPoolPopOp(PoolUser):
    """Take a free descriptor of a tile, chosen when the stream is generated."""

    name = "aiex.dma_bd_pool_pop"

    bd_id = result_def(i32)

    assembly_format = "`(` $column `,` $row `)` attr-dict `:` type($bd_id)"

    def __init__(self, place: TileId, part: PoolPart):
        super().__init__(properties=part.properties(place), result_types=[i32])


@op_definition
class DmaBdPoolPushOp(PoolUser):
    """Give a descriptor back to its tile's pool, which takes the one that came back last first; or, as `last`, never
    before all others.
    """

    name = "aiex.dma_bd_pool_push"

    bd_id = operand_def(i32)
    last = opt_prop_def(UnitAttr)

    assembly_format = "`(` $column `,` $row `)` `bd_id` $bd_id attr-dict `:` type($bd_id)"

    def __init__(self, place: TileId, bd_id: SSAValue, part: PoolPart, *, is_last: bool = False):
        properties = part.properties(place) | {"last": UnitAttr() if is_last else None}
        super().__init__(properties=properties, operands=[bd_id])


OPS: Sequence[type[Operation]] = [
    DmaConfigureTaskOp,
    DmaConfigureTaskForOp,
    DmaStartTaskOp,
    DmaAwaitTaskOp,
    DmaFreeTaskOp,
    DmaBdPoolPopOp,
    DmaBdPoolPushOp,
]
