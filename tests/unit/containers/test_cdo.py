"""CDO files: a header with a checksum, then commands; they are read as written, and damage is told by its place."""

from __future__ import annotations

import struct
from unittest.mock import patch

import numpy as np
import pytest
from container_files import CORE, ELFS_CDO, NOP, cdo, words
from hypothesis import given
from hypothesis import strategies as st

from tilewright import txn
from tilewright.containers import differences as comparison
from tilewright.containers.cdo import FIELDS, Cdo, CdoOpcode, Command, cdo_of, listing
from tilewright.support.structure import ContainerError, Span

NOTHING = 0x00000111  # a command without words


def words_of(cdo: Cdo) -> list[int]:
    data = cdo.write()
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def test_a_cdo_is_never_empty():
    assert words_of(cdo_of([])) == [4, 0x004F4443, 0x200, 1, 0xFFFFFFFF - (4 + 0x004F4443 + 0x200 + 1), NOTHING]


def test_single_registers():
    operations = [txn.write(0x0203F010, 0x8000000E), txn.mask_write(0x1F004, 0x10, 0x30)]
    assert words_of(cdo_of(operations))[6:] == [0x30108, 0, 0x0203F010, 0x8000000E, 0x40107, 0, 0x1F004, 0x30, 0x10]


@pytest.mark.parametrize(
    "count, command, rest",
    [
        pytest.param(4, [0x60105], 0, id="length in the command"),
        pytest.param(252, [0xFE0105], 0, id="longest of those"),
        pytest.param(253, [0xFF0105, 255], 1, id="length in a word of its own, which the driver does not count yet"),
        pytest.param(254, [0xFF0105, 256], 0, id="length in a word of its own"),
    ],
)
def test_blocks_are_aligned(count: int, command: list[int], rest: int):
    payload = list(range(1, count + 1))
    words = words_of(cdo_of([txn.block_write(0x21D000, payload)]))
    start = words.index(1, 6)
    assert start % 4 == rest
    assert words[start:] == payload
    assert words[start - 2 - len(command) : start] == [*command, 0, 0x21D000]


def test_words_with_their_upper_bytes_first():
    made = cdo_of([txn.write(0x1000, 0x12345678)])
    assert made.write(is_big_endian=True)[-4:] == bytes.fromhex("12345678")
    assert made.write()[-4:] == bytes.fromhex("78563412")


def test_only_registers_can_be_configured():
    with pytest.raises(ValueError, match="TCT is not an operation on registers"):
        cdo_of([txn.sync(0, 0, 0, 0)])


def test_a_file_is_read_as_it_is_written():
    read = Cdo.read(Span(ELFS_CDO))
    assert [command.name for command in read.commands] == ["NOP", "MASK_WRITE_64", "NOP", "DMA_WRITE"]
    assert read.commands[1].fields == {"address_high": 0, "address": CORE | 0x32000, "mask": 1, "value": 0}
    assert read.write() == ELFS_CDO
    assert read.cores() == [{"column": 0, "row": 2, "program_bytes": 32}]


def test_a_changed_field_is_written():
    read = Cdo.read(Span(ELFS_CDO))
    read.commands[1].fields["value"] = 1
    assert read.write() == ELFS_CDO.replace(words(CORE | 0x32000, 1, 0), words(CORE | 0x32000, 1, 1))


def test_commands_go_by_the_names_of_registers():
    commands = Cdo.read(Span(ELFS_CDO)).to_json()["commands"]
    assert [(it["command"], it["tile"], it["register"]) for it in commands] == [
        ("mask_write_64", [0, 2], "Core.control"),
        ("dma_write", [0, 2], "Program+0x0"),
    ]


