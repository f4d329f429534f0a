"""Two transfers at the same words: a fault when the result depends on chance, silence when it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import tilewright as tw
from tilewright.device import DmaDirection
from tilewright.device.descriptors import PAD, Addresses
from tilewright.ir.run_errors import Fault
from tilewright.sim.faults import FaultKind, FaultLevel, FaultPolicy
from tilewright.sim.memory_watch import MemoryWatch, check_written, fresh_memory


@dataclass(eq=False)
class Mover:
    """A channel that is told how far it is."""

    direction: DmaDirection
    transfer: str
    moved: int = 0


def words(first: int, count: int) -> Callable[[], Addresses]:
    return lambda: np.arange(first, first + count, dtype=np.int64) * 4


@pytest.fixture
def watch() -> MemoryWatch:
    return MemoryWatch(FaultPolicy(), "address {:#x}".format)


def writer(name: str = "W") -> Mover:
    return Mover(DmaDirection.S2MM, name)


def reader(name: str = "R") -> Mover:
    return Mover(DmaDirection.MM2S, name)


def test_a_writer_that_ends_amid_another_one(watch: MemoryWatch) -> None:
    first, second = writer("first"), writer("second")
    watch.begin(first, words(0, 8))
    watch.begin(second, words(4, 8))
    first.moved, second.moved = 8, 3
    with pytest.raises(Fault, match="first writes address 0x10 while second, which writes it, is not done") as fault:
        watch.end(first)
    assert fault.value.kind is FaultKind.UNORDERED_WRITES


def test_a_writer_whose_words_the_other_one_has_yet_to_come_to(watch: MemoryWatch) -> None:
    first, second = writer("first"), writer("second")
    watch.begin(first, words(4, 4))
    watch.begin(second, words(0, 8))
    first.moved, second.moved = 4, 4
    watch.end(first)


def test_a_writer_that_ends_before_all_is_sent(watch: MemoryWatch) -> None:
    sends, fills = reader(), writer()
    watch.begin(sends, words(0, 8))
    watch.begin(fills, words(0, 8))
    sends.moved, fills.moved = 7, 8
    with pytest.raises(Fault, match="W writes address 0x1c while R, which reads it, is not done"):
        watch.end(fills)


def test_data_that_goes_round_and_comes_back_to_where_it_was(watch: MemoryWatch) -> None:
    """Each word is written after it was read, though both transfers are in flight all the time."""
    sends, fills = reader(), writer()
    watch.begin(sends, words(0, 8))
    watch.begin(fills, words(0, 8))
    sends.moved, fills.moved = 8, 8
    watch.end(sends)
    watch.end(fills)


def test_a_reader_that_begins_amid_a_writer(watch: MemoryWatch) -> None:
    fills = writer()
    watch.begin(fills, words(0, 8))
    fills.moved = 2
    watch.begin(reader("later words"), words(2, 6))
    with pytest.raises(Fault, match="R reads address 0x4 while W, which writes it, is not done"):
        watch.begin(reader(), words(1, 1))


def test_what_is_done_or_given_up_is_no_hazard(watch: MemoryWatch) -> None:
    first, second = writer(), writer()
    for mover in (first, second):
        watch.begin(mover, words(0, 8))
        mover.moved = 8
    watch.forget(second)
    watch.end(first)
    watch.begin(reader(), words(0, 8))


def test_padding_is_nobodys_memory(watch: MemoryWatch) -> None:
    pads, sends = writer(), reader()
    watch.begin(pads, lambda: np.array([PAD, 4], dtype=np.int64))
    watch.begin(sends, lambda: np.array([PAD, 0, 8], dtype=np.int64))
    pads.moved = 2
    watch.end(pads)


def test_unwritten_words_are_told_from_written_ones() -> None:
    policy = FaultPolicy({FaultKind.UNWRITTEN_MEMORY: FaultLevel.FAULT})
    memory, offsets = fresh_memory(64, policy).view(np.uint32), np.arange(0, 64, 4, dtype=np.int64)
    memory[:15] = 0
    with pytest.raises(Fault, match=r"R reads 1 words of the tile that nobody has written, the first at 0x3c"):
        check_written(memory, offsets, "the tile", policy, "R")
    check_written(memory[:15], offsets[:15], "the tile", policy, "R")


def test_memory_is_zero_unless_unwritten_words_are_looked_for() -> None:
    assert not fresh_memory(64, FaultPolicy()).any()


COPY = """aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @in_place(%a: memref<256xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<256xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<256xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
"""


def test_a_design_that_works_in_place_runs_clean() -> None:
    array = np.arange(256, dtype=np.int32)
    assert not tw.compile(COPY).run(array, model="plain").notes
    assert np.array_equal(array, np.arange(256))
