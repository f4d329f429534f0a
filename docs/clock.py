"""Writes the tables of docs/clock.md: what the clock is made of, and how near it comes to figures that were published.

python docs/clock.py            writes them
python docs/clock.py --check    says whether they are up to date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tilewright as tw
from tilewright.device import Arch, DmaDirection, TileId
from tilewright.device.timing import parameters, timing_of
from tilewright.sim.parts import PartKind, part_ids_of
from tilewright.sim.trace import Rows, TraceEvent

PAGE = Path(__file__).parent / "clock.md"
WORDS = 1024, 2048, 4096, 8192, 16384
BLOCK = 1024
"""Words of a mem tile's buffer; there are two."""
Array = npt.NDArray[np.int32]


def through_mem_tile(sizes: list[int], columns: int = 1, device: str = "npu1_1col") -> str:
    """Columns that each send blocks from the host through a mem tile and back, one transfer for each size."""
    total = sum(sizes)
    lines = [f"aie.device({device}) {{"]
    for c in range(columns):
        lines += [f"%shim{c} = aie.tile({c}, 0)", f"%mem{c} = aie.tile({c}, 1)"]
        element = f"!aie.objectfifo<memref<{BLOCK}xi32>>"
        lines += [f"aie.objectfifo @in{c}(%shim{c}, {{%mem{c}}}, 2 : i32) : {element}"]
        lines += [f"aie.objectfifo @out{c}(%mem{c}, {{%shim{c}}}, 2 : i32) : {element}"]
        lines += [f"aie.objectfifo.link [@in{c}] -> [@out{c}] ([] [])"]
    names = [f"%{name}{c}: memref<{total}xi32>" for c in range(columns) for name in "ab"]
    lines += [f"aie.runtime_sequence @run({', '.join(names)}) {{"]
    offset = 0
    for size in sizes:
        for c in range(columns):
            lines += [_transfer(f"%a{c}", f"in{c}", 0, offset, size, total)]
            lines += [_transfer(f"%b{c}", f"out{c}", 1, offset, size, total)]
        lines += [f"aiex.npu.dma_wait {{symbol = @out{c}}}" for c in range(columns)]
        offset += size
    return "\n".join([*lines, "}", "}"])


def from_mem_tile(sizes: list[int]) -> str:
    """A mem tile that sends without end, and a transfer to the host for each size."""
    total = sum(sizes)
    lines = [
        "aie.device(npu1_1col) {",
        "%shim = aie.tile(0, 0)",
        "%mem = aie.tile(0, 1)",
        f"%words = aie.buffer(%mem) : memref<{BLOCK}xi32>",
        "aie.flow(%mem, DMA : 0, %shim, DMA : 0)",
        "aie.shim_dma_allocation @out(%shim, S2MM, 0)",
        "%dma = aie.memtile_dma(%mem) {",
        "  %send = aie.dma_start(MM2S, 0, ^again, ^end)",
        "^again:",
        f"  aie.dma_bd(%words : memref<{BLOCK}xi32> offset = 0 len = {BLOCK})",
        "  aie.next_bd ^again",
        "^end:",
        "  aie.end",
        "}",
        f"aie.runtime_sequence @run(%b0: memref<{total}xi32>) {{",
    ]
    for number, size in enumerate(sizes):
        lines += [_transfer("%b0", "out", 1, sum(sizes[:number]), size, total), "aiex.npu.dma_wait {symbol = @out}"]
    return "\n".join([*lines, "}", "}"])


def _transfer(buffer: str, fifo: str, bd: int, offset: int, size: int, total: int) -> str:
    fields = f"{{id = {bd} : i64, metadata = @{fifo}, issue_token = {'true' if bd else 'false'}}}"
    pattern = f"[0, 0, 0, {offset}][1, 1, {size // BLOCK}, {BLOCK}][0, 0, {BLOCK}, 1]"
    return f"aiex.npu.dma_memcpy_nd({buffer}{pattern}) {fields} : memref<{total}xi32>"


def run(text: str) -> tuple[int, Rows]:
    """Cycles and trace."""
    design = tw.compile(text)
    sizes = [int(size) for size in re.findall(r"%[ab]\d: memref<(\d+)xi32>", text)]
    result = design.run(*(np.zeros(size, dtype=np.int32) for size in sizes))
    return result.cycles, result.trace


def channel(direction: DmaDirection) -> int:
    """The number of the first channel of shim tile (0, 0) in traces of the npu1 devices that are used here."""
    return part_ids_of(tw.compile(through_mem_tile([BLOCK])).device().model.name).number(
        PartKind.CHANNEL, TileId(0, 0), (direction, 0)
    )


