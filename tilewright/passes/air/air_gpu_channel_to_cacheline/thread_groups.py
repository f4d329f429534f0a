"""Groups of threads that do a transfer together: one wave, all waves of a herd, or all threads of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

from xdsl.ir import SSAValue

from tilewright.dialects.air.levels import HerdOp
from tilewright.dialects.gpu.attributes import Dimension
from tilewright.dialects.gpu.ids import BlockDimOp, ThreadIdOp
from tilewright.dialects.gpu.lanes import BarrierOp
from tilewright.passes.air.wave_lanes import lane_id, wave_fence
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int


class ThreadGroup(Protocol):
    """Threads that do a transfer together."""

    @property
    def wave_size(self) -> int: ...

    def number(self, emitter: Emitter) -> SSAValue:
        """Which of them this one is, from 0 on."""
        ...

    def count(self, emitter: Emitter) -> SSAValue: ...

    def meet(self, emitter: Emitter) -> None:
        """All wait for each other, and see what the others have written."""
        ...

    def lead_wave(self, emitter: Emitter, act: Callable[[Emitter], None]) -> None:
        """Have one wave of them act."""
        ...

    def rejoin(self, emitter: Emitter) -> None:
        """The others go on when the wave that acted has read what it needs."""
        ...


def lead(group: ThreadGroup, emitter: Emitter, act: Callable[[Emitter], None]) -> None:
    """Have one thread of them act."""
    emitter.when(emitter.compare("eq", group.number(emitter), emitter.index(0)), act)


@dataclass(frozen=True)
class WaveGroup:
    """One processing element, for itself."""

    wave_size: int

    def number(self, emitter: Emitter) -> SSAValue:
        return lane_id(emitter)

    def count(self, emitter: Emitter) -> SSAValue:
        return emitter.index(self.wave_size)

    def meet(self, emitter: Emitter) -> None:
        # lanes run in step; on NVIDIA's GPUs, where they do not, the fence is lowered to a barrier of the wave
        wave_fence(emitter)

    def lead_wave(self, emitter: Emitter, act: Callable[[Emitter], None]) -> None:
        act(emitter)

    def rejoin(self, emitter: Emitter) -> None: ...


class _SeveralWaves:
    """Waves of one block, which meet at its barrier."""

    def meet(self, emitter: Emitter) -> None:
        emitter.insert(BarrierOp.create())

    def rejoin(self, emitter: Emitter) -> None:
        self.meet(emitter)


@dataclass(frozen=True)
class HerdGroup(_SeveralWaves):
    """All processing elements of a herd of more than one."""

    herd: HerdOp
    wave_size: int

    def _element(self, emitter: Emitter) -> SSAValue:
        """The number of the processing element, the first dimension counting fastest."""
        number = emitter.index(0)
        # as air-to-rocdl lays out the waves of a block, x first
        for identity, size in reversed(list(zip(self.herd.ids, self._sizes(emitter), strict=True))):
            number = emitter.folded_sum(emitter.folded_product(number, size), identity)
        return number

    def _sizes(self, emitter: Emitter) -> list[SSAValue]:
        """The shape of the herd, as numbers where it is known."""
        known = [scalar_int(size) for size in self.herd.extents]
        return [
            argument if number is None else emitter.index(number)
            for number, argument in zip(known, self.herd.size_arguments, strict=True)
        ]

    def number(self, emitter: Emitter) -> SSAValue:
        first = emitter.folded_product(self._element(emitter), emitter.index(self.wave_size))
        return emitter.folded_sum(first, lane_id(emitter))

    def count(self, emitter: Emitter) -> SSAValue:
        return reduce(emitter.folded_product, self._sizes(emitter), emitter.index(self.wave_size))

    def lead_wave(self, emitter: Emitter, act: Callable[[Emitter], None]) -> None:
        emitter.when(emitter.compare("eq", self._element(emitter), emitter.index(0)), act)


@dataclass(frozen=True)
class BlockGroup(_SeveralWaves):
    """All threads of a block, outside of its herds; the first ones are a wave."""

    wave_size: int

    def number(self, emitter: Emitter) -> SSAValue:
        x, y = (emitter.value(ThreadIdOp(dimension)) for dimension in (Dimension.X, Dimension.Y))
        # air-to-rocdl makes blocks of two dimensions, as herds have
        width = emitter.value(BlockDimOp(Dimension.X))
        return emitter.folded_sum(emitter.folded_product(y, width), x)

    def count(self, emitter: Emitter) -> SSAValue:
        width, height = (emitter.value(BlockDimOp(dimension)) for dimension in (Dimension.X, Dimension.Y))
        return emitter.folded_product(width, height)

    def lead_wave(self, emitter: Emitter, act: Callable[[Emitter], None]) -> None:
        emitter.when(emitter.compare("ult", self.number(emitter), emitter.index(self.wave_size)), act)


def group_of(herd: HerdOp | None, is_for_each: bool, wave_size: int) -> ThreadGroup:
    """The threads that transfer in a herd, or outside of one; `is_for_each` if each processing element has its own."""
    if herd is None:
        return BlockGroup(wave_size)
    if is_for_each or all(scalar_int(size) == 1 for size in herd.extents):
        return WaveGroup(wave_size)
    return HerdGroup(herd, wave_size)
