"""Explanations of hangs: each link says who waits for what and who should end it, the last one what is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.native import has_llvm
from tilewright.txn.text import assemble, disassemble

MODELS = ["plain", "fast"]
HEAD = """aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %tile2 = aie.tile(0, 2)
  %tile3 = aie.tile(0, 3)
  %out = aie.buffer(%tile2) {sym_name = "out"} : memref<16xi32> = dense<7>
  %done = aie.lock(%tile2, 0) {init = 0 : i32}
  aie.flow(%tile2, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
"""
SENDS = """  aie.mem(%tile2) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%done, AcquireGreaterEqual, 1)
    aie.dma_bd(%out : memref<16xi32>, 0, 16)
    aie.next_bd ^end
  ^end:
    aie.end
  }
"""
GETS = """  aie.runtime_sequence @get(%b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @b} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few looks at something that does not change are a hang."""
    for module in ("tilewright.sim.engine", *(("tilewright.sim.fast.engine",) if has_llvm() else ())):
        monkeypatch.setattr(f"{module}.PATIENCE", 1000)


def hang(text: str, model: str, *arguments: np.ndarray[Any, Any]) -> list[str]:
    """The messages of a design that hangs, without their places."""
    with pytest.raises(tw.Hang) as raised:
        tw.compile(text).run(*(arguments or [np.zeros(16, np.int32)]), model=model)
    (error,) = raised.value.diagnostics
    return [error.text, *(note.text for note in error.notes)]


def core(tile: str, body: str) -> str:
    return f"  aie.core({tile}) {{\n{body}\n    aie.end\n  }}\n"


@pytest.mark.parametrize("model", MODELS)
def test_links_name_who_should_end_each_wait(model: str) -> None:
    assert hang(HEAD + SENDS + GETS, model) == [
        "hang: the controller waits for a token of S2MM 0 of tile (0, 0)",
        "BD 0 on S2MM 0 of tile (0, 0) needs a word from the stream to South 2 of tile (0, 0), which is empty "
        "(0 of 16 words have come); MM2S 0 of tile (0, 2) feeds it",
        "BD 0 on MM2S 0 of tile (0, 2) needs lock 0 of tile (0, 2) >= 1, it is 0",
        "most likely cause: nothing releases lock 0 of tile (0, 2): release it where what it guards is ready, "
        "or give it an initial value of 1 or more",
    ]


@pytest.mark.parametrize("model", MODELS)
def test_every_link_has_a_place(model: str) -> None:
    with pytest.raises(tw.Hang) as raised:
        tw.compile(HEAD + SENDS + GETS).run(np.zeros(16, np.int32), model=model)
    lines = [line.split(": ")[0] for line in str(raised.value).splitlines()]
    assert lines == ["<text>:21:5", "<text>:20:5", "<text>:14:5", "<text>:14:5"]


@pytest.mark.parametrize("model", MODELS)
def test_a_core_that_needs_an_accumulator_that_nobody_puts(model: str) -> None:
    taker = core("%tile2", "    %sum = aie.get_cascade() : vector<16xi32>\n    aie.use_lock(%done, Release, 1)")
    flow = "  aie.cascade_flow(%tile3, %tile2)\n"
    *_, last = hang(HEAD + flow + taker + SENDS + GETS, model)
    assert last.startswith(
        "most likely cause: tile (0, 3) has no core with a program, and only it puts into the cascade"
    )


@pytest.mark.parametrize("model", MODELS)
def test_a_core_that_reads_a_stream_that_nobody_feeds(model: str) -> None:
    read = "    %port = arith.constant 0 : i32\n    %word = aie.get_stream(%port : i32) : i32\n"
    reader = core("%tile2", read + "    aie.use_lock(%done, Release, 1)")
    *_, link, last = hang(HEAD + reader + SENDS + GETS, model)
    assert link == "the core of tile (0, 2) needs a word from the stream to Core 0 of tile (0, 2), which is empty"
    assert last.startswith("most likely cause: no route leads to the stream to Core 0 of tile (0, 2)")


@pytest.mark.parametrize("model", MODELS)
def test_a_core_in_a_loop_that_does_nothing(model: str) -> None:
    body = "    aie.use_lock(%done, Release, 0)\n    cf.br ^again\n  ^again:\n    cf.br ^again\n"
    spins = f"  aie.core(%tile2) {{\n{body}  }}\n"
    *_, last = hang(HEAD + spins + SENDS + GETS, model)
    assert last.startswith("most likely cause: the core of tile (0, 2) goes on for ever without doing what is needed")


@pytest.mark.parametrize("model", MODELS)
def test_a_descriptor_that_releases_a_lock_but_is_never_run(model: str) -> None:
    task = """    %task = aiex.dma_configure_task(%tile2, S2MM, 0) {
      aie.dma_bd(%out : memref<16xi32>, 0, 16) {bd_id = 5 : i32}
      aie.use_lock(%done, Release, 1)
      aie.end
    }
