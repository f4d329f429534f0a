"""Waits, races and late stores: what the emulator finds in programs that are not quite right."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulated import emulator, in_kernel, launch, loaded, run

from tilewright.gpu.emulator import launch as launches
from tilewright.gpu.emulator.memory import Memory
from tilewright.gpu.emulator.store_buffers import History, Level, StoreBuffers
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.ir.run_errors import Hang

MESSAGES = 40
ARGUMENTS = f"%data: memref<64xi32>, %flags: memref<64xi32>, %out: memref<{MESSAGES}x64xi32>"
POINTERS = """
      %address = memref.extract_aligned_pointer_as_index %flags : memref<64xi32> -> index
      %number = arith.index_cast %address : index to i64
      %full = llvm.inttoptr %number : i64 to !llvm.ptr
      %empty = llvm.getelementptr %full[32] : (!llvm.ptr) -> !llvm.ptr, i32"""


def wait_for(flag: str, order: str) -> str:
    return f"""scf.while : () -> () {{
          %seen = llvm.load %{flag} atomic {order} {{alignment = 4 : i64}} : !llvm.ptr -> i32
          %wait = arith.cmpi ne, %seen, %epoch : i32
          scf.condition(%wait)
        }} do {{ scf.yield }}"""


def set_flag(flag: str, order: str) -> str:
    return f"scf.if %leads {{ llvm.store %epoch, %{flag} atomic {order} {{alignment = 4 : i64}} : i32, !llvm.ptr }}"


def conversation(
    released: str = "release", acquired: str = "acquire", before_flag: str = "", after_flag: str = ""
) -> str:
    """Block 0 sends lines to block 1, and waits each time until it has been read."""
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1 : i32
      %count = arith.constant {MESSAGES} : index
      %block = gpu.block_id x
      %t = gpu.thread_id x
      %sends = arith.cmpi eq, %block, %c0 : index
      %leads = arith.cmpi eq, %t, %c0 : index
      {POINTERS}
      scf.for %k = %c0 to %count step %c1 {{
        %ki = arith.index_cast %k : index to i32
        %epoch = arith.addi %ki, %one : i32
        scf.if %sends {{
          %ti = arith.index_cast %t : index to i32
          %v = arith.addi %ti, %ki : i32
          memref.store %v, %data[%t] : memref<64xi32>
          {before_flag}
          {set_flag("full", released)}
          {wait_for("empty", acquired)}
          {after_flag}
        }} else {{
          {wait_for("full", acquired)}
          {after_flag}
          %v = memref.load %data[%t] : memref<64xi32>
          memref.store %v, %out[%k, %t] : memref<{MESSAGES}x64xi32>
          {before_flag}
          {set_flag("empty", released)}
        }}
      }}"""
    return in_kernel(body, ARGUMENTS)


def received(text: str, **options: Any) -> np.ndarray:
    data, flags, out = (np.zeros(shape, np.int32) for shape in (64, 64, (MESSAGES, 64)))
    run(text, data, flags, out, grid=(2,), device=emulator(**options))
    return out


SENT = np.arange(MESSAGES)[:, None] + np.arange(64)
FENCED = {
    "released": "monotonic",
    "acquired": "monotonic",
    "before_flag": "llvm.fence release",
    "after_flag": "llvm.fence acquire",
}


@pytest.mark.parametrize("parts", [{}, FENCED], ids=["release and acquire", "fences"])
@pytest.mark.parametrize("seed", range(3))
def test_ordered_messages_arrive_whatever_the_seed(parts: dict[str, str], seed: int):
    assert np.array_equal(received(conversation(**parts), reorder=True, check=True, seed=seed), SENT)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"released": "monotonic"}, id="nothing releases"),
        pytest.param({"acquired": "monotonic"}, id="nothing acquires"),
        pytest.param(FENCED | {"before_flag": ""}, id="a fence before the flag is missing"),
        pytest.param(FENCED | {"after_flag": ""}, id="a fence after the flag is missing"),
        pytest.param(
            FENCED | {"before_flag": 'llvm.fence syncscope("workgroup") release'}, id="a fence is for too few"
        ),
    ],
)
def test_a_missing_order_is_found(parts: dict[str, str]):
    text = conversation(**parts)
    assert np.array_equal(received(text), SENT), "it works as long as stores arrive at once"
    wrong = [seed for seed in range(3) if not np.array_equal(received(text, reorder=True, seed=seed), SENT)]
    assert wrong, "late stores show it"


@pytest.mark.parametrize("parts", [{"released": "monotonic"}, {"acquired": "monotonic"}])
def test_a_race_is_reported_with_both_lines(parts: dict[str, str]):
    with pytest.raises(DiagnosedError) as caught:
        received(conversation(**parts), check=True)
    (error,) = caught.value.diagnostics
    text = conversation(**parts).splitlines()
    first, second = error.notes[0].location, error.location
    places = [file_position(location) for location in (first, second)]
    lines = {text[place[1] - 1].strip() for place in places if place is not None}
    assert any("memref.store %v, %data" in line for line in lines)
    assert any("memref.load %data" in line for line in lines)
    assert "data race: block" in error.text and "nothing orders the two" in error.notes[0].text


