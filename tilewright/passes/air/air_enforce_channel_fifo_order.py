"""Lets puts, and gets, of one channel wait for each other in program order: a channel hands on what comes first."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.air.channels import ChannelEnd
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.folding.constants import scalar_int

EndKey: TypeAlias = "tuple[type[ChannelEnd], SymbolRefAttr, tuple[SSAValue | int, ...]]"


class AirEnforceChannelFifoOrderPass(Pass):
    name = "air-enforce-channel-fifo-order"

    def apply(self, ctx: Context, op: Operation) -> None:
        # only in one block: a token from another one may not be there, or be that of an earlier turn of its loop
        last: dict[Block | None, dict[EndKey, SSAValue]] = defaultdict(dict)
        for end in [inner for inner in op.walk() if isinstance(inner, ChannelEnd)]:
            _follow(end, last[end.parent])


def _follow(end: ChannelEnd, last: dict[EndKey, SSAValue]) -> None:
    """Wait for the last transfer at the same end of the same channel, and be the last one."""
    key = _key(end)
    before = last.get(key)
    if before is not None and before not in end.dependencies:
        end.set_dependencies([*end.dependencies, before])
    if end.token is None:
        # it blocks: nothing is left to wait for
        last.pop(key, None)
    else:
        last[key] = end.token


def _key(end: ChannelEnd) -> EndKey:
    """An end of one channel of a bundle; indices that are not known are the same if they are one value."""
    indices = tuple(index if (number := scalar_int(index)) is None else number for index in end.indices_in_bundle)
    return type(end), end.channel_name, indices
