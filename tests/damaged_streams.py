"""TXN streams that tests damage: one of each format with every kind of operation, and ways to break it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from drawn_streams import FORMATS

from tilewright import txn
from tilewright.txn.stream import layouts_of


def example(format: txn.Header) -> bytes:
    """A stream with every kind of operation, on registers that tools have something to say about."""
    operations = [
        txn.Operation(opcode, range(layout.default_payload_words or 3) if layout.size_word is not None else None)
        for opcode, layout in layouts_of(format).items()
    ]
    block = txn.Operation(txn.Opcode.BLOCKWRITE, range(8), address=0x1D000)
    descriptor = [block, txn.write(0x1D214, 0x80000000), txn.sync(0, 0, 1, 0)]
    header = replace(format, device_generation=4, columns=8)
    return txn.encode(txn.Stream.of(header, [*operations, *descriptor])).astype("<u4").tobytes()


EXAMPLES = [*map(example, FORMATS)]
EXAMPLE_NAMES = ["0.1", "1.0", "1.0 with long patches"]


def mutated(data: bytes, random: Random) -> bytes:
    """Some bytes changed, repeated, moved or missing; often with a header that claims that all is well."""
    damaged = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(damaged) + 1)
        match random.randrange(5):
            case 0 if at < len(damaged):
                damaged[at] = random.randrange(256)
            case 1 if at < len(damaged):
                damaged[at] ^= 1 << random.randrange(8)
            case 2:
                del damaged[at : at + random.choice((1, 4, 16))]
            case 3:
                damaged[at:at] = damaged[at : at + 4 * random.randint(1, 8)]
            case _:
                start = at // 4 * 4
                damaged[start : start + 4] = random.choice((0, 1, 0x80, 0xFFFFFFFF, 0xFFFFFFFC)).to_bytes(4, "little")
    if random.random() < 0.7 and len(damaged) >= 16:
        damaged[12:16] = len(damaged).to_bytes(4, "little")
    return bytes(damaged)
