"""With its queues guarded, no push of a sequence is dropped, however slow the DMAs are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.device import TASK_QUEUE_DEPTH, model
from tilewright.device.dma_registers import ChannelId, ChannelRegister, ChannelRegisterRole, dma_register
from tilewright.device.enums import DmaDirection
from tilewright.device.model import TileId
from tilewright.driver.compiled_design import GUARDED_LOWERING, compile_text
from tilewright.passes.pipelines import QUEUE_GUARDS
from tilewright.txn.analysis import hazards
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import Stream

Step: TypeAlias = "str | tuple[str, int, list[Step]]"
NPU1 = model("npu1")
ARGUMENTS = 3
CHANNELS = [
    ChannelId(TileId(0, 0), DmaDirection.MM2S, 0),
    ChannelId(TileId(0, 1), DmaDirection.S2MM, 2),
    ChannelId(TileId(0, 2), DmaDirection.MM2S, 1),
]
"""One of each kind of tile."""


def push(channel: ChannelId, token: bool) -> str:
    (column, row), direction = channel.tile, channel.direction.name
    place = f"({column}, {row}, {direction} : {channel.number})"
    return f"aiex.npu.push_queue{place} bd_id %c0 repeat %c0 {{issue_token = {str(token).lower()}}} : i32, i32"


def wait(channel: ChannelId) -> str:
    numbers = (*channel.tile, int(channel.direction), channel.number, 1, 1)
    return f"aiex.npu.sync({', '.join(f'%c{n}' for n in numbers)}) : {', '.join(['i32'] * 6)}"


LEAVES = [
    *(push(channel, token) for channel in CHANNELS for token in (True, False, False)),
    *map(wait, CHANNELS),
]
STEPS: st.SearchStrategy[list[Step]] = st.recursive(
    st.lists(st.sampled_from(LEAVES), min_size=1, max_size=7),
    lambda inner: st.lists(
        st.one_of(
            st.sampled_from(LEAVES),
            st.tuples(st.sampled_from(["for", "if"]), st.integers(0, ARGUMENTS - 1), inner),
        ),
        max_size=6,
    ),
    max_leaves=12,
)


def body(steps: Sequence[Step], depth: int = 0) -> str:
    lines = list[str]()
    for step in steps:
        if isinstance(step, str):
            lines.append(step)
            continue
        kind, argument, inner = step
        loop = f"scf.for %i{depth} = %z to %n{argument} step %one {{"
        lines += [loop if kind == "for" else f"scf.if %b{argument} {{", body(inner, depth + 1), "}"]
    return "\n".join(lines)


def program(steps: Sequence[Step]) -> str:
    arguments = ", ".join(f"%a{number}: i32" for number in range(ARGUMENTS))
    constants = "\n".join(f"%c{number} = arith.constant {number} : i32" for number in range(4))
    values = "\n".join(
        f"%n{number} = arith.index_cast %a{number} : i32 to index\n%b{number} = arith.cmpi eq, %a{number}, %c1 : i32"
        for number in range(ARGUMENTS)
    )
    return f"""aie.device(npu1) {{
      aie.runtime_sequence @s({arguments}) {{
        %z = arith.constant 0 : index
        %one = arith.constant 1 : index
        {constants}
        {values}
        {body(steps)}
      }}
    }}"""


def lengths(stream: Stream) -> Iterator[tuple[int, int | None]]:
    """How long the queue is at each push if tasks leave it no sooner than they must, and where it is polled, before."""
    queues = dict[ChannelId, list[bool]]()
    tokens = Counter[ChannelId]()  # of tasks that have left their queue; a wait takes those first
    polled = dict[ChannelId, int]()
    for op in stream.operations:
        match op.opcode:
            case Opcode.TCT:
                channel = ChannelId(TileId(op.column, op.row), DmaDirection(op.direction), op.channel)
                queue = queues.setdefault(channel, [])
                if tokens[channel]:
                    tokens[channel] -= 1
                    continue
                if True not in queue:  # the sequence never gets any further
                    return
                del queue[: queue.index(True) + 1]
            case Opcode.MASKPOLL:
                match dma_register(NPU1, op.address):
                    case ChannelRegister(channel, ChannelRegisterRole.STATUS) if op.mask == 0x400000 and op.value == 0:
                        queue = queues.setdefault(channel, [])
                        polled[channel] = len(queue)
                        started = max(len(queue) - (TASK_QUEUE_DEPTH - 1), 0)
                        tokens[channel] += sum(queue[:started])
                        del queue[:started]
                    case other:
                        raise AssertionError(f"polls {other}")
            case Opcode.WRITE:
                match dma_register(NPU1, op.address):
                    case ChannelRegister(channel, ChannelRegisterRole.QUEUE):
                        queue = queues.setdefault(channel, [])
                        yield len(queue), polled.pop(channel, None)
                        queue.append(bool(op.value >> 31))
                    case _:
                        pass
            case _:
                pass


# A poll lets one task leave the queue, but the next wait takes its token: it makes no further room.
@example([("for", 0, [push(CHANNELS[0], True), push(CHANNELS[0], True), wait(CHANNELS[0])])], [5, 0, 0])
@settings(max_examples=30)
@given(STEPS, st.lists(st.integers(0, 7), min_size=ARGUMENTS, max_size=ARGUMENTS))
def test_no_push_finds_its_queue_full(steps: list[Step], numbers: list[int]):
    text = program(steps)
    scalars = {f"a{number}": value for number, value in enumerate(numbers)}
    design = tw.compile(text, guard_queues=True)
    stream = tw.txn.decode(design.txn(**scalars))
    assert all(length < TASK_QUEUE_DEPTH for length, _ in lengths(stream))
    assert not any(hazard.rule.name == "queue-overflow" for hazard in hazards(stream, NPU1))
    # guarding it again finds nothing to do
    twice = compile_text(text, "s.mlir", (*GUARDED_LOWERING, *QUEUE_GUARDS, *QUEUE_GUARDS))
    assert (twice.txn(**scalars) == design.txn(**scalars)).all()


@settings(max_examples=30)
@given(st.lists(st.sampled_from(LEAVES), max_size=30))
def test_a_push_that_finds_room_for_certain_is_not_held_up(steps: list[Step]):
    """In a sequence without control flow a poll stands only where a queue may be full."""
    scalars = {f"a{number}": 0 for number in range(ARGUMENTS)}
    guarded = tw.txn.decode(tw.compile(program(steps), guard_queues=True).txn(**scalars))
    assert {before for _, before in lengths(guarded)} <= {None, TASK_QUEUE_DEPTH}
    pushes = [op for op in guarded.operations if op.opcode == Opcode.WRITE]
    plain = tw.txn.decode(tw.compile(program(steps)).txn(**scalars))
    assert [op for op in plain.operations if op.opcode == Opcode.WRITE] == pushes
