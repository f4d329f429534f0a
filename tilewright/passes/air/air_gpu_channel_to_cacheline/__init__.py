"""Lowers channels between ranks to messages in memory that all ranks reach.

`visits` finds which ranks come to an end of a channel, `links` which two ranks it joins, and `plans` chooses protocol
and memory for all channels of a function. Then the program changes: `transfers` puts the steps of `protocol_ordered` or
`protocol_line` in place of puts and gets, which a group of threads (`thread_groups`) does on `mailboxes`; channels of
upstream's form become a `line_in_place`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device.gpu_targets import DEFAULT_AMD
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.air.channels import SYMMETRIC, ChannelEnd, ChannelGetOp, ChannelOp, ChannelPutOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.kernels import CONTAINER
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.line_in_place import is_line_in_place, lower_in_place
from tilewright.passes.air.air_gpu_channel_to_cacheline.links import Bundle
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import LINE_WORDS
from tilewright.passes.air.air_gpu_channel_to_cacheline.plans import (
    LINE,
    ORDERED,
    PROTOCOLS,
    ChannelPlan,
    make_plan,
    stated_protocol,
)
from tilewright.passes.air.air_gpu_channel_to_cacheline.transfers import ChannelMemory, Transfers
from tilewright.passes.air.hierarchies import enclosing_function, find_target, wave_size_of
from tilewright.rewrite.effects import is_memory_effect_free, is_unused
from tilewright.rewrite.folding.air_tokens import buffer_behind


@dataclass(frozen=True)
class AirGpuChannelToCachelinePass(Pass):
    name = "air-gpu-channel-to-cacheline"

    wave_size: int = field(default=0, metadata={"help": "lanes of a wave; 0 for what the chip has"})
    chip: str = field(default=DEFAULT_AMD, metadata={"help": "the GPU to compile for"})
    protocol: str = field(
        default="", metadata={"help": f"of channels that name none: {' or '.join(PROTOCOLS)}; default {ORDERED}"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        wave_size = wave_size_of(find_target(self.chip), self.wave_size)
        if self.protocol not in ("", *PROTOCOLS):
            fail(None, f"unknown protocol '{self.protocol}'; known are {', '.join(PROTOCOLS)}")
        functions: dict[FuncOp, list[Bundle]] = {}
        for bundle in _bundles(op):
            functions.setdefault(_function_of(bundle), []).append(bundle)
            for get in reversed(bundle.gets):
                put_first(get)
        for function, bundles in functions.items():
            self._lower(op, function, bundles, wave_size)

    def _lower(self, module: ModuleOp, function: FuncOp, bundles: list[Bundle], wave_size: int) -> None:
        """Plan all channels of a function, then change the program."""
        protocols = {bundle: stated_protocol(bundle.channel) or self.protocol for bundle in bundles}
        in_place = [bundle for bundle in bundles if not protocols[bundle] and is_line_in_place(bundle)]
        if (in_place or LINE in protocols.values()) and wave_size < LINE_WORDS:
            fail(None, f"wave-size must be at least {LINE_WORDS}, a lane for each word of a line; got {wave_size}")
        plans: list[ChannelPlan] = []
        # mailboxes of a function lie one after the other in one allocation
        size_bytes = 0
        for bundle in bundles:
            if bundle not in in_place:
                plans.append(make_plan(bundle, protocols[bundle] or ORDERED, size_bytes))
                size_bytes += plans[-1].mailbox.size_bytes
        transfers = Transfers(ChannelMemory(module, function, size_bytes), wave_size)
        # these need the table of heaps at most, and no mailbox
        for bundle in in_place:
            lower_in_place(bundle, transfers)
        for plan in plans:
            module.attributes[CONTAINER] = UnitAttr()  # its herds read and write global memory from now on
            transfers.lower(plan)
        for bundle in bundles:
            # a symbol that nothing refers to any more
            Rewriter.erase_op(bundle.channel)
        # numbers that went into others when the program was written
        for op in [found for found in ops_of(all_operations(function), ConstantOp) if is_unused(found)]:
            Rewriter.erase_op(op)


def _bundles(module: ModuleOp) -> list[Bundle]:
    """The channels between ranks, with their puts and gets."""
    ends: dict[Operation | None, list[ChannelEnd]] = {}
    channels: list[ChannelOp] = []
    # no symbol changes meanwhile, so that each is looked up once
    with unchanging_symbols():
        for found in ops_of(all_operations(module), ChannelEnd, ChannelOp):
            if isinstance(found, ChannelEnd):
                ends.setdefault(found.channel, []).append(found)
            elif found.channel_type.data == SYMMETRIC:
                channels.append(found)
    return [_bundle(channel, ends.get(channel, [])) for channel in channels]


def _bundle(channel: ChannelOp, ends: list[ChannelEnd]) -> Bundle:
    puts = tuple(end for end in ends if isinstance(end, ChannelPutOp))
    gets = tuple(end for end in ends if isinstance(end, ChannelGetOp))
    if not puts or not gets:
        missing = "get" if puts else "put"
        fail_op(
            channel,
            "air-gpu-channel-to-cacheline initial scope supports exactly one put and one get per channel; "
            f"got {len(puts)} puts and {len(gets)} gets",
            *((end, f"this {end.verb} waits for ever, as nobody does the {missing}") for end in ends[:1]),
            (channel, "remove the channel, or use both of its ends"),
        )
    return Bundle(channel, puts, gets)


def put_first(get: ChannelEnd) -> None:
    """Move a get that does not block behind the puts that follow and do not wait for it.

    Threads do one thing after the other. All ranks may ask for a message first and then send what the others ask for:
    a put ends by itself while the channel has room, a get only when the other side has come.
    """
    last, following = None, get.next_op
    while following is not None and get.token is not None and _passes(following, get):
        if isinstance(following, ChannelPutOp):
            last = following
        following = following.next_op
    if last is not None:
        get.detach()
        Rewriter.insert_op(get, InsertPoint.after(last))


def _passes(op: Operation, get: ChannelEnd) -> bool:
    """Whether an operation may run before a get that stands before it."""
    if any(operand in get.results for inner in op.walk() for operand in inner.operands):
        return False
    if isinstance(op, ChannelPutOp):
        return op.token is not None and buffer_behind(op.buffer("src")) is not buffer_behind(get.buffer("dst"))
    if isinstance(op, WaitAllOp):
        return op.token is not None
    return all(inner.name == "memref.alloc" or is_memory_effect_free(inner) for inner in op.walk() if not inner.regions)


def _function_of(bundle: Bundle) -> FuncOp:
    rank = parent_of_type(bundle.ends[0], RankOp)
    assert rank is not None, "the verifier wants ends of these channels in ranks"
    return enclosing_function(rank)
