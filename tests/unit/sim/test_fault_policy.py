"""Mistakes that the hardware makes without a word: each is named, with its place on the array and in the source."""

from __future__ import annotations

import numpy as np
import pytest
from programs import COPY

import tilewright as tw
from tilewright.sim.faults import FaultKind

TRANSFER = "aiex.npu.dma_memcpy_nd({buffer}[0, 0, 0, {{0}}][1, 1, 1, {{1}}][0, 0, 0, 1]) {attributes} : memref<64xi32>"
TO, FROM = (
    TRANSFER.format(buffer=buffer, attributes=f"{{{{id = {{2}} : i64, metadata = @{fifo}}}}}")
    for buffer, fifo in (("%a", "in"), ("%b", "out"))
)
"""A transfer of some words from an offset, with a descriptor."""
WAIT = "aiex.npu.dma_wait {symbol = @out}"


def run(*body: str) -> tuple[np.ndarray, np.ndarray]:
    design = tw.compile(COPY.replace("BODY", "\n".join(body)))
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32)
    design.run(a, b)
    return a, b


def test_what_is_right_runs() -> None:
    a, b = run(TO.format(0, 64, 0), FROM.format(0, 64, 1), WAIT)
    assert np.array_equal(a, b)


def test_two_runs_are_the_same_run() -> None:
    design = tw.compile(COPY.replace("BODY", "\n".join([TO.format(0, 64, 0), FROM.format(0, 64, 1), WAIT])))
    cycles = [design.run(np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32)).cycles for _ in range(2)]
    assert cycles[0] == cycles[1] > 64


def test_a_device_stays_loaded_between_runs() -> None:
    loaded = tw.compile(COPY.replace("BODY", "\n".join([TO.format(0, 64, 0), FROM.format(0, 64, 1), WAIT]))).load()
    for round in range(3):
        a, b = np.arange(64, dtype=np.int32) + round, np.zeros(64, dtype=np.int32)
        loaded.run(a, b)
        assert np.array_equal(a, b)


def test_too_little_data_hangs_and_says_who_waits() -> None:
    with pytest.raises(tw.Hang) as hang:
        run(TO.format(0, 48, 0), FROM.format(0, 64, 1), WAIT)
    text = str(hang.value)
    assert "<text>:10:1: error: hang: the controller waits for a token of S2MM 0 of tile (0, 0)" in text
    assert "<text>:9:1: note: BD 1 on S2MM 0 of tile (0, 0) needs a word" in text
    assert "<text>:8:1: note: most likely cause: MM2S 0 of tile (0, 0) has done its task, 48 words in all" in text


def test_a_wait_for_nothing_says_so() -> None:
    with pytest.raises(tw.Hang, match=r"most likely cause: no task was pushed on S2MM 0 of tile \(0, 0\)"):
        run(TO.format(0, 16, 0), WAIT)


def test_a_push_on_a_full_queue_is_a_fault() -> None:
    pushes = [FROM.format(0, 8, number) for number in range(7)]
    with pytest.raises(tw.Fault, match=r"push of BD 6 on S2MM 0 of tile \(0, 0\) is dropped: 6 tasks") as fault:
        run(*pushes, WAIT)
    assert fault.value.kind is FaultKind.DROPPED_PUSH and "<text>:14:1: error" in str(fault.value)


def test_six_tasks_in_flight_are_fine() -> None:
    pushes = [FROM.format(8 * number, 8, number) for number in range(6)]
    a, b = run(*pushes, TO.format(0, 48, 8), *[WAIT] * 6)
    assert np.array_equal(a[:48], b[:48])


def test_a_queued_descriptor_that_is_rewritten_is_a_fault() -> None:
    with pytest.raises(tw.Fault, match=r"BD 2 of shim tile \(0, 0\) is rewritten while S2MM 0") as fault:
        run(FROM.format(0, 16, 0), FROM.format(16, 16, 1), FROM.format(32, 16, 2), FROM.format(48, 16, 2), WAIT)
    assert fault.value.kind is FaultKind.DESCRIPTOR_IN_USE


def test_the_descriptor_of_the_task_that_is_next_is_loaded_already() -> None:
    pushes = [FROM.format(0, 16, 0), FROM.format(16, 16, 1), FROM.format(32, 16, 1), FROM.format(48, 16, 2)]
    a, b = run(*pushes, TO.format(0, 64, 8), *[WAIT] * 4)
    assert np.array_equal(a, b)


def test_a_transfer_beyond_its_argument_is_a_fault() -> None:
    design = tw.compile(COPY.replace("BODY", "\n".join([TO.format(0, 64, 0), FROM.format(0, 64, 1), WAIT])))
    words = design.txn("copy")
    patch = next(i for i, op in enumerate(tw.txn.decode(words).operations) if op.opcode == tw.txn.Opcode.DDR_PATCH)
    stream = tw.txn.decode(words)
    operations = list(stream.operations)
    operations[patch].fields["argument_offset"] = 128
    moved = tw.txn.encode(tw.txn.Stream.of(stream.header, operations))
    with pytest.raises(tw.Fault, match="reads bytes 128 to 384 of argument a, which has 256"):
        design.run(np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32), txn=moved)


def test_a_call_of_a_kernel_that_nobody_bound_says_how_to() -> None:
    design = tw.compile("""aie.device(npu1_1col) {
  %tile = aie.tile(0, 2)
  func.func private @scale(memref<4xi32>)
  %buffer = aie.buffer(%tile) : memref<4xi32>
  aie.core(%tile) {
    func.call @scale(%buffer) : (memref<4xi32>) -> ()
    aie.end
  }
  aie.runtime_sequence @nothing() {
    %c0 = arith.constant 0 : i32
    %address = arith.constant 0x1D000 : i32
    aiex.npu.write32(%address, %c0) {column = 0 : i32, row = 0 : i32} : i32, i32
  }
}
""")
    with pytest.raises(tw.CompileError, match=r"<text>:6:5: error: core \(0, 2\) calls @scale, which has no body"):
        design.run()
    design.run(kernels={"scale": lambda view: view.__imul__(2)})


def test_a_device_can_be_used_after_a_hang() -> None:
    """What is in flight stays so; the sequence that hung does not go on."""
    text = COPY.replace("BODY", "\n".join([TO.format(0, 48, 0), FROM.format(0, 64, 1), WAIT]))
    design = tw.compile(text)
    loaded = design.load()
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32)
    with pytest.raises(tw.Hang):
        loaded.run(a, b)
    rest = tw.compile(COPY.replace("BODY", TO.format(48, 16, 0) + "\n" + WAIT)).txn()
    loaded.run(a, b, txn=rest)
    assert np.array_equal(a, b)
