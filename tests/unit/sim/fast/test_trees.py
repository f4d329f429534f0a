"""Words that move one a cycle everywhere are moved at once, when all of them would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

DESIGN = """
module {{
  aie.device(npu1) {{
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    {tiles}
    aie.objectfifo @in(%shim, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<{sent}xi32>>
    aie.objectfifo @all(%mem, {{{cores}}}, {depth} : i32) : !aie.objectfifo<memref<{sent}xi32>>
    aie.objectfifo.link [@in] -> [@all]([] [])
    aie.objectfifo @out(%core0, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    {programs}
    aie.runtime_sequence @run(%a: memref<{total}xi32>, %b: memref<{given}xi32>) {{
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, {total}][0, 0, 0, 1])
        {{id = 0 : i64, metadata = @in}} : memref<{total}xi32>
      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, {given}][0, 0, 0, 1])
        {{id = 1 : i64, issue_token = true, metadata = @out}} : memref<{given}xi32>
      aiex.npu.dma_wait {{symbol = @out}}
    }}
  }}
}}
"""
PROGRAM = """
    aie.core(%core{number}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %rounds = arith.constant {rounds} : index
      %pause = arith.constant {pause} : index
      scf.for %n = %c0 to %rounds step %c1 {{
        %v = aie.objectfifo.acquire @all(Consume, 1) : !aie.objectfifosubview<memref<{sent}xi32>>
        %e = aie.objectfifo.subview.access %v[0] : !aie.objectfifosubview<memref<{sent}xi32>> -> memref<{sent}xi32>
        scf.for %m = %c0 to %pause step %c1 {{
          %x = memref.load %e[%c0] : memref<{sent}xi32>
          memref.store %x, %e[%c1] : memref<{sent}xi32>
        }}
        {gives}
        aie.objectfifo.release @all(Consume, 1)
      }}
      aie.end
    }}"""
GIVES = """
        %w = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
        %o = aie.objectfifo.subview.access %w[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
        %last = arith.constant {last} : index
        %y = memref.load %e[%last] : memref<{sent}xi32>
        memref.store %y, %o[%c0] : memref<8xi32>
        aie.objectfifo.release @out(Produce, 1)"""


def design(sent: int, rounds: int, depth: int, pauses: list[int]) -> str:
    numbers = range(len(pauses))
    programs = [
        PROGRAM.format(
            number=number,
            rounds=rounds,
            pause=pause,
            sent=sent,
            gives=GIVES.format(last=sent - 1, sent=sent) if number == 0 else "",
        )
        for number, pause in enumerate(pauses)
    ]
    return DESIGN.format(
        tiles="\n    ".join(f"%core{number} = aie.tile({number % 4}, {2 + number // 4})" for number in numbers),
        cores=", ".join(f"%core{number}" for number in numbers),
        sent=sent,
        depth=depth,
        total=sent * rounds,
        given=8 * rounds,
        programs="".join(programs),
    )


@settings(max_examples=12, deadline=None)
@given(
    st.integers(8, 130).map(lambda count: 8 * count),
    st.integers(1, 5),
    st.integers(1, 3),
    st.lists(st.integers(0, 400), min_size=1, max_size=6),
)
def test_long_streams_to_cores_of_different_pace(sent: int, rounds: int, depth: int, pauses: list[int]) -> None:
    compiled = tw.compile(design(sent, rounds, depth, pauses))
    data = np.arange(sent * rounds, dtype=np.int32)
    found = list[tuple[int, bytes, bytes]]()
    for model in ("plain", "words", "fast"):
        given = np.zeros(8 * rounds, np.int32)
        result = compiled.load(model=model).run(data.copy(), given)
        assert (given[::8] == data[sent - 1 :: sent]).all()
        rows = result.trace[np.lexsort(result.trace.T[::-1])]
        found.append((result.cycles, given.tobytes(), rows.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("cycles", [1500, 2000, 2777, 3000])
def test_a_run_that_is_stopped_amid_a_long_transfer_has_its_words_where_they_are_by_then(cycles: int) -> None:
    found = list[tuple[str, list[bytes]]]()
    for model in ("plain", "fast"):
        loaded = tw.compile(design(1024, 4, 2, [0, 50])).load(model=model)
        with pytest.raises(tw.Error, match=f"stopped in cycle {cycles}") as stopped:
            loaded.run(np.arange(4096, dtype=np.int32), np.zeros(32, np.int32), max_cycles=cycles)
        found.append((str(stopped.value), [tile.memory.tobytes() for tile in loaded.machine.tiles.values()]))
    assert found[0] == found[1]
