"""TXN streams go round: words -> operations -> words, and operations -> words -> operations."""

import contextlib
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from bare_streams import bare, loopback
from drawn_streams import FORMATS, PADDING, WORD, operations
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.device import DEVICES, DeviceName
from tilewright.txn.codec import unread_mask, without_unread
from tilewright.txn.intent_text import intent_lines
from tilewright.txn.lint import lint
from tilewright.txn.opcodes import LAYOUTS
from tilewright.txn.transfers import intent_of

# Words written down from the format's description, not by our encoder: npu1, one WRITE, one TCT.
GOLDEN_WORDS = [
    *(0x06030100, 0x00000104, 2, 56),
    *(0, 0, 0x0001D214, 0, 0x80000003, 24),
    *(0x80, 16, 0x00010200, 0x03010100),
]
GOLDEN_OPERATIONS = [txn.write(0x1D214, 0x80000003), txn.sync(1, 2, 0, 3)]


def filled(version: tuple[int, int], op: txn.Operation) -> txn.Operation:
    """The operation with every field of its layout, as decoding gives it."""
    layout = LAYOUTS[version][op.opcode]
    payload = op.payload if len(op.payload) else np.zeros(layout.default_payload_words, np.uint32)
    return txn.Operation(op.opcode, payload, **{name: op.fields.get(name, 0) for name in layout.fields})


def test_words_of_known_operations():
    stream = txn.Stream.of(txn.Header(), GOLDEN_OPERATIONS)
    assert txn.encode(stream).tolist() == GOLDEN_WORDS


def test_operations_of_known_words():
    stream = txn.decode(np.array(GOLDEN_WORDS, dtype=np.uint32))
    assert (stream.header.device_generation, stream.header.columns, stream.header.rows) == (3, 4, 6)
    assert list(stream.operations) == [filled((0, 1), op) for op in GOLDEN_OPERATIONS]
    assert stream.operations[0].address == 0x1D214


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(FORMATS).flatmap(lambda it: st.tuples(st.just(it), st.lists(operations(it), max_size=12))))
def test_every_opcode_goes_round(case: tuple[txn.Header, list[txn.Operation]]):
    format, ops = case
    stream = txn.Stream.of(format, ops)
    words = txn.encode(stream)
    again = txn.decode(words.tobytes())
    assert list(again.operations) == ops
    assert again.header == format or txn.Opcode.DDR_PATCH not in again.groups
    assert (txn.encode(again) == words).all()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMATS).flatmap(lambda it: st.tuples(st.just(it), st.lists(operations(it), max_size=6))))
def test_bits_that_nothing_reads_are_padding(case: tuple[txn.Header, list[txn.Operation]]):
    """Without them a stream has the same operations on the same registers, and no padding."""
    format, ops = case
    words = txn.encode(txn.Stream.of(format, ops))
    again = txn.decode(words & ~unread_mask(txn.decode(words)))
    assert [op.opcode for op in again.operations] == [op.opcode for op in ops]
    for op, kept in zip(ops, again.operations, strict=True):
        read = {name for name in op.fields if not PADDING.fullmatch(name)}
        if op.opcode == txn.Opcode.BLOCKWRITE:
            read -= {"column", "row"}
            assert (op.payload == kept.payload).all()
        assert {name: kept.fields[name] for name in op.fields} == {n: op.fields[n] * (n in read) for n in op.fields}


@pytest.mark.parametrize("format", FORMATS, ids=["0.1", "1.0", "1.0 with long patches"])
def test_noise_in_bits_that_nothing_reads_changes_nothing(format: txn.Header):
    """The same run, the same intent and no finding, whatever lay in memory when the stream was written."""
    poll = txn.Operation(txn.Opcode.MASKPOLL, [0] if format.version == (0, 1) else None, address=0x1D220, mask=0x78003C)
    header = replace(format, device_generation=4, columns=1)
    words = txn.encode(txn.Stream.of(header, [*loopback(64), poll]))
    mask = unread_mask(txn.decode(words))
    noise = np.random.default_rng(4).integers(0, 1 << 32, len(words), dtype=np.uint32)
    noisy = words | noise & mask
    assert (noisy != words).sum() > 10 and (without_unread(noisy) == words).all()
    runs = []
    for stream in (words, noisy):
        source, target = np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32)
        runs.append(bare().run(stream.tobytes(), {0: source, 2: target}).cycles)
        assert (source == target).all()
    assert runs[0] == runs[1]
    clean, other = txn.decode(words), txn.decode(noisy)
    assert [*intent_lines(intent_of(clean))] == [*intent_lines(intent_of(other))]
    assert lint(other, DEVICES[DeviceName.npu2_1col]) == lint(clean, DEVICES[DeviceName.npu2_1col])


def test_streams_of_production_tools_keep_their_leftover_bits():
    mask_poll = [0x00FC0204, 0x11, 0x0021DF10, 0, 0, 0x00780000, 32, 0x00002ADD]
    words = [0x06040100, 0x00000108, 1, 16 + 32, *mask_poll]
    op = txn.decode(np.array(words, dtype=np.uint32)).operations[0]
    assert (op.name, op.op_column, op.op_row, op.payload.tolist()) == ("MASKPOLL", 2, 0xFC, [0x2ADD])


