"""Reading and writing TXN streams: MB/s for taking all fields of all operations apart and putting them together again.

Beside it copying the bytes, counting (`stat`), looking for hazards (`lint`), and writing text with and without comments
(`dis`).

    python bench/txn_bench.py [FILE_OR_FOLDER ...]

The streams are made like those of production tools: 45 % block writes (most of 8 words), 34 % writes, 19 % polls with a
padding word, some address patches and timers, bits left over in the first words. With names of files or folders, the
streams found there are measured too, including the time to read them; files that are no streams are left out.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np

from tilewright import txn
from tilewright.device import DEVICES, DeviceName
from tilewright.txn.analysis import hazard_findings, statistics
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import Operation, Words
from tilewright.txn.text import disassemble

SIZES = 30, 1_000, 10_000, 100_000
LONG_PAYLOADS = 16, 24, 32, 103, 115, 127
ROUNDS = 5
TARGET = 250

T = TypeVar("T")


def operation(random: Random) -> Operation:
    chance, address = random.random(), 4 * random.randrange(1 << 26)
    leftover = {"op_column": random.randrange(4), "op_row": random.randrange(256)}
    value = random.getrandbits(32)
    if chance < 0.45:
        count = 8 if random.random() < 0.9 else random.choice(LONG_PAYLOADS)
        payload = [random.getrandbits(32) for _ in range(count)]
        return Operation(Opcode.BLOCKWRITE, payload, address=address, **leftover)
    if chance < 0.79:
        return Operation(Opcode.WRITE, address=address, value=value, **leftover)
    if chance < 0.98:
        return Operation(Opcode.MASKPOLL, [0x2ADD], address=address, value=value, mask=0x3F0000, **leftover)
    if chance < 0.99:
        return Operation(Opcode.DDR_PATCH, [0], address=address, argument_index=2, argument_offset=value)
    return Operation(Opcode.RECORD_TIMER, id=random.randrange(100))


def stream(operations: int) -> Words:
    random = Random(operations)
    header = txn.Header(device_generation=4, columns=8)
    return txn.encode(txn.Stream.of(header, (operation(random) for _ in range(operations))))


def seconds(work: Callable[[T], object], argument: T, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        work(argument)
    return (time.process_time() - start) / calls


def best_seconds(words: Words) -> tuple[float, float]:
    """Seconds for decoding and for encoding, each the best of a few rounds."""
    calls = max(1, 20_000 // len(words))
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        times = seconds(txn.decode, words, calls), seconds(txn.encode, txn.decode(words), calls)
        best = [min(pair) for pair in zip(best, times, strict=True)]
    assert np.array_equal(txn.encode(txn.decode(words)), words)
    return best[0], best[1]


def measure_tools(words: Words) -> None:
    """What the tools make of one long stream."""
    megabytes, decoded = words.nbytes / 1e6, txn.decode(words)
    work: dict[str, Callable[[], object]] = {
        "memcpy": words.copy,
        "decode": lambda: txn.decode(words),
        "encode": lambda: txn.encode(decoded),
        "stat": lambda: statistics(decoded),
        "lint": lambda: hazard_findings(decoded, DEVICES[DeviceName.npu2]),
        "dis --plain": lambda: deque(disassemble(decoded), 0),
        "dis": lambda: deque(disassemble(decoded, explained=True), 0),
    }
    for name, tool in work.items():
        best = min(seconds(lambda _: tool(), None, 1) for _ in range(ROUNDS))  # noqa: B023, called at once
        print(f"{name:24}{megabytes:12.3f}{megabytes / best:12.0f}", flush=True)


def report(name: str, megabytes: float, decoding: float, encoding: float) -> None:
    both = megabytes / (decoding + encoding)
    print(f"{name:24}{megabytes:12.3f}{megabytes / decoding:12.0f}{megabytes / encoding:12.0f}{both:12.0f}", flush=True)


def files_under(names: list[str]) -> Iterator[Path]:
    for path in map(Path, names):
        yield from sorted(path.rglob("*.bin")) if path.is_dir() else [path]


def measure_files(names: list[str]) -> None:
    """Every stream once: read, decoded, encoded again, and compared."""
    size, decoding, encoding, streams = 0, 0.0, 0.0, 0
    for path in files_under(names):
        start = time.process_time()
        data = path.read_bytes()
        try:
            decoded = txn.decode(data)
        except txn.TxnError:
            continue
        middle = time.process_time()
        words = txn.encode(decoded)
        encoding += time.process_time() - middle
        decoding += middle - start
        assert words.tobytes() == data, f"{path} does not come back as it was"
        size, streams = size + len(data), streams + 1
    if streams:
        report(f"{streams:,} files", size / 1e6, decoding, encoding)


def main(arguments: list[str]) -> None:
    names = [argument for argument in arguments if not argument.startswith("--")]
    print(f"{'operations':24}{'MB':>12}{'decode MB/s':>12}{'encode MB/s':>12}{'both MB/s':>12}")
    for size in SIZES:
        words = stream(size)
        report(f"{size:,}", words.nbytes / 1e6, *best_seconds(words))
    if names:
        measure_files(names)
    print(f"{'tool':24}{'MB':>12}{'MB/s':>12}")
    measure_tools(stream(SIZES[-1]))
    print(f"wanted: {TARGET} MB/s for both together on 100,000 operations; shorter streams do without native code")


if __name__ == "__main__":
    main(sys.argv[1:])
