"""Runs from Python: how they are watched and stopped, which arguments they take, and what their messages point at."""

from __future__ import annotations

import numpy as np
import pytest
from bare_streams import READ_BD, bare, binary, loopback
from elf_files import Reloc, elf_file
from programs import COPY

import tilewright as tw
from tilewright import txn
from tilewright.device import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.device.registers import ChannelStatus
from tilewright.driver.loaded_device import BareDevice
from tilewright.sim.faults import FaultKind
from tilewright.sim.models import Model
from tilewright.sim.runs import Interrupted, Progress, Stopped
from tilewright.sim.scratchpad import Scratchpad, ScratchpadError, updated
from tilewright.txn.containers import PatchKind

READ_STATUS = 0x1D228
"""Of MM2S 0 of the shim tile in column 0."""

COPY_PARTS = COPY.replace("BODY", """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
    aiex.npu.dma_wait {symbol = @in}
""").replace("%b: memref<64xi32>)", "%b: memref<64xi32>, %n: index)")  # fmt: skip
LAST_LINE = COPY_PARTS.split("\n").index("    aiex.npu.dma_wait {symbol = @in}") + 1


def arrays() -> dict[int, np.ndarray]:
    return {0: np.arange(64, dtype=np.int32), 2: np.zeros(64, dtype=np.int32)}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_messages_of_a_sequence_with_scalars_have_lines(count: int) -> None:
    """Whatever the scalars make of it, the operation that waits in vain is the one behind the loop."""
    design = tw.compile(COPY_PARTS)
    with pytest.raises(tw.Hang) as hang:
        design.run(np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32), count)
    assert f"<text>:{LAST_LINE}:5: error: hang: the controller waits for a token of MM2S 0" in str(hang.value)


@pytest.mark.parametrize("model", Model)
def test_progress_is_reported_and_an_interrupt_tells_the_state(model: Model) -> None:
    seen: list[Progress] = []

    def look(now: Progress) -> None:
        seen.append(now)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupt:
        bare(model).run(binary(loopback(64, for_ever=True)), arrays(), progress=look)
    assert isinstance(interrupt.value, Interrupted)
    assert "operation 12 of 13: the controller waits for a token of S2MM 0" in str(interrupt.value)
    assert 0 < seen[0].cycles < seen[1].cycles and seen[1].executed == 12 and seen[1].total == 13


