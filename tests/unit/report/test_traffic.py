"""Bytes that moved are counted whether or not the descriptors that moved them came to their end."""

from __future__ import annotations

import numpy as np
import pytest
from programs import COPY

import tilewright as tw
from tilewright.report.array_picture import ArrayPicture
from tilewright.report.spans import shares_of, spans_of
from tilewright.report.traffic import channel_bytes, host_uses
from tilewright.sim.record import RunRecord

WORDS = 64


def move(buffer: str, fifo: str, words: int, bd: int) -> str:
    place = f"%{buffer}[0, 0, 0, 0][1, 1, 1, {words}][0, 0, 0, 1]"
    return f"aiex.npu.dma_memcpy_nd({place}) {{id = {bd} : i64, metadata = @{fifo}}} : memref<{WORDS}xi32>"


def record_of(sent: int, wanted: int, model: str) -> RunRecord:
    """A run that sends some words and wants some back; it hangs if it wants more."""
    body = [move("b", "out", wanted, 0), move("a", "in", sent, 1), "aiex.npu.dma_wait {symbol = @out}"]
    design = tw.compile(COPY.replace("BODY", "\n".join(body)))
    try:
        return design.run(*np.zeros((2, WORDS), np.int32), model=model).record
    except tw.Hang as hang:
        return hang.record


@pytest.mark.parametrize("model", ["fast", "plain"])
@pytest.mark.parametrize("sent, wanted", [(64, 64), (48, 64), (32, 64)])
def test_both_ends_of_a_run_are_counted(sent: int, wanted: int, model: str) -> None:
    record = record_of(sent, wanted, model)
    assert (record.error is not None) == (sent < wanted)
    uses = host_uses(record)
    assert (uses[0].read_bytes, uses[1].written_bytes) == (4 * sent, 4 * sent)
    assert sum(channel_bytes(record).values()) == 4 * 4 * sent, "out of the host, into and out of a tile, and back"


def test_columns_where_nothing_is_are_narrow() -> None:
    record = record_of(64, 64, "fast")
    text = COPY.replace("npu1_1col", "npu1")
    wide = tw.compile(text.replace("BODY", move("a", "in", 64, 0))).run(*np.zeros((2, WORDS), np.int32)).record
    widths = [ArrayPicture(each, shares_of(each, spans_of(each))).floor.width for each in (record, wide)]
    idle = ArrayPicture(wide, shares_of(wide, spans_of(wide))).floor.idle
    assert idle == frozenset({1, 2, 3}) and widths[0] < widths[1] < 2.5 * widths[0]
