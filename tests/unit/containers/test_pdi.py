"""PDIs of NPUs: headers with checksums around one CDO, plain or transformed, and how CDO files become one."""

from __future__ import annotations

import pytest
from container_files import CORE, ELFS_CDO, ENABLE_CDO, INIT_CDO, PROGRAM, pdi, transformed_pdi, words
from hypothesis import given
from hypothesis import strategies as st

from tilewright import txn
from tilewright.containers.cdo import Cdo, CdoOpcode, cdo_of
from tilewright.containers.differences import differences
from tilewright.containers.pdi import DATA_AT, Pdi, pdi_from_cdos
from tilewright.support.structure import ContainerError, Span

FILES = [Cdo.read(Span(data)) for data in (ELFS_CDO, INIT_CDO, ENABLE_CDO)]


def test_cdo_files_become_a_pdi():
    """Short forms where the address has 32 bits, and a NOP for the block's new place."""
    assert pdi_from_cdos(FILES).write() == pdi()


@pytest.mark.parametrize("data", [pdi(), transformed_pdi()], ids=["plain", "transformed"])
def test_a_file_is_read_as_it_is_written(data: bytes):
    read = Pdi.read(Span(data))
    assert read.write() == data
    assert (read.image.name, read.table.id_code) == ("aie_image", 0x14CA8093)
    assert [command.name for command in read.cdo.effective] == ["MASK_WRITE", "DMA_WRITE", "WRITE", "MASK_WRITE"]
    assert read.cdo.cores() == [{"column": 0, "row": 2, "program_bytes": len(PROGRAM)}]


def test_a_transformed_file_lacks_its_last_bytes_which_read_as_zeros():
    (block,) = (it for it in Pdi.read(Span(transformed_pdi())).cdo.commands if it.opcode == CdoOpcode.DMA_WRITE)
    assert block.data == PROGRAM[:-20] + bytes(20)


def test_both_forms_do_the_same_but_for_what_is_lost():
    found = [*differences(Pdi.read(Span(pdi())), Pdi.read(Span(transformed_pdi())))]
    assert [it.place for it in found] == ["transformed", "command 1"]
    assert "core(0,2) Program+0xc: 0x100f0e0d against 0x00000000" in found[1].meanings


def test_a_changed_field_is_written_with_its_checksum():
    read = Pdi.read(Span(pdi()))
    read.image.name = "other"
    read.cdo.effective[2].fields["value"] = 9
    again = Pdi.read(Span(read.write()))
    assert again.image.name == "other" and again.cdo.effective[2].fields["value"] == 9
    assert again.write() != pdi()


PAYLOADS = st.lists(st.tuples(st.integers(0, 0xFFFF).map(lambda n: 4 * n), st.integers(2, 300)), min_size=1, max_size=6)


@given(PAYLOADS)
def test_the_blocks_of_one_file_lie_as_their_destinations_do(blocks: list[tuple[int, int]]):
    """Counted in the file's own encoding, with its header: place and address of data agree modulo 16 bytes."""
    made = pdi_from_cdos([cdo_of(txn.block_write(CORE + at, list(range(size))) for at, size in blocks)])
    position = 5
    for command in made.cdo.commands:
        if command.opcode == CdoOpcode.DMA_WRITE:
            data = position + command.words - len(command.data) // 4
            assert data % 4 == command.fields["address"] // 4 % 4
        position += command.words
    assert Pdi.read(Span(made.write())).write() == made.write()


def test_a_block_of_one_word_becomes_a_write():
    made = pdi_from_cdos([cdo_of([txn.block_write(0x1000, [7])])])
    assert [command.name for command in made.cdo.effective] == ["WRITE"]


def changed(at: int, *numbers: int, data: bytes = b"") -> bytes:
    data = data or pdi()
    return data[:at] + words(*numbers) + data[at + 4 * len(numbers) :]


@pytest.mark.parametrize(
    "data, offset, message",
    [
        pytest.param(pdi()[:0x40], 0x10, "the image header table takes 128 bytes", id="cut"),
        pytest.param(changed(0x28, 1), 0x8C, "the checksum of the ImageHeaderTable", id="id code"),
        pytest.param(changed(0xA0, 1), 0xCC, "the checksum of the ImageHeader", id="name"),
        pytest.param(changed(0xD4, 1), 0x14C, "the checksum of the PartitionHeader", id="length"),
        pytest.param(changed(0x10, 0xAA995566), 0x10, "a PDI with a boot header", id="one that boots"),
        pytest.param(pdi() + bytes(4), len(pdi()), "the file goes on behind its partition", id="longer"),
        pytest.param(changed(DATA_AT + 20, 0x999), DATA_AT + 20, "command 0x999", id="a command"),
        pytest.param(changed(0x148, 1, data=transformed_pdi()), 0x148, "the mark of a transformed PDI", id="mark"),
        pytest.param(changed(0x164, 9, data=transformed_pdi()), 0x164, "a group of commands 9", id="group"),
        pytest.param(transformed_pdi()[:-8], 0x188, "a block of 32 bytes at 0x0 of the data, which has 4", id="data"),
    ],
)
def test_damage_is_told_by_its_place(data: bytes, offset: int, message: str):
    with pytest.raises(ContainerError, match=message) as error:
        Pdi.read(Span(data))
    assert error.value.offset == offset