@pytest.mark.parametrize(
    "words, offset, reason",
    [
        pytest.param([1, 2], 0, "too few", id="shorter than a header"),
        pytest.param([0x06030200, 0x104, 0, 16], 0, "unsupported TXN version 0.2", id="unknown version"),
        pytest.param([0x06030100, 0x104, 0, 20], 12, "size word says 20 bytes", id="wrong size word"),
        pytest.param([0x06030100, 0x104, 2, 40, 0, 0, 4, 0, 5, 24], 8, "announces 2 operations", id="wrong count"),
        pytest.param([0x06030100, 0x104, 1, 40, 0, 0, 4, 0, 5, 20], 36, "multiple of 4, at least 24", id="too short"),
        pytest.param([0x06030100, 0x104, 1, 40, 0, 0, 4, 0, 5, 26], 36, "multiple of 4", id="op size not in words"),
        pytest.param([0x06030100, 0x104, 1, 40, 1, 0, 4, 32, 5, 6], 16, "BLOCKWRITE runs past the end", id="cut off"),
        pytest.param([0x06030100, 0x104, 1, 24, 0, 0], 16, "WRITE runs past the end", id="cut before its size"),
        pytest.param([0x06030100, 0x104, 1, 20, 14], 16, "CONFIG_SHIMDMA_BD) has no known layout", id="no layout"),
    ],
)
def test_damage_is_refused_with_its_offset(words: list[int], offset: int, reason: str):
    with pytest.raises(txn.TxnError, match="at byte") as error:
        txn.decode(np.array(words, dtype=np.uint32).tobytes())
    assert error.value.offset == offset
    assert reason in error.value.reason


def test_a_missing_byte_is_told_by_the_size_word():
    data = np.array(GOLDEN_WORDS, dtype=np.uint32).tobytes()[:-1]
    with pytest.raises(txn.TxnError, match="size word says 56 bytes, the stream has 55"):
        txn.decode(data)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=64) | st.lists(WORD, max_size=16).map(lambda w: np.array(w, dtype=np.uint32).tobytes()))
def test_arbitrary_bytes_are_decoded_or_refused(data: bytes):
    with contextlib.suppress(txn.TxnError):
        assert txn.encode(txn.decode(data)).tobytes() == data


@pytest.mark.parametrize(
    "op, complaint",
    [
        (txn.Operation(txn.Opcode.WRITE, adress=4), "WRITE has no field 'adress'"),
        (txn.write(2**32, 0), "address = 4294967296 does not fit"),
        (txn.Operation(txn.Opcode.PREEMPT, [1], level=1), "PREEMPT takes no payload"),
        (txn.Operation(txn.Opcode.BLOCKSET), "no known layout"),
    ],
)
def test_operations_that_cannot_be_encoded(op: txn.Operation, complaint: str):
    with pytest.raises(txn.TxnError, match=complaint):
        txn.Stream.of(txn.Header(), [op])


@pytest.mark.parametrize(
    "field, most", [("columns", 255), ("rows", 255), ("major", 255), ("device_generation", 255), ("pad", 65535)]
)
def test_header_fields_have_ranges(field: str, most: int):
    assert getattr(txn.Header(**{field: most}), field) == most
    for wrong in (most + 1, -1, 2**64):
        with pytest.raises(txn.TxnError, match=rf"{field} = {wrong} does not fit; its range is \[0:{most}\]"):
            txn.Header(**{field: wrong})
    with pytest.raises(txn.TxnError, match=f"{field} = 1.5 is no integer"):
        txn.Header(**{field: 1.5})  # pyright: ignore[reportArgumentType]


def test_numpy_integers_are_integers():
    columns, address, value = cast("tuple[int, int, int]", (np.int64(4), np.uint32(0x80000000), np.int64(7)))
    assert txn.Header(columns=columns) == txn.Header(columns=4)
    stream = txn.Stream.of(txn.Header(), [txn.write(address, value)])
    assert stream.operations[0] == txn.write(0x80000000, 7) or stream.operations[0].address == 0x80000000


@pytest.mark.parametrize(
    "data, complaint",
    [
        ([1, 2**32], r"payload\[1\] = 4294967296 does not fit"),
        ([-1], r"payload\[0\] = -1 does not fit"),
        ([1.5], "list of 32-bit words"),
        ("text", "list of 32-bit words"),
        ([[1, 2], [3]], "list of 32-bit words"),
        ([[1, 2]], "list of 32-bit words"),
        ([10**30], r"payload\[0\] = 10+ does not fit"),
        (np.array([1.0]), "list of 32-bit words"),
    ],
)
def test_payloads_are_words(data: Any, complaint: str):
    with pytest.raises(txn.TxnError, match=complaint):
        txn.block_write(0, data)


@pytest.mark.parametrize(
    "op",
    [
        txn.write(0, 2**32),
        txn.write(1.5, 0),  # pyright: ignore[reportArgumentType]
        txn.write("a", 0),  # pyright: ignore[reportArgumentType]
        txn.sync(300, 0, 0, 0),
    ],
)
def test_fields_that_do_not_fit_are_named(op: txn.Operation):
    with pytest.raises(txn.TxnError, match=r"(value|address|column) = .*range is \[0:"):
        txn.Stream.of(txn.Header(), [op])


@pytest.mark.parametrize("data", [[[1], [2, 3]], "text", None, 1.5, [2**70], np.zeros((2, 2), np.uint32)])
def test_what_is_no_stream_is_refused(data: Any):
    with pytest.raises(txn.TxnError):
        txn.decode(data)