def test_threads_of_a_block_race_without_a_barrier():
    body = """%t = gpu.thread_id x %v = arith.index_cast %t : index to i32
      %n = arith.constant 127 : index %o = arith.subi %n, %t : index
      memref.store %v, %s[%t] : memref<128xi32, 3>
      BARRIER
      %x = memref.load %s[%o] : memref<128xi32, 3>
      memref.store %x, %out[%t] : memref<128xi32>"""
    text = in_kernel(body, "%out: memref<128xi32>", "workgroup(%s : memref<128xi32, 3>)")
    out = np.zeros(128, np.int32)
    run(text.replace("BARRIER", "gpu.barrier"), out, block=(128,), device=emulator(check=True))
    with pytest.raises(DiagnosedError, match=r"data race: .*%s of its block"):
        run(text.replace("BARRIER", ""), out, block=(128,), device=emulator(check=True))


def test_lanes_that_write_different_values_to_one_place_race():
    body = """%t = gpu.thread_id x %v = arith.index_cast %t : index to i32 %c0 = arith.constant 0 : index
      memref.store %v, %out[%c0] : memref<1xi32>"""
    with pytest.raises(DiagnosedError, match="lanes 0 and 1 write 0 and 1 to one address"):
        run(in_kernel(body, "%out: memref<1xi32>"), np.zeros(1, np.int32), device=emulator(check=True))


def line_store(words: int) -> str:
    """Block 0 stores words of which the last is a flag, all with one instruction; block 1 takes them when it is set."""
    body = f"""
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %z = arith.constant 0 : i32
      %n = arith.constant {words} : index
      %last = arith.constant {words - 1} : i32
      %w = arith.constant 64 : i32
      %block = gpu.block_id x
      %t = gpu.thread_id x
      %sends = arith.cmpi eq, %block, %c0 : index
      %mine = arith.cmpi ult, %t, %n : index
      scf.if %sends {{ scf.if %mine {{ memref.store %one, %data[%t] : memref<64xi32> }} }}
      else {{
        %line = scf.while (%x = %z) : (i32) -> i32 {{
          %y = scf.if %mine -> i32 {{
            %u = memref.atomic_rmw addi %z, %data[%t] : (i32, memref<64xi32>) -> i32
            scf.yield %u : i32
          }} else {{ scf.yield %z : i32 }}
          %flag, %ok = gpu.shuffle idx %y, %last, %w : i32
          %wait = arith.cmpi ne, %flag, %one : i32
          scf.condition(%wait) %y : i32
        }} do {{ ^bb0(%x: i32): scf.yield %x : i32 }}
        memref.store %line, %out[%t] : memref<64xi32>
      }}"""
    return in_kernel(body, "%data: memref<64xi32>, %out: memref<64xi32>")


@pytest.mark.parametrize("words, arrives_at_once", [(32, True), (16, False)])
def test_a_store_of_a_whole_line_arrives_at_once(words: int, arrives_at_once: bool):
    whole = list[bool]()
    for seed in range(8):
        data, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
        run(line_store(words), data, out, grid=(2,), device=emulator(reorder=True, seed=seed))
        whole.append(bool((out[:words] == 1).all()))
    assert all(whole) is arrives_at_once


def test_a_wait_for_nobody_is_explained():
    with pytest.raises(Hang) as caught:
        received(conversation().replace("%sends = arith.cmpi eq, %block, %c0", "%sends = arith.cmpi ne, %c0, %c0"))
    text = str(caught.value)
    assert "block (0, 0, 0), wave 0 waits in this loop for ever" in text
    assert "it reads 0 from %flags (allocation 2, 256 bytes), byte 0" in text
    assert "and asks whether 0 is not equal to 1" in text
    assert "this could write to it, in kernel @k" in text


def test_a_wait_that_counts_its_rounds_ends_as_well(monkeypatch: pytest.MonkeyPatch):
    """A loop that gives up after a while is no hang; one that never does is, though each round is another one."""
    monkeypatch.setattr(launches, "MAX_PASSES", 500)
    body = """%c0 = arith.constant 0 : index %z = arith.constant 0 : i32 %one = arith.constant 1 : i32
      %most = arith.constant MOST : i32
      %rounds = scf.while (%n = %z) : (i32) -> i32 {
        %x = memref.atomic_rmw addi %z, %f[%c0] : (i32, memref<1xi32>) -> i32
        %unset = arith.cmpi eq, %x, %z : i32
        %early = arith.cmpi slt, %n, %most : i32
        %wait = arith.andi %unset, %early : i1
        scf.condition(%wait) %n : i32
      } do { ^bb0(%n: i32): %m = arith.addi %n, %one : i32 scf.yield %m : i32 }
      memref.store %rounds, %out[%c0] : memref<1xi32>"""
    text, out = in_kernel(body, "%f: memref<1xi32>, %out: memref<1xi32>"), np.zeros(1, np.int32)
    run(text.replace("MOST", "100"), np.zeros(1, np.int32), out)
    assert out[0] == 100
    with pytest.raises(Hang, match="has gone round 500 times"):
        run(text.replace("MOST", "1000000"), np.zeros(1, np.int32), out)


