"""Puts and gets become the steps of a protocol, where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.air.addressing import TranslateOp
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.air.types import TOKEN, is_symmetric
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline import protocol_line, protocol_ordered
from tilewright.passes.air.air_gpu_channel_to_cacheline.channel_endpoints import Endpoint
from tilewright.passes.air.air_gpu_channel_to_cacheline.channel_memory import ChannelMemory
from tilewright.passes.air.air_gpu_channel_to_cacheline.heap_memory import Heap, address_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.kernel_arguments import KernelArguments
from tilewright.passes.air.air_gpu_channel_to_cacheline.messages import Message
from tilewright.passes.air.air_gpu_channel_to_cacheline.plans import LINE, Plan, enclosing_herd
from tilewright.passes.air.air_gpu_channel_to_cacheline.rank_inference import enclosing_rank
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import Group, Wave, group_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import Visits
from tilewright.passes.air.emitter import Emitter


class Transfers:
    """Lowers the ends of channels in one function."""

    def __init__(self, memory: ChannelMemory, wave_size: int):
        self.memory, self.wave_size = memory, wave_size
        self._arguments = KernelArguments()
        self._places: dict[RankOp, tuple[SSAValue, SSAValue]] = {}

    def lower(self, plan: Plan) -> None:
        for end in plan.bundle.ends:
            blocking(end, lambda emitter, end=end: self._transfer(emitter, plan, end))

    def bases_at(self, end: ChannelEnd) -> SSAValue:
        """The table of heaps: the program's own where it passes one to the kernel, else ours."""
        parent = end.parent_op()
        while parent is not None and not isinstance(parent, Hierarchy):
            parent = parent.parent_op()
        given = [value for value in parent.kernel_arguments if holds_bases(value)] if parent is not None else []
        return given[0] if len(given) == 1 else self._arguments.reach(self.memory.bases, end)

    def _transfer(self, emitter: Emitter, plan: Plan, end: ChannelEnd) -> None:
        group, ranks = self._group(end), self._place_at(end, plan, emitter)[1]
        _spread(emitter, plan, end, ranks, lambda inner, element: self._exchange(inner, plan, end, element, group))

    def _group(self, end: ChannelEnd) -> Group:
        group = group_of(enclosing_herd(end), Visits(end).depends_on_element, self.wave_size)
        if Message(end).is_private and not isinstance(group, Wave):
            fail_op(
                end,
                "moves a buffer that each processing element has for itself, and all of them come here together",
                (end, "index a bundle of channels by the place in the herd, or use a buffer of memory space 1 or 0"),
            )
        return group

    def _exchange(
        self, emitter: Emitter, plan: Plan, end: ChannelEnd, element: Sequence[SSAValue], group: Group
    ) -> None:
        is_put = isinstance(end, ChannelPutOp)
        endpoint = self._endpoint(emitter, plan, end, element, group)
        if plan.protocol == LINE and is_put:
            protocol_line.put(emitter, endpoint)
        elif plan.protocol == LINE:
            protocol_line.get(emitter, endpoint, self.wave_size)
        elif is_put:
            protocol_ordered.put(emitter, endpoint)
        else:
            protocol_ordered.get(emitter, endpoint)

    def _endpoint(
        self, emitter: Emitter, plan: Plan, end: ChannelEnd, element: Sequence[SSAValue], group: Group
    ) -> Endpoint:
        rule = plan.consumer if isinstance(end, ChannelPutOp) else plan.producer
        own_rank, ranks = self._place_at(end, plan, emitter)
        peer_rank = rule.emit(emitter, element, ranks)
        mail = self._arguments.reach(self.memory.mail, end)
        remote = emitter.insert(TranslateOp(mail, own_rank, peer_rank, self.bases_at(end))).results[0]
        return Endpoint(
            plan.mailbox,
            group,
            own=Heap(address_of(emitter, mail)),
            peer=Heap(address_of(emitter, remote)),
            input_slot=plan.mailbox.inputs.emit(emitter, element),
            output_slot=plan.mailbox.outputs.emit(emitter, element),
            message=Message(end),
        )

    def _place_at(self, end: ChannelEnd, plan: Plan, emitter: Emitter) -> tuple[SSAValue, SSAValue]:
        """The number of the rank, and how many there are."""
        rank = enclosing_rank(end)
        assert rank is not None
        if rank not in self._places:
            self._places[rank] = _numbers(rank)
        own, ranks = self._places[rank]
        if plan.world_size is not None:
            return self._arguments.reach(own, end), emitter.constant(plan.world_size)
        return self._arguments.reach(own, end), self._arguments.reach(ranks, end)


def _numbers(rank: RankOp) -> tuple[SSAValue, SSAValue]:
    """The number of a rank in its world, the first dimension counting fastest, and the number of ranks."""
    emitter = Emitter(InsertPoint.at_start(rank.block), rank.location)
    own, ranks = emitter.constant(0), emitter.constant(1)
    for identity, size in reversed(list(zip(rank.ids, rank.size_arguments, strict=True))):
        own = emitter.sum(emitter.product(own, size), identity)
        ranks = emitter.product(ranks, size)
    return own, ranks


def holds_bases(value: SSAValue) -> bool:
    """Whether a value is a table of where the ranks' heaps are."""
    type = value.type
    if not is_ranked(type):
        return False
    return type.get_num_dims() == 1 and isinstance(type.element_type, IndexType) and is_symmetric(type)


def _spread(
    emitter: Emitter,
    plan: Plan,
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
        start, step, stop = inner.constant(0), inner.constant(1), inner.constant(plan.bundle.wide[at])
        if plan.world_size is None:
            stop = inner.arith("minui", stop, most)
        inner.loop(start, stop, step, lambda deep, i: nest(deep, left[1:], [*element[:at], i, *element[at + 1 :]]))

    nest(emitter, plan.bundle.spread_of(end), list(end.indices_in_bundle))


def blocking(end: ChannelEnd, transfer: Callable[[Emitter], None]) -> None:
    """Replace a put or get by a transfer that has ended when the next operation starts."""
    emitter = Emitter.before(end)
    if end.dependencies:
        emitter.insert(WaitAllOp.create(operands=end.dependencies))
    transfer(emitter)
    if end.token is not None:
        ended = emitter.insert(WaitAllOp.create(result_types=[TOKEN]))
        end.token.replace_all_uses_with(ended.results[0])
    Rewriter.erase_op(end)
