"""Programs that go wrong as upstream lowers them, with what becomes of them there, and right here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tilewright import air


def module(body: str, size: int) -> str:
    """A function `f` that fills a buffer of numbers."""
    return f"""module attributes {{gpu.container_module}} {{
      func.func @f(%out: memref<{size}xi32>) {{
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        {body}
        return
      }}
    }}"""


def store(value: str, index: str, buffer: str, size: int) -> str:
    """Lane 0 of a wave stores a number."""
    return f"""%zero = arith.constant 0 : index
      %lane = gpu.lane_id
      %first = arith.cmpi eq, %lane, %zero : index
      scf.if %first {{
        %stored = arith.index_cast {value} : index to i32
        memref.store %stored, {buffer}[{index}] : memref<{size}xi32>
      }}"""


@dataclass(frozen=True)
class Fault:
    text: str
    right: list[int]
    upstream: list[int] | None
    """What upstream's lowering gives; None if it crashes, or if that depends on who comes first."""
    chip: str = "gfx942"


FAULTS = {
    # A tile id in affine.apply becomes the number of the thread: 0, 64, 128 in waves of 64.
    "tile ids in affine.apply": Fault(
        module(
            f"""air.launch (%b) in (%n=%c1) args(%o=%out) : memref<3xi32> {{
              air.segment args(%s=%o) : memref<3xi32> {{
                %waves = arith.constant 3 : index
                %rows = arith.constant 1 : index
                air.herd tile (%x, %y) in (%nx=%waves, %ny=%rows) args(%h=%s) : memref<3xi32> {{
                  %v = affine.apply affine_map<()[s0] -> (s0 * 10 + 5)>()[%x]
                  {store("%v", "%x", "%h", 3)}
                }} }} }}""",
            3,
        ),
        right=[5, 15, 25],
        upstream=[5, 645, 1285],
    ),
    # What has no segment is deleted with the launch.
    "a launch without segment": Fault(
        module(
            """air.launch (%i) in (%n=%c3) args(%o=%out) : memref<3xi32> {
              %v = arith.index_cast %n : index to i32
              memref.store %v, %o[%i] : memref<3xi32>
            }""",
            3,
        ),
        right=[3, 3, 3],
        upstream=[0, 0, 0],
    ),
    # Only affine.apply in a segment is told the launch's ids; others keep those of a launch that is gone.
    "launch ids elsewhere": Fault(
        module(
            f"""air.launch (%i) in (%n=%c2) args(%o=%out) : memref<4xi32> {{
              air.segment args(%si=%i, %s=%o) : index, memref<4xi32> {{
                %waves = arith.constant 2 : index
                %rows = arith.constant 1 : index
                air.herd tile (%x, %y) in (%nx=%waves, %ny=%rows) args(%hi=%si, %h=%s) : index, memref<4xi32> {{
                  %two = arith.constant 2 : index
                  %row = arith.muli %hi, %two : index
                  %at = arith.addi %row, %x : index
                  {store("%at", "%at", "%h", 4)}
                }} }} }}""",
            4,
        ),
        right=[0, 1, 2, 3],
        upstream=None,
    ),
    # The first four arguments of a herd's body are taken for two ids and two sizes, so the buffer is lost.
    "herds of one dimension": Fault(
        module(
            f"""air.launch (%b) in (%n=%c1) args(%o=%out) : memref<2xi32> {{
              air.segment args(%s=%o) : memref<2xi32> {{
                %waves = arith.constant 2 : index
                air.herd tile (%x) in (%nx=%waves) args(%h=%s) : memref<2xi32> {{
                  {store("%nx", "%x", "%h", 2)}
                }} }} }}""",
            2,
        ),
        right=[2, 2],
        upstream=None,
    ),
    # Every thread fetches the whole tile, with no barrier after it: a wave that comes late writes over what others did.
    "tiles fetched by every thread": Fault(
        module(
            f"""air.launch (%b) in (%n=%c1) args(%o=%out) : memref<4xi32> {{
              air.segment args(%s=%o) : memref<4xi32> {{
                %waves = arith.constant 4 : index
                %tile = memref.alloc() : memref<4xi32, 1>
                air.dma_memcpy_nd (%tile[] [] [], %s[] [] []) : (memref<4xi32, 1>, memref<4xi32>)
                air.herd tile (%x) in (%nx=%waves) args(%t=%tile, %h=%s) : memref<4xi32, 1>, memref<4xi32> {{
                  %seven = arith.constant 7 : i32
                  memref.store %seven, %t[%x] : memref<4xi32, 1>
                  gpu.barrier
                  %one = arith.constant 1 : index
                  %next = arith.addi %x, %one : index
                  %neighbour = arith.remui %next, %nx : index
                  %seen = memref.load %t[%neighbour] : memref<4xi32, 1>
                  %v = arith.index_cast %seen : i32 to index
                  {store("%v", "%x", "%h", 4)}
                }} }} }}""",
            4,
        ),
        right=[7, 7, 7, 7],
        upstream=None,
    ),
    # Waves are taken to have 64 lanes: of 2 x 32 work items those of tile 1 are never reached.
    "waves of 32 lanes": Fault(
        module(
            """air.launch (%b) in (%n=%c1) args(%o=%out) : memref<64xi32> {
              air.segment args(%s=%o) : memref<64xi32> {
                %waves = arith.constant 2 : index
                air.herd tile (%x) in (%nx=%waves) args(%h=%s) : memref<64xi32> {
                  %c32 = arith.constant 32 : index
                  %lane = gpu.lane_id
                  %base = arith.muli %x, %c32 : index
                  %item = arith.addi %base, %lane : index
                  %v = arith.index_cast %item : index to i32
                  memref.store %v, %h[%item] : memref<64xi32>
                } } }""",
            64,
        ),
        right=list(range(64)),
        upstream=[*range(32), *[0] * 32],
        chip="gfx1100",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_kernel_is_right_where_upstream_is_wrong(name: str):
    fault = FAULTS[name]
    assert fault.right != fault.upstream
    out = np.zeros(len(fault.right), np.int32)
    air.compile(fault.text).run(out, entry="f", chip=fault.chip)
    assert out.tolist() == fault.right


LINE = "memref<32xi32, #air.symmetric_heap>"


def two_messages(get: str) -> str:
    """Rank 0 sends two messages through a line of its own; `get` says where rank 1 gets them."""
    herd = "air.herd tile (%x, %y) in (%nx=%c1, %ny=%c1)"
    send = f"""{herd} args(%d=%data) : {LINE} {{
        %z = arith.constant 0 : index
        %one = arith.constant 1 : index
        %two = arith.constant 2 : index
        %c31 = arith.constant 31 : index
        %lane = gpu.lane_id
        %payload = arith.cmpi ult, %lane, %c31 : index
        scf.for %k = %z to %two step %one {{
          scf.if %payload {{
            %v = arith.index_cast %k : index to i32
            memref.store %v, %d[%lane] : {LINE}
          }}
          air.channel.put @C[] (%d[] [] []) : ({LINE})
        }} }}"""
    keep = f"""{herd} args(%d=%data, %o=%ro) : {LINE}, memref<2xi32> {{
        %z = arith.constant 0 : index
        %one = arith.constant 1 : index
        %two = arith.constant 2 : index
        scf.for %k = %z to %two step %one {{
          air.channel.get @C[] (%d[] [] []) : ({LINE})
          %v = memref.load %d[%z] : {LINE}
          memref.store %v, %o[%k] : memref<2xi32>
        }} }}"""
    return f"""module attributes {{gpu.container_module}} {{
      air.channel @C [] {{channel_type = "gpu_symmetric_heap"}}
      func.func @f(%out: memref<2xi32>) {{
        %world = arith.constant 2 : index
        air.rank (%me) in (%ranks=%world) args(%ro=%out) : memref<2xi32> {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %data = memref.alloc() : {LINE}
          %sends = arith.cmpi eq, %me, %c0 : index
          %gets = arith.cmpi eq, %me, %c1 : index
          {get.format(send=send, keep=keep)}
        }}
        return
      }} }}"""


@pytest.mark.parametrize(
    "get",
    [
        pytest.param("scf.if %sends {{ {send} }} scf.if %gets {{ {keep} }}", id="the flag is taken back"),
        pytest.param("scf.if %sends {{ {send} }} else {{ {keep} }}", id="else is not the rank of then"),
    ],
)
def test_messages_in_upstreams_form(get: str):
    """Upstream leaves the flag set, so its second get returns at once; and it takes both branches for rank 0, so that
    rank 0 sends to itself and rank 1 waits for ever."""
    result = air.compile(two_messages(get)).run(np.full(2, -1, np.int32), entry="f")
    assert result.ranks[1].arrays[0].tolist() == [0, 1]
