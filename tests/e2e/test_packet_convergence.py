"""Several producers whose packets have one id arrive at one channel: what air-to-aie of mlir-air makes of a packet
channel with several puts."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import lowered

import tilewright as tw
from tilewright.dialects.air.channels import ChannelGetOp, ChannelPutOp

WORDS = 16
CORE = """
  %dma{n} = aie.mem(%tile{n}) {{
    %0 = aie.dma_start(MM2S, 0, ^bd, ^end)
"""
MEM = """
  %dma{n} = aie.memtile_dma(%tile{n}) {{
    %0 = aie.dma_start(MM2S, 0, ^bd, ^end)
"""
SEND = """
  ^bd:
    aie.dma_bd(%data{n} : memref<16xi32> offset = 0 len = 16) {{packet = #aie.packet_info<pkt_type = 0, pkt_id = 5>}}
    aie.next_bd ^end
  ^end:
    aie.end
  }}
"""


def design(tiles: list[tuple[int, int]], one_flow: bool) -> str:
    """Each producer sends its number 16 times; a mem tile puts what comes in row by row and sends it to the host."""
    lines: list[str] = []
    for n, (column, row) in enumerate(tiles):
        lines += [f"%tile{n} = aie.tile({column}, {row})"]
        lines += [f'%data{n} = aie.buffer(%tile{n}) {{sym_name = "data{n}"}} : memref<16xi32> = dense<{n}>']
        lines += [((MEM if row == 1 else CORE) + SEND).format(n=n)]
    sources = [f"aie.packet_source<%tile{n}, DMA : 0>" for n in range(len(tiles))]
    for group in [sources] if one_flow else [[source] for source in sources]:
        lines += ["aie.packet_flow(5) {", *group, "aie.packet_dest<%mem, DMA : 0>", "}"]
    count, words = len(tiles), WORDS * len(tiles)
    rows = [
        f"""^in{n}:
    aie.use_lock(%free, AcquireGreaterEqual, 1)
    aie.dma_bd(%rows : memref<{words}xi32> offset = {WORDS * n} len = {WORDS})
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^in{(n + 1) % count}"""
        for n in range(count)
    ]
    return "\n".join(
        [
            "aie.device(npu1_2col) {",
            "%shim = aie.tile(0, 0)",
            "%mem = aie.tile(0, 1)",
            f"%rows = aie.buffer(%mem) : memref<{words}xi32>",
            f"%free = aie.lock(%mem, 0) {{init = {count} : i32}}",
            "%full = aie.lock(%mem, 1) {init = 0 : i32}",
            "aie.flow(%mem, DMA : 0, %shim, DMA : 0)",
            "aie.shim_dma_allocation @out(%shim, S2MM, 0)",
            *lines,
            "%dma = aie.memtile_dma(%mem) {",
            "%in = aie.dma_start(S2MM, 0, ^in0, ^next)",
            *rows,
            "^next: %out = aie.dma_start(MM2S, 0, ^out, ^end)",
            f"^out: aie.use_lock(%full, AcquireGreaterEqual, {count})",
            f"aie.dma_bd(%rows : memref<{words}xi32> offset = 0 len = {words})",
            f"aie.use_lock(%free, Release, {count})",
            "aie.next_bd ^out",
            "^end: aie.end",
            "}",
            f"aie.runtime_sequence @seq(%result: memref<{words}xi32>) {{",
            "%task = aiex.dma_configure_task_for @out {",
            f"aie.dma_bd(%result : memref<{words}xi32> offset = 0 len = {words})",
            "aie.end",
            "} {issue_token = true}",
            "aiex.dma_start_task(%task)",
            "aiex.dma_await_task(%task)",
            "}",
            "}",
        ]
    )


@pytest.mark.parametrize("one_flow", [False, True], ids=["a flow each", "one flow with several sources"])
@pytest.mark.parametrize(
    "tiles",
    [
        pytest.param([(0, 2)], id="one core"),
        pytest.param([(0, 2), (0, 3)], id="two cores"),
        pytest.param([(0, 2), (0, 3), (1, 2)], id="three cores in two columns"),
        pytest.param([(1, 1), (0, 2)], id="a mem tile and a core"),
    ],
)
def test_all_producers_arrive(tiles: list[tuple[int, int]], one_flow: bool):
    result = np.full((len(tiles), WORDS), -1, np.int32)
    tw.compile(design(tiles, one_flow)).run(result.reshape(-1))
    # whose packet comes first is left to the switches; none comes in pieces
    assert sorted(map(tuple, result.tolist())) == [(n,) * WORDS for n in range(len(tiles))]


def test_a_packet_channel_may_have_several_puts():
    """Two herds put into one channel, and a segment gets both: the dialect takes it, in the forms that mlir-air has."""
    herd = """
      air.herd @{name} tile (%x, %y) in (%nx=%c1, %ny=%c1) {{
        %m = memref.alloc() : memref<8xi32, 2>
        air.channel.put @x[] (%m[] [] []) : (memref<8xi32, 2>)
        memref.dealloc %m : memref<8xi32, 2>
      }}"""
    module = lowered(
        f"""
air.channel @x [1, 1] {{channel_type = "npu_dma_packet"}}
func.func @host() {{
  air.launch () in () {{
    air.segment @segment {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %rows = memref.alloc() : memref<2x8xi32, 1>
      air.channel.get @x[] (%rows[%c0, %c0] [%c1, %c8] [%c8, %c1]) : (memref<2x8xi32, 1>)
      air.channel.get @x[] (%rows[%c1, %c0] [%c1, %c8] [%c8, %c1]) : (memref<2x8xi32, 1>)
      {herd.format(name="first")}
      {herd.format(name="second")}
    }}
  }}
  return
}}"""
    )
    ends = [op for op in module.walk() if isinstance(op, ChannelPutOp | ChannelGetOp)]
    assert len(ends) == 4 and len({op.channel for op in ends}) == 1
