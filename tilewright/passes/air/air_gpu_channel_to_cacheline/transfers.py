"""Puts and gets become the steps of a protocol, where they stand; the host gets the memory that they work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import takewhile

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, NoneAttr, i1, i8, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device.layout import WORD_BYTES
from tilewright.dialects import arith
from tilewright.dialects._strides import Strided
from tilewright.dialects.aie.lookup import ancestors, parent_of_type
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, RankOp
from tilewright.dialects.air.types import SYMMETRIC_HEAP, TOKEN, is_symmetric
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline import protocol_line, protocol_ordered
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import ChannelEndpoint, HeapAccess, address_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.messages import Message
from tilewright.passes.air.air_gpu_channel_to_cacheline.plans import LINE, ChannelPlan
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import ThreadGroup, WaveGroup, group_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import Visits
from tilewright.passes.air.runtime_calls import (
    BARRIER,
    GET_WORLD_SIZE,
    HEAP_BASES,
    MEM_ALLOC,
    MEM_FREE,
    MEMCPY,
    MEMSET32,
    STREAM_SYNCHRONIZE,
    SYMMETRIC_ALLOC,
    SYMMETRIC_FREE,
    call,
    declare,
    default_stream,
    wrap_pointer,
)
from tilewright.rewrite.emitter import Emitter

ADDRESS_BYTES = 8
LINEAR = Strided((1,), 0)


class Transfers:
    """Lowers the ends of channels in one function."""

    def __init__(self, memory: ChannelMemory, wave_size: int):
        self.memory, self.wave_size = memory, wave_size
        self._arguments = KernelArguments()
        self._places: dict[RankOp, tuple[SSAValue, SSAValue]] = {}

    def lower(self, plan: ChannelPlan) -> None:
        for end in plan.bundle.ends:
            blocking(end, lambda emitter, end=end: self._transfer(emitter, plan, end))

    def bases_at(self, end: ChannelEnd) -> SSAValue:
        """The table of heaps: the program's own where it passes one to the kernel, else ours."""
        parent = parent_of_type(end, Hierarchy)
        given = [value for value in parent.kernel_arguments if holds_bases(value)] if parent is not None else []
        # upstream's programs pass the table themselves; of two tables none is sure to be it
        return given[0] if len(given) == 1 else self._arguments.reach(self.memory.bases, end)

    def _transfer(self, emitter: Emitter, plan: ChannelPlan, end: ChannelEnd) -> None:
        group, ranks = self._group(end), self._place_at(end, plan, emitter)[1]
        _spread(emitter, plan, end, ranks, lambda inner, element: self._exchange(inner, plan, end, element, group))

    def _group(self, end: ChannelEnd) -> ThreadGroup:
        group = group_of(parent_of_type(end, HerdOp), Visits(end).depends_on_element, self.wave_size)
        if Message(end).is_private and not isinstance(group, WaveGroup):
            fail_op(
                end,
                "moves a buffer that each processing element has for itself, and all of them come here together",
                (end, "index a bundle of channels by the place in the herd, or use a buffer of memory space 1 or 0"),
            )
        return group

    def _exchange(
        self, emitter: Emitter, plan: ChannelPlan, end: ChannelEnd, element: Sequence[SSAValue], group: ThreadGroup
    ) -> None:
        protocol = protocol_line if plan.protocol == LINE else protocol_ordered
        move = protocol.put if isinstance(end, ChannelPutOp) else protocol.get
        move(emitter, self._endpoint(emitter, plan, end, element, group))

    def _endpoint(
        self, emitter: Emitter, plan: ChannelPlan, end: ChannelEnd, element: Sequence[SSAValue], group: ThreadGroup
    ) -> ChannelEndpoint:
        rule = plan.consumer if isinstance(end, ChannelPutOp) else plan.producer
        own_rank, ranks = self._place_at(end, plan, emitter)
        peer_rank = rule.emit(emitter, element, ranks)
        mail = self._arguments.reach(self.memory.mail, end)
        remote = emitter.value(TranslateOp(mail, own_rank, peer_rank, self.bases_at(end)))
        return ChannelEndpoint(
            plan.mailbox,
            group,
            own=HeapAccess(address_of(emitter, mail)),
            peer=HeapAccess(address_of(emitter, remote)),
            input_slot=plan.mailbox.inputs.emit(emitter, element),
            output_slot=plan.mailbox.outputs.emit(emitter, element),
            message=Message(end),
        )

    def _place_at(self, end: ChannelEnd, plan: ChannelPlan, emitter: Emitter) -> tuple[SSAValue, SSAValue]:
        """The number of the rank, and how many there are."""
        rank = parent_of_type(end, RankOp)
        assert rank is not None
        if rank not in self._places:
            self._places[rank] = _numbers(rank)
        own, ranks = self._places[rank]
        # a constant, so that rules and loops fold
        if plan.world_size is not None:
            return self._arguments.reach(own, end), emitter.index(plan.world_size)
        return self._arguments.reach(own, end), self._arguments.reach(ranks, end)


def _numbers(rank: RankOp) -> tuple[SSAValue, SSAValue]:
    """The number of a rank in its world, the first dimension counting fastest, and the number of ranks."""
    emitter = Emitter.at_start(rank.block, rank.location)
    own, ranks = emitter.index(0), emitter.index(1)
    for identity, size in reversed(list(zip(rank.ids, rank.size_arguments, strict=True))):
        own = emitter.folded_sum(emitter.folded_product(own, size), identity)
        ranks = emitter.folded_product(ranks, size)
    return own, ranks


