"""What objects look like: short in a terminal, small and harmless pieces of HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES
from programs import COPY

import tilewright as tw
from tilewright import iron
from tilewright.designs import Gemm, SingleCoreGemm
from tilewright.iron import Buffer, Kernel, Lock, ObjectFifo, Program, Runtime, Worker
from tilewright.iron.device import NPU1Col1, Tile

LONGEST_TEXT, LARGEST_HTML = 300, 30_000
LINE, VECTOR = np.ndarray[(64,), np.dtype[np.int32]], np.ndarray[(256,), np.dtype[np.int32]]
HOSTILE = '<script>alert("x")</script>'


def add_one(source: Any, target: Any) -> None:
    numbers, results = source.acquire(1), target.acquire(1)
    for i in iron.controlflow.range_(64):
        results[i] = numbers[i] + 1
    source.release(1)
    target.release(1)


def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
    source.fill(a)
    target.drain(b, wait=True)


def program(name: str = "in") -> Program:
    of_in, of_out = ObjectFifo(LINE, name=name), ObjectFifo(LINE, name="out")
    runtime = Runtime(sequence, [VECTOR, VECTOR, of_in.prod(), of_out.cons()])
    return Program(NPU1Col1(), runtime, [Worker(add_one, [of_in.cons(), of_out.prod()])])


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    """One of everything that a person may end a cell with."""
    whole = program()
    design = tw.compile(whole)
    loaded = design.load()
    result = loaded.run(np.arange(256, dtype=np.int32), np.zeros(256, np.int32))
    stream = tw.txn.decode(design.txn())
    gemm = Gemm(SingleCoreGemm())
    air = tw.air.compile(EXAMPLES / "air_add.mlir")
    return {
        "program": whole,
        "worker": whole.workers[0],
        "fifo": whole.workers[0].fifos[0].fifo,
        "end of a fifo": whole.workers[0].fifos[0],
        "runtime": whole.runtime,
        "design": design,
        "loaded device": loaded,
        "bare device": tw.BareDevice(design.device().model),
        "result": result,
        "record": result.record,
        "stream": stream,
        "operations": stream.operations,
        "operation": tw.txn.block_write(0x1D000, range(2000)),
        "gemm": gemm,
        "product": gemm.run(np.ones((64, 64), np.int16), np.ones((64, 64), np.int16)),
        "AIR program": air,
        "AIR result": air.run(*(np.zeros(1024, np.float32) for _ in range(3))),
        "buffer": Buffer(LINE, name="b"),
        "lock": Lock(Tile(0, 2)),
        "kernel": Kernel("scale", "scale.o", [LINE, LINE, np.int32]),
        "tensor": iron.zeros(100_000, dtype=np.int32),
    }


NAMES = [
    *(
        "program",
        "worker",
        "fifo",
        "end of a fifo",
        "runtime",
        "design",
        "loaded device",
        "bare device",
        "result",
        "record",
    ),
    *("stream", "operations", "operation", "gemm", "product", "AIR program", "AIR result", "buffer", "lock", "kernel"),
    "tensor",
]


@pytest.mark.parametrize("name", NAMES)
def test_text_is_short_and_says_what_it_is(things: dict[str, Any], name: str) -> None:
    text = repr(things[name])
    assert 5 < len(text) <= LONGEST_TEXT and " at 0x" not in text


def test_text_of_a_result_names_time_and_device(things: dict[str, Any]) -> None:
    assert repr(things["result"]).startswith(f"<RunResult: {things['result'].cycles:,} cycles, ")
    assert "npu1_1col" in repr(things["result"]) and "sequence(a, b)" in repr(things["design"])


class Checker(HTMLParser):
    """Finds tags that are not closed, and anything that would be fetched or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "link", "iframe", "object")
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def checked(html: str) -> str:
    """The texts of a piece of HTML that is whole, small, and needs nothing from elsewhere."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == [] and "url(" not in html and len(html) < LARGEST_HTML
    assert "light-dark(" in html and "[data-jp-theme-light=false]" in html, "both themes, and the notebook's own"
    return " ".join(checker.texts)


@pytest.mark.parametrize(
    "name, shown",
    [
        ("program", ["'add_one'", "in.cons()", "memref<64xi32>"]),
        ("worker", ["'add_one'", "in.cons(), out.prod()"]),
        ("fifo", ["ObjectFifo in", "memref<64xi32>", "worker 'add_one'"]),
        ("design", ["@main on npu1_1col", "a: memref<256xi32>, b: memref<256xi32>", "core (0, 2)"]),
        ("result", ["cycles", "at 1 GHz", "core busy", "waits by cause", "shim (0, 0) S2MM 0", "computes"]),
        ("product", ["cycles", "core busy"]),
        ("AIR program", ["air_add.mlir", "add"]),
        ("AIR result", ["rank", "status"]),
    ],
)
def test_html(things: dict[str, Any], name: str, shown: list[str]) -> None:
    text = checked(things[name]._repr_html_())
    assert [part for part in shown if part not in text] == []


def test_a_film_shows_one_picture_at_a_time_and_says_the_same_in_letters(things: dict[str, Any]) -> None:
    film = things["result"].film(8)
    text = checked(film._repr_html_())
    assert "8 pictures" in text and "core (0, 2)" in text and text.count("cycles ") >= 8
    first, *lines = repr(film).splitlines()
    assert first.startswith("8 stretches of ") and len({len(line) for line in lines}) == 1
    assert any(line.startswith("core (0, 2)") and "#" in line[-8:] for line in lines), "its core computes for a while"
    for frames in (0, 61):
        with pytest.raises(tw.Error, match="1 to 60 pictures"):
            things["result"].film(frames)


def html_of_program() -> str:
    return program(HOSTILE)._repr_html_()


def html_of_design() -> str:
    text = f'aie.device(npu1_1col) @"{HOSTILE}" {{ aie.runtime_sequence @"{HOSTILE}"(%a: memref<4xi32>) {{}} }}'
    return tw.compile(text.replace('("x")', "(1)"))._repr_html_()


def html_of_hang() -> str:
    place, fifo = "%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]", "{id = 1 : i64, metadata = @out}"
    body = f"aiex.npu.dma_memcpy_nd({place}) {fifo} : memref<64xi32>"
    with pytest.raises(tw.Hang) as caught:
        tw.compile(COPY.replace("BODY", f"{body}\naiex.npu.dma_wait {{symbol = @out}}")).run(
            *np.zeros((2, 64), np.int32)
        )
    html = tw.RunResult(caught.value.record)._repr_html_()
    assert "hang: the controller waits for a token" in html and "most likely cause" in html
    assert "not finished" in repr(tw.RunResult(caught.value.record))
    return html


@pytest.mark.parametrize("make", [html_of_program, html_of_design, html_of_hang])
def test_html_of_hostile_names_and_of_hangs(make: Callable[[], str]) -> None:
    checked(make())


def test_result_gives_time_summary_and_a_page(things: dict[str, Any], tmp_path: Path) -> None:
    result: tw.RunResult = things["result"]
    assert result.time == pytest.approx(result.cycles / 1e9)
    lines = result.summary().splitlines()
    assert lines[0].startswith(f"{result.cycles:,} cycles, ") and len(max(lines, key=len)) <= 100
    assert any("core (0, 2)" in line for line in lines) and "\x1b" not in result.summary()
    path = result.report(tmp_path / "run.html")
    page = path.read_text(encoding="utf-8")
    assert path == tmp_path / "run.html" and "test_texts.py" in page and "source.fill(a)" in page
    assert "my title" in result.report(str(path), title="my title").read_text(encoding="utf-8")
    assert [found.name for found in tmp_path.iterdir()] == ["run.html"]


def test_a_page_that_cannot_be_written_leaves_nothing(things: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OSError):
        things["result"].report(tmp_path / "missing" / "run.html")
    assert list(tmp_path.iterdir()) == []
