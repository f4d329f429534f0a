"""Descriptors of random designs, written by a configuration, hold what the designs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import pytest
from configuration_streams import CORE, EAST, MEM, NPU2, registers_after, stream_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.device import DmaDirection, TileId
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.register_fields import fields_at


def descriptor_at(contents: Mapping[int, int], tile: TileId, number: int) -> dict[str, int]:
    layout, first = BD_LAYOUTS[NPU2.tile_type(*tile)], NPU2.bd_address(*tile, number)
    return layout.decode([contents[first + 4 * word] for word in range(layout.words)])


@dataclass
class Descriptor:
    """A descriptor to be written down as a program, and what its fields have to be. Elements are words."""

    number: int
    buffer: str
    window_bytes: int
    offset: int
    dimensions: Sequence[tuple[int, int]]  # innermost first
    lock: tuple[int, int, int] | None  # number, amount to acquire, amount to release
    lock_window: int
    packet: tuple[int, int] | None
    following: int | None

    def text(self) -> str:
        sizes, strides = ([str(d[part]) for d in reversed(self.dimensions)] for part in (0, 1))
        attributes = [f"bd_id = {self.number} : i32"]
        if self.packet is not None:
            attributes.append("packet = #aie.packet_info<pkt_type = {}, pkt_id = {}>".format(*self.packet))
        if self.following is not None:
            attributes.append(f"next_bd_id = {self.following} : i32")
        pattern = f"sizes = [{', '.join(sizes)}] strides = [{', '.join(strides)}]" if sizes else ""
        bd = f"aie.dma_bd(%{self.buffer} : memref<4096xi32> offset = {self.offset} len = {self.length} {pattern})"
        bd += f" {{{', '.join(attributes)}}}"
        if self.lock is None:
            return bd
        number, acquired, released = self.lock
        uses = f"%lock{number}, AcquireGreaterEqual, {acquired}", f"%lock{number}, Release, {released}"
        return f"aie.use_lock({uses[0]})\n{bd}\naie.use_lock({uses[1]})"

    @property
    def length(self) -> int:
        return prod(size for size, _ in self.dimensions) if self.dimensions else 64

    def expected(self) -> dict[str, int]:
        fields = {"valid_bd": 1, "buffer_length": self.length, "address": (self.window_bytes + 4096) // 4 + self.offset}
        for number, (size, stride) in enumerate(self.dimensions):
            fields |= {f"d{number}_wrap": size, f"d{number}_step": stride}
        if self.lock is not None:
            number, acquired, released = self.lock
            fields |= {"lock_acq_id": self.lock_window + number, "lock_acq_value": -acquired, "lock_acq_enable": 1}
            fields |= {"lock_rel_id": self.lock_window + number, "lock_rel_value": released}
        if self.packet is not None:
            fields |= {"enable_packet": 1, "packet_type": self.packet[0], "packet_id": self.packet[1]}
        if self.following is not None:
            fields |= {"use_next_bd": 1, "next_bd": self.following}
        return fields


@st.composite
def descriptors(draw: st.DrawFn, tile: TileId) -> list[Descriptor]:
    """Descriptors of one tile, with numbers of their own."""
    is_mem = tile == MEM
    numbers = draw(st.lists(st.integers(0, 23 if is_mem else 15), min_size=1, max_size=5, unique=True))
    size, stride = st.integers(1, 8), st.integers(1, 60)
    made = list[Descriptor]()
    for number in numbers:
        east = is_mem and draw(st.booleans())
        window = (0x100000 if east else 0x80000) if is_mem else 0
        dimensions = draw(st.lists(st.tuples(size, stride), max_size=4 if is_mem else 3))
        lock = draw(st.none() | st.tuples(st.integers(0, 15), st.integers(1, 63), st.integers(1, 63)))
        made.append(
            Descriptor(
                number,
                "east" if east else "own",
                window,
                draw(st.integers(0, 99)),
                dimensions,
                lock,
                64 if is_mem else 0,
                draw(st.none() | st.tuples(st.integers(0, 7), st.integers(0, 31))),
                draw(st.none() | st.sampled_from(numbers)),
            )
        )
    return made


def dma_text(tile: TileId, bds: Sequence[Descriptor]) -> str:
    """A design whose one channel runs the descriptors one after the other."""
    kind, place = ("memtile_dma", MEM) if tile == MEM else ("mem", CORE)
    locks = "\n".join(f"%lock{number} = aie.lock(%tile, {number})" for number in range(16))
    blocks = "\n".join(f"^bd{i}:\n{bd.text()}\naie.next_bd ^bd{i + 1}" for i, bd in enumerate(bds))
    return f"""
      aie.device(npu2) {{
        %tile = aie.tile{place[0], place[1]}
        %neighbour = aie.tile{EAST[0], EAST[1]}
        %own = aie.buffer(%tile) {{address = 4096 : i32}} : memref<4096xi32>
        %east = aie.buffer(%neighbour) {{address = 4096 : i32}} : memref<4096xi32>
        {locks}
        aie.{kind}(%tile) {{
          %0 = aie.dma_start(MM2S, 0, ^bd0, ^bd{len(bds)}, repeat_count = 9)
          {blocks}
        ^bd{len(bds)}:
          aie.end
        }}
      }}"""


@pytest.mark.parametrize("tile", [CORE, MEM], ids=["core tile", "mem tile"])
@settings(max_examples=20)
@given(data=st.data())
def test_descriptors_read_back(tile: TileId, data: st.DataObject):
    bds = data.draw(descriptors(tile))
    contents = registers_after(stream_of(dma_text(tile, bds)))
    layout = BD_LAYOUTS[NPU2.tile_type(*tile)]
    for bd in bds:
        held = {name: value for name, value in bd.expected().items() if name in layout.fields}  # no outermost wrap
        assert descriptor_at(contents, tile, bd.number) == layout.decode([0] * layout.words) | held
    queue = fields_at(NPU2, address := NPU2.task_queue_address(*tile, DmaDirection.MM2S, 0), contents[address])
    assert queue == {"enable_token_issue": 0, "repeat_count": 10, "start_bd_id": bds[0].number}
