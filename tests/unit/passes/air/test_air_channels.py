"""Messages between ranks: channels lowered to steps of a protocol, all ranks run thread by thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from air_channel_programs import TOPOLOGIES, Program, bundle, memref
from air_programs import channel_program
from gpu_machine import Machine, Rank, Stuck
from helpers import lowered

from tilewright.dialects.func import FuncOp

WAVE, SMALL_WAVE = 32, 4
"""A line needs a lane for each of its words; for everything else a few lanes show as much."""
DTYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32}


def started(text: str, arguments: Sequence[Sequence[Any]], seed: int = 0, wave: int = WAVE) -> Machine:
    """A world in which each rank has called the program's function with its arguments and started its kernels."""
    options = f"{{wave-size={wave}}}"
    module = lowered(text, f"air-gpu-channel-to-cacheline{options}", "air-rank-to-mgpu", f"air-to-rocdl{options}")
    function = next(op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks)
    machine = Machine(wave, seed, [Rank(number) for number in range(len(arguments))])
    for rank, given in zip(machine.ranks, arguments, strict=True):
        rank.buffers |= {str(number): value for number, value in enumerate(given) if value is not None}
        machine.run_host(function.body, dict(zip(function.args, given, strict=True)), rank)
    return machine


def outputs(program: Program, given: np.ndarray, expected: np.ndarray, seed: int = 0) -> np.ndarray:
    """What the ranks have in the end."""
    found = np.zeros_like(expected)
    wave = WAVE if '"line"' in program.declaration else SMALL_WAVE
    started(program.text(), [(given, own) for own in found], seed, wave).run(turns=200_000)
    return found


@pytest.mark.parametrize(
    "protocol, element, shape, waves",
    [
        pytest.param("ordered", "f32", (2, 3), 1, id="a wave"),
        pytest.param("ordered", "i16", (10,), 2, id="waves together"),
        pytest.param("line", "i8", (3, 5), 1, id="a line"),
    ],
)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_message_comes_to_whom_it_is_for(topology: str, protocol: str, element: str, shape: Any, waves: int):
    ranks, way = 3, TOPOLOGIES[topology]
    program = replace(way.make(ranks, shape, element, {"protocol": f'"{protocol}"'}), waves=waves)
    messages = (ranks, ranks) if way.has_parts else (ranks,)
    given = np.random.default_rng(0).integers(-99, 99, (*messages, *shape)).astype(DTYPES[element])
    expected = way.expected(given)
    assert (outputs(program, given, expected) == expected).all()


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_world_may_be_smaller_than_the_bundle_if_its_size_is_known_at_run_time_only(topology: str):
    """The same program serves worlds of any size that the bundle has room for."""
    ranks, most, way = 3, 4, TOPOLOGIES[topology]
    program = replace(way.make(most, (2,), "i32", {}), is_sized_at_run_time=True)
    given = np.arange(2 * most * most, dtype=np.int32).reshape(most, most, 2)
    given = given if way.has_parts else given[:, 0]
    used = given[:ranks, :ranks] if way.has_parts else given[:ranks]
    expected = way.expected(used)
    found = outputs(program, given, np.zeros((ranks, *way.expected(given).shape[1:]), np.int32))
    assert (found[tuple(slice(size) for size in expected.shape)] == expected).all()


def pair(put: str, get: str, type: str, *sizes: int, waves: int = 1, **attributes: str) -> Program:
    """Rank 0 does one thing, rank 1 another."""
    body = f"""%is_first = arith.cmpi eq, %me, %c0 : index
      scf.if %is_first {{ {put} }} else {{ {get} }}"""
    return Program(2, bundle(*sizes, **attributes), body, type, type, waves)


def received(program: Program, given: np.ndarray, seed: int = 0) -> np.ndarray:
    """What rank 1 has in the end."""
    return outputs(program, given, np.zeros((2, *given.shape), given.dtype), seed)[1]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("protocol", ["ordered", "line"])
def test_messages_of_a_loop_arrive_once_each_and_in_order(protocol: str, depth: int):
    type = memref([5, 4], "i32")
    loop = "%n = arith.constant 5 : index scf.for %k = %c0 to %n step %c1"
    part = f"[%k, 0] [1, 4] [4, 1]) : ({type})"
    program = pair(
        f"{loop.replace('%n', '%np')} {{ air.channel.put @C[] (%in{part} }}",
        f"{loop.replace('%n', '%ng')} {{ air.channel.get @C[] (%out{part} }}",
        type,
        protocol=f'"{protocol}"',
        buffer_resources=str(depth),
    )
    given = np.arange(20, dtype=np.int32).reshape(5, 4)
    assert (received(program, given) == given).all()


@pytest.mark.parametrize("protocol", ["ordered", "line"])
def test_processing_elements_send_for_themselves_from_their_own_memory(protocol: str):
    """Each has a channel and a buffer of its own, which all of its lanes hold."""
    type, own = memref([3, 4], "f32"), memref([4], "f32", "2")
    part = "[%x, 0] [1, 4] [4, 1]"
    put = f"""%l = memref.alloc() : {own}
      air.dma_memcpy_nd (%l[] [] [], %in{part}) : ({own}, {type})
      air.channel.put @C[%x] (%l[] [] []) : ({own})"""
    get = f"""%l = memref.alloc() : {own}
      air.channel.get @C[%x] (%l[] [] []) : ({own})
      air.dma_memcpy_nd (%out{part}, %l[] [] []) : ({type}, {own})"""
    given = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert (received(pair(put, get, type, 3, waves=3, protocol=f'"{protocol}"'), given) == given).all()


def test_a_part_of_a_buffer_whose_length_is_known_at_run_time_only():
    type = memref([20], "f32")
    length = "%three = arith.constant 3 : index %length = arith.muli %ranks, %three : index"
    program = pair(
        f"{length} air.channel.put @C[] (%in[2] [%length] [1]) : ({type})",
        f"{length} air.channel.get @C[] (%out[5] [%length] [1]) : ({type})",
        type,
    )
    given = np.arange(20, dtype=np.float32)
    found = received(program, given)
    assert (found[5:11] == given[2:8]).all() and not found[:5].any() and not found[11:].any()


def run_in_place(text: str, messages: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the receiver kept, and its line at the end, of a program in upstream's form."""
    ranks = [(np.zeros(32, np.int32), None, np.zeros((messages, 31), np.int32)) for _ in range(2)]
    started(text, ranks, seed).run()
    return ranks[1][2], ranks[1][0]


@pytest.mark.parametrize("waves, seed", [(1, 0), (1, 1), (2, 0)])
def test_messages_through_one_line_arrive_once_each_and_in_order(waves: int, seed: int):
    """The sender waits until a message was read, the receiver never takes the flag of an old message for a new one."""
    log, line = run_in_place(channel_program(5, waves), 5, seed)
    assert (log == np.arange(5)[:, None] * 1000 + np.arange(31)).all()
    assert line[31] == 1  # received: what programs look for after a transfer


def test_the_rank_of_an_else_branch_is_the_one_that_is_left():
    """In a larger world an inner condition has to leave one of the ranks that the else branch has."""
    log, _ = run_in_place(channel_program(1, world=3), 1, seed=0)
    assert log[0, 7] == 7


def test_a_receiver_without_sender_does_not_get_on():
    machine = started(channel_program(1), [(np.zeros(32, np.int32), None, np.zeros((1, 31), np.int32))] * 2)
    machine.threads = [thread for thread in machine.threads if thread.rank.number == 1]
    with pytest.raises(Stuck):
        machine.run(turns=300)
