"""Registers by name and field: text that says what words hold, and gives them back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.cli.main import main
from tilewright.device import DEVICES, DeviceName, DmaDirection, TileId
from tilewright.device.bd import BD_LAYOUTS, ShimBd
from tilewright.device.register_fields import layout_at
from tilewright.txn.register_text import descriptor_text
from tilewright.txn.text import TextError, assemble, disassemble

NPU2 = DEVICES[DeviceName.npu2]
HEADER = txn.Header(device_generation=4, columns=8)
WORD = st.integers(0, 2**32 - 1)
TILES = [TileId(0, 0), TileId(3, 1), TileId(7, 5)]


def lines(*operations: txn.Operation) -> list[str]:
    return list(disassemble(txn.Stream.of(HEADER, operations), by_register=True))[1:]


def again(text: list[str]) -> txn.Stream:
    return assemble("\n".join(["txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1", *text]))


def test_a_descriptor_reads_as_what_it_moves():
    words = ShimBd.encode(
        buffer_length=4096, d0_wrap=4, d0_step=64, use_next_bd=1, next_bd=4, valid_bd=1,
        lock_acq_enable=1, lock_acq_id=2, lock_acq_value=-1,
    )  # fmt: skip
    at = NPU2.bd_address(0, 0, 3)
    shown = lines(
        txn.block_write(at, words),
        txn.address_patch(at + 4, 0, 128),
        txn.write(NPU2.task_queue_address(0, 0, DmaDirection.MM2S, 0), 0x80030003),
        txn.sync(0, 0, 0, 1, columns=4),
        txn.write(NPU2.tile_address(0, 2, 0x1F010), 2),
        txn.mask_write(NPU2.tile_address(0, 2, 0x1DE00), 0x1B00, 0xFF00),
    )
    assert shown == [
        "shim(0,0) BD3: length 4096, d0 4x64, next BD4, acquire lock 2 >= 1",
        "shim(0,0) BD3: address is argument 0 + 128",
        "shim(0,0) MM2S0: push BD3, 4 times, token",
        "wait shim(0,0) S2MM1 columns 4 rows 1",
        "write core(0,2) Lock1: lock_value 2",
        "maskwrite core(0,2) DMA.S2MM0.control: controller_id 27",
    ]


def test_several_descriptors_of_one_block_are_set_apart():
    words = [*BD_LAYOUTS[NPU2.tile_type(3, 1)].encode(buffer_length=5, valid_bd=1), *[0] * 8]
    assert lines(txn.block_write(NPU2.bd_address(3, 1, 7), words)) == ["mem(3,1) BD7..8: length 5; length 0, invalid"]


@pytest.mark.parametrize("tile", TILES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_descriptor_comes_back(tile: TileId, data: st.DataObject):
    """Also one whose fields contradict each other, and one with bits that have no names."""
    layout = BD_LAYOUTS[NPU2.tile_type(*tile)]
    sparse = st.builds(lambda a, b, c: a & b & c, WORD, WORD, WORD)
    words = data.draw(st.lists(st.one_of(WORD, sparse, st.just(0)), min_size=layout.words, max_size=layout.words))
    text = descriptor_text(NPU2.tile_type(*tile))
    assert text.read(text.say(words)) == words


REGISTERS = [
    NPU2.tile_address(*tile, offset)
    for tile in TILES
    for offset in range(0, 1 << 20, 4)
    if layout_at(NPU2, NPU2.tile_type(*tile), offset)
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(REGISTERS), WORD, WORD, st.sampled_from(["write", "mask", "poll", "patch", "wait"]))
def test_any_register_comes_back(address: int, value: int, mask: int, kind: str):
    ops = {
        "write": [txn.write(address, value), txn.write(address, value & mask)],
        "mask": [txn.mask_write(address, value & mask, mask), txn.mask_write(address, value, 0xFF00)],
        "poll": [txn.Operation(txn.Opcode.MASKPOLL, address=address, value=value & 0x780000, mask=0x780000)],
        "patch": [txn.address_patch(address, value & 7, mask)],
        "wait": [txn.sync(value & 15, mask & 7, value & 1, mask >> 8 & 15, value >> 8 & 3, 1)],
    }[kind]
    stream = txn.Stream.of(HEADER, ops)
    assert (txn.encode(again(lines(*ops))) == txn.encode(stream)).all()


@pytest.mark.parametrize(
    "line, reason",
    [
        ("shim(0,0) BD3: length 5, length 6", "its bits were given before"),
        ("shim(0,0) BD3: lenght 5", "nothing is called 'lenght 5' here"),
        ("shim(0,0) BD3: d0 4096x1", "d0_wrap must be in"),
        ("shim(0,0) BD99: length 5", "has no BD99"),
        ("shim(0,0) BD3..4: length 5", "2 descriptors need as many texts"),
        ("shim(0,0) BD3: d2 4x1", "there is no d2_wrap here"),
        ("mem(0,1) BD3: length 5, address 0x81", "multiples of 4"),
        ("mem(0,1) BD3: address is argument 0 + 4", "no BD3 with a host address"),
        ("shim(0,0) BD3: length 5, word0 0x1", "these bits have names"),
        ("shim(9,0) BD3: length 5", "the device has no shim(9,0)"),
        ("shim(0,0) S2MM7: push BD0", "has no channel S2MM7"),
        ("shim(0,0) BD3: length 5 [0x00000001]", "leave out those in brackets"),
        ("shim(0,0) something: length 5", "expected 'TILE BD0: ...'"),
        ("write core(0,2) Memory+0x40: value 3", "give it a number"),
        ("wait for ever", "expected"),
    ],
)
def test_what_says_nothing_is_refused(line: str, reason: str):
    with pytest.raises(TextError) as error:
        again([line])
    assert error.value.line == 2
    assert reason in error.value.reason


def test_fields_that_are_not_said_stay(tmp_path, capsys):
    """Padding that some tools leave in operations, and a header that pads."""
    ops = [
        txn.Operation(txn.Opcode.WRITE, address=0x1D214, value=3, op_column=7, pad=9),
        txn.Operation(txn.Opcode.MERGE_SYNC, [], value=3),
        txn.Operation(txn.Opcode.BLOCKWRITE, [1] * 8, address=0x1D000, op_row=3),
    ]
    path, back = tmp_path / "insts.bin", tmp_path / "again.bin"
    path.write_bytes(txn.encode(txn.Stream.of(HEADER, ops)).tobytes())
    assert main(["txn", "dis", "--level", "2", str(path)]) == 0
    text = tmp_path / "insts.txt"
    text.write_text(capsys.readouterr().out)
    assert "push BD3 {op_column = 0x7, pad = 0x9}" in text.read_text()
    assert main(["txn", "asm", str(text), "-o", str(back)]) == 0
    assert back.read_bytes() == path.read_bytes()
