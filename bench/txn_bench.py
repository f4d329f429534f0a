"""Reading and writing TXN streams: MB/s for taking all fields of all operations apart and putting them together again.

Beside it copying the bytes, counting (`stat`), looking for what is wrong (`lint`), and writing text with and without
comments (`dis`), over 100 MB.

    python bench/txn_bench.py [FILE_OR_FOLDER ...]

The streams are made like those of production tools: 45 % block writes (most of 8 words), 34 % writes, 19 % polls with a
padding word, some address patches and timers, bits left over in the first words. With names of files or folders, the
streams found there are measured too, including the time to read them, and the tools on 100 MB of them, chosen at
random; files that are no streams are left out.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np

from tilewright import txn
from tilewright.device import DEVICES, DeviceName, DmaDirection
from tilewright.device.bd import MemTileBd
from tilewright.txn.analysis import statistics
from tilewright.txn.lint import lint
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import HEADER_WORDS, Operation, Words
from tilewright.txn.text import disassemble, model_of

SIZES = 30, 1_000, 10_000, 100_000
LONG_PAYLOADS = 16, 24, 32, 103, 115, 127
ROUNDS = 5
TARGET = 250
SAMPLE_BYTES = 100_000_000
WANTED = {"decode": 500, "encode": 500, "stat": 200, "lint": 20, "dis": 10}
"""MB/s of the tools, over a sample of that size."""
SLOW = "lint", "dis"
"""Tools that take long enough to be measured once."""
DEVICE = DEVICES[DeviceName.npu2]
MEMORY_WORDS = DEVICE.mem_tile_bytes // 4
IDLE = 0x0078003C
"""Of a channel's status: its queue, whether it runs, and what it stalls on."""

T = TypeVar("T")


def operation(random: Random) -> Operation:
    """One of a stream that sets up mem tiles, mostly: whole descriptors, pushes, polls until a channel is idle."""
    chance, column, channel = random.random(), random.randrange(8), random.randrange(6)
    leftover = {"op_column": random.randrange(4), "op_row": random.randrange(256)}
    bd = random.randrange(24) + 24 * (channel % 2)
    if chance < 0.45:
        if random.random() < 0.9:
            return Operation(
                Opcode.BLOCKWRITE, descriptor(random), address=DEVICE.bd_address(column, 1, bd), **leftover
            )
        payload = [random.getrandbits(32) for _ in range(random.choice(LONG_PAYLOADS))]
        return Operation(Opcode.BLOCKWRITE, payload, address=DEVICE.tile_address(column, 2, 0x400), **leftover)
    if chance < 0.75:
        queue = DEVICE.task_queue_address(column, 1, DmaDirection(random.randrange(2)), channel)
        return Operation(Opcode.WRITE, address=queue, value=random.randrange(16) << 16 | bd, **leftover)
    if chance < 0.79:
        lock = DEVICE.lock_address(column, 1, random.randrange(64)) or 0
        return Operation(Opcode.WRITE, address=lock, value=random.randrange(4), **leftover)
    if chance < 0.98:
        status = DEVICE.channel_status_address(column, 1, DmaDirection(random.randrange(2)), channel) or 0
        return Operation(Opcode.MASKPOLL, [0x2ADD], address=status, value=0, mask=IDLE, **leftover)
    if chance < 0.99:
        address = DEVICE.bd_address(column, 0, random.randrange(16)) + 4
        return Operation(
            Opcode.DDR_PATCH, [0], address=address, argument_index=2, argument_offset=random.getrandbits(20)
        )
    return Operation(Opcode.RECORD_TIMER, id=random.randrange(100))