"""
    *_, last = hang(HEAD + SENDS + GETS.replace("    aiex.npu.dma_memcpy", task + "    aiex.npu.dma_memcpy"), model)
    assert (
        last == "most likely cause: BD 5 releases lock 0 of tile (0, 2), but no task in flight comes to it: start one"
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "column, cause",
    [
        pytest.param(
            3, "the device has no S2MM 1 of tile (3, 0): wait for a channel that it has", id="no such channel"
        ),
        pytest.param(0, "no task was pushed on S2MM 1 of tile (0, 0): push one before this wait", id="no such task"),
    ],
)
def test_a_wait_for_a_token_that_cannot_come(column: int, cause: str, model: str) -> None:
    design = tw.compile(HEAD + SENDS + GETS)
    header = tw.txn.decode(design.txn()).header
    words = tw.txn.encode(tw.txn.Stream.of(header, [tw.txn.sync(column=column, row=0, direction=0, channel=1)]))
    with pytest.raises(tw.Hang, match=re.escape(f"most likely cause: {cause}")):
        design.run(np.zeros(16, np.int32), txn=words, model=model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "polled, links",
    [
        pytest.param(
            "core(0,2) DMA.MM2S0.status == 0x0 mask 0x3",
            ["MM2S 0 of tile (0, 2) changes it", "BD 0 on MM2S 0 of tile (0, 2) needs lock 0"],
            id="until a channel is idle",
        ),
        pytest.param(
            "core(0,2) Lock2 == 0x1 mask 0x3f",
            ["the core of tile (0, 2) changes it", "the core of tile (0, 2) needs lock 1"],
            id="until a core releases a lock",
        ),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_a_poll_leads_to_whoever_changes_the_register(polled: str, links: list[str], model: str) -> None:
    locks = "  %never = aie.lock(%tile2, 1) {init = 0 : i32}\n  %result = aie.lock(%tile2, 2) {init = 0 : i32}\n"
    program = core("%tile2", "    aie.use_lock(%never, AcquireGreaterEqual, 1)\n    aie.use_lock(%result, Release, 1)")
    design = tw.compile(HEAD + locks + program + SENDS + GETS)
    header, *_ = disassemble(tw.txn.decode(design.txn()))
    words = tw.txn.encode(assemble(f"{header}\nmaskpoll {polled}"))
    with pytest.raises(tw.Hang) as raised:
        design.run(np.zeros(16, np.int32), txn=words, model=model)
    (error,) = raised.value.diagnostics
    assert error.text.startswith(f"hang: the controller polls {polled.split(' == ')[0]} until it is")
    assert all(note.text.startswith(link) for note, link in zip(error.notes, links, strict=False)), str(raised.value)


@pytest.mark.parametrize("model", MODELS)
def test_places_are_those_of_the_configuration_that_was_loaded(model: str) -> None:
    """Both devices are alike, but only the lock of the second one begins with 0."""
    load = "    aiex.npu.load_pdi {device_ref = @second}\n    aiex.npu.dma_memcpy_nd"
    first = (HEAD + SENDS + GETS.replace("    aiex.npu.dma_memcpy_nd", load)).replace("{init = 0", "{init = 1")
    second = HEAD.replace("aie.device(npu1_1col)", "aie.device(npu1_1col) @second") + SENDS + "}\n"
    with pytest.raises(tw.Hang) as raised:
        tw.compile(first + second).run(np.zeros(16, np.int32), model=model)
    sends = (first + second).splitlines().index("    aie.dma_bd(%out : memref<16xi32>, 0, 16)", first.count("\n")) + 1
    assert f"<text>:{sends}:5: note: BD 0 on MM2S 0 of tile (0, 2) needs lock 0 of tile (0, 2) >= 1" in str(
        raised.value
    )
