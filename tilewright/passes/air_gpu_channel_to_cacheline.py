"""Lowers channels between two ranks to messages of one cache line."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device.gpu_targets import DEFAULT_AMD
from tilewright.dialects.air.channels import SYMMETRIC, ChannelEnd, ChannelGetOp, ChannelOp, ChannelPutOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.levels import HerdOp
from tilewright.dialects.air.types import TOKEN, is_symmetric
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.cacheline import LINE_WORDS, Line
from tilewright.passes.air.emitter import Emitter
from tilewright.passes.air.leader import as_leader
from tilewright.passes.air.rank_inference import possible_ranks, rank_of
from tilewright.passes.air.targets import find_target, wave_size_of


@dataclass(frozen=True)
class AirGpuChannelToCachelinePass(Pass):
    name = "air-gpu-channel-to-cacheline"

    wave_size: int = field(default=0, metadata={"help": "lanes of a wave; 0 for what the chip has"})
    chip: str = field(default=DEFAULT_AMD, metadata={"help": "the GPU to compile for"})

    def apply(self, ctx: Context, op: Operation) -> None:
        wave_size = wave_size_of(find_target(self.chip), self.wave_size)
        if wave_size < LINE_WORDS:
            fail(None, f"wave-size must be at least {LINE_WORDS}, a lane for each word of a line; got {wave_size}")
        ends: dict[str, list[ChannelEnd]] = {}
        channels: list[ChannelOp] = []
        for found in op.walk():
            if isinstance(found, ChannelEnd):
                ends.setdefault(found.channel_name.root_reference.data, []).append(found)
            elif isinstance(found, ChannelOp) and found.channel_type.data == SYMMETRIC:
                channels.append(found)
        for channel in channels:
            _lower(channel, ends.get(channel.sym_name.data, []), wave_size)


def _lower(channel: ChannelOp, ends: list[ChannelEnd], wave_size: int) -> None:
    puts = [end for end in ends if isinstance(end, ChannelPutOp)]
    gets = [end for end in ends if isinstance(end, ChannelGetOp)]
    if len(puts) != 1 or len(gets) != 1:
        fail_op(
            channel,
            "air-gpu-channel-to-cacheline initial scope supports exactly one put and one get per channel; "
            f"got {len(puts)} puts and {len(gets)} gets",
            *((end, "one of them is here") for end in ends),
        )
    put, get = puts[0], gets[0]
    herds = _herd_of(put), _herd_of(get)
    for end in (put, get):
        _check_access(end)
    producer, consumer = _rank_of(put, "producer"), _rank_of(get, "consumer")
    _check_ranks(channel, producer, consumer)
    bases = [_bases_of(herd, end) for herd, end in zip(herds, (put, get), strict=True)]
    _expand(put, herds[0], producer, consumer, bases[0], wave_size)
    _expand(get, herds[1], consumer, producer, bases[1], wave_size)
    Rewriter.erase_op(channel)


def _herd_of(end: ChannelEnd) -> HerdOp:
    parent = end.parent_op()
    while parent is not None and not isinstance(parent, HerdOp):
        parent = parent.parent_op()
    if parent is None:
        fail_op(end, "must be enclosed by an air.herd op for the cacheline lowering")
    return parent


def _check_access(end: ChannelEnd) -> None:
    """All of a line on the symmetric heap is moved, and nothing else."""
    access = end.access(end.SIDE)
    type = access.memref.type
    if not _is_line(type):
        fail_op(
            end,
            f"initial-PR scope requires {end.SIDE} memref type `memref<{LINE_WORDS}xi32, #air.symmetric_heap>`",
            (end, f"it is {type}: a line of 128 bytes carries {LINE_WORDS - 1} words and a flag"),
        )
    if not access.is_whole:
        fail_op(end, "moves a part of a line; the cacheline lowering moves all of it", (end, "write `[] [] []`"))


def _is_line(type: Attribute) -> bool:
    if not is_ranked(type):
        return False
    return type.get_shape() == (LINE_WORDS,) and type.element_type == i32 and is_symmetric(type)


def _rank_of(end: ChannelEnd, role: str) -> int:
    rank = rank_of(end)
    if rank is None:
        fail_op(
            end,
            f"could not infer {role} rank from rank-dispatch context; expected enclosing "
            "`scf.if (arith.cmpi eq, %rid, %const : index)`",
            (end, f"{_ranks_text(end)}; it must be exactly one"),
        )
    return rank


def _ranks_text(end: ChannelEnd) -> str:
    ranks = possible_ranks(end)
    if ranks is None:
        return "the world has any number of ranks, and the conditions around it compare the id with none of them"
    if not ranks:
        return "the conditions around it hold on no rank of this world"
    return f"the conditions around it hold on ranks {', '.join(map(str, ranks[:8]))}{', ...' if ranks[8:] else ''}"


def _check_ranks(channel: ChannelOp, producer: int, consumer: int) -> None:
    if producer == consumer:
        fail_op(
            channel,
            f"is put and got by the same rank, {producer}",
            (channel, "a rank cannot wait for its own line: put and get on different ranks"),
        )


def _bases_of(herd: HerdOp, end: ChannelEnd) -> SSAValue:
    """The addresses of the ranks' heaps, passed to the herd."""
    found = [argument for argument in herd.kernel_arguments if _holds_bases(argument)]
    if len(found) != 1:
        fail_op(
            herd,
            "no `memref<?xindex, #air.symmetric_heap>` arg in herd; please thread `%bases` through "
            f"air.launch/segment/herd args() so the {end.verb} expansion can address peer ranks",
            (end, f"this {end.verb} tells its peer how far the message is"),
        )
    return found[0]


def _holds_bases(value: SSAValue) -> bool:
    type = value.type
    if not is_ranked(type):
        return False
    return type.get_num_dims() == 1 and isinstance(type.element_type, IndexType) and is_symmetric(type)


def _expand(end: ChannelEnd, herd: HerdOp, own: int, peer: int, bases: SSAValue, wave_size: int) -> None:
    """Move the line where the put or get stands; one wave of the herd does it."""
    buffer = end.access(end.SIDE).memref
    if end.dependencies:
        Emitter.before(end).insert(WaitAllOp.create(operands=end.dependencies))

    def transfer(emitter: Emitter) -> None:
        line = Line.of(emitter, buffer, own, peer, bases, wave_size)
        if isinstance(end, ChannelPutOp):
            line.send()
        else:
            line.receive()

    as_leader(end, herd, transfer)
    if end.token is not None:
        ended = Emitter.before(end).insert(WaitAllOp.create(result_types=[TOKEN]))
        end.token.replace_all_uses_with(ended.results[0])
    Rewriter.erase_op(end)
