"""Core programs: what runs between two waits, what waits, and control flow of every form."""

from __future__ import annotations

import time
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from core_programs import FakeTile, parse_core, run_core

from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.run_errors import Fault
from tilewright.sim import core
from tilewright.sim.core import CoreProgram, core_process
from tilewright.sim.engine import Wait

if TYPE_CHECKING:
    from tilewright.sim.core_code import CoreCode

CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
"""
ADD_ONE = """
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %b[%j] : memref<4xi32>
      %w = arith.addi %v, %one : i32
      memref.store %w, %b[%j] : memref<4xi32>
    }
"""


def test_loop_around_locks() -> None:
    buffer = np.arange(4, dtype=np.int32)
    tile = run_core(
        f"""{CONSTANTS}
        scf.for %i = %c0 to %c3 step %c1 {{
          aie.use_lock(%lock0, AcquireGreaterEqual, %two)
          {ADD_ONE}
          aie.use_lock(%lock1, Release, %one)
        }}""",
        b=buffer,
    )
    assert buffer.tolist() == [3, 4, 5, 6]
    assert tile.log == [("acquire", 0, 2, "AcquireGreaterEqual"), ("release", 1, 1)] * 3


def test_nothing_behind_a_lock_happens_before_it() -> None:
    buffer = np.zeros(4, np.int32)
    body = f"{CONSTANTS}\n{ADD_ONE}\naie.use_lock(%lock0, AcquireGreaterEqual, %one)\n{ADD_ONE}"
    tile = FakeTile({"b": buffer})
    process = core_process(CoreProgram(parse_core(body, tile.buffers)), tile)
    while not tile.log:
        next(process)
    assert buffer.tolist() == [1, 1, 1, 1]
    list(process)
    assert buffer.tolist() == [2, 2, 2, 2]


def test_values_live_across_waits() -> None:
    """Loop-carried numbers, vectors and memrefs, through a loop that never ends, stopped in its middle."""
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    body = f"""{CONSTANTS}
      %v0 = vector.load %a[%c0] : memref<8xi32>, vector<8xi32>
      %end = arith.constant 9223372036854775807 : index
      %r:4 = scf.for %i = %c0 to %end step %c1 iter_args(%n = %one, %v = %v0, %x = %a, %y = %b)
          -> (i32, vector<8xi32>, memref<8xi32>, memref<8xi32>) {{
        aie.use_lock(%lock0, AcquireGreaterEqual, %n)
        %w = arith.addi %v, %v0 : vector<8xi32>
        vector.store %w, %x[%c0] : memref<8xi32>, vector<8xi32>
        aie.use_lock(%lock1, Release, %n)
        %m = arith.muli %n, %two : i32
        scf.yield %m, %w, %y, %x : i32, vector<8xi32>, memref<8xi32>, memref<8xi32>
      }}"""
    tile = FakeTile({"a": a, "b": b})
    process = core_process(CoreProgram(parse_core(body, tile.buffers)), tile)
    while len(tile.log) < 7:
        next(process)
    process.close()
    assert [entry[2] for entry in tile.log] == [1, 1, 2, 2, 4, 4, 8]
    assert (a.tolist(), b.tolist()) == ((np.arange(8) * 4).tolist(), (np.arange(8) * 3).tolist())


@pytest.mark.parametrize("choice, expected", [(0, "even"), (1, "odd"), (7, "default")])
def test_index_switch_chooses_buffers_and_locks(choice: int, expected: str) -> None:
    even, odd, default = (np.zeros(4, np.int32) for _ in range(3))
    tile = run_core(
        f"""{CONSTANTS}
        %n = memref.load %choice[] : memref<i32>
        %k = arith.index_cast %n : i32 to index
        %b = scf.index_switch %k -> memref<4xi32>
        case 0 {{ scf.yield %even : memref<4xi32> }}
        case 1 {{
          aie.use_lock(%lock1, Release, %two)
          scf.yield %odd : memref<4xi32>
        }}
        default {{ scf.yield %default : memref<4xi32> }}
        {ADD_ONE}""",
        even=even,
        odd=odd,
        default=default,
        choice=np.array(choice, np.int32),
    )
    sums = {"even": even.sum(), "odd": odd.sum(), "default": default.sum()}
    assert sums == {name: 4 if name == expected else 0 for name in sums}
    assert tile.log == ([("release", 1, 2)] if choice == 1 else [])


def test_branches_between_blocks() -> None:
    """A core whose loops have become blocks: lock operations and arithmetic in one graph."""
    buffer = np.zeros(4, np.int32)
    tile = run_core(
        f"""{CONSTANTS}
        cf.br ^outer(%c0 : index)
      ^outer(%i: index):
        %more = arith.cmpi slt, %i, %c3 : index
        cf.cond_br %more, ^start, ^end
      ^start:
        aie.use_lock(%lock0, AcquireGreaterEqual, %one)
        cf.br ^inner(%c0, %zero : index, i32)
      ^inner(%j: index, %sum: i32):
        %v = memref.load %b[%j] : memref<4xi32>
        %w = arith.addi %v, %one : i32
        memref.store %w, %b[%j] : memref<4xi32>
        %total = arith.addi %sum, %w : i32
        %k = arith.addi %j, %c1 : index
        %again = arith.cmpi slt, %k, %c4 : index
        cf.cond_br %again, ^inner(%k, %total : index, i32), ^next(%total : i32)
      ^next(%amount: i32):
        aie.use_lock(%lock1, Release, %amount)
        %n = arith.addi %i, %c1 : index
        cf.br ^outer(%n : index)
      ^end:""",
        b=buffer,
    )
    assert buffer.tolist() == [3, 3, 3, 3]
    assert [entry[-1] for entry in tile.log if entry[0] == "release"] == [4, 8, 12]


def test_switch_with_two_edges_to_one_block() -> None:
    out = np.zeros(3, np.int32)
    for flag in range(3):
        run_core(
            f"""{CONSTANTS}
            %f = memref.load %flag[] : memref<i32>
            cf.switch %f : i32, [default: ^join(%zero : i32), 1: ^join(%one : i32), 2: ^join(%two : i32)]
          ^join(%v: i32):
            %i = arith.index_cast %f : i32 to index
            memref.store %v, %out[%i] : memref<3xi32>""",
            flag=np.array(flag, np.int32),
            out=out,
        )
    assert out.tolist() == [0, 1, 2]


def test_while_with_locks_inside() -> None:
    tile = run_core(
        f"""{CONSTANTS}
        %r = scf.while (%n = %one) : (i32) -> i32 {{
          aie.use_lock(%lock0, AcquireGreaterEqual, %n)
          %next = arith.addi %n, %one : i32
          %four = arith.constant 4 : i32
          %more = arith.cmpi slt, %next, %four : i32
          scf.condition(%more) %next : i32
        }} do {{
        ^bb0(%m: i32):
          scf.yield %m : i32
        }}
        aie.use_lock(%lock1, Release, %r)"""
    )
    assert [entry[2] for entry in tile.log] == [1, 2, 3, 4]


def test_polling_lets_others_run() -> None:
    """A loop that waits for someone else to write memory spends time instead of hanging the simulator."""
    flag = np.array(0, np.int32)
    body = f"""{CONSTANTS}
      scf.while : () -> () {{
        %v = memref.load %flag[] : memref<i32>
        %empty = arith.cmpi eq, %v, %zero : i32
        scf.condition(%empty)
      }} do {{
        scf.yield
      }}
      aie.use_lock(%lock0, Release, %one)"""
    tile = FakeTile({"flag": flag})
    process = core_process(CoreProgram(parse_core(body, tile.buffers)), tile)
    steps = list(islice(process, 5))
    assert all(isinstance(cycles, int) and 0 < cycles < 100 for cycles in steps), "it looks again and again"
    assert tile.log == []
    flag[...] = 1
    list(process)
    assert tile.log == [("release", 0, 1)]


def test_idle_loop_never_ends_but_can_be_stopped() -> None:
    """It waits for nothing that could ever happen, so that it does not keep the simulator busy."""
    body = "cf.br ^loop\n^loop:\n%x = arith.constant 1 : i32\ncf.br ^on\n^on:\ncf.br ^loop\n^end:"
    process = core_process(CoreProgram(parse_core(body, {})), FakeTile({}))
    step = next(process)
    assert isinstance(step, Wait)
    assert step.reason() == "core (0, 2) is in a loop that does nothing and never ends"
    process.close()


def test_empty_loop_takes_its_time_at_once() -> None:
    """Not one iteration after the other."""
    tile = run_core(
        "affine.for %i = 0 to 1 { }\n%a = arith.constant 0 : index\n%b = arith.constant 1 : index\n"
        "%c = arith.constant 4000000000000 : index\nscf.for %i = %a to %c step %b { }"
    )
    assert 4 * 10**12 <= tile.cycles <= 4 * 10**12 + 3


def test_functions_that_wait_and_functions_that_do_not() -> None:
    out = np.zeros(2, np.int32)
    tile = run_core(
        f"""{CONSTANTS}
        %a = func.call @guarded(%lock0, %two) : (index, i32) -> i32
        %b = func.call @guarded(%lock1, %one) : (index, i32) -> i32
        memref.store %a, %out[%c0] : memref<2xi32>
        memref.store %b, %out[%c1] : memref<2xi32>""",
        outside="""
        func.func private @guarded(%lock: index, %n: i32) -> i32 {
          aie.use_lock(%lock, AcquireGreaterEqual, %n)
          %r = func.call @factorial(%n) : (i32) -> i32
          return %r : i32
        }
        func.func private @factorial(%n: i32) -> i32 {
          %one = arith.constant 1 : i32
          %last = arith.cmpi sle, %n, %one : i32
          %r = scf.if %last -> i32 {
            scf.yield %one : i32
          } else {
            %m = arith.subi %n, %one : i32
            %f = func.call @factorial(%m) : (i32) -> i32
            %p = arith.muli %f, %n : i32
            scf.yield %p : i32
          }
          return %r : i32
        }""",
        out=out,
    )
    assert out.tolist() == [2, 1]
    assert [entry[1:3] for entry in tile.log] == [(0, 2), (1, 1)]


def test_fault_inside_a_function_is_located_there() -> None:
    with pytest.raises(Fault) as fault:
        run_core(
            f"{CONSTANTS}\n%v = func.call @get(%b, %c4) : (memref<4xi32>, index) -> i32",
            outside="""func.func private @get(%m: memref<4xi32>, %i: index) -> i32 {
              %v = memref.load %m[%i] : memref<4xi32>
              return %v : i32
            }""",
            b=np.zeros(4, np.int32),
        )
    assert str(fault.value).startswith("core.mlir:7:20: error: core (0, 2): 'memref.load' accesses bytes 16 up to 20")


def test_function_that_waits_and_calls_itself_is_refused() -> None:
    with pytest.raises(DiagnosedError, match="@loop waits for something and calls itself"):
        run_core(
            f"{CONSTANTS}\nfunc.call @loop(%lock0, %one) : (index, i32) -> ()",
            outside="""func.func private @loop(%l: index, %n: i32) {
              aie.use_lock(%l, Release, %n)
              func.call @loop(%l, %n) : (index, i32) -> ()
              return
            }""",
        )


def test_lock_that_is_not_known_before_the_program_runs_is_refused() -> None:
    with pytest.raises(DiagnosedError, match="has to be known"):
        run_core(
            f"""{CONSTANTS}
            %yes = arith.cmpi eq, %c0, %c1 : index
            %l = scf.if %yes -> index {{ scf.yield %lock0 : index }} else {{ scf.yield %lock1 : index }}
            aie.use_lock(%l, Release, %one)"""
        )


def test_loop_without_progress_is_a_fault() -> None:
    with pytest.raises(Fault, match="the step of this loop is not positive"):
        run_core(
            f"{CONSTANTS}\n%n = memref.load %n_[] : memref<i64>\n%s = arith.index_cast %n : i64 to index\n"
            "scf.for %i = %c0 to %c4 step %s { }",
            n_=np.array(0, np.int64),
        )


def test_failed_assertion_is_a_fault() -> None:
    with pytest.raises(Fault, match=r"stops the program: {no} luck"):
        run_core('%no = arith.constant false\ncf.assert %no, "{no} luck"')


def test_parallel_loop_and_reduction() -> None:
    out = np.zeros((2, 3), np.int32)
    run_core(
        f"""{CONSTANTS}
        %sum = scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c3) step (%c1, %c1) init (%one) -> i32 {{
          %n = arith.addi %i, %j : index
          %v = arith.index_cast %n : index to i32
          memref.store %v, %out[%i, %j] : memref<2x3xi32>
          scf.reduce(%v : i32) {{
          ^bb0(%x: i32, %y: i32):
            %z = arith.addi %x, %y : i32
            scf.reduce.return %z : i32
          }}
        }}
        memref.store %sum, %out[%c0, %c0] : memref<2x3xi32>""",
        out=out,
    )
    assert out.tolist() == [[10, 1, 2], [1, 2, 3]]


def test_affine_loops_and_conditions() -> None:
    out = np.zeros(16, np.int32)
    run_core(
        """%one = arith.constant 1 : i32
        affine.for %i = 0 to 4 {
          affine.for %j = affine_map<(d) -> (d)>(%i) to min affine_map<(d) -> (d + 3, 4)>(%i) {
            affine.if affine_set<(i, j) : (i + j - 2 >= 0)>(%i, %j) {
              affine.store %one, %out[%i * 4 + %j] : memref<16xi32>
            }
          }
        }""",
        out=out,
    )
    expected = [[int(i <= j < min(i + 3, 4) and i + j >= 2) for j in range(4)] for i in range(4)]
    assert out.reshape(4, 4).tolist() == expected


def test_streams_and_cascade() -> None:
    out = np.zeros(16, np.int32)
    tile = FakeTile({"out": out}, cascade=[np.arange(16, dtype=np.int32).tobytes()], stream=[b"\1\0\0\0"])
    run_core(
        f"""{CONSTANTS}
        %v = aie.get_cascade() : vector<16xi32>
        %w = arith.addi %v, %v : vector<16xi32>
        vector.store %w, %out[%c0] : memref<16xi32>, vector<16xi32>
        aie.put_cascade(%w : vector<16xi32>)
        %x = aie.get_stream(%zero : i32) : i32
        %y = arith.addi %x, %two : i32
        aie.put_stream(%one : i32, %y : i32)""",
        tile,
    )
    doubled = np.arange(16, dtype=np.int32) * 2
    assert out.tolist() == doubled.tolist()
    assert tile.log == [("put_cascade", doubled.tobytes()), ("put_stream", 1, b"\3\0\0\0")]


def test_cycles_count_executed_operations() -> None:
    """A load, an addition and a store, four times, and the loop itself; constants take no time."""
    assert run_core(CONSTANTS + ADD_ONE, b=np.zeros(4, np.int32)).cycles == 4 * 3 + 1


@pytest.mark.parametrize("trips", [3, 4000])
def test_code_grows_with_the_text_not_with_the_trips(trips: int) -> None:
    tile = run_core(
        f"""{CONSTANTS}
        %n = arith.constant {trips} : index
        scf.for %i = %c0 to %n step %c1 {{
          aie.use_lock(%lock0, AcquireGreaterEqual, %one)
        }}"""
    )
    assert len(tile.log) == trips


@pytest.mark.llvm
def test_lock_operations_are_cheap() -> None:
    """Far below 20 microseconds each; the limit leaves room for a busy machine."""
    body = f"""{CONSTANTS}
      %n = arith.constant 5000 : index
      scf.for %i = %c0 to %n step %c1 {{
        aie.use_lock(%lock0, AcquireGreaterEqual, %one)
        {ADD_ONE}
        aie.use_lock(%lock1, Release, %one)
      }}"""
    tile = FakeTile({"b": np.zeros(4, np.int32)})
    program = CoreProgram(parse_core(body, tile.buffers))
    assert program.code
    before = time.process_time()
    list(core_process(program, tile))
    assert (time.process_time() - before) / len(tile.log) < 20e-6


@pytest.mark.llvm
def test_cores_that_differ_in_buffers_and_locks_share_their_code() -> None:
    texts = [f"{CONSTANTS}{ADD_ONE}\naie.use_lock(%lock{number}, Release, %one)" for number in range(2)]
    buffers = [{"a": np.zeros(4, np.int32), "b": np.zeros(4, np.int32)} for _ in texts]
    codes = [
        CoreProgram(parse_core(t.replace("%b[", f"%{n}["), b)).code
        for t, b, n in zip(texts, buffers, "ab", strict=True)
    ]
    first, second = (cast("CoreCode", code) for code in codes)
    assert first._native is second._native


@pytest.mark.llvm
def test_matrix_product_runs_at_native_speed() -> None:
    """32 x 32 x 32 steps in far less than a millisecond; the limit leaves room for slow machines."""
    random = np.random.default_rng(3)
    a, b = (random.integers(-100, 100, (32, 32)).astype(np.int16) for _ in range(2))
    c: Any = np.zeros((32, 32), np.int32)
    body = f"""{CONSTANTS}
      affine.for %n = 0 to 100 {{ affine.for %x = 0 to 32 {{ affine.for %y = 0 to 32 {{ affine.for %z = 0 to 32 {{
        %p = memref.load %a[%x, %z] : memref<32x32xi16>
        %q = memref.load %b[%z, %y] : memref<32x32xi16>
        %r = memref.load %c[%x, %y] : memref<32x32xi32>
        %pw = arith.extsi %p : i16 to i32
        %qw = arith.extsi %q : i16 to i32
        %s = arith.muli %pw, %qw : i32
        %t = arith.addi %r, %s : i32
        memref.store %t, %c[%x, %y] : memref<32x32xi32>
      }} }} }} }}"""
    tile = FakeTile({"a": a, "b": b, "c": c})
    program = CoreProgram(parse_core(body, tile.buffers))
    assert program.code
    before = time.process_time()
    list(core_process(program, tile))
    assert (time.process_time() - before) / 100 < 1e-3
    np.testing.assert_array_equal(c, 100 * (a.astype(np.int32) @ b.astype(np.int32)))


def test_free_running_loop_can_be_stopped() -> None:
    """A core that counts for hours without waiting for anything."""
    count = np.zeros(1, np.int64)
    body = """%one = arith.constant 1 : i64
      affine.for %i = 0 to 1000000000000 { affine.for %j = 0 to 10 {
        %v = affine.load %count[0] : memref<1xi64>
        %w = arith.addi %v, %one : i64
        affine.store %w, %count[0] : memref<1xi64>
      } }"""
    tile = FakeTile({"count": count})
    process = core_process(CoreProgram(parse_core(body, tile.buffers)), tile)
    assert len(list(islice(process, 20))) == 20
    process.close()
    assert 0 < count[0] < 10**6


def test_endless_recursion_is_a_fault() -> None:
    with pytest.raises(Fault, match=r"'func.call' calls itself more than 1000 times"):
        run_core(
            f"{CONSTANTS}\n%r = func.call @more(%one) : (i32) -> i32",
            outside="""func.func private @more(%n: i32) -> i32 {
              %m = arith.addi %n, %n : i32
              %r = func.call @more(%m) : (i32) -> i32
              %s = arith.addi %r, %n : i32
              return %s : i32
            }""",
        )


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("%q = arith.divsi %x, %x : i128", "only integers of up to 64 bits"),
        ("%q = arith.sitofp %x : i128 to f32", "only integers of up to 64 bits"),
        ("%q = memref.alloca() : memref<4000000xi32>", "16000000 bytes are more than any core has"),
    ],
)
def test_what_native_code_cannot_do_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(DiagnosedError, match=complaint):
        run_core(f"%x = arith.constant 3 : i128\n{text}")


def test_a_frame_that_another_thread_gets_at_the_same_address_keeps_its_code() -> None:
    """As soon as a frame is gone, its address may be that of a new one, of a program that another thread runs."""
    other = cast("CoreCode", object())

    def destroy(handle: int) -> None:
        core._RUNNING[handle] = other

    activation = core.Activation.__new__(core.Activation)
    activation._handle, activation.code = 1, cast("CoreCode", SimpleNamespace(destroy=destroy))
    core._RUNNING[1] = activation.code
    try:
        activation.destroy()
        assert core._RUNNING[1] is other
    finally:
        del core._RUNNING[1]