@pytest.mark.parametrize("model", Model)
def test_a_run_that_ends_in_time_is_not_stopped(model: Model) -> None:
    cycles = bare(model).run(binary(loopback(64)), arrays()).cycles
    assert bare(model).run(binary(loopback(64)), arrays(), max_cycles=cycles).cycles == cycles
    with pytest.raises(Stopped):
        bare(model).run(binary(loopback(64)), arrays(), max_cycles=cycles // 2)


def test_a_device_can_go_on_after_it_was_loaded_by_a_stream() -> None:
    """What one stream has set up is there for the next, and each run has its own notes and cycles."""
    device, given = bare(), arrays()
    first = device.run(binary(loopback(64)), given)
    given[0] += 1000
    second = device.run(binary(loopback(64)[6:]), given)
    assert np.array_equal(given[0], given[2]) and 0 < second.cycles < first.cycles


def test_words_that_a_host_would_patch_can_be_given_as_a_file() -> None:
    design = tw.compile(COPY.replace("BODY", ""))
    with pytest.raises(tw.txn.TxnError, match="at byte 12"):
        design.run(np.zeros(64, np.int32), np.zeros(64, np.int32), txn=binary(loopback(64))[:-4])


def test_hazards_have_levels_by_name() -> None:
    device = BareDevice(DEVICES[DeviceName.npu2_1col], {FaultKind.OUTSIDE_MEMORY.option: "note"})
    notes = device.run(binary(loopback(64)), {0: np.zeros(64, np.int32), 2: np.zeros(8, np.int32)}).notes
    assert any("which has 32" in note.text for note in notes)


@pytest.mark.parametrize("model", Model)
@pytest.mark.parametrize("words", [1 << 16, 1 << 25, (1 << 32) - 1])
def test_a_transfer_that_no_memory_holds_is_refused_before_there_is_room_for_it(words: int, model: Model) -> None:
    with pytest.raises(tw.Fault, match=rf"bytes 0 to {4 * words} of argument 2, which has 256") as fault:
        bare(model).run(binary(loopback(64, written=words)), arrays())
    assert fault.value.kind is FaultKind.OUTSIDE_MEMORY


def test_the_firmware_adds_to_the_address_in_two_words() -> None:
    """Low bits of the first word become zero, the upper half of the second stays, and the sum carries over."""
    assert updated(0xFFFF_FFFF, 0xABCD_0001, 8) == (4, 0xABCD_0002)
    assert updated(0x10, 0xABCD_0000, -0x20) == (0xFFFF_FFF0, 0xABCD_FFFF)


def test_a_scratchpad_has_what_the_host_passed_once_it_is_created() -> None:
    scratchpad = Scratchpad([5, 6, 7])
    with pytest.raises(ScratchpadError, match="entry 0 of a scratchpad that has 0"):
        scratchpad.amount(0, 1, 0)
    scratchpad.create(8)
    assert [scratchpad.amount(1, function, 4) for function in (0, 1, 2)] == [24, 10, 2]
    with pytest.raises(ScratchpadError, match="entry 2 of a scratchpad that has 2"):
        scratchpad.amount(2, 1, 0)
    with pytest.raises(ScratchpadError, match="the firmware has 128"):
        scratchpad.create(132)


def payload_of(data: bytes, block: int) -> int:
    """Where in a stream the n-th descriptor of 16 words is: behind the size of its block write."""
    words = np.frombuffer(data, "<u4").tolist()
    return 4 * [at for at, word in enumerate(words) if word == 16 and words[at - 1] == 4 * (4 + 8)][block]


def with_control_packets(packets: bytes, name: str = "control-packet") -> bytes:
    """A file whose first descriptor reads a buffer that comes with it; words in that have an address, too."""
    data = binary(loopback(16))
    relocations = [
        Reloc(".ctrltext", payload_of(data, 0), name),
        Reloc(".ctrltext", payload_of(data, 1), "5"),
        Reloc(".ctrldata", 0, "5", PatchKind.CONTROL_PACKET_48, addend=8),
    ]
    return elf_file({".ctrltext": data, ".ctrldata": packets}, relocations)


def test_the_array_reads_buffers_that_come_with_a_file() -> None:
    """Control packets are in host memory with the addresses of arguments in them, whatever the stream's patches say."""
    packets, device = np.arange(100, 116, dtype=np.uint32), bare()
    given = {2: np.zeros(16, dtype=np.uint32)}
    device.run(with_control_packets(packets.tobytes()), given)
    address = device.machine.host.arguments[2].address
    packets[2:4] = [(102 + 8 + address) & 0xFFFF_FFFF, 103 + (address >> 32)]
    assert np.array_equal(given[2], packets)


def test_a_buffer_that_nobody_has_is_named() -> None:
    file = with_control_packets(bytes(64), name="ifm")
    with pytest.raises(tw.txn.TxnError, match="needs a buffer 'ifm', which the file does not have"):
        bare().run(file, arrays())
    with pytest.raises(tw.txn.TxnError, match="needs argument 2; the arguments that are arrays: 0"):
        bare().run(with_control_packets(bytes(64)), {0: np.zeros(64, np.int32)})


@pytest.mark.parametrize("model", Model)
def test_the_status_of_an_idle_channel_names_its_last_descriptor(model: Model) -> None:
    """A stream can wait for that instead of a token, as validation binaries of the vendor do."""
    last = ChannelStatus.pack(cur_bd=READ_BD)[0]
    poll = txn.Operation(txn.Opcode.MASKPOLL, address=READ_STATUS, value=last, mask=0xFFFF_FFFF)
    bare(model).run(binary([*loopback(64), poll]), arrays())
    wrong = txn.Operation(txn.Opcode.MASKPOLL, address=READ_STATUS, value=0, mask=0xFFFF_FFFF)
    with pytest.raises(Stopped, match="polls"):
        bare(model).run(binary([*loopback(64), wrong]), arrays(), max_cycles=20_000)
