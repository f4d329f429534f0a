"""CDO files: a header with a checksum, then commands, whose blocks begin at multiples of 16 bytes."""

from __future__ import annotations

import struct

import pytest

from tilewright import txn
from tilewright.codegen.cdo import Cdo

NOTHING = 0x00000111  # a command without words


def words_of(cdo: Cdo) -> list[int]:
    data = cdo.to_bytes()
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def test_a_cdo_is_never_empty():
    assert words_of(Cdo.of([])) == [4, 0x004F4443, 0x200, 1, 0xFFFFFFFF - (4 + 0x004F4443 + 0x200 + 1), NOTHING]


def test_single_registers():
    operations = [txn.write(0x0203F010, 0x8000000E), txn.mask_write(0x1F004, 0x10, 0x30)]
    assert words_of(Cdo.of(operations))[6:] == [0x30108, 0, 0x0203F010, 0x8000000E, 0x40107, 0, 0x1F004, 0x30, 0x10]


@pytest.mark.parametrize(
    "count, command",
    [
        pytest.param(4, [0x60105], id="length in the command"),
        pytest.param(252, [0xFE0105], id="longest of those"),
        pytest.param(253, [0xFF0105, 255], id="length in a word of its own"),
    ],
)
def test_blocks_are_aligned(count: int, command: list[int]):
    payload = list(range(1, count + 1))
    words = words_of(Cdo.of([txn.block_write(0x21D000, payload)]))
    start = words.index(1, 6)
    assert start % 4 == 0
    assert words[start:] == payload
    assert words[start - 2 - len(command) : start] == [*command, 0, 0x21D000]


def test_words_with_their_upper_bytes_first():
    cdo = Cdo.of([txn.write(0x1000, 0x12345678)])
    assert cdo.to_bytes(big_endian=True)[-4:] == bytes.fromhex("12345678")
    assert cdo.to_bytes()[-4:] == bytes.fromhex("78563412")


def test_only_registers_can_be_configured():
    with pytest.raises(ValueError, match="TCT is not an operation on registers"):
        Cdo.of([txn.sync(0, 0, 0, 0)])
