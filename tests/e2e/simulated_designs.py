"""Small designs in `designs/`, each for one feature of the array, with what goes in and what has to come out.

Each entry can be run on any model of the machine: `arguments` draws the same values for a seed, `expected` says what
they have to be after the sequence has run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
from tilewright.device.packets import READ, WRITE, ControlHeader, PacketHeader, with_parity
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.compiled_design import Design
from tilewright.driver.loaded_device import LoadedDevice
from tilewright.driver.run_result import RunResult

FOLDER = Path(__file__).parent / "designs"

Array = npt.NDArray[Any]
Expected = Callable[..., Mapping[int, Array]]
"""From the arguments as they were to arrays, by number, as they have to become; the others stay as they were."""


@dataclass(frozen=True)
class Drawn:
    """An argument with random values; few, so that sums and products of them fit."""

    count: int
    dtype: type[np.generic] = np.int32

    def make(self, random: np.random.Generator) -> Array:
        return random.integers(-100, 100, self.count).astype(self.dtype)


@dataclass(frozen=True)
class Blank:
    """An argument for results. Its values are none that a design writes, so that a word left out is seen."""

    count: int
    dtype: type[np.generic] = np.int32

    def make(self, random: np.random.Generator) -> Array:
        return np.full(self.count * np.dtype(self.dtype).itemsize, 0xA5, np.uint8).view(self.dtype)


@dataclass(frozen=True)
class SimulatedDesign:
    """A design with the arguments of its sequence, in order: integers are scalars, arrays are passed as they are."""

    name: str
    parameters: Sequence[Drawn | Blank | Array | int]
    expected: Expected
    kernels: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    sequence: str | None = None
    scratchpad: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    runs: int = 1
    """How often the sequence runs on a device that is loaded once, each time with new values."""

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.mlir"

    @cached_property
    def design(self) -> Design:
        return tw.compile(self.path)

    def load(self, model: str = "fast") -> LoadedDevice:
        """A machine with the design on it; the device is the one that the sequence belongs to."""
        device = self.design.operation(self.sequence).parent_op()
        name = device.sym_name.data if isinstance(device, DeviceOp) else None
        return self.design.load(name, self.kernels, model=model)

    def run(self, loaded: LoadedDevice, arguments: Sequence[Array | int]) -> RunResult:
        """Carry out the sequence; results are written into the arguments."""
        return loaded.run(*arguments, sequence=self.sequence, scratchpad=self.scratchpad)

    def arguments(self, seed: int) -> list[Array | int]:
        random = np.random.default_rng(seed)
        return [self._argument(parameter, random) for parameter in self.parameters]

    def _argument(self, parameter: Drawn | Blank | Array | int, random: np.random.Generator) -> Array | int:
        match parameter:
            case Drawn() | Blank():
                return parameter.make(random)
            case np.ndarray():
                return parameter.copy()
            case int():
                return parameter

    def results(self, arguments: Sequence[Array | int]) -> list[Array | int]:
        """What the arguments have to be after a run."""
        changed = self.expected(*arguments)
        return [changed.get(number, argument) for number, argument in enumerate(arguments)]


def rows(array: Array, width: int = 8) -> Array:
    return array.reshape(-1, width)


def flat(*parts: Array) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def _windows(given: Array, _: Array) -> Mapping[int, Array]:
    blocks = rows(given)
    return {1: flat(blocks[:-2] + blocks[1:-1] + blocks[2:])}


def _one_two(given: Array, _: Array) -> Mapping[int, Array]:
    blocks = given.reshape(4, 3, 8)
    return {1: flat(np.stack([blocks[:, 0] + 100, blocks[:, 1] - blocks[:, 2]], axis=1))}


def _tiles(given: Array, _: Array) -> Mapping[int, Array]:
    """Tiles of 2 by 4, in order, each transposed."""
    return {1: flat(given.reshape(2, 3, 2, 2, 4).transpose(0, 1, 3, 4, 2))}


LOCK_3 = 0x1F030
"""The register of lock 3 of a core tile."""
KEPT_PACKETS = np.tile(
    np.array(
        [with_parity(PacketHeader.encode(id=9, type=2, source_column=0, source_row=3)[0]), 10, 20, 30, 40], np.uint32
    ),
    2,
)


def control_packets(*packets: tuple[int, int, list[int]], stream: int | None = None) -> Array:
    """Operation, address and words of each packet, as a stream; answers come with the id 2. Reads have no words.

    With the id of a stream each packet has its header.
    """
    words = list[int]()
    for operation, address, data in packets:
        header = ControlHeader.encode(address=address, beats=len(data), operation=operation, return_id=2)[0]
        if stream is not None:
            words.append(with_parity(PacketHeader.encode(id=stream)[0]))
        words += [with_parity(header), *(data if operation == WRITE else [])]
    return np.array(words, np.int64).astype(np.uint32)


def sort(source: Array, target: Array, count: int) -> None:
    target[:count] = np.sort(source[:count])


DESIGNS: Sequence[SimulatedDesign] = [
    SimulatedDesign("dma_copy", [Drawn(64), Blank(64)], lambda given, _: {1: given}),
    SimulatedDesign("mem_tile_ring", [Drawn(64), Blank(64)], lambda given, _: {1: given}),
    SimulatedDesign("core_between_locks", [Drawn(32), Blank(32)], lambda given, _: {1: given * given}),
    SimulatedDesign("fifo_link", [Drawn(64), Blank(64)], lambda given, _: {1: given + 5}),
    SimulatedDesign(
        "fifo_distribute_join",
        [Drawn(64), Blank(64)],
        lambda given, _: {1: flat(given.reshape(-1, 2, 8) + np.array([[1000], [-1000]], np.int32))},
    ),
    SimulatedDesign(
        "fifo_broadcast",
        [Drawn(32), Blank(64)],
        lambda given, _: {1: flat(np.stack([rows(given) + 3, rows(given) - 3], axis=1))},
    ),
    SimulatedDesign(
        "fifo_repeat", [Drawn(16), Blank(48)], lambda given, _: {1: flat(np.repeat(rows(given), 3, axis=0) + 7)}
    ),
    SimulatedDesign("fifo_window", [Drawn(64), Blank(48)], _windows),
    SimulatedDesign("fifo_cyclostatic", [Drawn(96), Blank(64)], _one_two),
    SimulatedDesign("neighbour_memory", [Drawn(64), Blank(64)], lambda given, _: {1: given + 19}, runs=3),
    SimulatedDesign(
        "two_columns",
        [Drawn(32), Blank(32), Drawn(32), Blank(32)],
        lambda west, _, east, __: {1: west + 1, 3: east + 2},
    ),
    SimulatedDesign("across_columns", [Drawn(32), Blank(32)], lambda given, _: {1: given + 42}),
    SimulatedDesign("nd_transfer", [Drawn(128), Blank(64)], lambda given, _: {1: flat(rows(given, 16)[:, ::2].T + 1)}),
    SimulatedDesign(
        "host_iteration", [Drawn(64), Blank(32)], lambda given, _: {1: flat(given.reshape(4, 2, 8)[:, :, :4] + 9)}
    ),
    SimulatedDesign(
        "bd_chain",
        [Drawn(32), Drawn(32), Blank(64)],
        lambda first, second, _: {2: flat(first[24:], second, first[:24])},
    ),
    SimulatedDesign("bd_iteration", [Drawn(64), Blank(64)], lambda given, _: {1: given}),
    SimulatedDesign("task_queue", [Drawn(64), Blank(64)], lambda given, _: {1: flat(rows(given, 16)[[2, 0, 3, 1]])}),
    SimulatedDesign("task_repeat", [Drawn(16), Blank(48)], lambda given, _: {1: np.tile(given, 3)}),
    SimulatedDesign(
        "padding",
        [Drawn(24), Blank(63)],
        lambda given, _: {1: flat(np.pad(given.reshape(4, 6), [(1, 2), (2, 1)]))},
    ),
    SimulatedDesign(
        "pad_value",
        [Drawn(8), Blank(24)],
        lambda given, _: {1: flat(np.pad(given.reshape(8, 1), [(0, 0), (1, 1)], constant_values=7))},
    ),
    SimulatedDesign("transpose", [Drawn(60), Blank(60)], lambda given, _: {1: flat(given.reshape(6, 10).T)}),
    SimulatedDesign(
        "packet_split",
        [Drawn(32), Blank(16), Blank(16)],
        lambda given, *_: {1: given[16:], 2: given[:16]},
    ),
    SimulatedDesign("packet_merge", [Blank(96)], lambda _: {0: np.repeat(np.array([2, 1, 2], np.int32), 32)}),
    SimulatedDesign("packet_header_kept", [Blank(10, np.uint32)], lambda _: {0: KEPT_PACKETS}),
    SimulatedDesign(
        "cascade",
        [Drawn(64), Blank(64)],
        lambda given, _: {1: flat(rows(given, 16) + np.arange(16, dtype=np.int32) + 100)},
    ),
    SimulatedDesign("core_streams", [Drawn(24), Blank(24)], lambda given, _: {1: np.cumsum(given, dtype=np.int32)}),
    SimulatedDesign(
        "control_write",
        [control_packets((WRITE, 1024, [5, -6, 7, 8]), (WRITE, LOCK_3, [1])), Blank(4)],
        lambda *_: {1: np.array([10, -12, 14, 16], np.int32)},
    ),
    SimulatedDesign(
        "control_batch",
        [control_packets((WRITE, 1024, [5, -6, 7, 8]), (WRITE, LOCK_3, [1]), stream=6), Blank(4)],
        lambda *_: {1: np.array([5, -6, 7, 8], np.int32)},
    ),
    SimulatedDesign(
        "control_read",
        [control_packets((READ, 1024 + 2 * 4, [0] * 4)), Blank(4)],
        lambda *_: {1: np.array([4, 1, 5, 9], np.int32)},
    ),
    SimulatedDesign("tile_tokens", [Drawn(32), Blank(32)], lambda given, _: {1: flat(rows(given, 16)[::-1])}, runs=2),
    SimulatedDesign(
        "reconfigure",
        [Drawn(16), Blank(16), Blank(16)],
        lambda given, *_: {1: given * 3, 2: flat((given * 3).reshape(4, 4).T)},
        sequence="both",
    ),
    SimulatedDesign(
        "runtime_count",
        [Drawn(16), Blank(256), 11],
        lambda given, out, count: {1: flat(np.tile(given, count), out[16 * count :])},
    ),
    SimulatedDesign("runtime_choice", [Drawn(32), Blank(16), 1, 1], lambda given, *_: {1: given[16:]}, runs=2),
    SimulatedDesign("runtime_parameter", [Drawn(32), Blank(32), -3, 1000], lambda given, *_: {1: given * -3 + 1000}),
    SimulatedDesign(
        "external_kernel",
        [Drawn(64, np.int16), Blank(64, np.int16)],
        lambda given, _: {1: flat(np.sort(rows(given, 16)))},
        kernels={"sort": sort},
    ),
    SimulatedDesign(
        "scratchpad",
        [Drawn(16), Blank(16)],
        lambda given, _: {1: given * 7 + 5},
        scratchpad={"times": 7, "plus": 5},
    ),
    SimulatedDesign("channel_reset", [Blank(8)], lambda _: {0: np.array([1, 1, 2, 3, 5, 8, 13, 21], np.int32)}),
    SimulatedDesign(
        "core_restart",
        [Drawn(16), Blank(16)],
        lambda given, _: {1: flat(rows(given) + np.array([[100], [200]], np.int32))},
    ),
    SimulatedDesign(
        "packet_broadcast",
        [Drawn(48), Blank(48), Blank(48)],
        lambda given, *_: {1: given, 2: flat(given.reshape(2, 3, 8).transpose(0, 2, 1))},
    ),
    SimulatedDesign("fifo_reshaped", [Drawn(96), Blank(96)], _tiles),
    SimulatedDesign(
        "vector_floats",
        [Drawn(64, np.float32), Blank(64, np.float32)],
        lambda given, _: {1: np.maximum(given * np.float32(0.25), 0)},
    ),
    SimulatedDesign("memory_writes", [Blank(4)], lambda _: {0: np.array([1, 2, 0x12345F7F, 4], np.int32)}),
    SimulatedDesign("mem_tile_neighbour", [Drawn(48), Blank(48)], lambda given, _: {1: given}),
]
