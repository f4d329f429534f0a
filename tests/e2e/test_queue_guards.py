"""Sequences that push more tasks than a DMA channel's queue holds: dropped without guards, right with them."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.txn.opcodes import Opcode

OBJECT = 4096
PUSHES = 14
FEED = """
    %t{n} = aiex.dma_configure_task_for @in {{
      aie.dma_bd(%a : memref<{all}xi32>, {offset}, {object})
      aie.end
    }}
    aiex.dma_start_task(%t{n})"""
COPY = """
aie.device(npu1_1col) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<{object}xi32>>
  aie.objectfifo @out(%mem, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<{object}xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy({arguments}) {{
    %all = aiex.dma_configure_task_for @out {{
      aie.dma_bd(%b : memref<{all}xi32>, 0, {all})
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%all){feeds}
    aiex.dma_await_task(%all)
  }}
}}
"""


def copy(feeds: str, scalars: str = "") -> str:
    size = PUSHES * OBJECT
    arguments = f"%a: memref<{size}xi32>, %b: memref<{size}xi32>{scalars}"
    return COPY.format(object=OBJECT, all=size, feeds=feeds, arguments=arguments)


FEEDS = (FEED.format(n=n, all=PUSHES * OBJECT, offset=n * OBJECT, object=OBJECT) for n in range(PUSHES))
FOURTEEN = copy("".join(FEEDS))
LOOP = copy(
    FEED.format(n=0, all=PUSHES * OBJECT, offset=0, object=OBJECT).replace("aiex.dma_start_task(%t0)", "")
    + """
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %last = arith.index_cast %n : i32 to index
    scf.for %i = %zero to %last step %one {
      aiex.dma_start_task(%t0)
    }""",
    ", %n: i32",
)
HOST = np.arange(PUSHES * OBJECT, dtype=np.int32)


def test_fourteen_tasks_are_dropped_without_guards():
    with pytest.raises(tw.Fault, match=r"push of BD \d+ on MM2S 0 of tile \(0, 0\) is dropped: 6 tasks are in flight"):
        tw.compile(FOURTEEN).run(HOST, np.zeros_like(HOST))


@pytest.mark.parametrize("model", ["fast", "plain"])
def test_fourteen_tasks_arrive_with_guards(model: str):
    """Four tasks find room for certain, the other ten wait for it."""
    design, result = tw.compile(FOURTEEN, guard_queues=True), np.zeros_like(HOST)
    polls = [op for op in tw.txn.decode(design.txn()).operations if op.opcode == Opcode.MASKPOLL]
    assert [(op.address, op.value, op.mask) for op in polls] == [(0x1D228, 0, 0x400000)] * (PUSHES - 4)
    design.run(HOST, result, model=model)
    assert (result == HOST).all()


def test_a_loop_that_runs_as_often_as_its_argument_says():
    result = np.zeros_like(HOST)
    with pytest.raises(tw.Fault, match="is dropped"):
        tw.compile(LOOP).run(HOST, result, PUSHES)
    tw.compile(LOOP, guard_queues=True).run(HOST, result, PUSHES)
    assert (result.reshape(PUSHES, OBJECT) == HOST[:OBJECT]).all()


TILE_PUSHES = 12
TILE = """
aie.device(npu1_1col) {{
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, {row})
  %data = aie.buffer(%tile) {{sym_name = "data"}} : memref<1024xi32> = dense<7>
  aie.flow(%tile, DMA : {channel}, %shim, DMA : 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  aie.runtime_sequence @send(%b: memref<{all}xi32>) {{
    %all = aiex.dma_configure_task_for @out {{
      aie.dma_bd(%b : memref<{all}xi32>, 0, {all})
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%all)
    %task = aiex.dma_configure_task(%tile, MM2S, {channel}) {{
      aie.dma_bd(%data : memref<1024xi32>, 0, 1024)
      aie.end
    }}
    {pushes}
    aiex.dma_await_task(%all)
  }}
}}
"""


@pytest.mark.parametrize(
    "row, channel, status",
    [
        pytest.param(1, 0, 0xA0680, id="mem tile"),
        pytest.param(1, 4, 0xA0690, id="mem tile, a later channel"),
        pytest.param(2, 1, 0x1DF14, id="core tile"),
    ],
)
def test_queues_of_other_tiles(row: int, channel: int, status: int):
    """The offsets of DMA_MM2S_Status_N are those of AMD's register reference, AM025."""
    pushes = "\n".join(["aiex.dma_start_task(%task)"] * TILE_PUSHES)
    text = TILE.format(row=row, channel=channel, pushes=pushes, all=TILE_PUSHES * 1024)
    result = np.zeros(TILE_PUSHES * 1024, np.int32)
    with pytest.raises(tw.Fault, match="is dropped"):
        tw.compile(text).run(result)
    design = tw.compile(text, guard_queues=True)
    polls = [op.address for op in tw.txn.decode(design.txn()).operations if op.opcode == Opcode.MASKPOLL]
    assert polls == [row << 20 | status] * (TILE_PUSHES - 4)
    design.run(result)
    assert (result == 7).all()


def test_a_queue_that_nothing_drains_is_a_hang_with_its_register():
    """What was dropped silently waits for ever: what takes the tile's words starts behind the pushes."""
    text = TILE.format(row=1, channel=0, pushes="\n".join(["aiex.dma_start_task(%task)"] * TILE_PUSHES), all=1024)
    start = "    aiex.dma_start_task(%all)\n"
    text = text.replace(start, "").replace("    aiex.dma_await_task", f"{start}    aiex.dma_await_task")
    with pytest.raises(tw.Hang, match=r"the controller polls mem\(0,1\) DMA.MM2S0.status until it is 0x0 under"):
        tw.compile(text, guard_queues=True).run(np.zeros(1024, np.int32))


CONFIGURED = """
aie.device(npu1_1col) {
  %mem = aie.tile(0, 1)
  %data = aie.buffer(%mem) {address = 0 : i32, sym_name = "data"} : memref<1024xi32>
  %dma = aie.memtile_dma(%mem) {
    %0 = aie.dma_start(MM2S, 0, ^bd, ^second)
  ^second:
    %1 = aie.dma_start(MM2S, 0, ^bd, ^third)
  ^third:
    %2 = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    aie.dma_bd(%data : memref<1024xi32>, 0, 1024) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @more() {
    %zero = arith.constant 0 : i32
    aiex.npu.push_queue(0, 1, MM2S : 0) bd_id %zero repeat %zero {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 1, MM2S : 0) bd_id %zero repeat %zero {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 1, MM2S : 0) bd_id %zero repeat %zero {issue_token = false} : i32, i32
  }
}
"""


def test_what_the_configuration_starts_takes_room_too():
    """Of its three tasks one runs and two wait, so that there is room for two more."""
    operations = tw.txn.decode(tw.compile(CONFIGURED, guard_queues=True).txn()).operations
    assert [op.name for op in operations] == ["WRITE", "WRITE", "MASKPOLL", "WRITE"]
