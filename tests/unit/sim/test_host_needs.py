"""How large the host buffers of a stream must be is read off its descriptors, when they are pushed."""

from __future__ import annotations

import numpy as np
import pytest
from bare_streams import BD_BYTES, BDS, READ_BD, READ_QUEUE, binary, loopback, patch
from elf_files import Reloc, elf_file
from hypothesis import given
from hypothesis import strategies as st

from tilewright import txn
from tilewright.device import DEVICES
from tilewright.device.bd import ShimBd
from tilewright.device.descriptors import PAD, read_descriptor
from tilewright.device.enums import DeviceName
from tilewright.sim.host_needs import needed_bytes
from tilewright.txn.containers import read_container

MODEL = DEVICES[DeviceName.npu2_1col]
PLAIN = {"d0_step": 1, "d1_step": 1, "d2_step": 1, "iteration_step": 1, "iteration_wrap": 1, "valid_bd": 1}


def needs(data: bytes) -> dict[int, int]:
    return needed_bytes(read_container(data).code(), MODEL)


def bd_words(**fields: int) -> list[int]:
    return ShimBd.encode(**{**PLAIN, **fields})


def pushed(bd: int = READ_BD) -> txn.Operation:
    return txn.write(READ_QUEUE, bd)


def written(bd: int, **fields: int) -> txn.Operation:
    return txn.block_write(BDS + BD_BYTES * bd, bd_words(**fields))


@pytest.mark.parametrize(
    "operations, expected",
    [
        pytest.param(loopback(64), {0: 256, 2: 256}, id="two arguments"),
        pytest.param(loopback(64, written=80), {0: 256, 2: 320}, id="of different sizes"),
        pytest.param([written(1, buffer_length=8), patch(1, 0)], {0: 0}, id="what is never pushed cannot be told"),
        pytest.param(
            [written(1, buffer_length=8, use_next_bd=1, next_bd=2), patch(1, 0), written(2, buffer_length=9),
             patch(2, 1), pushed()], {0: 32, 1: 36}, id="a chain"),
        pytest.param(
            [written(1, buffer_length=8, iteration_wrap=4, iteration_step=100), patch(1, 0), pushed()], {0: 1232},
            id="all iterations"),
        pytest.param(
            [written(1, buffer_length=8, d0_wrap=2, d0_step=3, d1_step=50), patch(1, 0), pushed()], {0: 616},
            id="a pattern: 3 steps of 50 words, and one of 3"),
        pytest.param(
            [written(1, buffer_length=8), txn.address_patch(BDS + 36, 6, 0x80000010), pushed()], {6: 48},
            id="an offset that is folded"),
    ],
)  # fmt: skip
def test_needs(operations: list[txn.Operation], expected: dict[int, int]) -> None:
    assert needs(binary(operations)) == expected


def test_relocations_say_whose_a_descriptor_is() -> None:
    """In a file that the host patches the operations for that mean nothing."""
    data = binary([written(1, buffer_length=8), patch(1, 7), pushed()])
    first_payload = 4 * (4 + 4)
    file = elf_file({".ctrltext": data}, [Reloc(".ctrltext", first_payload, "4", addend=16)])
    assert needs(file) == {1: 48}


@given(
    st.integers(1, 200), st.lists(st.tuples(st.integers(0, 6), st.integers(1, 20)), min_size=2, max_size=2),
    st.integers(1, 20), st.integers(1, 4), st.integers(1, 50),
)  # fmt: skip
def test_reach_is_no_less_than_what_is_touched(
    length: int, inner: list[tuple[int, int]], outer: int, iterations: int, step: int
) -> None:
    (wrap0, step0), (wrap1, step1) = inner
    pattern = {"d0_wrap": wrap0, "d0_step": step0, "d1_wrap": wrap1, "d1_step": step1, "d2_step": outer}
    words = bd_words(buffer_length=length, iteration_wrap=iterations, iteration_step=step, **pattern)
    descriptor = read_descriptor(MODEL.tile_type(0, 0), words)
    addresses = descriptor.addresses()
    low, high = descriptor.reach(0)
    assert low == addresses[addresses != PAD].min() and high >= addresses.max() + 4
    if wrap0 == wrap1 == 0:
        assert high == addresses.max() + 4
    assert np.array_equal(descriptor.reach(iterations - 1), np.add((low, high), 4 * step * (iterations - 1)))
