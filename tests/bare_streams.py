"""Streams that bring a device from reset to work on their own: a shim tile that sends what it reads to itself."""

from __future__ import annotations

from tilewright import txn
from tilewright.device import DEVICES
from tilewright.device.bd import ShimBd
from tilewright.device.enums import DeviceName
from tilewright.device.registers import ShimDemux, ShimMux
from tilewright.driver.loaded_device import BareDevice
from tilewright.sim.models import Model

READ_BD, WRITE_BD = 1, 3
BDS, BD_BYTES, ADDRESS_WORD = 0x1D000, 0x20, 4
MUX, DEMUX = 0x1F000, 0x1F004
MASTERS, SLAVES = 0x3F000, 0x3F100
TO_SOUTH_0, TO_SOUTH_2 = MASTERS + 0x8, MASTERS + 0x10
FROM_CONTROL, FROM_SOUTH_3 = SLAVES, SLAVES + 0x14
READ_QUEUE, WRITE_QUEUE = 0x1D214, 0x1D204
ENABLE, TOKEN, DMA = 0x8000_0000, 0x8000_0000, 1


def bare(model: Model = Model.FAST) -> BareDevice:
    """A device of one column, with nothing on it."""
    return BareDevice(DEVICES[DeviceName.npu2_1col], model=model)


def loopback(words: int, *, for_ever: bool = False, written: int | None = None) -> list[txn.Operation]:
    """Copy argument 0 to argument 2: routes, multiplexers, descriptors, then two tasks and a wait for the second.

    With `for_ever` each descriptor is followed by itself, so the wait never ends.
    """
    routes = [
        txn.write(MUX, ShimMux.pack(south3=DMA)[0]),
        txn.write(DEMUX, ShimDemux.pack(south2=DMA)[0]),
        txn.write(TO_SOUTH_2, ENABLE | (FROM_SOUTH_3 - SLAVES) // 4),
        txn.write(FROM_SOUTH_3, ENABLE),
        txn.write(TO_SOUTH_0, ENABLE | (FROM_CONTROL - SLAVES) // 4),
        txn.write(FROM_CONTROL, ENABLE),
    ]
    tasks = [txn.write(WRITE_QUEUE, TOKEN | WRITE_BD), txn.write(READ_QUEUE, READ_BD), txn.sync(0, 0, 0, 0)]
    reads, writes = descriptor(READ_BD, words, for_ever), descriptor(WRITE_BD, written or words, for_ever)
    return [*routes, reads, patch(READ_BD, 0), writes, patch(WRITE_BD, 2), *tasks]


def descriptor(bd: int, words: int, for_ever: bool) -> txn.Operation:
    link = {"use_next_bd": 1, "next_bd": bd} if for_ever else {}
    fields = {f"d{level}_step": 1 for level in range(3)} | {"iteration_step": 1, "iteration_wrap": 1}
    return txn.block_write(BDS + BD_BYTES * bd, ShimBd.encode(buffer_length=words, valid_bd=1, **link, **fields))


def patch(bd: int, argument: int) -> txn.Operation:
    return txn.address_patch(BDS + BD_BYTES * bd + ADDRESS_WORD, argument, 0)


def binary(operations: list[txn.Operation]) -> bytes:
    """The stream for a device of one column."""
    header = txn.Header(device_generation=4, columns=1)
    return txn.encode(txn.Stream.of(header, operations)).astype("<u4").tobytes()
