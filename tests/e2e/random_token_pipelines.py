"""Random pipelines of cores and copies: who feeds whom, on which tiles, in which order, and what must come out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from memcpy_designs import TokenDesign, copy, give, part, take

Array = npt.NDArray[Any]
DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32}
CORES = [(column, row) for column in range(4) for row in range(2, 6)]
MEM_TILES = [(column, 1) for column in range(4)]
MOST_NODES, MOST_ROUNDS = 6, 3


@dataclass(eq=False)
class Buffer:
    """A block of data on a tile, one round after the other. Each round it is written once and read by `readers`.

    Each reader has a token that tells it that the block is full, so that none reads it twice. Together they tell that
    it is free. A descriptor tells one token only, so what a copy writes has one reader.
    """

    name: str
    tile: tuple[int, int]
    readers: int = 0
    tokens: str = ""
    """What its tokens are called; destinations of the same copy share theirs."""


@dataclass(eq=False)
class Node:
    """A core that adds up its inputs and a number, or a mem tile that hands on its one input."""

    inputs: list[Buffer]
    output: Buffer
    amount: int
    sources: list[Node | None]
    """Where the inputs come from; None is the host."""

    @property
    def is_core(self) -> bool:
        return self.output not in self.inputs


@dataclass(eq=False)
class Transfer:
    """One copy of each round: from a node or the host to inputs of nodes or the host."""

    source: Node | None
    targets: list[Buffer]
    host_index: int = -1
    """Which block of the host's array it is, if it begins or ends there."""
    reader: int = 0
    """Which of the readers of its source it is."""


