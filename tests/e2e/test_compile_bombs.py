"""Programs that a few characters make enormous are refused early, with the limit named; long loops simply work."""

from __future__ import annotations

import time
from math import prod
from pathlib import Path

import numpy as np
import pytest
from helpers import STRESS
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.ir.limits import (
    MOST_DEVICES,
    MOST_ELEMENT_BYTES,
    MOST_FIFO_ELEMENTS,
    MOST_SEQUENCES,
    MOST_STREAM_WORDS,
    MOST_TURNS,
    MOST_UNROLLED_OPERATIONS,
)

SECONDS = 10
COPY = """aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in,
      issue_token = true} : memref<1024xi32>
    aiex.npu.dma_wait {symbol = @in}"""
TASK = """%task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<1024xi32>, 0, 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%task)
    aiex.dma_await_task(%task)"""
WRITE = "aiex.npu.write32 {address = 4096 : ui32, value = 7 : ui32, column = 0 : i32, row = 2 : i32}"


def sequence(body: str, arguments: str = "%a: memref<1024xi32>") -> str:
    return f"""aie.device(npu1_1col) {{
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @s({arguments}) {{
    {body}
  }}
}}"""


def loops(*turns: int, body: str = COPY) -> str:
    """A nest of loops in a sequence."""
    bounds = "\n".join(f"%n{level} = arith.constant {count} : index" for level, count in enumerate(turns))
    heads = "".join(f"scf.for %i{level} = %c0 to %n{level} step %c1 {{\n" for level in range(len(turns)))
    constants = f"%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n{bounds}\n"
    return sequence(constants + heads + body + "\n}" * len(turns))


def fifo(depth: int = 2, acquired: int = 1, element: str = "memref<16xi32>") -> str:
    view = f"!aie.objectfifosubview<{element}>"
    return f"""aie.device(npu1_1col) {{
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {{%tile}}, {depth} : i32) : !aie.objectfifo<{element}>
  aie.core(%tile) {{
    %view = aie.objectfifo.acquire @in(Consume, {acquired}) : {view}
    %first = aie.objectfifo.subview.access %view[0] : {view} -> {element}
    aie.objectfifo.release @in(Consume, {acquired})
    aie.end
  }}
  aie.runtime_sequence @s(%a: memref<1024xi32>) {{
    {COPY.replace("1, 64]", "1, 16]")}
  }}
}}"""


def devices(count: int, sequences: int = 1) -> str:
    inside = "".join(f"aie.runtime_sequence @s{number}() {{}}\n" for number in range(sequences))
    return "".join(f"aie.device(npu1_1col) @d{number} {{\n{inside}}}\n" for number in range(count))


@pytest.mark.parametrize(
    "program, complaint",
    [
        pytest.param(loops(10**12), f"has {10**12} turns.*{MOST_TURNS} at most", id="a loop of 1e12 turns"),
        pytest.param(loops(10**6, 10**6), f"has {10**12} turns.*{MOST_TURNS} at most", id="1e6 turns in 1e6"),
        pytest.param(loops(10**12, body=TASK), f"{10**12} turns.*{MOST_TURNS}", id="tasks in a loop of 1e12 turns"),
        pytest.param(loops(10**9, 3, body=WRITE), f"turns.*{MOST_TURNS} at most", id="a short loop in a long one"),
        pytest.param(fifo(acquired=1 << 20), f"may have {MOST_FIFO_ELEMENTS}", id="a million elements acquired"),
        pytest.param(fifo(element="memref<1000000000x1000000000xi32>"), "a descriptor counts to", id="a huge element"),
        pytest.param(
            "aie.device(npu2) {\n  %t = aie.tile(0, 2)\n  %a = aie.buffer(%t) : memref<1000000000000x1000000000xi32>\n"
            "  %b = aie.buffer(%t) : memref<4xi32>\n}",
            "and 65536 bytes of memory",
            id="a huge buffer",
        ),
        pytest.param(
            "module attributes {a.b = dense<0> : tensor<1099511627776xi32>} {}", f"{MOST_ELEMENT_BYTES}", id="a splat"
        ),
        pytest.param(devices(3000), f"3000 devices, and may have {MOST_DEVICES}", id="thousands of devices"),
        pytest.param(devices(1, 3000), f"3000 runtime sequences.*{MOST_SEQUENCES}", id="thousands of sequences"),
        pytest.param("module {" * 5000 + "}" * 5000, "more than 256 levels", id="modules in modules"),
        pytest.param("\n#a = " + "[" * 100_000, "more than 256 levels", id="brackets in brackets"),
    ],
)
def test_what_would_take_for_ever_is_refused(program: str, complaint: str) -> None:
    begin = time.process_time()
    with pytest.raises(tw.CompileError, match=complaint) as caught:
        tw.compile(program)
    assert time.process_time() - begin < SECONDS
    assert "<text>:" in str(caught.value), "the refusal has a place"