def test_a_barrier_that_some_do_not_come_to_is_explained():
    body = """%t = gpu.thread_id x %c64 = arith.constant 64 : index %z = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %first = arith.cmpi ult, %t, %c64 : index
      scf.if %first { gpu.barrier } else {
        scf.while : () -> () {
          %x = memref.atomic_rmw addi %z, %f[%c0] : (i32, memref<1xi32>) -> i32
          %wait = arith.cmpi eq, %x, %z : i32
          scf.condition(%wait)
        } do { scf.yield }
      }"""
    with pytest.raises(Hang, match="64 of 128 threads of its block do not come"):
        run(in_kernel(body, "%f: memref<1xi32>"), np.zeros(1, np.int32), block=(128,))


def test_two_barriers_are_not_one():
    body = """%t = gpu.thread_id x %c64 = arith.constant 64 : index %first = arith.cmpi ult, %t, %c64 : index
      scf.if %first { gpu.barrier } else { gpu.barrier }"""
    with pytest.raises(DiagnosedError, match="waits at this barrier while others of its block wait at another one"):
        run(in_kernel(body, ""), block=(128,), device=emulator(check=True))


def test_a_wave_waits_for_another_of_the_same_group():
    """The last wave sets the flag that all others wait for, though it comes behind them in the program."""
    body = """%t = gpu.thread_id x %c0 = arith.constant 0 : index %c192 = arith.constant 192 : index
      %z = arith.constant 0 : i32 %one = arith.constant 1 : i32
      %waits = arith.cmpi ult, %t, %c192 : index
      scf.if %waits {
        scf.while : () -> () {
          %x = memref.atomic_rmw addi %z, %f[%c0] : (i32, memref<1xi32>) -> i32
          %wait = arith.cmpi eq, %x, %z : i32
          scf.condition(%wait)
        } do { scf.yield }
      } else {
        %o = memref.atomic_rmw assign %one, %f[%c0] : (i32, memref<1xi32>) -> i32
      }
      memref.store %one, %out[%t] : memref<256xi32>"""
    for options in ({}, {"reorder": True}, {"check": True}):
        out = np.zeros(256, np.int32)
        text = in_kernel(body, "%f: memref<1xi32>, %out: memref<256xi32>")
        run(text, np.zeros(1, np.int32), out, block=(256,), device=emulator(**options))
        assert out.all()


@pytest.mark.parametrize("cluster_blocks", [1, 2])
def test_what_a_wave_has_acquired_stays_when_it_arrives_in_memory(cluster_blocks: int) -> None:
    """A store that was released to a block, or a cluster, is seen by it from its acquire on, also by late loads."""
    memory, history = Memory(), History(0, None)
    address = np.array([memory.allocate(4, "data").base])
    buffers = StoreBuffers(memory, random.Random(1), 2, history, cluster_blocks)
    history.begin(8)
    # stores of wave 0; 1 is of its block, 2 of its cluster if that has two blocks, 4 of none of these
    for value, level in ((7, Level.BLOCK), (8, Level.CLUSTER)):
        buffers.store(0, address, np.array([value], np.int32))
        buffers.flush(0, level)
    for wave in (1, 2, 4):
        history.acquire(wave)
    history.log.append([])  # time goes on
    buffers.drain_all()
    seen = {wave: buffers.earliest(wave, address) == history.log.now for wave in (0, 1, 2, 4)}
    assert seen == {0: True, 1: True, 2: cluster_blocks == 2, 4: False}


def test_the_seed_alone_decides():
    """Who comes first at a counter is left to chance; the same seed gives the same order."""
    body = """%t = gpu.thread_id x %b = gpu.block_id x %c0 = arith.constant 0 : index %one = arith.constant 1 : i32
      %lead = arith.cmpi eq, %t, %c0 : index
      scf.if %lead {
        %n = memref.atomic_rmw addi %one, %f[%c0] : (i32, memref<1xi32>) -> i32
        memref.store %n, %out[%b] : memref<16xi32>
      }"""
    text = in_kernel(body, "%f: memref<1xi32>, %out: memref<16xi32>")

    def order(seed: int) -> list[int]:
        device = emulator(reorder=True, seed=seed)
        out = np.zeros(16, np.int32)
        launch(device, loaded(device, text), np.zeros(1, np.int32), out, grid=(16,))
        return out.tolist()

    orders = [order(seed) for seed in (1, 1, 2, 3)]
    assert orders[0] == orders[1]
    assert len({tuple(found) for found in orders}) == 3
    assert all(sorted(found) == list(range(16)) for found in orders)
