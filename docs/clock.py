"""Writes the tables of docs/clock.md: what the clock is made of, and how near it comes to what was measured.

python docs/clock.py            writes them
python docs/clock.py --check    says whether they are up to date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

import tilewright as tw
from tilewright import txn
from tilewright.device import DEVICES, Arch, DmaDirection, TileId
from tilewright.device.bd import ShimBd
from tilewright.device.enums import DeviceName
from tilewright.device.registers import ShimDemux, ShimMux
from tilewright.device.timing import TIME_ERROR_PERCENT, parameters, timing_of
from tilewright.device.vector_unit import vector_unit
from tilewright.driver.loaded_device import BareDevice
from tilewright.driver.run_result import RunResult
from tilewright.sim.parts import PartKind, part_ids_of
from tilewright.sim.trace import Rows, TraceEvent

PAGE = Path(__file__).parent / "clock.md"
Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Point:
    """Something that was measured on a device, and what the clock says of it."""

    name: str
    unit: str
    measured: float
    model: Callable[[], float]
    fitted: bool = False
    """Whether a parameter was chosen by it."""

    @property
    def error(self) -> float:
        """Of the model, in per cent."""
        return 100 * (self.model() / self.measured - 1)


# Transfers of a shim tile of npu1, alone and in chains: xdna-emu, findings of 2026-05-25 and 2026-05-27.

SINGLE = {
    8: (1854, 830),
    16: (2064, 845),
    32: (963, 872),
    64: (1741, 696),
    128: (1207, 862),
    256: (838, 726),
    512: (1314, 1001),
    1024: (1247, 1187),
    2048: (3421, 2217),
    4096: (5304, 4261),
    8192: (9121, 8357),
    16384: (17963, 16525),
}
"""Words: cycles of a read and of a write."""
CHAIN_WORDS = 64
CHAINS = (2, 4, 8)
READ, WRITE = DmaDirection.MM2S, DmaDirection.S2MM
END_WORDS = max(SINGLE)
PHOENIX = DeviceName.npu1_1col


def _sequence(name: str, transfers: Iterable[tuple[DmaDirection, int, int, bool]]) -> Iterator[str]:
    """Transfers, each with its descriptor, words and whether it sends a token; in the end all tokens are waited for."""
    yield f"aie.runtime_sequence @{name}(%a: memref<{END_WORDS}xi32>, %b: memref<{END_WORDS}xi32>) {{"
    waits = list[str]()
    for direction, bd, words, token in transfers:
        buffer, fifo = ("%a", "in") if direction is READ else ("%b", "out")
        fields = f"{{id = {bd} : i64, metadata = @{fifo}, issue_token = {str(token).lower()}}}"
        pattern = f"[0, 0, 0, 0][1, 1, 1, {words}][0, 0, 0, 1]"
        yield f"aiex.npu.dma_memcpy_nd({buffer}{pattern}) {fields} : memref<{END_WORDS}xi32>"
        waits += [f"aiex.npu.dma_wait {{symbol = @{fifo}}}"] if token else []
    yield from [*waits, "}"]


def transfers_text() -> str:
    """A column whose mem tile takes and sends words without end, and a sequence for each measurement."""
    lines = [
        f"aie.device({PHOENIX}) {{",
        "%shim = aie.tile(0, 0)",
        "%mem = aie.tile(0, 1)",
        f"%sent = aie.buffer(%mem) : memref<{END_WORDS}xi32>",
        f"%taken = aie.buffer(%mem) : memref<{END_WORDS}xi32>",
        "aie.flow(%shim, DMA : 0, %mem, DMA : 0)",
        "aie.flow(%mem, DMA : 0, %shim, DMA : 0)",
        "aie.shim_dma_allocation @in(%shim, MM2S, 0)",
        "aie.shim_dma_allocation @out(%shim, S2MM, 0)",
        "%dma = aie.memtile_dma(%mem) {",
        "  %send = aie.dma_start(MM2S, 0, ^send, ^next)",
        "^send:",
        f"  aie.dma_bd(%sent : memref<{END_WORDS}xi32> offset = 0 len = {END_WORDS})",
        "  aie.next_bd ^send",
        "^next:",
        "  %take = aie.dma_start(S2MM, 0, ^take, ^end)",
        "^take:",
        f"  aie.dma_bd(%taken : memref<{END_WORDS}xi32> offset = 0 len = {END_WORDS})",
        "  aie.next_bd ^take",
        "^end:",
        "  aie.end",
        "}",
    ]
    for words in SINGLE:
        for direction in (READ, WRITE):
            lines += _sequence(f"{direction.name}_{words}", [(direction, 0, words, True)])
    for count in CHAINS:
        for direction in (READ, WRITE):
            chain = [(direction, bd, CHAIN_WORDS, True) for bd in range(count)]
            lines += _sequence(f"{direction.name}_chain_{count}", chain)
    lines += _sequence("dispatch", [(READ, 0, CHAIN_WORDS, False), (WRITE, 1, CHAIN_WORDS, True)])
    return "\n".join([*lines, "}"])


@cache
def _transfers() -> tw.Design:
    return tw.compile(transfers_text())


@cache
def _run(sequence: str) -> Rows:
    a, b = np.zeros((2, END_WORDS), dtype=np.int32)
    return _transfers().run(a, b, sequence=sequence).trace


def tasks(sequence: str, direction: DmaDirection) -> Array:
    """When each task of a shim channel began and ended."""
    part = part_ids_of(PHOENIX).number(PartKind.CHANNEL, TileId(0, 0), (direction, 0))
    rows = _run(sequence)
    mine = rows[rows[:, 2] == part]
    return np.stack([mine[mine[:, 1] == event][:, 0] for event in (TraceEvent.TASK, TraceEvent.TASK_END)], axis=1)


def single(direction: DmaDirection, words: int) -> float:
    ((begin, end),) = tasks(f"{direction.name}_{words}", direction).tolist()
    return end - begin


def chain(direction: DmaDirection, count: int) -> Array:
    """Begin and end of each task."""
    return tasks(f"{direction.name}_chain_{count}", direction)


def span(direction: DmaDirection, count: int) -> float:
    times = chain(direction, count)
    return float(times[-1, 1] - times[0, 0])


def gap(direction: DmaDirection, count: int, number: int | None = None) -> float:
    """From the end of a task to the next one; the median of all but the first where no number is given."""
    times = chain(direction, count)
    gaps = times[1:, 0] - times[:-1, 1]
    return float(np.median(gaps[1:]) if number is None else gaps[number])


def duration(direction: DmaDirection, number: int) -> float:
    times = chain(direction, max(CHAINS))
    return float(times[number, 1] - times[number, 0])


def operations(first: int, count: int) -> float:
    """Cycles of some operations of the two transfers in `dispatch`, and of a write that was put after them."""
    rows = _run("dispatch")
    ends = rows[rows[:, 1] == TraceEvent.OPERATION_END][:, 0]
    begins = rows[rows[:, 1] == TraceEvent.OPERATION][:, 0]
    return float(ends[first + count - 1] - begins[first])


def push_to_push() -> float:
    """From the push of a read to that of a write that sends a token."""
    return float(tasks("dispatch", WRITE)[0, 0] - tasks("dispatch", READ)[0, 0])


def transfer_points() -> Iterator[Point]:
    """Single transfers: the start of reads is the median over all of them, the end of writes that of long ones."""
    for words, (read, write) in SINGLE.items():
        yield Point(f"read of {words:,} words", "cycles", read, lambda n=words: single(READ, n), fitted=True)
        yield Point(f"write of {words:,} words", "cycles", write, lambda n=words: single(WRITE, n), words >= 1024)


def chain_points() -> Iterator[Point]:
    """Tasks of 64 words, each with a token that nothing waits for."""
    for number, cycles in enumerate((1739, 804, 497, 422, 398, 399, 364, 369)):
        is_fitted = number in (6, 7)
        yield Point(f"read {number + 1} of 8", "cycles", cycles, lambda n=number: duration(READ, n), is_fitted)
    for number, cycles in enumerate((509, 233, 250, 250, 248, 249, 249, 248)):
        yield Point(f"write {number + 1} of 8", "cycles", cycles, lambda n=number: duration(WRITE, n), number == 0)
    for count, direction, cycles in (
        (2, WRITE, 3365),
        (4, READ, 10503),
        (4, WRITE, 7446),
        (8, READ, 24827),
        (8, WRITE, 22025),
    ):
        words = "reads" if direction is READ else "writes"
        yield Point(f"span of {count} {words}", "cycles", cycles, lambda c=count, d=direction: span(d, c))
    for count, direction, cycles in ((4, READ, 2803), (4, WRITE, 2785), (8, READ, 2734), (8, WRITE, 2876)):
        words = "reads" if direction is READ else "writes"
        fitted = count == 8
        yield Point(f"gap between {count} {words}", "cycles", cycles, lambda c=count, d=direction: gap(d, c), fitted)
    for count, cycles in ((4, 2562), (8, 2520)):
        yield Point(f"first gap between {count} writes", "cycles", cycles, lambda c=count: gap(WRITE, c, 0))
    anchor = timing_of(Arch.AIE2).operation_cycles()
    yield Point("from push to push", "cycles", 889, push_to_push, fitted=True)
    yield Point("a transfer in the sequence, and a write", "cycles", 1094, lambda: operations(0, 3) + anchor)
    yield Point("the same with a token", "cycles", 1056, lambda: operations(3, 4) + anchor)


# Strix: AMD's samples of xrt-smi, whose streams are repeated here, and the copy of mlir-aie #2559.

STRIX = Arch.AIE2p
BDS, BD_BYTES, QUEUES = 0x1D000, 0x20, {READ: 0x1D214, WRITE: 0x1D204}
MUX, DEMUX, MASTERS, SLAVES = 0x1F000, 0x1F004, 0x3F000, 0x3F100
ENABLE, TOKEN = 0x8000_0000, 0x8000_0000
LONGEST = 3
"""The code of bursts of 512 bytes."""
PORTS = ((2, 0x14), (3, 0x24))
"""For each channel the master port in the south and the slave port that feeds it: South 3 and South 7."""


def _at(column: int, offset: int) -> int:
    return column << 25 | offset


def loopback(column: int, channels: int = 2) -> Iterator[txn.Operation]:
    """Routes of a shim tile that sends what it reads back to host memory, as AMD's streams set them."""
    yield txn.write(_at(column, MUX), ShimMux.pack(south3=1, south7=1)[0])
    yield txn.write(_at(column, DEMUX), ShimDemux.pack(south2=1, south3=1)[0])
    for master, slave in PORTS[:channels]:
        yield txn.write(_at(column, MASTERS + 8 + 4 * master), ENABLE | slave // 4)
        yield txn.write(_at(column, SLAVES + slave), ENABLE)
    yield txn.write(_at(column, MASTERS + 8), ENABLE)
    yield txn.write(_at(column, SLAVES), ENABLE)


def descriptor(column: int, bd: int, words: int, argument: int, offset: int, **fields: int) -> Iterator[txn.Operation]:
    steps = {f"d{level}_step": 1 for level in range(3)} | {"iteration_step": 1, "iteration_wrap": 1}
    address = _at(column, BDS + BD_BYTES * bd)
    yield txn.block_write(address, ShimBd.encode(buffer_length=words, valid_bd=1, **steps, **fields))
    yield txn.address_patch(address + 4, argument, 4 * offset)


def push(column: int, direction: DmaDirection, channel: int, bd: int) -> txn.Operation:
    token = TOKEN if direction is WRITE else 0
    return txn.write(_at(column, QUEUES[direction] + 8 * channel), token | bd)


def run_stream(device: DeviceName, stream: Sequence[txn.Operation], words: int) -> RunResult:
    model = DEVICES[device]
    header = txn.Header(device_generation=4, columns=model.columns)
    data = txn.encode(txn.Stream.of(header, stream)).astype("<u4").tobytes()
    arrays = np.zeros((2, words), dtype=np.int32)
    return BareDevice(model).run(data, {0: arrays[0], 2: arrays[1]})


@cache
def copy_seconds(columns: int, words: int, ax_cache: int = 2, burst: int = LONGEST) -> float:
    """The time for each of two channels in each column to read some words and write them."""
    stream, pushes, waits = list[txn.Operation](), list[txn.Operation](), list[txn.Operation]()
    for column in range(columns):
        stream += loopback(column)
        for channel in range(2):
            offset, fields = words * (2 * column + channel), {"ax_cache": ax_cache, "burst_length": burst}
            stream += descriptor(column, 1 + channel, words, 0, offset, **fields)
            stream += descriptor(column, 3 + channel, words, 2, offset, **fields)
            pushes += [push(column, WRITE, channel, 3 + channel), push(column, READ, channel, 1 + channel)]
            waits += [txn.sync(column, 0, 0, channel)]
    device = DeviceName.npu2 if columns == 8 else DeviceName.npu2_4col
    return run_stream(device, [*stream, *pushes, *waits], 2 * columns * words).time


def copy_rate(columns: int, full: int, ax_cache: int = 2, burst: int = LONGEST) -> float:
    """Bytes in a second, read and written, for so many words in each channel, by two shorter copies."""
    few, more = 4096, 12288
    short, long = (copy_seconds(columns, words, ax_cache, burst) for words in (few, more))
    return 2 * 2 * columns * 4 * full / (short + (long - short) * (full - few) / (more - few))


def tokens_per_second(columns: int, turns: int = 20) -> float:
    """Tokens of transfers of one word, as `tct_1col` and `tct_4col` make them, once they have a steady pace."""
    stream = list[txn.Operation]()
    for column in range(columns):
        stream += loopback(column, channels=1)
        stream += descriptor(column, 2, 1, 0, 0, ax_cache=2, burst_length=2)
        stream += descriptor(column, 4, 1, 2, column, ax_cache=2, burst_length=2)
    control = {direction: QUEUES[direction] - 4 for direction in (READ, WRITE)}
    turn = [
        operation
        for direction, bd in ((WRITE, 4), (READ, 2))
        for column in range(columns)
        for operation in (txn.write(_at(column, control[direction]), bd << 8), push(column, direction, 0, bd))
    ]
    turn += [txn.sync(column, 0, 0, 0) for column in range(columns)]
    rows = run_stream(DeviceName.npu2_4col, [*stream, *(turn * turns)], 16).trace
    ends = rows[rows[:, 1] == TraceEvent.OPERATION_END][:, 0]
    cycles = ends[-1] - ends[-1 - len(turn) * (turns // 2)]
    return columns * (turns // 2) * timing_of(STRIX).clock_hz / float(cycles)


def stream_points() -> Iterator[Point]:
    """AMD's streams, and copies."""
    gib, column_words, copied_words = 1 << 30, 1 << 25, (1 << 24) // 16
    yield Point("df-bw, 4 columns", "GiB/s", 47.1, lambda: copy_rate(4, column_words, burst=2) / gib, fitted=True)
    yield Point("tokens, 1 column", "1/s", 374_709, lambda: tokens_per_second(1), fitted=True)
    yield Point("tokens, 4 columns", "1/s", 749_151, lambda: tokens_per_second(4))
    yield Point("copy, 8 columns", "GB/s", 66.58, lambda: copy_rate(8, copied_words) / 1e9, fitted=True)
    yield Point("copy, 8 columns, AxCache 0", "GB/s", 55.53, lambda: copy_rate(8, copied_words, 0) / 1e9, fitted=True)


# Kernels: arXiv 2512.13282, tables 2 and 3.

TILES: dict[Arch, dict[tuple[str, str], Sequence[tuple[int, int, int, float]]]] = {
    Arch.AIE2: {
        ("i8", "i8"): [(112, 112, 112, 212.5), (112, 104, 128, 207.4)],
        ("i8", "i16"): [(96, 112, 96, 192.0), (80, 104, 128, 186.9)],
        ("i8", "i32"): [(80, 88, 96, 146.0), (64, 80, 128, 133.1)],
        ("bf16", "bf16"): [(96, 56, 96, 99.8), (96, 48, 112, 97.3)],
    },
    Arch.AIE2p: {
        ("i8", "i8"): [(144, 72, 144, 343.0), (160, 64, 144, 322.6)],
        ("i8", "i16"): [(128, 72, 112, 307.2), (160, 64, 96, 271.4)],
        ("i8", "i32"): [(96, 64, 96, 256.0), (128, 56, 80, 209.9)],
        ("bf16", "bf16"): [(112, 48, 96, 137.2), (160, 40, 80, 124.1)],
    },
}
"""M, K and N, and products in a cycle: the tile that was fitted, and the other one."""


def kernel_points() -> Iterator[Point]:
    """Products of one core."""
    for arch, types in TILES.items():
        device = "npu1" if arch is Arch.AIE2 else "npu2"
        for pair, tiles in types.items():
            for place, (m, k, n, measured) in enumerate(tiles):

                def model(arch: Arch = arch, pair: tuple[str, str] = pair, m: int = m, k: int = k, n: int = n) -> float:
                    return m * k * n / vector_unit(arch).product_cycles(pair, m, k, n)

                name = f"{pair[0]} to {pair[1]}, {m} x {k} x {n}, {device}"
                yield Point(name, "MAC/cycle", measured, model, fitted=place == 0)


POINTS: dict[str, Callable[[], Iterator[Point]]] = {
    "transfers": transfer_points,
    "chains": chain_points,
    "streams": stream_points,
    "kernels": kernel_points,
}


def points() -> list[Point]:
    return [point for group in POINTS.values() for point in group()]


def predictions() -> list[Point]:
    return [point for point in points() if not point.fitted]


def time_error_percent(errors: Iterable[float]) -> int:
    """So much that two of three predictions are nearer, in steps of five."""
    ordered = sorted(map(abs, errors))
    return -(-int(np.ceil(ordered[2 * len(ordered) // 3])) // 5) * 5


def point_rows(group: Iterable[Point]) -> Iterator[str]:
    yield "| | measured | modelled | error | |"
    yield "|---|---:|---:|---:|---|"
    for point in group:
        numbers = [_number(value, point.unit) for value in (point.measured, point.model())]
        kind = "fitted" if point.fitted else "predicted"
        yield f"| {point.name} | {' | '.join(numbers)} | {point.error:+.1f} % | {kind} |"


def _number(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 1000 or unit == "cycles" else f"{value:.1f} {unit}"


def summary_rows() -> Iterator[str]:
    """What the comparisons say together."""
    found, errors = points(), [abs(point.error) for point in predictions()]
    near = sum(error <= TIME_ERROR_PERCENT for error in errors)
    yield (
        f"{len(found)} comparisons, {len(errors)} of them predictions. Of the predictions half are within "
        f"{median(errors):.1f} %, and {near} within the {TIME_ERROR_PERCENT} % that `result.time_error` gives."
    )


def parameter_rows() -> Iterator[str]:
    """All parameters."""
    yield "| parameter | npu1 | npu2 | what it counts | source | spread |"
    yield "|---|---:|---:|---|---|---|"
    for parameter in parameters():
        values = [f"{getattr(timing_of(arch), parameter.name):,}" for arch in (Arch.AIE2, Arch.AIE2p)]
        about = parameter.metadata
        yield f"| `{parameter.name}` | {' | '.join(values)} | {about['unit']} | {about['source']} | {about['spread']} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    **{name: lambda group=group: point_rows(group()) for name, group in POINTS.items()},
    "summary": summary_rows,
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
