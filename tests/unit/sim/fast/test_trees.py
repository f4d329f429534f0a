"""Words that move one a cycle everywhere are moved at once, when all of them would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.device.descriptors import PIECE_WORDS

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


def chain(buffer: str, size: int, lengths: list[int]) -> str:
    """Descriptors of a task, one after the other in a buffer."""
    starts = np.cumsum([0, *lengths]).tolist()
    blocks = [
        f"aie.dma_bd(%{buffer} : memref<{size}xi32> offset = {start} len = {length})"
        for start, length in zip(starts, lengths, strict=False)
    ]
    following = [f"\naie.next_bd ^bd{number}\n^bd{number}:\n" for number in range(1, len(blocks))]
    return "".join(map("".join, zip(blocks, [*following, "\naie.end"], strict=True)))


def spread(total: int, sent: list[int], received: list[list[int]], is_early: bool) -> str:
    """What a shim tile sends goes to several others, each of which receives it in descriptors of other lengths.

    If it is early, words are on their way before anything is received.
    """
    tiles = [f"%shim{number} = aie.tile({number}, 0)" for number in range(len(received) + 1)]
    flows = [f"aie.flow(%shim0, DMA : 0, %shim{number}, DMA : 0)" for number in range(1, len(received) + 1)]
    tasks = [
        f"%task{number} = aiex.dma_configure_task(%shim{number}, S2MM, 0) {{\n"
        f"{chain(f'b{number}', total, lengths)}\n}} {{issue_token = true}}\naiex.dma_start_task(%task{number})"
        for number, lengths in enumerate(received, 1)
    ]
    sends = f"%task0 = aiex.dma_configure_task(%shim0, MM2S, 0) {{\n{chain('a', total, sent)}\n}}\n"
    tasks.insert(0 if is_early else len(tasks), f"{sends}aiex.dma_start_task(%task0)")
    waits = [f"aiex.dma_await_task(%task{number})" for number in range(1, len(received) + 1)]
    names = ["a", *(f"b{number}" for number in range(1, len(received) + 1))]
    arguments = ", ".join(f"%{name}: memref<{total}xi32>" for name in names)
    body = "\n".join([*tasks, *waits])
    lines = "\n".join([*tiles, *flows, f"aie.runtime_sequence @run({arguments}) {{\n{body}\n}}"])
    return f"module {{ aie.device(npu1) {{\n{lines}\n}} }}"


def cut(total: int, places: list[int]) -> list[int]:
    """Lengths of the parts of so many words that are cut at some places."""
    ends = sorted({place % total for place in places} | {0, total})
    return np.diff(ends).tolist()


cuts = st.lists(st.integers(1, 6000) | st.integers(1, 40), max_size=7)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 6000),
    cuts,
    st.lists(cuts, min_size=1, max_size=3),
    st.booleans(),
    st.none() | st.integers(2000, 12000),
)
@example(60, [3, 6, 9, 12], [[30], [5, 10]], True, None)
@example(PIECE_WORDS + 9000, [], [[30000, 60000]], False, None)
def test_words_come_in_order_however_descriptors_cut_them(
    total: int, sends: list[int], receives: list[list[int]], is_early: bool, max_cycles: int | None
) -> None:
    compiled = tw.compile(spread(total, cut(total, sends), [cut(total, places) for places in receives], is_early))
    data = np.arange(1, total + 1, dtype=np.int32)
    found = list[tuple[object, ...]]()
    for model in ("plain", "words", "fast"):
        given = [np.zeros(total, np.int32) for _ in receives]
        try:
            result = compiled.load(model=model).run(data.copy(), *given, max_cycles=max_cycles)
        except tw.Stopped as stopped:
            found.append((str(stopped), *(part.tobytes() for part in given)))
        else:
            assert all((part == data).all() for part in given)
            rows = result.trace[np.lexsort(result.trace.T[::-1])]
            found.append((result.cycles, rows.tobytes()))
    assert found[0] == found[1] == found[2]
