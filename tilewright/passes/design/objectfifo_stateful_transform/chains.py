"""Which descriptors the DMA of an end runs: one for each buffer, in order, round and round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import SSAValue

from tilewright.device import DeviceModel, DmaDirection, LockAction
from tilewright.dialects.aie.data_layout import element_count
from tilewright.passes.design.objectfifo_stateful_transform.ends import End
from tilewright.passes.design.objectfifo_stateful_transform.links import Slice
from tilewright.passes.design.objectfifo_stateful_transform.locks import pair_of
from tilewright.passes.design.objectfifo_stateful_transform.storage import Storage


class LockUse(NamedTuple):
    """A lock, and the value that a descriptor or a core acquires or releases it with."""

    lock: SSAValue
    action: LockAction
    value: int


class Descriptor(NamedTuple):
    """One move of a part of a buffer: offset and length in elements, and the locks around it."""

    buffer: SSAValue
    offset: int
    length: int
    acquire: LockUse | None
    release: LockUse | None


@dataclass(frozen=True)
class Chain:
    """Descriptors that a channel runs one after the other."""

    descriptors: list[Descriptor]
    repeat_count: int = 0
    """How often the channel runs them again."""
    stops: bool = False
    """Whether it stops behind the last one, instead of going on with the first."""


class ChainPlanner:
    """Plans the chains of a device, by the kind of its locks."""

    def __init__(self, model: DeviceModel):
        self.uses_semaphores = model.architecture.semaphore_locks

    def plan(self, end: End) -> Chain | None:
        """What the DMA of an end does; none where the runtime sequence drives it."""
        if end.is_shim:
            return self._shim_chain(end)
        if not end.depth or end.storage is None:
            return None
        repeats, iterations = end.repeat_count or 1, end.iter_count if end.is_mem else None
        slices, buffers = _slices(end), [buffer.buffer for buffer in end.storage.buffers]
        in_hardware = repeats > 1 and len(buffers) == len(slices) == 1 and iterations is None
        copies = 1 if in_hardware else repeats
        descriptors = [
            self._descriptor(end, end.storage, buffer, number, part)
            for number, buffer in enumerate(buffers)
            for _ in range(copies)
            for part in slices
        ]
        if iterations is not None:
            return Chain(descriptors, repeat_count=iterations - 1, stops=True)
        return Chain(descriptors, repeat_count=repeats - 1 if in_hardware else 0)

    def _shim_chain(self, end: End) -> Chain | None:
        storage = end.own_storage
        if not end.external_buffers or storage is None:
            return None
        parts = [(buffer, Slice(0, element_count(buffer.type) or 0, 0)) for buffer in end.external_buffers]
        return Chain([self._descriptor(end, storage, buffer, n, part) for n, (buffer, part) in enumerate(parts)])

    def _descriptor(self, end: End, storage: Storage, buffer: SSAValue, number: int, part: Slice) -> Descriptor:
        acquire, release = self._lock_uses(end, storage, number, part.branch)
        return Descriptor(buffer, part.offset, part.length, acquire, release)

    def _lock_uses(
        self, end: End, storage: Storage, number: int, branch: int
    ) -> tuple[LockUse, LockUse] | tuple[None, None]:
        if not storage.locks:
            return None, None
        sends = end.direction is DmaDirection.MM2S
        if not self.uses_semaphores:
            lock = storage.locks[number].result
            acquire = LockUse(lock, LockAction.Acquire, int(sends))
            return acquire, LockUse(lock, LockAction.Release, int(not sends))
        empty, full = pair_of(storage.locks, branch)
        first, last = (full, empty) if sends else (empty, full)
        value = _uses_per_element(end)
        return (
            LockUse(first.result, LockAction.AcquireGreaterEqual, value),
            LockUse(last.result, LockAction.Release, value),
        )


def _uses_per_element(end: End) -> int:
    """An element that the outputs of a link send several times counts as often where it comes in."""
    link = end.link
    return (link.repeat_count or 1) if link is not None and end in link.inputs else 1


def _slices(end: End) -> Sequence[Slice]:
    """What each descriptor moves of a buffer; the owner of a join or distribute moves the parts one by one."""
    link, length = end.link, end.element_count
    if link is None:
        return [Slice(0, length, 0)]
    if link.branches and link.owner is end:
        return link.slices
    part = link.slice_of(end)
    if part is not None:
        return [part]
    # Whole buffers, even if the end's own elements are smaller; an output that pads sends more than the buffers hold.
    return [Slice(0, max(length, link.owner.element_count), 0)]
