"""Random designs with object FIFOs, as text: tiles anywhere, broadcasts, links of all kinds, repeats, depths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st

COLUMNS, ROWS = 4, 6


class Place(NamedTuple):
    column: int
    row: int

    @property
    def is_shim(self) -> bool:
        return self.row == 0

    @property
    def is_mem(self) -> bool:
        return self.row == 1

    def __str__(self) -> str:
        return f"%t_{self.column}_{self.row}"


@dataclass
class Fifo:
    name: str
    producer: Place
    consumers: list[Place]
    depths: list[int]
    elements: int
    attributes: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def repeats(self) -> int:
        return int(self.attributes.get("repeat_count", "1 :").split()[0])

    def __str__(self) -> str:
        consumers = ", ".join(map(str, self.consumers))
        depth = f"{self.depths[0]} : i32" if len(self.depths) == 1 else f"{self.depths}"
        attributes = ", ".join(f"{name} = {value}" for name, value in self.attributes.items())
        return (
            f"aie.objectfifo @{self.name}({self.producer}, {{{consumers}}}, {depth}) {{{attributes}}} "
            f": !aie.objectfifo<memref<{self.elements}xi32>>"
        )


@dataclass
class Link:
    inputs: list[Fifo]
    outputs: list[Fifo]
    offsets: list[int]

    def __str__(self) -> str:
        inputs, outputs = (", ".join(f"@{fifo.name}" for fifo in fifos) for fifos in (self.inputs, self.outputs))
        src, dst = (self.offsets, []) if len(self.inputs) > 1 else ([], self.offsets)
        return f"aie.objectfifo.link [{inputs}] -> [{outputs}]({src} {dst})"


@dataclass
class Graph:
    fifos: list[Fifo]
    links: list[Link]

    @property
    def places(self) -> list[Place]:
        return sorted({place for fifo in self.fifos for place in (fifo.producer, *fifo.consumers)})

    def __str__(self) -> str:
        tiles = [f"{place} = aie.tile({place.column}, {place.row})" for place in self.places]
        lines = [*tiles, *map(str, self.fifos), *map(str, self.links)]
        return "\n  ".join(["aie.device(npu1) {", *lines]) + "\n}\n"


places = st.builds(Place, st.integers(0, COLUMNS - 1), st.integers(0, ROWS - 1))
cores = st.builds(Place, st.integers(0, COLUMNS - 1), st.integers(2, ROWS - 1))
mems = st.builds(Place, st.integers(0, COLUMNS - 1), st.just(1))


class Drawing:
    """Draws one graph, FIFO by FIFO."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.fifos: list[Fifo] = []
        self.links: list[Link] = []

    def fifo(self, producer: Place | None = None, consumer: Place | None = None, elements: int | None = None) -> Fifo:
        draw = self.draw
        producer = draw(places) if producer is None else producer
        others = places.filter(lambda place: not (place.is_shim and producer.is_shim))
        consumers = draw(st.lists(others, min_size=1, max_size=2, unique=True)) if consumer is None else [consumer]
        count = draw(st.sampled_from([1, 1 + len(consumers)]))
        depths = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
        elements = draw(st.integers(1, 32)) if elements is None else elements
        fifo = Fifo(f"f{len(self.fifos)}", producer, consumers, depths, elements)
        if draw(st.booleans()):
            fifo.attributes["via_DMA"] = "true"
        self.fifos.append(fifo)
        return fifo

    def single(self) -> None:
        fifo = self.fifo()
        if not fifo.producer.is_shim and self.draw(st.booleans()):
            fifo.attributes["repeat_count"] = f"{self.draw(st.integers(1, 4))} : i32"

    def link(self) -> None:
        """FIFOs that meet in a tile: one to one, or parts of one that go to or come from several."""
        draw = self.draw
        kind = draw(st.sampled_from(["plain", "join", "distribute"]))
        tile = draw(mems) if kind != "plain" else draw(st.one_of(mems, cores))
        parts = draw(st.lists(st.integers(1, 16), min_size=2, max_size=3)) if kind != "plain" else []
        elsewhere = st.one_of(cores, mems).filter(lambda place: place != tile)
        whole = sum(parts) or None
        if kind == "join":
            inputs = [self.fifo(draw(elsewhere), tile, part) for part in parts]
            outputs = [self.fifo(tile, draw(elsewhere), whole)]
        else:
            inputs = [self.fifo(draw(elsewhere), tile, whole)]
            outputs = [self.fifo(tile, draw(elsewhere), part) for part in parts] or [self.fifo(tile, draw(elsewhere))]
        if draw(st.booleans()):
            repeats = f"{draw(st.integers(1, 3))} : i32"
            for output in outputs:
                output.attributes["repeat_count"] = repeats
        offsets = [sum(parts[:number]) for number in range(len(parts))]
        self.links.append(Link(inputs, outputs, offsets))

    def graph(self) -> Graph:
        for _ in range(self.draw(st.integers(1, 3))):
            self.single() if self.draw(st.booleans()) else self.link()
        return Graph(self.fifos, self.links)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    return Drawing(draw).graph()
