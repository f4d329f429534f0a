"""Messages between ranks: channels lowered to cache lines, both ranks run thread by thread."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_machine import Machine, Rank, Stuck, kernels_of, lowered
from xdsl.dialects.func import FuncOp

WAVE = 32


def channel_program(messages: int, waves: int = 1, world: int = 2) -> str:
    """Rank 0 sends messages; the others are in the else branch, where rank 1 receives and keeps what it got."""
    line, bases = "memref<32xi32, #air.symmetric_heap>", "memref<?xindex, #air.symmetric_heap>"
    log = f"memref<{messages}x31xi32, #air.symmetric_heap>"
    header = f"""
        %step = arith.constant 1 : index
        %c0 = arith.constant 0 : index
        %c31 = arith.constant 31 : index
        %count = arith.constant {messages} : index"""
    types = f"{line}, {bases}, {log}"

    def nest(body: str) -> str:
        return f"""air.launch (%b) in (%n=%c1) args(%ld=%data, %lb=%bases, %ll=%log) : {types} {{
          air.segment args(%sd=%ld, %sb=%lb, %sl=%ll) : {types} {{
            %one = arith.constant 1 : index
            %waves = arith.constant {waves} : index
            air.herd tile (%x, %y) in (%nx=%waves, %ny=%one) args(%d=%sd, %hb=%sb, %l=%sl) : {types} {{ {header}
              %lane = gpu.lane_id
              %payload_lane = arith.cmpi ult, %lane, %c31 : index
              %first_wave = arith.cmpi eq, %x, %c0 : index
              %mine = arith.andi %payload_lane, %first_wave : i1
              scf.for %k = %c0 to %count step %step {{ {body} }}
            }} }} }}"""

    send = f"""
      scf.if %mine {{
        %c1000 = arith.constant 1000 : index
        %t = arith.muli %k, %c1000 : index
        %v = arith.addi %t, %lane : index
        %w = arith.index_cast %v : index to i32
        memref.store %w, %d[%lane] : {line}
      }}
      air.channel.put @C[%c0] (%d[] [] []) : ({line})"""
    keep = f"""
      air.channel.get @C[%c0] (%d[] [] []) : ({line})
      scf.if %mine {{
        %v = memref.load %d[%lane] : {line}
        memref.store %v, %l[%k, %lane] : {log}
      }}"""
    inner = nest(keep) if world == 2 else f"scf.if %is_one {{ {nest(keep)} }}"
    return f"""
    air.channel @C [1] {{channel_type = "gpu_symmetric_heap"}}
    func.func @f(%outer_data: {line}, %outer_bases: {bases}, %outer_log: {log}) {{
      %world = arith.constant {world} : index
      air.rank (%me) in (%size=%world) args(%data=%outer_data, %bases=%outer_bases, %log=%outer_log) : {types} {{
        %c0r = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %is_zero = arith.cmpi eq, %me, %c0r : index
        %is_one = arith.cmpi eq, %me, %c1 : index
        scf.if %is_zero {{ {nest(send)} }} else {{ {inner} }}
      }}
      return }}"""


class World:
    """Two ranks, each with its kernel of a program that sends messages."""

    def __init__(self, text: str, messages: int, seed: int = 0):
        options = f"wave-size={WAVE}"
        module = lowered(text, f"air-gpu-channel-to-cacheline={options}", "air-rank-to-mgpu", f"air-to-rocdl={options}")
        function = next(op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks)
        self.kernels = kernels_of(module)
        self.ranks = [Rank(number, _buffers(messages)) for number in (0, 1)]
        self.machine = Machine(WAVE, seed, self.ranks)
        self._arguments = function.args

    def start(self, number: int) -> None:
        rank = self.ranks[number]
        values = [rank.buffers["line"], None, rank.buffers["log"]]
        self.machine.launch(self.kernels[number], dict(zip(self._arguments, values, strict=True)), rank)


def _buffers(messages: int) -> dict[str, np.ndarray]:
    return {"line": np.zeros(32, np.int32), "log": np.zeros((messages, 31), np.int32)}


def run_channel(text: str, messages: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the receiver kept, and its line at the end."""
    world = World(text, messages, seed)
    for number in (0, 1):
        world.start(number)
    world.machine.run()
    receiver = world.ranks[1].buffers
    return receiver["log"], receiver["line"]


@pytest.mark.parametrize("waves, seed", [(1, 0), (1, 1), (2, 0)])
def test_messages_through_one_channel_arrive_once_each_and_in_order(waves: int, seed: int):
    """The sender waits until a message was read, the receiver never takes the flag of an old message for a new one."""
    log, line = run_channel(channel_program(5, waves), 5, seed)
    assert (log == np.arange(5)[:, None] * 1000 + np.arange(31)).all()
    assert line[31] == 1  # received: what programs look for after a transfer


def test_the_rank_of_an_else_branch_is_the_one_that_is_left():
    """In a larger world an inner condition has to leave one of the ranks that the else branch has."""
    log, _ = run_channel(channel_program(1, world=3), 1, seed=0)
    assert log[0, 7] == 7


def test_a_receiver_without_sender_does_not_get_on():
    world = World(channel_program(1), 1)
    world.start(1)
    with pytest.raises(Stuck):
        world.machine.run(turns=300)
