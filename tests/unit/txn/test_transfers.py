"""Intent of a stream: transfers, waits, and what two streams do differently."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.cli.main import main
from tilewright.device import DEVICES, DeviceName, DmaDirection
from tilewright.device.bd import ShimBd
from tilewright.report.transfers_page import transfers_html
from tilewright.txn.containers import Patch, PatchKind
from tilewright.txn.intent_diff import compare
from tilewright.txn.intent_text import intent_lines
from tilewright.txn.opcodes import LAYOUTS
from tilewright.txn.transfers import StepKind, intent_of

NPU2 = DEVICES[DeviceName.npu2]
HEADER = txn.Header(device_generation=4, columns=8)
MM2S, S2MM = DmaDirection.MM2S, DmaDirection.S2MM


def transfer(column: int, direction: DmaDirection, bd: int = 0, offset: int = 0, **fields: int) -> list[txn.Operation]:
    """A descriptor, the argument it is about, and the push; a token for what goes to the host."""
    at = NPU2.bd_address(column, 0, bd)
    words = ShimBd.encode(**{"buffer_length": 1024, "valid_bd": 1, **fields})
    token = 0x80000000 if direction is S2MM else 0
    return [
        txn.block_write(at, words),
        txn.address_patch(at + 4, int(direction is S2MM), offset),
        txn.write(NPU2.task_queue_address(column, 0, direction, 0), token | bd),
    ]


def copies(columns: int = 4, bd: int = 0, **fields: int) -> txn.Stream:
    """What goes into each column and comes out of it again, and waits for all that comes out."""
    ops = [txn.block_write(NPU2.tile_address(0, 2, 0x400), [1, 2, 3])]
    for column in range(columns):
        ops += transfer(column, MM2S, bd, 4096 * column, **fields)
        ops += transfer(column, S2MM, bd + 1, 4096 * column)
    return txn.Stream.of(HEADER, [*ops, *(txn.sync(column, 0, S2MM, 0) for column in range(columns))])


def lines_of(stream: txn.Stream) -> list[str]:
    return list(intent_lines(intent_of(stream)))


def difference(left: txn.Stream, right: txn.Stream) -> list[str]:
    return list(compare(intent_of(left), intent_of(right)).lines())


def test_a_stream_reads_as_what_it_is_for():
    assert lines_of(copies(d0_wrap=4, d0_step=64)) == [
        "npu2: 13 steps, 8 transfers",
        "argument 0: 16384 bytes read, 0 written, by 4 transfers",
        "argument 1: 0 bytes read, 16384 written, by 4 transfers",
        " 0  core(0,2) gets 3 words at Memory+0x400",
        " 3  4 times, up to operation 24:",
        "      shim(0..3,0) MM2S0 reads 1024 words of argument 0 from byte 0 (+4096 each time), d0 4x64",
        "      shim(0..3,0) S2MM0 writes 1024 words of argument 1 from byte 0 (+4096 each time), with a token",
        "25  4 times, up to operation 28:",
        "      shim(0..3,0) S2MM0: wait for a token",
    ]


def test_a_transfer_is_done_by_its_wait():
    intent = intent_of(copies(columns=1))
    read, written = intent.transfers
    assert (read.done_by, written.done_by) == (None, 7)
    assert intent.unused == 0


def test_a_poll_that_sees_a_channel_idle_is_a_wait():
    status = NPU2.tile_address(0, 0, 0x1D228)
    poll = txn.Operation(txn.Opcode.MASKPOLL, address=status, value=0, mask=0x780000)
    intent = intent_of(txn.Stream.of(HEADER, [*transfer(0, MM2S), *transfer(0, MM2S, 1), poll]))
    assert [step.done_by for step in intent.transfers] == [6, 6]
    assert intent.steps[-1].sentence == "shim(0,0) MM2S0: wait until no task is queued or running"


def test_a_descriptor_is_what_it_was_when_it_was_pushed():
    both = [*transfer(0, MM2S, buffer_length=5), *transfer(0, MM2S, buffer_length=7)]
    intent = intent_of(txn.Stream.of(HEADER, both))
    assert [step.words for step in intent.transfers] == [5, 7]


def test_a_chain_is_one_transfer():
    first = transfer(0, MM2S, 3, buffer_length=8, use_next_bd=1, next_bd=4)
    ops = [*transfer(0, MM2S, 4, buffer_length=2)[:2], *first]
    (step,) = intent_of(txn.Stream.of(HEADER, ops)).transfers
    assert (step.words, [part.bd for part in step.parts]) == (10, [3, 4])
    assert "; then reads 2 words of argument 0" in step.sentence


def test_what_was_configured_before_is_said_to_be():
    push = txn.write(NPU2.task_queue_address(0, 1, MM2S, 2), 5)
    stream = txn.Stream.of(HEADER, [push, txn.sync(0, 1, MM2S, 2)])
    assert [step.sentence for step in intent_of(stream).steps] == [
        "mem(0,1) MM2S2 sends what BD5 says (from before)",
        "mem(0,1) MM2S2: wait for a token, which nothing here has sent",
    ]


def test_addresses_that_a_host_loads_are_arguments():
    """An ELF file has them beside its stream: here for the first word behind the header of the stream and the block."""
    block, _, push = transfer(0, MM2S, buffer_length=8)
    stream = txn.Stream.of(HEADER, [block, push])
    patch = Patch(offset=4 * (4 + 4), kind=PatchKind.SHIM_DMA_48, buffer="4", addend=64, size=0)
    (step,) = intent_of(stream, [patch]).transfers
    assert step.sentence == "shim(0,0) MM2S0 reads 8 words of argument 1 from byte 64"


def test_one_stride_is_one_difference():
    wide, narrow = (copies(columns=6, d1_wrap=4, d1_step=step) for step in (2048, 4096))
    assert difference(wide, narrow) == ["same program, d1 stride 2048 -> 4096 in 6 transfers"]


def test_numbers_of_descriptors_are_no_difference():
    assert difference(copies(bd=0), copies(bd=6)) == ["same program"]


def test_values_that_follow_a_rule_are_said_by_it():
    def reads(scale: int) -> txn.Stream:
        ops = (transfer(column, MM2S, offset=scale * (4096 * column + 64)) for column in range(6))
        return txn.Stream.of(HEADER, [op for found in ops for op in found])

    assert difference(reads(1), reads(2)) == ["same program, offset * 2 in 6 transfers"]


def test_more_transfers_are_told_from_others():
    assert difference(copies(columns=2), copies(columns=4)) == [
        "other programs, 6 steps only in the second",
        "  + shim(2..3,0) MM2S0 reads 1024 words of argument 0 from byte 8192 (+4096 each time)",
        "  + shim(2..3,0) S2MM0 writes 1024 words of argument 1 from byte 8192 (+4096 each time), with a token",
        "  + shim(2..3,0) S2MM0: wait for a token",
    ]


def test_another_order_is_said_to_be():
    first, second = transfer(0, MM2S), transfer(1, MM2S)
    streams = [txn.Stream.of(HEADER, ops) for ops in ([*first, *second], [*second, *first])]
    assert difference(*streams) == ["same program, in another order"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 7), st.sampled_from([MM2S, S2MM]), st.integers(0, 15), st.integers(0, 9), st.booleans()
        ),
        max_size=24,
    )
)
def test_every_push_is_one_transfer_and_no_stream_differs_from_itself(pushes):
    """Whatever order they are in, and whatever repeats: steps keep their operations, and lines say all of them."""
    ops = []
    for column, direction, bd, length, waits in pushes:
        ops += transfer(column, direction, bd, buffer_length=length)
        ops += [txn.sync(column, 0, direction, 0)] if waits else []
    stream = txn.Stream.of(HEADER, ops)
    intent = intent_of(stream)
    assert [step.words for step in intent.transfers] == [length for *_, length, _ in pushes]
    assert sum(step.kind is StepKind.WAIT for step in intent.steps) == sum(waits for *_, waits in pushes)
    assert all(a.operation < b.operation for a, b in zip(intent.steps, intent.steps[1:], strict=False))
    assert not difference(stream, stream)[1:]
    assert len(intent.transfers) == len(pushes) and lines_of(stream)[0].startswith("npu2: ")


OFFSETS = (0x1D004, 0x1D204, 0x1D214, 0x1DE04, 0xA0000, 0xA0604, 0xA0660, 0x1D220, 0xB0000, 0x400)
REGISTERS = [NPU2.tile_address(*tile, offset) for tile in ((0, 0), (1, 1), (7, 3)) for offset in OFFSETS]
ANYTHING = st.builds(
    lambda opcode, address, numbers, payload: txn.Operation(
        opcode,
        payload if opcode == txn.Opcode.BLOCKWRITE else None,
        **{
            name: address if name == "address" else number & bits.limits[-1]
            for (name, bits), number in zip(LAYOUTS[0, 1][opcode].fields.items(), numbers, strict=False)
        },
    ),
    st.sampled_from(sorted(LAYOUTS[0, 1])),
    st.sampled_from(REGISTERS),
    st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(ANYTHING, max_size=12))
def test_nothing_is_too_odd_to_be_told(ops):
    """Descriptors that no tile has, chains without an end, waits for no tile: all of it has a line."""
    stream = txn.Stream.of(HEADER, ops)
    intent = intent_of(stream)
    assert len(list(intent_lines(intent))) > 0
    assert difference(stream, stream) == ["same program"]
    assert transfers_html(intent, "odd").endswith("</html>\n")


@pytest.fixture
def files(tmp_path):
    made = {"left.bin": copies(d1_wrap=4, d1_step=2048), "right.bin": copies(d1_wrap=4, d1_step=4096)}
    for name, stream in made.items():
        (tmp_path / name).write_bytes(txn.encode(stream).tobytes())
    return [str(tmp_path / name) for name in made]


def test_commands_show_intent(files, capsys):
    assert main(["txn", "dis", "--level", "3", files[0]]) == 0
    assert capsys.readouterr().out.splitlines() == lines_of(copies(d1_wrap=4, d1_step=2048))
    assert main(["txn", "dis", "--level", "3", "--json", files[0]]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [step["kind"] for step in shown["steps"]][:3] == ["data", "transfer", "transfer"]
    assert shown["steps"][1]["descriptors"][0]["host"] == {"argument": 0, "offset": 0}
    assert main(["txn", "stat", "--transfers", "--json", files[0]]) == 0
    assert json.loads(capsys.readouterr().out)[files[0]]["bytes_read_of_argument_0"] == 16384


def test_diff_says_what_differs_before_it_shows_where(files, capsys):
    assert main(["txn", "diff", *files]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert (first, second) == ("same program, d1 stride 2048 -> 4096 in 4 transfers", "operation 1")
    assert main(["txn", "diff", "--summary", "--json", *files]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["same_program"] and shown["changes"][0]["what"] == "d1 stride"
    assert main(["diff", *files]) == 1
    assert "same program, d1 stride 2048 -> 4096 in 4 transfers" in capsys.readouterr().out


def test_a_device_that_is_not_known_is_refused(tmp_path, capsys):
    path = tmp_path / "odd.bin"
    path.write_bytes(txn.encode(txn.Stream.of(txn.Header(columns=99), [txn.write(0, 1)])).tobytes())
    assert main(["txn", "dis", "--level", "3", str(path)]) == 1
    assert "no device that is known" in capsys.readouterr().err


def test_the_page_draws_transfers_and_escapes_names(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "<script>alert(1)<_script>.bin"
    odd.write_bytes((tmp_path / "left.bin").read_bytes())
    assert main(["txn", "dis", odd.name, "--html", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert page.count("operation 3: shim(0,0) MM2S0 reads 1024 words of argument 0 from byte 0, d1 4x2048") == 1
    assert "http" not in page.replace("http://www.w3.org", "")
    assert '<section id="array"' in page and '<section id="order"' in page
