"""Whatever puts and gets a block has, those at one end of one channel wait for each other in program order."""

from __future__ import annotations

from collections import defaultdict

from helpers import lowered
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import SSAValue

from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.ir.printer import module_text
from tilewright.passes.air.air_enforce_channel_fifo_order import AirEnforceChannelFifoOrderPass

ORDER = AirEnforceChannelFifoOrderPass()


@st.composite
def blocks(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Transfers through a bundle of two, some of which block; and for each the end of the channel that it is at."""
    lines, ends, tokens = list[str](), list[str](), list[str]()
    for number in range(draw(st.integers(2, 12))):
        verb, index = draw(st.sampled_from(["put", "get"])), draw(st.integers(0, 1))
        waits = draw(st.lists(st.sampled_from(tokens), max_size=2, unique=True)) if tokens else []
        deps = f"[{', '.join(waits)}] " if waits else ""
        blocking = draw(st.integers(0, 3)) == 0
        head = f"air.channel.{verb}" if blocking else f"%t{number} = air.channel.{verb} async"
        lines.append(f"{head} {deps}@c[%c{index}] (%b{draw(st.integers(0, 1))}[] [] []) : (memref<8xi32, 1>)")
        ends.append(f"{verb} {index}")
        tokens += [] if blocking else [f"%t{number}"]
    constants = "".join(f"%c{index} = arith.constant {index} : index\n" for index in range(2))
    body = constants + "\n".join(lines)
    buffers = "%b0: memref<8xi32, 1>, %b1: memref<8xi32, 1>"
    return f"air.channel @c [2]\nfunc.func @f({buffers}) {{\n{body}\nreturn\n}}", ends


@settings(max_examples=40)
@given(blocks())
def test_one_end_of_a_channel_is_in_order(written: tuple[str, list[str]]):
    text, names = written
    module = lowered(text, ORDER)
    transfers = [op for op in module.walk() if isinstance(op, ChannelEnd)]
    before: dict[SSAValue | None, set[AsyncOp]] = {None: set()}
    ended, last = set[AsyncOp](), defaultdict[str, list[AsyncOp]](list)
    for op, name in zip(transfers, names, strict=True):
        started_after = ended.union(*(before[token] for token in op.dependencies))
        assert started_after >= {*last[name]}, "all that came before at this end have ended when it starts"
        own = started_after | {op}
        if op.token is None:
            ended |= own
        else:
            before[op.token] = own
        last[name].append(op)
    # what is in order stays as it is
    assert module_text(lowered(module_text(module), ORDER)) == module_text(module)
