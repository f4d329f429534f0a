"""Random designs with a sequence that feeds and drains them: whatever comes of it, it comes of it every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st
from random_designs import Fifo, RandomDesign, random_designs, tile_name

from tilewright.device import TileId


@dataclass
class RandomRun(RandomDesign):
    """A design whose fifos from and to the host move `rounds` elements each, in one transfer or two."""

    rounds: int = 1
    split: bool = False
    columns_first: bool = False
    waits: bool = True
    _bds: Counter[TileId] = field(default_factory=Counter[TileId])

    def text(self) -> str:
        return super().text().rstrip().removesuffix("}") + "\n  ".join(self._sequence()) + "\n}\n"

    @property
    def host_fifos(self) -> list[Fifo]:
        return [fifo for fifo in self.fifos if _shim(fifo) is not None]

    def sizes(self) -> list[int]:
        """Words of each host buffer, one for each fifo."""
        return [fifo.words * self.rounds for fifo in self.host_fifos]

    def _core(self, tile: TileId) -> Iterator[str]:
        """A core that puts what it took in, and how often it did, into what it gives."""
        gives = [fifo for fifo in self.fifos if fifo.producer == tile]
        takes = [fifo for fifo in self.fifos if tile in fifo.consumers]
        yield f"aie.core(%{tile_name(tile)}) {{"
        yield "  %c0 = arith.constant 0 : index"
        yield "  %c1 = arith.constant 1 : index"
        yield "  %many = arith.constant 1000 : index"
        yield "  scf.for %n = %c0 to %many step %c1 {"
        yield "    %s0 = arith.index_cast %n : index to i32"
        for number, fifo in enumerate(takes):
            yield from _acquire(fifo, "Consume", number)
            yield f"    %x{number} = memref.load %e{number}[%c0] : {fifo.element}"
            yield f"    %s{number + 1} = arith.addi %s{number}, %x{number} : i32"
        for number, fifo in enumerate(gives, len(takes)):
            yield from _acquire(fifo, "Produce", number)
            yield f"    memref.store %s{len(takes)}, %e{number}[%c0] : {fifo.element}"
        for fifo in takes:
            yield f"    aie.objectfifo.release @{fifo.name}(Consume, 1)"
        for fifo in gives:
            yield f"    aie.objectfifo.release @{fifo.name}(Produce, 1)"
        yield "  }"
        yield "  aie.end"
        yield "}"

    def _sequence(self) -> Iterator[str]:
        arguments = [f"%a{n}: memref<{size}xi32>" for n, size in enumerate(self.sizes())]
        yield f"  aie.runtime_sequence @run({', '.join(arguments)}) {{"
        drained = list[str]()
        for number, fifo in enumerate(self.host_fifos):
            for offset, length in self._parts(fifo.words * self.rounds):
                yield f"  {self._transfer(number, fifo, offset, length)}"
                if fifo.producer.row:
                    drained.append(fifo.name)
        if self.waits:
            for name in drained:
                yield f"  aiex.npu.dma_wait {{symbol = @{name}}}"
        yield "}"

    def _parts(self, words: int) -> list[tuple[int, int]]:
        half = words // 16 * 8
        return [(0, half), (half, words - half)] if self.split and half else [(0, words)]

    def _transfer(self, number: int, fifo: Fifo, offset: int, length: int) -> str:
        shim = _shim(fifo)
        assert shim is not None
        bd, self._bds[shim] = self._bds[shim], self._bds[shim] + 1
        sizes, strides = f"1, 1, 1, {length}", "0, 0, 0, 1"
        if self.columns_first and length % 8 == 0:
            sizes, strides = f"1, 1, 8, {length // 8}", "0, 0, 1, 8"
        token = "" if fifo.producer.row == 0 else ", issue_token = true"
        return (
            f"aiex.npu.dma_memcpy_nd(%a{number}[0, 0, 0, {offset}][{sizes}][{strides}]) "
            f"{{id = {bd} : i64, metadata = @{fifo.name}{token}}} : memref<{fifo.words * self.rounds}xi32>"
        )


def _shim(fifo: Fifo) -> TileId | None:
    return next((tile for tile in (fifo.producer, *fifo.consumers) if tile.row == 0), None)


def _acquire(fifo: Fifo, port: str, number: int) -> Iterator[str]:
    view = f"!aie.objectfifosubview<{fifo.element}>"
    yield f"    %v{number} = aie.objectfifo.acquire @{fifo.name}({port}, 1) : {view}"
    yield f"    %e{number} = aie.objectfifo.subview.access %v{number}[0] : {view} -> {fifo.element}"


@st.composite
def random_runs(draw: st.DrawFn) -> RandomRun:
    design = draw(random_designs(most=5))
    return RandomRun(
        design.device,
        design.fifos,
        design.links,
        rounds=draw(st.integers(1, 4)),
        split=draw(st.booleans()),
        columns_first=draw(st.booleans()),
        waits=draw(st.sampled_from([True, True, True, False])),
    )
