"""Messages of one line that lies in the program's own buffer, as upstream lowers them.

This is for channels that name no protocol and have one put and one get, of the same `memref<32xi32>` on the symmetric
heap: nothing is copied, the last word of the buffer belongs to the channel, and 31 words are moved.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.types import is_symmetric
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline.cacheline import LINE_WORDS, Line
from tilewright.passes.air.air_gpu_channel_to_cacheline.links import Bundle, refuse_rank
from tilewright.passes.air.air_gpu_channel_to_cacheline.plans import enclosing_herd
from tilewright.passes.air.air_gpu_channel_to_cacheline.rank_inference import possible_ranks, rank_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import group_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.transfers import Transfers, blocking
from tilewright.passes.air.emitter import Emitter
from tilewright.rewrite.folding.air_tokens import buffer_behind


def is_line_in_place(bundle: Bundle) -> bool:
    """Whether a channel has upstream's form."""
    if len(bundle.puts) != 1 or len(bundle.gets) != 1 or prod(bundle.wide) != 1:
        return False
    accesses = [end.access(end.SIDE) for end in bundle.ends]
    if not all(access.is_whole and _is_line(access.memref.type) for access in accesses):
        return False
    put, get = (buffer_behind(access.memref) for access in accesses)
    return put is get and all(enclosing_herd(end) is not None for end in bundle.ends)


def _is_line(type: Attribute) -> bool:
    if not is_ranked(type):
        return False
    return type.get_shape() == (LINE_WORDS,) and type.element_type == i32 and is_symmetric(type)


def lower_in_place(bundle: Bundle, transfers: Transfers) -> None:
    put, get = bundle.puts[0], bundle.gets[0]
    producer, consumer = _rank_of(put), _rank_of(get)
    if producer == consumer:
        fail_op(
            bundle.channel,
            f"is put and got by the same rank, {producer}",
            (bundle.channel, 'a rank cannot wait for its own line: ask for protocol = "ordered"'),
        )
    _expand(put, producer, consumer, transfers)
    _expand(get, consumer, producer, transfers)


def _rank_of(end: ChannelEnd) -> int:
    rank = rank_of(end)
    if rank is None:
        refuse_rank(end, f"{_ranks_text(end)}; it must be exactly one")
    return rank


def _ranks_text(end: ChannelEnd) -> str:
    ranks = possible_ranks(end)
    if ranks is None:
        return "the world has any number of ranks, and the conditions around it compare the id with none of them"
    if not ranks:
        return "the conditions around it hold on no rank of this world"
    return f"the conditions around it hold on ranks {', '.join(map(str, ranks[:8]))}{', ...' if ranks[8:] else ''}"


def _expand(end: ChannelEnd, own: int, peer: int, transfers: Transfers) -> None:
    """Move the line where the put or get stands; one wave of the herd does it."""
    herd, buffer = enclosing_herd(end), end.access(end.SIDE).memref
    bases = transfers.bases_at(end)
    group = group_of(herd, False, transfers.wave_size)

    def transfer(emitter: Emitter) -> None:
        line = Line.of(emitter, buffer, own, peer, bases, transfers.wave_size)
        if isinstance(end, ChannelPutOp):
            line.send()
        else:
            line.receive()

    def together(emitter: Emitter) -> None:
        group.meet(emitter)
        group.lead_wave(emitter, transfer)
        group.meet(emitter)

    blocking(end, together)
