"""Messages between ranks: channels lowered to cache lines, both ranks run thread by thread."""

from __future__ import annotations

import numpy as np
import pytest
from air_programs import channel_program
from gpu_machine import Machine, Rank, Stuck, kernels_of, lowered
from xdsl.dialects.func import FuncOp

WAVE = 32


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
