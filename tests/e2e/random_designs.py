"""Random designs: objectFifos between random tiles, with depths, links and broadcasts, and cores that use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tilewright.device import DeviceModel, TileId, model

DEVICES = "npu1", "npu1_2col", "npu2", "npu2_4col"
MOST_WORDS = 512


@dataclass(frozen=True)
class Fifo:
    """An objectFifo of elements of so many words."""

    name: str
    producer: TileId
    consumers: tuple[TileId, ...]
    depth: int
    words: int

    def text(self) -> str:
        consumers = ", ".join(f"%{tile_name(tile)}" for tile in self.consumers)
        element = f"!aie.objectfifo<{self.element}>"
        return (
            f"aie.objectfifo @{self.name}(%{tile_name(self.producer)}, {{{consumers}}}, {self.depth} : i32) : {element}"
        )

    @property
    def element(self) -> str:
        return f"memref<{self.words}xi32>"


@dataclass(frozen=True)
class Link:
    """A mem tile passes on what comes in; parts of it, or from parts, where there are several on one side."""

    inputs: tuple[Fifo, ...]
    outputs: tuple[Fifo, ...]

    def text(self) -> str:
        sources, targets = (", ".join(f"@{f.name}" for f in side) for side in (self.inputs, self.outputs))
        joined, split = (_offsets(side) if len(side) > 1 else [] for side in (self.inputs, self.outputs))
        return f"aie.objectfifo.link [{sources}] -> [{targets}] ({joined} {split})"


def _offsets(fifos: Sequence[Fifo]) -> list[int]:
    return [sum(fifo.words for fifo in fifos[:number]) for number in range(len(fifos))]


@dataclass
class RandomDesign:
    device: str
    fifos: list[Fifo] = field(default_factory=list[Fifo])
    links: list[Link] = field(default_factory=list[Link])

    @property
    def model(self) -> DeviceModel:
        return model(self.device)

    @property
    def linked(self) -> set[str]:
        return {fifo.name for link in self.links for fifo in (*link.inputs, *link.outputs)}

    def text(self) -> str:
        tiles = sorted({tile for fifo in self.fifos for tile in (fifo.producer, *fifo.consumers)})
        lines = [f"%{tile_name(tile)} = aie.tile({tile.column}, {tile.row})" for tile in tiles]
        lines += [fifo.text() for fifo in self.fifos] + [link.text() for link in self.links]
        for tile in tiles:
            if self.model.is_core_tile(*tile):
                lines += self._core(tile)
        return "\n  ".join([f"aie.device({self.device}) {{", *lines]) + "\n}\n"

    def _core(self, tile: TileId) -> Iterator[str]:
        """A core that takes one element of each of its fifos and gives it back, over and over."""
        ends = [(fifo, "Produce") for fifo in self.fifos if fifo.producer == tile]
        ends += [(fifo, "Consume") for fifo in self.fifos if tile in fifo.consumers]
        yield f"aie.core(%{tile_name(tile)}) {{"
        yield "  %c0 = arith.constant 0 : index"
        yield "  %c1 = arith.constant 1 : index"
        yield "  %many = arith.constant 1000 : index"
        yield "  scf.for %n = %c0 to %many step %c1 {"
        for number, (fifo, port) in enumerate(ends):
            view = f"!aie.objectfifosubview<{fifo.element}>"
            yield f"    %v{number} = aie.objectfifo.acquire @{fifo.name}({port}, 1) : {view}"
            yield f"    %e{number} = aie.objectfifo.subview.access %v{number}[0] : {view} -> {fifo.element}"
            yield f"    %x{number} = memref.load %e{number}[%c0] : {fifo.element}"
            yield f"    memref.store %x{number}, %e{number}[%c0] : {fifo.element}"
        for fifo, port in ends:
            yield f"    aie.objectfifo.release @{fifo.name}({port}, 1)"
        yield "  }"
        yield "  aie.end"
        yield "}"


def tile_name(tile: TileId) -> str:
    return f"t{tile.column}_{tile.row}"


@st.composite
def random_designs(draw: st.DrawFn, most: int = 8) -> RandomDesign:
    design = RandomDesign(draw(st.sampled_from(DEVICES)))
    for number in range(draw(st.integers(1, most))):
        if draw(st.integers(0, 3)):
            design.fifos.append(draw(plain_fifos(design.model, f"f{number}")))
        else:
            link = draw(links(design.model, f"l{number}"))
            design.links.append(link)
            design.fifos += [*link.inputs, *link.outputs]
    return design


@st.composite
def plain_fifos(draw: st.DrawFn, device: DeviceModel, name: str) -> Fifo:
    """From any tile to one or more others; one at most is a shim tile, as sequences find it by the fifo's name."""
    tiles = list(device.tiles)
    producer = draw(st.sampled_from(tiles))
    others = [tile for tile in tiles if tile != producer and not (producer.row == 0 and tile.row == 0)]
    count = draw(st.sampled_from([1, 1, 1, 2, 3]))
    drawn = draw(st.lists(st.sampled_from(others), min_size=1, max_size=count, unique=True))
    shims = [tile for tile in drawn if tile.row == 0]
    consumers = [tile for tile in drawn if tile not in shims[1:]]
    return Fifo(name, producer, tuple(consumers), draw(st.integers(1, 4)), draw(words()))


def words() -> st.SearchStrategy[int]:
    return st.integers(1, MOST_WORDS // 8).map(lambda count: 8 * count)


@st.composite
def links(draw: st.DrawFn, device: DeviceModel, name: str) -> Link:
    """Plain, split or joined in a mem tile."""
    mem = TileId(draw(st.integers(0, device.columns - 1)), 1)
    cores = [tile for tile in device.tiles if device.is_core_tile(*tile)]
    parts = draw(st.integers(1, 4))
    ends = draw(st.lists(st.sampled_from(cores), min_size=parts, max_size=parts, unique=True))
    shim = TileId(draw(st.integers(0, device.columns - 1)), 0)
    depth, size = draw(st.integers(1, 3)), draw(words())
    whole = f"{name}_whole"
    if draw(st.booleans()):
        outputs = tuple(Fifo(f"{name}_{n}", mem, (end,), depth, size) for n, end in enumerate(ends))
        return Link((Fifo(whole, shim, (mem,), depth, parts * size),), outputs)
    inputs = tuple(Fifo(f"{name}_{n}", end, (mem,), depth, size) for n, end in enumerate(ends))
    return Link(inputs, (Fifo(whole, mem, (shim,), depth, parts * size),))
