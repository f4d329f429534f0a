"""What a TXN stream consists of, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.device.register_names import name_address
from tilewright.txn.opcodes import WORD_BYTES, Opcode, opcode_name
from tilewright.txn.stream import Stream
from tilewright.txn.text import model_of

_WITH_REGISTER = (Opcode.WRITE, Opcode.BLOCKWRITE, Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY)


@dataclass(frozen=True)
class Statistics:
    """Counts over one stream."""

    version: str
    device: str | None
    size_bytes: int
    operations: int
    by_opcode: dict[str, tuple[int, int]]
    """Name -> how many, and their bytes."""
    by_tile: dict[str, int]
    """`core(0,2)` -> register operations that go there."""
    queue_pushes: dict[str, int]
    """`shim(0,0) MM2S0` -> tasks pushed."""
    patched_arguments: dict[int, int]
    """Host buffer -> addresses patched with it."""

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {
            "by_opcode": {name: {"count": count, "bytes": size} for name, (count, size) in self.by_opcode.items()}
        }


def statistics(stream: Stream) -> Statistics:
    """Count operations, bytes, tiles, pushes and patches."""
    model = model_of(stream.header)
    by_opcode: dict[str, tuple[int, int]] = {}
    addresses: Counter[int] = Counter()
    for opcode, group in sorted(stream.groups.items()):
        words = group.layout.fixed_words * len(group.positions) + len(group.payload)
        by_opcode[opcode_name(opcode)] = len(group.positions), words * WORD_BYTES
        if opcode in _WITH_REGISTER:
            values, counts = np.unique(group.fields["address"], return_counts=True)
            addresses.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    tiles: Counter[str] = Counter()
    pushes: Counter[str] = Counter()
    for address, count in addresses.items():
        tile, _, register = ((model and name_address(model, address)) or "elsewhere ").partition(" ")
        tiles[tile] += count
        if register.endswith(".queue"):
            pushes[f"{tile} {register.removeprefix('DMA.').removesuffix('.queue')}"] += count
    patches = stream.groups.get(Opcode.DDR_PATCH)
    indices: list[int] = patches.fields["argument_index"].tolist() if patches else []
    return Statistics(
        "{}.{}".format(*stream.header.version),
        str(model) if model else None,
        (sum(size for _, size in by_opcode.values())) + 16,
        len(stream.opcodes),
        by_opcode,
        dict(sorted(tiles.items())),
        dict(sorted(pushes.items())),
        dict(sorted(Counter(indices).items())),
    )