def spans(rows: Rows, part: int, begin: TraceEvent, end: TraceEvent) -> Array:
    """Begin and end of each span of a part."""
    mine = rows[rows[:, 2] == part]
    return np.stack([mine[mine[:, 1] == event][:, 0] for event in (begin, end)], axis=1).astype(np.int32)


def transfer_rows() -> Iterator[str]:
    """Shim transfers against the published fit."""
    yield "| words | read: modelled | published | error | write: modelled | published | error |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for words in WORDS:
        _, rows = run(through_mem_tile([words]))
        read = _span(rows, DmaDirection.MM2S, TraceEvent.TASK)
        _, rows = run(from_mem_tile([words]))
        write = _span(rows, DmaDirection.S2MM, TraceEvent.TASK)
        wanted = 747 + 1.05 * words, 171 + 1.00 * words
        cells = [_against(got, want) for got, want in zip((read, write), wanted, strict=True)]
        yield f"| {words:,} | {' | '.join(cells)} |"


def _against(got: int, wanted: float) -> str:
    return f"{got:,} | {wanted:,.0f} | {100 * (got - wanted) / wanted:+.1f} %"


def _span(rows: Rows, direction: DmaDirection, begin: TraceEvent) -> int:
    ((start, end),) = spans(rows, channel(direction), begin, TraceEvent.TASK_END).tolist()
    return end - start


def figure_rows() -> Iterator[str]:
    """Other published figures."""
    yield "| figure | modelled | published | error |"
    yield "|---|---:|---:|---:|"
    for name, measure, wanted, unit in FIGURES:
        got = measure()
        yield f"| {name} | {got:,.4g} {unit} | {wanted:,.4g} {unit} | {100 * (got - wanted) / wanted:+.1f} % |"


def pipelined_gap() -> float:
    """From the end of a transfer, whose token is waited for, to the start of the next on the same channel."""
    _, rows = run(from_mem_tile([BLOCK] * 8))
    tasks = spans(rows, channel(DmaDirection.S2MM), TraceEvent.TASK, TraceEvent.TASK_END)
    return float(np.median(tasks[1:, 0] - tasks[:-1, 1]))


def bandwidth(device: str, columns: int, arch: Arch) -> float:
    """GB/s between host memory and all columns at once, both ways together."""
    words = 16 * BLOCK
    cycles, rows = run(through_mem_tile([words], columns, device))
    moving = rows[np.isin(rows[:, 1], [TraceEvent.FLOW])][:, 0]
    return 2 * 4 * words * columns / (cycles - int(moving.min())) * timing_of(arch).clock_hz / 1e9


def operation_cost() -> float:
    """Cycles from one operation of the controller to the next."""
    _, rows = run(through_mem_tile([BLOCK]))
    return float(np.median(np.diff(rows[rows[:, 1] == TraceEvent.OPERATION][:, 0])))


FIGURES: list[tuple[str, Callable[[], float], float, str]] = [
    ("an operation of the controller, npu1", operation_cost, 112, "cycles"),
    ("gap of pipelined dispatch, npu1", pipelined_gap, 520, "cycles"),
    ("host memory, 4 columns of npu1", lambda: bandwidth("npu1", 4, Arch.AIE2), 15, "GB/s"),
    ("host memory, 8 columns of npu2", lambda: bandwidth("npu2", 8, Arch.AIE2p), 50, "GB/s"),
    ("reconfiguration of the array, npu1", lambda: _milliseconds(Arch.AIE2), 3.4, "ms"),
    ("reconfiguration of the array, npu2", lambda: _milliseconds(Arch.AIE2p), 4.9, "ms"),
]


def _milliseconds(arch: Arch) -> float:
    return timing_of(arch).load_pdi / timing_of(arch).clock_hz * 1e3


def parameter_rows() -> Iterator[str]:
    """All parameters."""
    yield "| parameter | npu1 | npu2 | what it counts | source | spread |"
    yield "|---|---:|---:|---|---|---|"
    for parameter in parameters():
        values = [f"{getattr(timing_of(arch), parameter.name):,}" for arch in (Arch.AIE2, Arch.AIE2p)]
        about = parameter.metadata
        yield f"| `{parameter.name}` | {' | '.join(values)} | {about['unit']} | {about['source']} | {about['spread']} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "transfers": transfer_rows,
    "figures": figure_rows,
    "parameters": parameter_rows,
}


def updated(text: str) -> str:
    """The page with its tables made anew."""
    for name, rows in TABLES.items():
        table = "\n".join(rows())
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text, flags=re.S)
    return text


def main(arguments: list[str]) -> int:
    text = PAGE.read_text(encoding="utf-8")
    current = updated(text)
    if "--check" in arguments:
        return int(current != text)
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
