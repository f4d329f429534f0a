"""Host programs of AIR that wait by tokens: what they leave behind is what their order says, on GPUs and on NPUs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

LANES = 64

KERNEL = """
  %{token} = air.launch async [{deps}] () in () args(%lm=%m, %lk=%k{number}) : memref<64xi32>, i32 {{
    %s = air.segment async args(%sm=%lm, %sk=%lk) : memref<64xi32>, i32 {{
      %one = arith.constant 1 : index
      %h = air.herd async tile (%tx) in (%ntx=%one) args(%q=%sm, %by=%sk) : memref<64xi32>, i32 {{
        %lane = gpu.lane_id
        %v = memref.load %q[%lane] : memref<64xi32>
        %w = arith.{operation} %v, %by : i32
        memref.store %w, %q[%lane] : memref<64xi32>
      }}
      air.wait_all [%h]
    }}
  }}"""
HOST = """
  %{token} = air.execute [{deps}] {{
    scf.for %i = %c0 to %c64 step %c1 {{
      %v = memref.load %m[%i] : memref<64xi32>
      %w = arith.{operation} %v, %k{number} : i32
      memref.store %w, %m[%i] : memref<64xi32>
    }}
  }}"""
LOOP = """
  %{token} = scf.for %turn{token} = %c0 to %c3 step %c1 iter_args(%{token}_in = %{dep}) -> (!air.async.token) {{
    {body}
    scf.yield %{token}_out : !air.async.token
  }}"""
COMPUTE = {"addi": np.add, "muli": np.multiply}


@st.composite
def host_programs(draw: st.DrawFn) -> tuple[str, list[tuple[str, int]]]:
    """Steps on one array, on the host and in kernels, each of which waits for the one before and maybe for others."""
    lines, steps, tokens = ["%t0 = air.wait_all async"], list[tuple[str, int]](), ["t0"]
    for number in range(1, draw(st.integers(2, 5)) + 1):
        operation, amount = draw(st.sampled_from(sorted(COMPUTE))), draw(st.integers(1, 5))
        template = draw(st.sampled_from([KERNEL, HOST]))
        # the last one has changed the array; further ones add nothing
        deps = [tokens[-1], *draw(st.lists(st.sampled_from(tokens), max_size=2, unique=True))]
        if draw(st.booleans()):
            lines.append(f"%j{number} = air.wait_all async [{', '.join(f'%{dep}' for dep in deps)}]")
            deps = [f"j{number}"]
        lines.append(f"%k{number} = arith.constant {amount} : i32")
        names = {"operation": operation, "number": number}
        if draw(st.booleans()):
            body = template.format(token=f"t{number}_out", deps=f"%t{number}_in", **names)
            lines.append(LOOP.format(token=f"t{number}", dep=deps[0], body=body))
            steps += 3 * [(operation, amount)]
        else:
            lines.append(template.format(token=f"t{number}", deps=", ".join(f"%{dep}" for dep in deps), **names))
            steps.append((operation, amount))
        if draw(st.booleans()):
            lines.append(f"air.wait_all [%t{number}]")
        tokens.append(f"t{number}")
    constants = "".join(f"%c{number} = arith.constant {number} : index\n" for number in (0, 1, 3, 64))
    body = "\n".join(lines)
    return (
        f"module attributes {{gpu.container_module}} {{ func.func @main(%m: memref<64xi32>) {{ {constants} {body}\n"
        f"  air.wait_all [%{tokens[-1]}] return }} }}",
        steps,
    )


@settings(max_examples=5)
@given(host_programs())
def test_hosts_and_kernels_run_in_the_order_of_their_tokens(program: tuple[str, list[tuple[str, int]]]):
    text, steps = program
    array = np.arange(LANES, dtype=np.int32)
    expected = array.copy()
    for operation, amount in steps:
        expected = COMPUTE[operation](expected, np.int32(amount))
    tw.air.compile(text).run(array)
    np.testing.assert_array_equal(array, expected)


CARRIERS = """
module attributes {gpu.container_module} {
  func.func private @step(%m: memref<2xi32>, %t: !air.async.token) -> !air.async.token {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %u = air.execute [%t] {
      %v = memref.load %m[%c0] : memref<2xi32>
      %w = arith.addi %v, %v : i32
      memref.store %w, %m[%c0] : memref<2xi32>
      memref.store %v, %m[%c1] : memref<2xi32>
    }
    return %u : !air.async.token
  }
  func.func @main(%m: memref<2xi32>, %n: index, %flag: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = air.wait_all async
    %if = scf.if %flag -> (!air.async.token) {
      %u = func.call @step(%m, %t) : (memref<2xi32>, !air.async.token) -> !air.async.token
      scf.yield %u : !air.async.token
    } else {
      scf.yield %t : !air.async.token
    }
    %select = arith.select %flag, %if, %t : !air.async.token
    %while, %end = scf.while (%u = %select, %i = %c0) : (!air.async.token, index) -> (!air.async.token, index) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %u, %i : !air.async.token, index
    } do {
    ^bb0(%u: !air.async.token, %i: index):
      %v = func.call @step(%m, %u) : (memref<2xi32>, !air.async.token) -> !air.async.token
      %next = arith.addi %i, %c1 : index
      scf.yield %v, %next : !air.async.token, index
    }
    %parallel = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%while) -> !air.async.token {
      %v = func.call @step(%m, %while) : (memref<2xi32>, !air.async.token) -> !air.async.token
      scf.reduce(%v : !air.async.token) {
      ^bb0(%a: !air.async.token, %b: !air.async.token):
        %both = air.wait_all async [%a, %b]
        scf.reduce.return %both : !air.async.token
      }
    }
    air.wait_all [%parallel]
    return
  }
}
"""


@pytest.mark.parametrize("turns, flag", [(0, 0), (3, 1), (2, 0)])
def test_whatever_carries_a_token_is_run(turns: int, flag: int):
    """Functions, branches, selections and loops of all kinds."""
    array = np.array([1, 0], np.int32)
    tw.air.compile(CARRIERS).run(array, turns, flag)
    steps = flag + 2 * turns
    assert list(array) == [1 << steps, (1 << steps) // 2]


EXCHANGE = """
module attributes {gpu.container_module} {
  air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
  func.func @main(%result: memref<8xi32>) {
    %c2 = arith.constant 2 : index
    %t = air.rank async (%me) in (%n=%c2) args(%to=%result) : memref<8xi32> {
      %c1 = arith.constant 1 : index
      %l = air.launch async (%x) in (%nx=%c1) args(%r=%me, %lr=%to) : index, memref<8xi32> {
        %one = arith.constant 1 : index
        %h = air.herd async tile (%tx) in (%ntx=%one) args(%q=%r, %got=%lr) : index, memref<8xi32> {
          %c0 = arith.constant 0 : index
          %o = arith.constant 1 : index
          %two = arith.constant 2 : index
          %eight = arith.constant 8 : index
          %tb, %b = air.execute -> (memref<8xi32, 2>) {
            %m = memref.alloc() : memref<8xi32, 2>
            air.execute_terminator %m : memref<8xi32, 2>
          }
          %filled = scf.for %i = %c0 to %eight step %o iter_args(%u = %tb) -> (!air.async.token) {
            %e = air.execute [%u] {
              %v = arith.addi %i, %q : index
              %w = arith.index_cast %v : index to i32
              memref.store %w, %b[%i] : memref<8xi32, 2>
            }
            scf.yield %e : !air.async.token
          }
          %p = arith.addi %q, %o : index
          %next = arith.remui %p, %two : index
          %g = air.channel.get async @C[%q] (%got[] [] []) : (memref<8xi32>)
          %s = air.channel.put async [%filled] @C[%next] (%b[] [] []) : (memref<8xi32, 2>)
          air.wait_all [%g, %s]
        }
      }
      air.wait_all [%l]
    }
    air.wait_all [%t]
    return
  }
}
"""


def test_all_ranks_may_ask_before_they_send():
    """No token says that the put has to wait for the get before it, which ends when the other side has put."""
    result = tw.air.compile(EXCHANGE).run(np.zeros(8, np.int32))
    assert [list(rank.arrays[0]) for rank in result.ranks] == [list(range(1, 9)), list(range(8))]