def holds_bases(value: SSAValue) -> bool:
    """Whether a value is a table of where the ranks' heaps are."""
    type = value.type
    if not is_ranked(type):
        return False
    return type.get_num_dims() == 1 and isinstance(type.element_type, IndexType) and is_symmetric(type)


def _spread(
    emitter: Emitter,
    plan: ChannelPlan,
    end: ChannelEnd,
    most: SSAValue,
    move: Callable[[Emitter, Sequence[SSAValue]], None],
) -> None:
    """Move through the channel that the indices name; for a put that is broadcast, through one after the other."""

    def nest(inner: Emitter, left: Sequence[int], element: list[SSAValue]) -> None:
        if not left:
            move(inner, element)
            return
        at = left[0]
        start, step, stop = inner.index(0), inner.index(1), inner.index(plan.bundle.wide[at])
        if plan.world_size is None:
            stop = inner.value(arith.MinUIOp(stop, most))
        inner.loop(start, stop, step, lambda deep, i: nest(deep, left[1:], [*element[:at], i, *element[at + 1 :]]))

    nest(emitter, plan.bundle.spread_of(end), list(end.indices_in_bundle))


def blocking(end: ChannelEnd, transfer: Callable[[Emitter], None]) -> None:
    """Replace a put or get by a transfer that has ended when the next operation starts."""
    emitter = Emitter.before(end)
    if end.dependencies:
        emitter.insert(WaitAllOp.create(operands=end.dependencies))
    transfer(emitter)
    if end.token is not None:
        # a join of nothing: what waits for it need not wait
        end.token.replace_all_uses_with(emitter.value(WaitAllOp.create(result_types=[TOKEN])))
    Rewriter.erase_op(end)


class KernelArguments:
    """Makes values available inside of hierarchies, each once."""

    def __init__(self):
        self._passed: dict[tuple[Hierarchy, SSAValue], SSAValue] = {}

    def reach(self, value: SSAValue, op: Operation) -> SSAValue:
        """What `value` is called at `op`, which is somewhere inside of where it is defined."""
        home = value.owner.parent_region() if isinstance(value.owner, Operation) else value.owner.parent
        assert home is not None
        inside = takewhile(lambda parent: home not in parent.regions, ancestors(op))
        for level in reversed([parent for parent in inside if isinstance(parent, Hierarchy)]):
            value = self._inside(level, value)
        return value

    def _inside(self, level: Hierarchy, value: SSAValue) -> SSAValue:
        key = level, value
        if key not in self._passed:
            # bodies of hierarchies are isolated from above: values come in as operands
            level.set_kernel_operands([*level.kernel_values, value])
            self._passed[key] = level.block.insert_arg(value.type, len(level.block.args))
        return self._passed[key]


class ChannelMemory:
    """What a function allocates at its start for the channels in it, and gives back at its end."""

    def __init__(self, module: ModuleOp, function: FuncOp, size_bytes: int):
        self._module, self._function, self._size_bytes = module, function, size_bytes

    def _start(self) -> Emitter:
        return Emitter.at_start(self._function.body.blocks[0], self._function.location)

    def _ends(self) -> list[Emitter]:
        returns = [block.last_op for block in self._function.body.blocks if isinstance(block.last_op, ReturnOp)]
        return [Emitter.before(op) for op in returns]

    # each is allocated when it is first asked for: a line in place needs no mailbox
    @cached_property
    def mail(self) -> SSAValue:
        """All mailboxes, cleared on all ranks."""
        declare(self._module, SYMMETRIC_FREE, SYMMETRIC_ALLOC, BARRIER, STREAM_SYNCHRONIZE, MEMSET32)
        emitter = self._start()
        stream = default_stream(emitter)
        (pointer,) = call(emitter, SYMMETRIC_ALLOC, [emitter.i64(self._size_bytes), stream])
        words = emitter.i64(self._size_bytes // WORD_BYTES)
        call(emitter, MEMSET32, [pointer, emitter.constant(0), words, stream])
        # no rank may write into a mailbox that its owner has yet to clear
        call(emitter, STREAM_SYNCHRONIZE, [stream])
        call(emitter, BARRIER)
        type = MemRefType(i8, [self._size_bytes], NoneAttr(), SYMMETRIC_HEAP)
        for end in self._ends():
            call(end, BARRIER)
            # only after the barrier: a slower rank may still be at these mailboxes
            call(end, SYMMETRIC_FREE, [pointer, default_stream(end)])
        return wrap_pointer(emitter, pointer, type, LINEAR)

    @cached_property
    def bases(self) -> SSAValue:
        """The addresses of the ranks' heaps, in memory of the device."""
        declare(self._module, MEM_FREE, MEMCPY, MEM_ALLOC, HEAP_BASES, GET_WORLD_SIZE)
        emitter = self._start()
        (ranks,) = call(emitter, GET_WORLD_SIZE)
        count = emitter.value(arith.ExtSIOp(ranks, i64))
        size = emitter.folded_product(count, emitter.i64(ADDRESS_BYTES))
        stream = default_stream(emitter)
        (pointer,) = call(emitter, MEM_ALLOC, [size, stream, emitter.constant(0, i1)])
        # the runtime has the table in host memory, kernels need it in that of the device
        (table,) = call(emitter, HEAP_BASES)
        call(emitter, MEMCPY, [pointer, table, size, stream])
        for end in self._ends():
            call(end, MEM_FREE, [pointer, default_stream(end)])
        type = MemRefType(IndexType(), [DYNAMIC_INDEX], NoneAttr(), SYMMETRIC_HEAP)
        return wrap_pointer(emitter, pointer, type, LINEAR, [count])