@dataclass
class TokenPipeline:
    """A pipeline that a seed decides about."""

    seed: int
    nodes: list[Node] = field(default_factory=list[Node])
    transfers: list[Transfer] = field(default_factory=list[Transfer])

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.device = self.random.choice(["npu1", "npu2"])
        self.element = self.random.choice(list(DTYPES))
        self.length = self.random.choice([4, 8, 16, 48]) * 4 // np.dtype(DTYPES[self.element]).itemsize
        self.rounds = self.random.randint(1, MOST_ROUNDS)
        self.is_looped = self.random.random() < 0.2
        self.is_shuffled = not self.is_looped and self.random.random() < 0.3
        self._grow()
        self._connect()

    def _grow(self) -> None:
        cores, mem_tiles = self.random.sample(CORES, MOST_NODES), self.random.sample(MEM_TILES, len(MEM_TILES))
        for number in range(self.random.randint(1, MOST_NODES)):
            is_core = not mem_tiles or self.random.random() < 0.75
            tile = cores.pop() if is_core else mem_tiles.pop()
            output = Buffer(f"out{number}", tile)
            count = self.random.randint(1, 2) if is_core else 1
            inputs = [Buffer(f"in{number}_{n}", tile, readers=1) for n in range(count)] if is_core else [output]
            sources = list[Node | None]()
            for _ in inputs:
                sources.append(self.random.choice([None, *self._open_nodes(sources)]))
            self.nodes.append(Node(inputs, output, self.random.randint(-9, 9), sources))

    def _open_nodes(self, chosen: list[Node | None]) -> list[Node]:
        """Nodes that can have another user."""
        used = {*chosen, *(source for node in self.nodes for source in node.sources)}
        return [node for node in self.nodes if node.is_core or node not in used]

    def _connect(self) -> None:
        """Decide about copies: an output goes to each of its users by itself, or to all cores among them at once."""
        inputs, outputs = 0, 0
        for node in self.nodes:
            for buffer, source in zip(node.inputs, node.sources, strict=True):
                buffer.tokens = buffer.name
                if source is None:
                    self.transfers.append(Transfer(None, [buffer], inputs))
                    inputs += 1
        for node in self.nodes:
            node.output.tokens = node.output.name
            used = [b for user in self.nodes for b, s in zip(user.inputs, user.sources, strict=True) if s is node]
            groups = self._grouped(used)
            self.transfers += (Transfer(node, group) for group in groups)
            if not groups or (node.is_core and self.random.random() < 0.2):
                self.transfers.append(Transfer(node, [], outputs))
                outputs += 1
            readers = [transfer for transfer in self.transfers if transfer.source is node]
            node.output.readers = len(readers)
            for number, transfer in enumerate(readers):
                transfer.reader = number
        self.inputs, self.outputs = inputs, outputs

    def _grouped(self, used: list[Buffer]) -> list[list[Buffer]]:
        cores = {buffer.tile: buffer for buffer in used if buffer.tile[1] > 1}
        if len(cores) < 2 or self.random.random() < 0.5:
            return [[buffer] for buffer in used]
        together = list(cores.values())
        for buffer in together:
            buffer.tokens = together[0].name
        return [together, *([buffer] for buffer in used if buffer not in together)]

    @property
    def block(self) -> str:
        return f"memref<{self.length}x{self.element}>"

    def text(self) -> str:
        design = TokenDesign(self.device)
        for buffer in dict.fromkeys(b for node in self.nodes for b in (*node.inputs, node.output)):
            design.buffer(*buffer.tile, buffer.name, self.block)
            if f"{buffer.tokens}_free" not in "".join(design.lines):
                design.token(f"{buffer.tokens}_free", buffer.readers)
                for number in range(buffer.readers):
                    design.token(f"{buffer.tokens}_full{number}")
        for node in self.nodes:
            if node.is_core:
                design.core(*node.output.tile, *self._program(node))
        host = f"memref<?x{self.element}>"
        shim = design.tile(self.random.randrange(4), 0)
        return design.text(f"%a: {host}, %b: {host}, %rounds: i32", self._sequence(shim))

    def _program(self, node: Node) -> Iterator[str]:
        readers = node.output.readers
        yield from (take(f"{buffer.tokens}_full0") for buffer in node.inputs)
        yield take(f"{node.output.tokens}_free", readers)
        yield f"%amount = arith.constant {node.amount} : {self.element}"
        yield from (f"%{name} = arith.constant {n} : index" for name, n in (("c0", 0), ("c1", 1), ("n", self.length)))
        yield "scf.for %i = %c0 to %n step %c1 {"
        for number, buffer in enumerate(node.inputs):
            yield f"  %v{number} = memref.load %{buffer.name}[%i] : {self.block}"
            before = "%amount" if number == 0 else f"%s{number - 1}"
            yield f"  %s{number} = arith.addi {before}, %v{number} : {self.element}"
        yield f"  memref.store %s{len(node.inputs) - 1}, %{node.output.name}[%i] : {self.block}"
        yield "}"
        yield from (give(f"{buffer.tokens}_free") for buffer in node.inputs)
        yield from (give(f"{node.output.tokens}_full{number}") for number in range(readers))

    def _sequence(self, shim: str) -> Iterator[str]:
        if not self.is_looped:
            yield from (self._copy(transfer, shim, str(offset)) for transfer, offset in self._in_order())
            return
        yield from (f"%{name} = arith.constant {n} : index" for name, n in (("c0", 0), ("c1", 1)))
        yield "%last = arith.index_cast %rounds : i32 to index"
        yield "scf.for %k = %c0 to %last step %c1 {"
        for number, transfer in enumerate(self.transfers):
            base = self._offset(transfer, 0)
            yield f"  %step{number} = arith.constant {self._offset(transfer, 1) - base} : index"
            yield f"  %base{number} = arith.constant {base} : index"
            yield f"  %far{number} = arith.muli %k, %step{number} : index"
            yield f"  %at{number} = arith.addi %far{number}, %base{number} : index"
            yield "  " + self._copy(transfer, shim, f"%at{number}")
        yield "}"

    def _in_order(self) -> list[tuple[Transfer, int]]:
        """All copies of all rounds; those of one kind stay in order."""
        order = [transfer for _ in range(self.rounds) for transfer in self.transfers]
        if self.is_shuffled:
            self.random.shuffle(order)
        seen, result = dict[Transfer, int](), list[tuple[Transfer, int]]()
        for transfer in order:
            result.append((transfer, self._offset(transfer, seen.get(transfer, 0))))
            seen[transfer] = seen.get(transfer, 0) + 1
        return result

    def _offset(self, transfer: Transfer, round: int) -> int:
        return (max(transfer.host_index, 0) * MOST_ROUNDS + round) * self.length

    def _copy(self, transfer: Transfer, shim: str, offset: str) -> str:
        tokens, host = list[str](), f"memref<?x{self.element}>"
        if transfer.source is None:
            ends, types = [part(shim, "%a", offset, self.length)], [host]
        else:
            output = transfer.source.output
            tokens += [f"@{output.tokens}_full{transfer.reader}(1, 0)", f"@{output.tokens}_free(0, 1)"]
            ends, types = [part(_tile(output), f"%{output.name}", 0, self.length)], [self.block]
        for target in transfer.targets:
            ends.append(part(_tile(target), f"%{target.name}", 0, self.length))
            types.append(self.block)
        if transfer.targets:
            target = transfer.targets[0]
            tokens += [f"@{target.tokens}_free(1, 0)", f"@{target.tokens}_full0(0, 1)"]
        else:
            ends.append(part(shim, "%b", offset, self.length))
            types.append(host)
        has_value = offset.startswith("%") and transfer.host_index >= 0
        return copy(", ".join(tokens), ends, [*types, "index"] if has_value else types)

    def arrays(self, run: int) -> tuple[Array, Array]:
        """What goes in, and room for what comes out."""
        size, dtype = MOST_ROUNDS * self.length, DTYPES[self.element]
        values = np.random.default_rng(self.seed + run).integers(-100, 100, max(1, self.inputs) * size)
        return values.astype(dtype), np.zeros(max(1, self.outputs) * size, dtype)

    def expected(self, given: Array) -> Array:
        _, result = self.arrays(0)
        for round in range(self.rounds):
            values = dict[Node, Array]()
            for node in self.nodes:
                values[node] = self._value(node, given, values, round)
            for transfer in self.transfers:
                if not transfer.targets and transfer.source is not None:
                    at = self._offset(transfer, round)
                    result[at : at + self.length] = values[transfer.source]
        return result

    def _value(self, node: Node, given: Array, values: dict[Node, Array], round: int) -> Array:
        total = np.full(self.length, node.amount if node.is_core else 0, given.dtype)
        for buffer, source in zip(node.inputs, node.sources, strict=True):
            if source is not None:
                total = total + values[source]
                continue
            transfer = next(t for t in self.transfers if buffer in t.targets)
            at = self._offset(transfer, round)
            total = total + given[at : at + self.length]
        return total


def _tile(buffer: Buffer) -> str:
    return "%t{}{}".format(*buffer.tile)