def descriptor(random: Random) -> list[int]:
    """Some words of a mem tile, in rows."""
    rows, step = random.randrange(1, 64), random.randrange(1, 64)
    return MemTileBd.encode(
        buffer_length=rows * random.randrange(1, 64),
        address=MEMORY_WORDS + random.randrange(MEMORY_WORDS // 2),
        d0_wrap=rows,
        d0_step=1,
        d1_step=step,
        valid_bd=1,
        lock_acq_enable=1,
        lock_acq_id=64 + random.randrange(64),
        lock_rel_id=64 + random.randrange(64),
        lock_rel_value=1,
    )


def stream(operations: int) -> Words:
    random = Random(operations)
    header = txn.Header(device_generation=4, columns=8)
    return txn.encode(txn.Stream.of(header, (operation(random) for _ in range(operations))))


def repeated(words: Words, size_bytes: int) -> Words:
    """The operations of a stream again and again, up to a size."""
    times = size_bytes // words[HEADER_WORDS:].nbytes
    made = np.concatenate([words[:HEADER_WORDS], *[words[HEADER_WORDS:]] * times])
    made[2:HEADER_WORDS] = words[2] * times, made.nbytes
    return made


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


ON_WORDS: dict[str, Callable[[Words], object]] = {"memcpy": lambda words: words.copy(), "decode": txn.decode}
ON_STREAMS: dict[str, Callable[[txn.Stream], object]] = {
    "encode": txn.encode,
    "stat": statistics,
    "lint": lambda stream: lint(stream, model_of(stream.header) or DEVICE),
    "dis --plain": lambda stream: deque(disassemble(stream), 0),
    "dis": lambda stream: deque(disassemble(stream, explained=True), 0),
    "dis --level 2": lambda stream: deque(disassemble(stream, by_register=True), 0),
}


def measure_tools(sample: list[Words]) -> None:
    """What the tools make of some streams."""
    megabytes = sum(words.nbytes for words in sample) / 1e6
    print(f"{f'tool, {len(sample):,} streams':24}{'MB':>12}{'MB/s':>12}{'wanted':>12}")
    measure(ON_WORDS, sample, megabytes)
    measure(ON_STREAMS, [*map(txn.decode, sample)], megabytes)


def measure(tools: Mapping[str, Callable[[T], object]], given: list[T], megabytes: float) -> None:
    for name, tool in tools.items():
        rounds = 1 if name.startswith(SLOW) else ROUNDS
        best = min(seconds(lambda them: [*map(tool, them)], given, 1) for _ in range(rounds))  # noqa: B023, at once
        wanted = WANTED.get(name, "")
        print(f"{name:24}{megabytes:12.3f}{megabytes / best:12.0f}{wanted:>12}", flush=True)


def report(name: str, megabytes: float, decoding: float, encoding: float) -> None:
    both = megabytes / (decoding + encoding)
    print(f"{name:24}{megabytes:12.3f}{megabytes / decoding:12.0f}{megabytes / encoding:12.0f}{both:12.0f}", flush=True)


def files_under(names: list[str]) -> Iterator[Path]:
    for path in map(Path, names):
        yield from sorted(path.rglob("*.bin")) if path.is_dir() else [path]


def measure_files(names: list[str]) -> list[Words]:
    """Every stream once: read, decoded, encoded again, and compared; some of them, up to a size."""
    size, decoding, encoding, found = 0, 0.0, 0.0, list[Path]()
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
        size += len(data)
        found.append(path)
    report(f"{len(found):,} files", size / 1e6, decoding or 1, encoding or 1)
    Random(0).shuffle(found)
    sample, kept = list[Words](), 0
    while found and kept < SAMPLE_BYTES:
        sample.append(np.frombuffer(found.pop().read_bytes(), dtype="<u4"))
        kept += sample[-1].nbytes
    return sample


def main(arguments: list[str]) -> None:
    names = [argument for argument in arguments if not argument.startswith("--")]
    print(f"{'operations':24}{'MB':>12}{'decode MB/s':>12}{'encode MB/s':>12}{'both MB/s':>12}")
    for size in SIZES:
        words = stream(size)
        report(f"{size:,}", words.nbytes / 1e6, *best_seconds(words))
    measure_tools([repeated(stream(SIZES[-1]), SAMPLE_BYTES)])
    if names:
        measure_tools(measure_files(names))
    print(f"wanted: {TARGET} MB/s for both together on 100,000 operations; shorter streams do without native code")


if __name__ == "__main__":
    main(sys.argv[1:])