def test_what_the_driver_prints():
    lines = [*listing(cdo_of([txn.write(0x1000, 5), txn.block_write(0x2000, [7, 8])]))]
    assert lines == [
        "(NOP Command): Payload Length: 0 ",
        "(Write64): Address:  0x0000000000001000 Data:  0x00000005  ",
        "(NOP Command): Payload Length: 2 ",
        "(BlockWrite-DMAWriteCmd): Start Address: 0x0000000000002000  Size: 2",
        "    Address: 0x0000000000002000  Data@ 0x40 is: 0x00000007 ",
        "    Address: 0x0000000000002004  Data@ 0x44 is: 0x00000008 ",
        "",
    ]


WORD = st.integers(0, 0xFFFFFFFF)
COMMANDS = st.sampled_from([*FIELDS]).flatmap(
    lambda opcode: st.builds(
        Command,
        st.just(opcode),
        st.fixed_dictionaries(dict.fromkeys(FIELDS[opcode], WORD)),
        st.one_of(st.integers(0, 9), st.integers(250, 256)).map(lambda size: bytes(range(4)) * size)
        if opcode in (CdoOpcode.DMA_WRITE, CdoOpcode.NOP)
        else st.just(b""),
    )
)


@given(st.lists(COMMANDS, max_size=8))
def test_any_commands_come_back(commands: list[Command]):
    written = Cdo(commands).write()
    read = Cdo.read(Span(written))
    assert read.commands == commands and read.write() == written


@given(st.lists(st.one_of(st.builds(txn.write, WORD, WORD), st.builds(txn.mask_write, WORD, WORD, WORD))))
def test_operations_become_commands_that_do_the_same(operations: list[txn.Operation]):
    assert cdo_of(operations).operations() == operations


@pytest.mark.parametrize(
    "data, offset, message",
    [
        pytest.param(ELFS_CDO[:10], 0, "the CDO header takes 20 bytes", id="cut in the header"),
        pytest.param(ELFS_CDO[:-4], 20, "the CDO's body takes", id="cut in the body"),
        pytest.param(ELFS_CDO + NOP, len(ELFS_CDO), "4 bytes follow the CDO", id="something behind it"),
        pytest.param(ELFS_CDO[:16] + words(0) + ELFS_CDO[20:], 16, "the checksum of the CDO header is", id="checksum"),
        pytest.param(cdo(NOP, words(0x222)), 24, "command 0x222 is none that is known", id="command"),
        pytest.param(cdo(words(0x00020108, 0, 0)), 20, "a WRITE_64 of 2 words, which takes 3", id="too short"),
        pytest.param(cdo(words(0x00030105, 0, 0)), 24, "a DMA_WRITE of 3 words takes 12 bytes", id="beyond the end"),
    ],
)
def test_damage_is_told_by_its_place(data: bytes, offset: int, message: str):
    with pytest.raises(ContainerError, match=message) as error:
        Cdo.read(Span(data))
    assert error.value.offset == offset
    with pytest.raises(ContainerError) as error:
        Cdo.read(Span(data, 0x1000))
    assert error.value.offset == 0x1000 + offset


def test_a_poll_has_its_operation():
    fields = {"address": 0x1000, "mask": 1, "value": 1, "timeout": 10}
    (operation,) = Cdo([Command(CdoOpcode.MASK_POLL, fields)]).operations()
    assert operation.opcode == txn.Opcode.MASKPOLL and np.array_equal(operation.payload, [])


WRITES = st.lists(st.builds(txn.write, st.sampled_from([0x1D000, 0x1D004, 0x203F010]), st.integers(0, 2)), max_size=12)


@given(left=WRITES, right=WRITES, most=st.sampled_from([0, 9, 1000]))
def test_differences_are_commands_that_differ(left: list[txn.Operation], right: list[txn.Operation], most: int) -> None:
    """Also of lists that are too long to be aligned."""
    with patch("tilewright.txn.analysis.MOST_ALIGNED", most):
        found = [*comparison.differences(cdo_of(left), cdo_of(right))]
    assert all(it.left != it.right for it in found)
    assert bool(found) == (left != right)