@pytest.mark.parametrize("sigil, element", [("#", "[{0}, {0}]"), ("!", "tuple<{0}, {0}>"), ("#", "[[{0}], [{0}]]")])
def test_aliases_of_aliases_cannot_grow_without_bound(sigil: str, element: str) -> None:
    first = f"{sigil}a0 = {element.format('i32')}\n"
    rest = "".join(f"{sigil}a{n} = {element.format(f'{sigil}a{n - 1}')}\n" for n in range(1, 60))
    with pytest.raises(tw.CompileError, match="stands for more than 65536 tokens"):
        tw.compile(f"{first}{rest}module attributes {{a.b = {sigil}a59}} {{}}")


@pytest.mark.parametrize("character", ["\0", "(", "[", "%", "{"])
def test_a_line_of_millions_of_tokens_is_refused(character: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not STRESS:
        monkeypatch.setattr("tilewright.ir.lexer.MOST_LINE_TOKENS", 1 << 16)
    with pytest.raises(tw.CompileError, match=r"<text>:1:.*more than [0-9]+ tokens"):
        tw.compile("{" + character * (100_000_000 if STRESS else 3_000_000))


@pytest.mark.parametrize("body", [pytest.param(COPY, id="copies"), pytest.param(TASK, id="tasks")])
def test_long_loops_take_time_in_proportion_to_their_turns(body: str) -> None:
    took, words = dict[int, float](), dict[int, int]()
    for turns in (5_000, 100_000):
        begin = time.process_time()
        words[turns] = len(tw.compile(loops(turns, body=body)).txn())
        took[turns] = time.process_time() - begin
    assert words[100_000] - 4 == 20 * (words[5_000] - 4)
    assert took[100_000] < 25 * took[5_000] + 1


def test_a_long_loop_makes_the_words_that_its_turns_make_one_by_one() -> None:
    turns = 3000
    kept = tw.compile(loops(turns)).txn()
    unrolled = tw.compile(loops(30)).txn()
    body = (len(unrolled) - 4) // 30
    assert (kept[4:].reshape(turns, body) == unrolled[4 : 4 + body]).all()


def test_a_long_loop_runs() -> None:
    design = tw.compile(loops(5000, body=WRITE))
    assert design.run(np.zeros(1024, np.int32)).cycles > 5000


@pytest.mark.parametrize("depth", [2, 1000, 10**9])
def test_a_depth_beyond_what_is_acquired_costs_nothing(depth: int) -> None:
    tw.compile(fifo(depth)).run(np.arange(1024, dtype=np.int32))


def test_a_stream_of_too_many_words_is_a_range_error() -> None:
    bound = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%m = arith.index_cast %n : i32 to index\n"
    body = f"{bound}scf.for %i = %c0 to %m step %c1 {{\n{COPY}\n}}"
    design = tw.compile(sequence(body, "%a: memref<1024xi32>, %n: i32"))
    assert len(design.txn(n=1000)) > 1000
    with pytest.raises(tw.RangeError, match=f"{MOST_STREAM_WORDS}"):
        design.txn(n=MOST_TURNS)
    with pytest.raises(tw.RangeError, match=f"{MOST_TURNS}"):
        design.txn(n=2**31 - 1)


def test_unrolling_on_request_has_a_limit_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "long.mlir").write_text(loops(10**7, body=WRITE))
    assert main(["opt", str(tmp_path / "long.mlir"), "--aie-unroll-runtime-sequence-loops"]) == 1
    assert f"may to {MOST_UNROLLED_OPERATIONS}" in capsys.readouterr().err


@settings(max_examples=200 if STRESS else 12)
@given(st.lists(st.sampled_from([1, 2, 3, 7, 60, 500, 5_000, 10**6, 10**12]), min_size=1, max_size=3))
def test_any_nest_of_loops_works_or_is_refused(turns: list[int]) -> None:
    begin = time.process_time()
    try:
        words = tw.compile(loops(*turns, body=WRITE)).txn()
    except (tw.CompileError, tw.RangeError) as error:
        assert prod(turns) > MOST_TURNS // 2
        assert str(MOST_TURNS) in str(error) or str(MOST_STREAM_WORDS) in str(error)
    else:
        assert len(words) == 4 + 6 * prod(turns)
    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("command", [["opt"], ["txn", "dis"], ["compile", "-o", "out"]])
def test_a_file_without_end_is_read_no_further_than_the_limit(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.cli.files.MOST_SOURCE_BYTES", 1 << 20)
    assert main([*command, "/dev/zero"]) == 1
    assert f"'/dev/zero' has more than {1 << 20} bytes" in capsys.readouterr().err
