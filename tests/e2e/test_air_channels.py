"""Messages between ranks, end to end on the emulator: host code, kernels, and stores that arrive late."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from air_channel_programs import TOPOLOGIES, Program, bundle, memref
from helpers import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import air
from tilewright.dialects._llvm_memory import Ordering
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.passes.air.air_gpu_channel_to_cacheline import protocol_ordered

LATE = {"reorder": "on"}
"""Stores arrive late and in any order that the memory model allows."""
STRICT = LATE | {"check": "races"}
"""And accesses to the same memory that nothing orders are errors."""
DTYPES: dict[str, Any] = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


def inputs(topology: str, ranks: int, shape: tuple[int, ...], element: str, seed: int) -> np.ndarray:
    """A message of small numbers for each rank, or for each pair of them."""
    messages = (ranks, ranks) if TOPOLOGIES[topology].has_parts else (ranks,)
    numbers = np.random.default_rng(seed).integers(-99, 99, (*messages, *shape))
    return numbers.astype(DTYPES[element])


def run(program: Program, data: np.ndarray, output: np.ndarray, **options: Any) -> list[np.ndarray]:
    """The output of each rank."""
    result = air.compile(program.text()).run(data, output, entry="f", **options)
    return [rank.arrays[1] for rank in result.ranks]


@st.composite
def exchanges(draw: st.DrawFn, ranks: int) -> tuple[str, Program, tuple[int, ...], str]:
    """Everyone sends to everyone: messages of any shape and type, by either protocol, by one wave or several."""
    topology = draw(st.sampled_from(["allgather", "all to all"]))
    element = draw(st.sampled_from(sorted(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    fits_line = prod(shape) <= 124 // np.dtype(DTYPES[element]).itemsize
    protocol = draw(st.sampled_from(["ordered", "line"] if fits_line else ["ordered"]))
    attributes = {"protocol": f'"{protocol}"', "buffer_resources": str(draw(st.integers(1, 3)))}
    program = TOPOLOGIES[topology].make(ranks, shape, element, attributes)
    return topology, replace(program, waves=draw(st.integers(1, 3))), shape, element


@settings(max_examples=5, deadline=None)
@given(exchanges(8), st.integers(0, 1000))
def test_all_ranks_of_eight_exchange_messages(drawn: tuple[str, Program, tuple[int, ...], str], seed: int):
    topology, program, shape, element = drawn
    data = inputs(topology, 8, shape, element, seed)
    expected = TOPOLOGIES[topology].expected(data)
    found = run(program, data, np.zeros_like(expected[0]), seed=seed, settings=STRICT, wave_size=32)
    assert all((mine == right).all() for mine, right in zip(found, expected, strict=True))


@pytest.mark.parametrize("protocol", ["ordered", "line"])
@pytest.mark.parametrize("topology", ["ring", "broadcast", "gather"])
def test_ranks_of_a_world_whose_size_is_known_at_run_time_only(topology: str, protocol: str):
    """Three ranks run a program for up to five."""
    ranks, most, way = 3, 5, TOPOLOGIES[topology]
    program = replace(way.make(most, (7,), "i16", {"protocol": f'"{protocol}"'}), is_sized_at_run_time=True)
    data = inputs(topology, most, (7,), "i16", 0)
    expected = way.expected(data[:ranks])
    found = run(program, data, np.zeros_like(way.expected(data)[0]), ranks=ranks, settings=STRICT)
    for mine, right in zip(found, expected, strict=True):
        assert (mine[tuple(slice(size) for size in right.shape)] == right).all()


def stream(messages: int, protocol: str, depth: int) -> Program:
    """Rank 0 sends rows of its buffer one after the other, and rank 1 keeps them."""
    type = memref([messages, 3], "i32")
    part = f"[%k, 0] [1, 3] [3, 1]) : ({type})"
    body = f"""%count = arith.constant {messages} : index
            %sends = arith.cmpi eq, %me, %c0 : index
            scf.if %sends {{
              scf.for %k = %c0 to %count step %c1 {{ air.channel.put @C[] (%in{part} }}
            }} else {{
              scf.for %k = %c0 to %count step %c1 {{ air.channel.get @C[] (%out{part} }}
            }}"""
    return Program(2, bundle(protocol=f'"{protocol}"', buffer_resources=str(depth)), body, type, type)


@pytest.mark.parametrize("protocol", ["ordered", "line"])
def test_a_thousand_messages_through_one_channel(protocol: str):
    """None is lost, none comes twice, nobody waits for ever."""
    data = np.arange(3000, dtype=np.int32).reshape(1000, 3)
    _, received = run(stream(1000, protocol, 2), data, np.zeros_like(data), settings=LATE, wave_size=32)
    assert (received == data).all()


@pytest.mark.parametrize("missing", ["release", "acquire"])
def test_a_fence_that_is_missing_is_found(missing: str, monkeypatch: pytest.MonkeyPatch):
    """Without it a receiver sees the flag of a message before its payload, sooner or later."""
    data = np.arange(1, 91, dtype=np.int32).reshape(30, 3)

    def is_right(seed: int) -> bool:
        try:
            received = run(stream(30, "ordered", 2), data, np.zeros_like(data), settings=LATE, seed=seed, wave_size=32)[
                1
            ]
        except DiagnosedError:
            return False
        return bool((received == data).all())

    assert all(is_right(seed) for seed in range(2))
    orderings = {name: int(Ordering[name]) for name in ("monotonic", "acquire", "release")}
    weakened = IntEnum("Weakened", orderings | {missing: int(Ordering.monotonic)})
    monkeypatch.setattr(protocol_ordered, "Ordering", weakened)
    assert not all(is_right(seed) for seed in range(2))


def test_all_ranks_sum_up_by_exchanges_at_growing_distances():
    """The rank at the other end of channel [s, r] is r with bit s turned over: an all-reduce in three steps."""
    type, all_type, own = memref([5], "i32"), memref([8, 5], "i32"), memref([5], "i32", "2")
    body = f"""%sum = memref.alloc() : {own}
            %other = memref.alloc() : {own}
            %steps = arith.constant 3 : index
            %five = arith.constant 5 : index
            air.dma_memcpy_nd (%sum[] [] [], %in[%me, 0] [1, 5] [5, 1]) : ({own}, {all_type})
            scf.for %turn = %c0 to %steps step %c1 {{
              %step = arith.addi %turn, %c0 : index
              %bit = arith.shli %c1, %step : index
              %peer = arith.xori %me, %bit : index
              air.channel.put @C[%step, %peer] (%sum[] [] []) : ({own})
              air.channel.get @C[%step, %me] (%other[] [] []) : ({own})
              scf.for %k = %c0 to %five step %c1 {{
                %one_term = memref.load %sum[%k] : {own}
                %other_term = memref.load %other[%k] : {own}
                %both = arith.addi %one_term, %other_term : i32
                memref.store %both, %sum[%k] : {own}
              }}
            }}
            air.dma_memcpy_nd (%out[] [] [], %sum[] [] []) : ({type}, {own})"""
    data = np.arange(40, dtype=np.int32).reshape(8, 5)
    found = run(Program(8, bundle(3, 8), body, all_type, type), data, np.zeros(5, np.int32), settings=LATE)
    assert all((mine == data.sum(0)).all() for mine in found)


def test_a_world_of_two_dimensions_and_blocks_without_herds():
    """On a grid of 2 x 3 ranks everyone sends along the second dimension; all threads of a block move the message."""
    text = """module attributes {gpu.container_module} {
      air.channel @C [2, 3] {channel_type = "gpu_symmetric_heap"}
      func.func @f(%out: memref<2x64xi32>) {
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        air.rank (%x, %y) in (%nx=%c2, %ny=%c3) args(%o=%out) : memref<2x64xi32> {
          %c1 = arith.constant 1 : index
          air.launch (%b) in (%bs=%c1) args(%lx=%x, %ly=%y, %ln=%ny, %l=%o) : index, index, index, memref<2x64xi32> {
            air.segment args(%sx=%lx, %sy=%ly, %sn=%ln, %s=%l) : index, index, index, memref<2x64xi32> {
              %c0 = arith.constant 0 : index
              %one = arith.constant 1 : index
              %two = arith.constant 2 : index
              %tile = memref.alloc() : memref<64xi32, 1>
              air.herd tile (%w) in (%waves=%two) args(%hx=%sx, %hy=%sy, %t=%tile) : index, index, memref<64xi32, 1> {
                %ten = arith.constant 10 : index
                %half = arith.constant 32 : index
                %lane = gpu.lane_id
                %first = arith.muli %w, %half : index
                %at = arith.addi %first, %lane : index
                %tens = arith.muli %hx, %ten : index
                %number = arith.addi %tens, %hy : index
                %value = arith.index_cast %number : index to i32
                memref.store %value, %t[%at] : memref<64xi32, 1>
              }
              %next = arith.addi %sy, %one : index
              %to = arith.remui %next, %sn : index
              air.channel.put @C[%sx, %to] (%tile[] [] []) : (memref<64xi32, 1>)
              air.channel.get @C[%sx, %sy] (%s[%c0, 0] [1, 64] [64, 1]) : (memref<2x64xi32>)
            }
          }
        }
        return
      } }"""
    result = air.compile(text).run(np.zeros((2, 64), np.int32), entry="f", wave_size=32, settings=LATE)
    for number, rank in enumerate(result.ranks):
        x, y = number % 2, number // 2
        assert (rank.arrays[0][0] == 10 * x + (y - 1) % 3).all()


@pytest.mark.parametrize("protocol", ["ordered", "line"])
def test_blocks_without_herds_exchange_messages(protocol: str):
    """Outside of herds the threads of a block are numbered, and the first of them are the wave that moves a line."""
    text = f"""module attributes {{gpu.container_module}} {{
      air.channel @C [2] {{channel_type = "gpu_symmetric_heap", protocol = "{protocol}"}}
      func.func @f(%in: memref<31xi32>, %out: memref<31xi32>) {{
        %c2 = arith.constant 2 : index
        air.rank (%me) in (%n=%c2) args(%i=%in, %o=%out) : memref<31xi32>, memref<31xi32> {{
          %c1 = arith.constant 1 : index
          air.launch (%b) in (%bs=%c1) args(%m=%me, %li=%i, %lo=%o) : index, memref<31xi32>, memref<31xi32> {{
            air.segment args(%s=%m, %si=%li, %so=%lo) : index, memref<31xi32>, memref<31xi32> {{
              %one = arith.constant 1 : index
              %two = arith.constant 2 : index
              air.herd tile (%w) in (%waves=%two) {{ }}
              %other = arith.xori %s, %one : index
              air.channel.put @C[%other] (%si[] [] []) : (memref<31xi32>)
              air.channel.get @C[%s] (%so[] [] []) : (memref<31xi32>)
            }} }} }}
        return
      }} }}"""
    given = np.arange(31, dtype=np.int32)
    result = air.compile(text).run(given, np.zeros(31, np.int32), entry="f", settings=LATE)
    assert all((rank.arrays[1] == given).all() for rank in result.ranks)


def test_a_message_waits_for_a_later_kernel_of_another_rank_operation():
    """Everyone puts in one `air.rank`, and gets in the next one of the function."""

    def part(names: str, buffer: str, transfer: str) -> str:
        return f"""air.rank (%{names}r) in (%{names}n=%c2) args(%{names}m={buffer}) : memref<3xf32> {{
          %{names}one = arith.constant 1 : index
          air.herd tile (%{names}x) in (%{names}w=%{names}one) args(%{names}h=%{names}m, %{names}me=%{names}r)
              : memref<3xf32>, index {{
            {transfer} }} }}"""

    text = f"""module attributes {{gpu.container_module}} {{
      air.channel @C [2] {{channel_type = "gpu_symmetric_heap"}}
      func.func @f(%in: memref<3xf32>, %out: memref<3xf32>) {{
        %c2 = arith.constant 2 : index
        {part("p", "%in", "air.channel.put @C[%pme] (%ph[] [] []) : (memref<3xf32>)")}
        {part("g", "%out", "air.channel.get @C[%gme] (%gh[] [] []) : (memref<3xf32>)")}
        return
      }} }}"""
    data = np.arange(3, dtype=np.float32)
    result = air.compile(text).run(data, np.zeros_like(data), entry="f")
    assert all((rank.arrays[1] == data).all() for rank in result.ranks)


def test_blocks_of_a_launch_send_parts_of_a_message():
    """Each block has a channel of its own."""
    type = memref([3, 200], "i16")
    text = f"""module attributes {{gpu.container_module}} {{
      {bundle(2, 3)}
      func.func @f(%in: {type}, %out: {type}) {{
        %c2 = arith.constant 2 : index
        air.rank (%r) in (%n=%c2) args(%ri=%in, %ro=%out) : {type}, {type} {{
          %c3 = arith.constant 3 : index
          air.launch (%b) in (%bs=%c3) args(%lr=%r, %li=%ri, %lo=%ro) : index, {type}, {type} {{
            %two = arith.constant 2 : index
            air.herd tile (%x) in (%w=%two) args(%me=%lr, %block=%b, %i=%li, %o=%lo) : index, index, {type}, {type} {{
              %one = arith.constant 1 : index
              %to = arith.xori %me, %one : index
              air.channel.put @C[%to, %block] (%i[%block, 0] [1, 200] [200, 1]) : ({type})
              air.channel.get @C[%me, %block] (%o[%block, 0] [1, 200] [200, 1]) : ({type})
            }} }} }}
        return
      }} }}"""
    data = np.arange(600, dtype=np.int16).reshape(3, 200)
    result = air.compile(text).run(data, np.zeros_like(data), entry="f", settings=STRICT)
    assert all((rank.arrays[1] == data).all() for rank in result.ranks)


@pytest.mark.parametrize("element", ["i1", "index"])
def test_elements_that_llvm_stores_otherwise(element: str):
    """What is no whole bytes, or as wide as an address, is sent as something that is."""
    type, own = memref([40], "i32"), memref([40], element, "2")
    cast, back = ("trunci", "extui") if element == "i1" else ("index_cast", "index_cast")
    body = f"""%mine = memref.alloc() : {own}
            %end = arith.constant 40 : index
            scf.for %k = %c0 to %end step %c1 {{
              %v = memref.load %in[%k] : {type}
              %w = arith.{cast} %v : i32 to {element}
              memref.store %w, %mine[%k] : {own}
            }}
            %other = arith.xori %me, %c1 : index
            air.channel.put @C[%other] (%mine[] [] []) : ({own})
            air.channel.get @C[%me] (%mine[] [] []) : ({own})
            scf.for %k = %c0 to %end step %c1 {{
              %v = memref.load %mine[%k] : {own}
              %w = arith.{back} %v : {element} to i32
              memref.store %w, %out[%k] : {type}
            }}"""
    data = np.random.default_rng(0).integers(0, 2, 40).astype(np.int32)
    found = run(Program(2, bundle(2), body, type, type), data, np.zeros_like(data))
    assert all((mine == data).all() for mine in found)


def test_a_buffer_of_any_length_goes_in_parts():
    """What is longer than the memory of the channel is sent as several messages."""
    type = memref(["?"], "f32")
    body = f"""%sends = arith.cmpi eq, %me, %c0 : index
            scf.if %sends {{ air.channel.put @C[] (%in[] [] []) : ({type}) }}
            else {{ air.channel.get @C[] (%out[] [] []) : ({type}) }}"""
    data = np.arange(9000, dtype=np.float32)
    _, received = run(Program(2, bundle(), body, type, type, waves=4), data, np.zeros_like(data))
    assert (received == data).all()


def test_the_examples(tmp_path: Path):
    ring = air.compile(EXAMPLES / "air_channel_ring.mlir").run()
    assert [rank.output.split()[-4:] for rank in ring.ranks] == [
        [str(10 * (number - 1 & 3) + k) for k in range(4)] for number in range(4)
    ]
    rows = np.arange(1600, dtype=np.float32).reshape(16, 100)
    gathered = air.compile(EXAMPLES / "air_channel_allgather.mlir").run(
        rows, np.zeros_like(rows), entry="allgather", ranks=3
    )
    assert all((rank.arrays[1][:3] == rows[:3]).all() for rank in gathered.ranks)
    sent = np.arange(31000, dtype=np.int32).reshape(1000, 31)
    received = air.compile(EXAMPLES / "air_channel_stream.mlir").run(sent, np.zeros_like(sent), entry="send")
    assert (received.ranks[1].arrays[1] == sent).all()


def test_a_message_that_nobody_gets_is_an_error_with_its_place():
    type = memref([4], "i32")
    body = f"""%sends = arith.cmpi eq, %me, %c0 : index
            scf.if %sends {{ air.channel.put @C[%c0] (%in[] [] []) : ({type}) }}
            else {{ air.channel.get @C[%c1] (%out[] [] []) : ({type}) }}"""
    with pytest.raises(
        DiagnosedError, match=r"<text>:\d+:\d+: error: 'air.channel.put' op puts into @C\[0\] on rank 0"
    ):
        run(Program(2, bundle(2), body, type, type), np.zeros(4, np.int32), np.zeros(4, np.int32))
